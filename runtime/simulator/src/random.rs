//! Chance from a seed: the same seed, the same numbers, on every machine. It knows no clock and no outside source.

/// A stream of numbers (splitmix64).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A stream of its own for each seed.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random(mix(seed ^ 0x5eed_0fd1_ce00_0001))
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        let span = high.saturating_sub(low).saturating_add(1);
        low.saturating_add(self.next_u64() % span.max(1))
    }

    /// The same for small numbers.
    pub fn small(&mut self, low: u32, high: u32) -> u32 {
        u32::try_from(self.between(u64::from(low), u64::from(high))).unwrap_or(low)
    }

    /// True once in `of` times.
    pub fn once_in(&mut self, of: u64) -> bool {
        self.next_u64().is_multiple_of(of.max(1))
    }

    /// One of the values.
    pub fn pick<T: Clone>(&mut self, from: &[T], otherwise: T) -> T {
        let len = u64::try_from(from.len()).unwrap_or(1).max(1);
        let at = usize::try_from(self.next_u64() % len).unwrap_or(0);
        from.get(at).cloned().unwrap_or(otherwise)
    }
}

/// A number that depends on nothing but its arguments: what one part of the world draws does not move with what other
/// parts drew before, so that a run with a crash stays comparable with the run without.
#[must_use]
pub fn draw(seed: u64, what: u64, a: u64, b: u64) -> u64 {
    mix(mix(mix(seed ^ what.wrapping_mul(0xd6e8_feb8_6659_fd93)) ^ a) ^ b.rotate_left(32))
}

/// [`draw`] from `low` to `high`, both included.
#[must_use]
pub fn draw_between(key: (u64, u64, u64, u64), low: u64, high: u64) -> u64 {
    let span = high.saturating_sub(low).saturating_add(1);
    low.saturating_add(draw(key.0, key.1, key.2, key.3) % span.max(1))
}

fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
