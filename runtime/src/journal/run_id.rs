//! Names of runs, such as `r20261201-2c0q7kd`: the day, then four characters of time and three of chance. They sort by
//! time and need no quotes in a shell. It must not look at the clock.

use std::fmt;

use manent_engine::Timestamp;

/// Digits and letters without those that look alike; in the order of ASCII, so that names sort as numbers do.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Name of a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

impl RunId {
    /// A name for a run that starts at this time.
    #[must_use]
    pub fn at(time: Timestamp) -> RunId {
        let mut chance = [0_u8; 2];
        // Without chance names are still apart by a twelfth of a second, and `create` refuses a name that is taken.
        let _ = getrandom::fill(&mut chance);
        RunId::of(time, u16::from_be_bytes(chance))
    }

    /// A name from a time and a number; 15 bits of it count.
    #[must_use]
    pub fn of(time: Timestamp, chance: u16) -> RunId {
        const DAY: u64 = 86_400_000;
        let seconds = i64::try_from(time.0 / 1000).unwrap_or(i64::MAX);
        let date = jiff::Timestamp::from_second(seconds)
            .map(|time| time.to_zoned(jiff::tz::TimeZone::UTC).strftime("%Y%m%d").to_string())
            .unwrap_or_else(|_| String::from("99999999"));
        // 2^20 parts of a day: a little less than a twelfth of a second each.
        let part = (time.0 % DAY).saturating_mul(1 << 20) / DAY;
        let number = (part << 15) | u64::from(chance & 0x7fff);
        let suffix = (0..7_u32).rev().map(|place| {
            let digit = usize::try_from((number >> (place * 5)) & 31).unwrap_or_default();
            char::from(DIGITS.get(digit).copied().unwrap_or(b'0'))
        });
        RunId(format!("r{date}-{}", suffix.collect::<String>()))
    }

    /// A name that was given by a person or stands in the journal.
    #[must_use]
    pub fn parse(text: &str) -> Option<RunId> {
        let fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let first = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        (first && text.len() <= 64 && text.bytes().all(fine)).then(|| RunId(text.to_owned()))
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_time_and_need_no_quotes() {
        let start = 1_796_087_000_000_u64;
        let names: Vec<RunId> =
            (0..2000).map(|at| RunId::of(Timestamp(start + at * 61_000), 0x7fff - at as u16)).collect();
        assert!(names.is_sorted());
        assert_eq!(names[0].as_str().get(..9), Some("r20261201"));
        assert!(names.iter().all(|name| RunId::parse(name.as_str()).as_ref() == Some(name)));
        assert_ne!(RunId::of(Timestamp(start), 1), RunId::of(Timestamp(start), 2));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in ["", "-r", "_x", "a b", "a/b", "..", "a'b", "a\nb", "é", &"a".repeat(65)] {
            assert_eq!(RunId::parse(text), None, "{text:?}");
        }
    }
}
