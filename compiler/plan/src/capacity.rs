//! The arithmetic of capacity: may this batch go out? The compiler asks it about members that are all healthy, the
//! engine about members as they were read; both get the same answer. It must not know who asks.

/// Heads counted before a batch goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heads {
    /// Members that are healthy and in service on every instance now.
    pub healthy: u32,
    /// Members of the batch among them: what the batch takes away.
    pub taken: u32,
    /// Members that manent itself has out already, without the batch.
    pub out: u32,
    /// Members of the batch that would be out by manent's hand.
    pub batch: u32,
}

/// Limits that hold forwards and on the way back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Healthy members that stay in service.
    pub floor: u32,
    /// Members out by manent's hand at any time.
    pub unavailable: u32,
}

/// Why a batch may not go out now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortfall {
    /// Too few healthy members would stay.
    Floor {
        /// Healthy in service now.
        healthy: u32,
        /// Of them in the batch.
        taken: u32,
        /// The floor.
        need: u32,
    },
    /// Too many would be out by manent's hand.
    Limit {
        /// Out already.
        out: u32,
        /// In the batch.
        batch: u32,
        /// The limit.
        limit: u32,
    },
}

/// Admits a batch, or says what is short. A batch that takes nothing away lowers nothing: it passes the floor even when
/// the pool is under it already (a down member can be updated while others are down too).
///
/// # Errors
/// The shortfall, with its arithmetic.
pub fn admit(heads: Heads, limits: Limits) -> Result<(), Shortfall> {
    if heads.out.saturating_add(heads.batch) > limits.unavailable {
        return Err(Shortfall::Limit { out: heads.out, batch: heads.batch, limit: limits.unavailable });
    }
    if heads.taken > 0 && heads.healthy.saturating_sub(heads.taken) < limits.floor {
        return Err(Shortfall::Floor { healthy: heads.healthy, taken: heads.taken, need: limits.floor });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(healthy: u32, taken: u32, floor: u32) -> bool {
        admit(Heads { healthy, taken, out: 0, batch: taken }, Limits { floor, unavailable: 10 }).is_ok()
    }

    #[test]
    fn the_floor_itself_is_enough() {
        assert!(check(3, 1, 2));
        assert!(!check(3, 2, 2));
        assert!(check(0, 1, 0));
    }

    #[test]
    fn a_down_member_lowers_nothing() {
        assert!(check(1, 0, 2), "the pool is under its floor, but not because of us");
    }

    #[test]
    fn the_limit_counts_what_is_out_already() {
        let heads = Heads { healthy: 9, taken: 1, out: 1, batch: 1 };
        assert_eq!(
            admit(heads, Limits { floor: 1, unavailable: 1 }),
            Err(Shortfall::Limit { out: 1, batch: 1, limit: 1 })
        );
    }
}
