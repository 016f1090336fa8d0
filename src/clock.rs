//! The only clock of the command line, and times as text.
//! It must not know what the times mean.

use manent_engine::Timestamp;

/// Now.
pub(crate) fn now() -> Timestamp {
    Timestamp(u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default())
}

/// RFC 3339 in UTC, for scripts.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    match moment(at) {
        Some(moment) => format!("{moment:.3}"),
        None => String::from("after the end of time"),
    }
}

/// A time for people: UTC, to the second.
pub(crate) fn stamp(at: Timestamp) -> String {
    match moment(at) {
        Some(moment) => moment.strftime("%Y-%m-%d %H:%M:%SZ").to_string(),
        None => String::from("never"),
    }
}

/// The time of day alone.
pub(crate) fn of_day(at: Timestamp) -> String {
    match moment(at) {
        Some(moment) => moment.strftime("%H:%M:%SZ").to_string(),
        None => String::from("never"),
    }
}

/// A length of time for people, in the form in which documents write durations: `350ms`, `12s`, `1h30m`.
pub(crate) fn span(ms: u64) -> String {
    let part = |amount: u64, unit: &str| if amount == 0 { String::new() } else { format!("{amount}{unit}") };
    match ms {
        0 => String::from("0s"),
        1..1_000 => format!("{ms}ms"),
        1_000..10_000 if ms % 1_000 >= 100 => {
            format!("{}.{}s", ms / 1_000, ms % 1_000 / 100)
        }
        1_000..3_600_000 => {
            let seconds = ms / 1_000;
            part(seconds / 60, "m") + &part(seconds % 60, "s")
        }
        3_600_000.. => {
            let minutes = ms / 60_000;
            part(minutes / 60, "h") + &part(minutes % 60, "m")
        }
    }
}

fn moment(at: Timestamp) -> Option<jiff::Timestamp> {
    i64::try_from(at.0).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_like_durations() {
        let check = |ms, expected: &str| assert_eq!(span(ms), expected);
        check(0, "0s");
        check(350, "350ms");
        check(1_500, "1.5s");
        check(5_050, "5s");
        check(12_900, "12s");
        check(300_000, "5m");
        check(330_000, "5m30s");
        check(5_400_000, "1h30m");
        check(3_600_000, "1h");
    }

    #[test]
    fn times_are_rfc_3339() {
        assert_eq!(rfc3339(Timestamp(1_700_000_000_123)), "2023-11-14T22:13:20.123Z");
        assert_eq!(stamp(Timestamp(1_700_000_000_123)), "2023-11-14 22:13:20Z");
    }
}
