//! Durations: `500ms`, `90s`, `1h30m`; whole milliseconds.
//! Knows no clock, and not which settings may be zero.

use std::fmt;

use crate::SyntaxError;
use crate::error::is_quotable;
use crate::parser::{self, Node, Rule};
use crate::text_form::text_form;

/// A span of time in whole milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

text_form!(Duration, "a duration such as `1h30m`");

/// From large to small: the order in which they have to be written.
const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Ten years. A rollout never waits that long, and any deadline made from it still has a date.
const LONGEST_MS: u64 = 87_600 * 3_600_000;

const UNIT_LIST: &str = "units are `ms`, `s`, `m` (minutes) and `h`";

impl Duration {
    /// Parses numbers with units, the largest unit first and each once: `1h30m`.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let duration = parser::parse(Rule::duration, text, |error| {
            let help = help(text, error.at.start);
            error.with_help(help)
        })?;
        let mut total = 0_u64;
        let mut smallest: Option<usize> = None;
        for amount in parser::children(&duration, Rule::amount) {
            let rank = rank(&amount);
            if let Some(before) = smallest.filter(|before| rank <= *before) {
                return Err(out_of_order(text, &amount, before));
            }
            smallest = Some(rank);
            total = parser::text_of(&amount, Rule::number)
                .parse()
                .ok()
                .and_then(|number: u64| number.checked_mul(UNITS.get(rank)?.1))
                .and_then(|milliseconds| total.checked_add(milliseconds))
                .filter(|total| *total <= LONGEST_MS)
                .ok_or_else(|| {
                    SyntaxError::at(
                        text,
                        parser::range(&amount),
                        "a duration of at most `87600h` (ten years)",
                    )
                    .with_help(format!("write a shorter duration; {UNIT_LIST}"))
                })?;
        }
        Ok(Self(total))
    }

    /// The duration in milliseconds.
    pub const fn millis(self) -> u64 {
        self.0
    }

    /// A duration of any length, also one that [`Duration::parse`] would call too long.
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(milliseconds)
    }
}

/// The place in [`UNITS`] of the unit of an amount.
fn rank(amount: &Node<'_>) -> usize {
    let unit = parser::text_of(amount, Rule::unit);
    UNITS.iter().take_while(|(name, _)| *name != unit).count()
}

fn out_of_order(text: &str, amount: &Node<'_>, before: usize) -> SyntaxError {
    let expected = match UNITS.get(before) {
        Some(("h", _)) => "an amount in a unit smaller than `h`",
        Some(("m", _)) => "an amount in a unit smaller than `m`",
        Some(("s", _)) => "an amount in `ms`",
        _ => "the end",
    };
    let example = meant(text).map(|meant| format!(": write `{meant}`")).unwrap_or_default();
    SyntaxError::at(text, parser::range(amount), expected)
        .with_help(format!("the largest unit comes first and each unit once{example}; {UNIT_LIST}"))
}

fn help(text: &str, at: usize) -> String {
    let found = text.get(at..).and_then(|rest| rest.chars().next());
    let advice = match (meant(text), found) {
        (Some(meant), Some('.' | ',')) => format!("a duration has no fractions: write `{meant}`"),
        (Some(meant), _) => format!("write `{meant}`"),
        (None, Some('-' | '+')) => "a duration has no sign, it begins with a number: `5s`".to_owned(),
        (None, Some('.' | ',')) => "a duration has no fractions, use a smaller unit: `1m30s`".to_owned(),
        (None, None) if is_quotable(text) && text.parse::<u64>().is_ok() => {
            format!("add a unit, as in `{text}s`")
        }
        _ => "write numbers with units, as in `1h30m`".to_owned(),
    };
    format!("{advice}; {UNIT_LIST}")
}

/// The duration that a text in the spelling of another tool most likely means: `1d`, `5 min`, `1.5m`, `30s1m`.
/// Only ever shown, never used: `M` could as well be months.
fn meant(text: &str) -> Option<Duration> {
    let squeezed = text.split_whitespace().collect::<String>().replace(',', ".");
    let mut rest = squeezed.as_str();
    let mut total = 0_u64;
    while !rest.is_empty() {
        let (number, after) = split_while(rest, |c| c.is_ascii_digit() || c == '.');
        let (word, after) = split_while(after, char::is_alphabetic);
        total = total.checked_add(scaled(number, foreign_unit(word)?)?)?;
        rest = after;
    }
    (!text.is_empty() && total <= LONGEST_MS).then_some(Duration(total))
}

fn split_while(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

/// `1.5` times `unit`, where that is a whole number.
fn scaled(number: &str, unit: u64) -> Option<u64> {
    if number.is_empty() {
        return None;
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let parts = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let in_parts = fraction.parse::<u64>().ok()?.checked_mul(unit)?;
    if in_parts % parts != 0 {
        return None;
    }
    let whole = if whole.is_empty() { "0" } else { whole };
    whole.parse::<u64>().ok()?.checked_mul(unit)?.checked_add(in_parts / parts)
}

fn foreign_unit(word: &str) -> Option<u64> {
    match word.to_lowercase().as_str() {
        "ms" | "msec" | "millis" | "millisecond" | "milliseconds" => Some(1),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1_000),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60_000),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3_600_000),
        "d" | "day" | "days" => Some(24 * 3_600_000),
        "w" | "week" | "weeks" => Some(7 * 24 * 3_600_000),
        _ => None,
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let mut rest = self.0;
        for (unit, milliseconds) in UNITS {
            if rest >= milliseconds {
                write!(f, "{}{unit}", rest / milliseconds)?;
                rest %= milliseconds;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, milliseconds: u64) {
        assert_eq!(Duration::parse(text).map(Duration::millis), Ok(milliseconds), "{text}");
    }

    #[test]
    fn units_mean_what_they_say() {
        check("5m", 300_000);
        check("90s", 90_000);
        check("1h30m", 5_400_000);
        check("500ms", 500);
        check("0s", 0);
        check("1h1m1s1ms", 3_661_001);
        check("87600h", LONGEST_MS);
    }

    #[test]
    fn prints_in_the_largest_units() {
        for (milliseconds, text) in
            [(0, "0s"), (90_000, "1m30s"), (5_400_000, "1h30m"), (1_500, "1s500ms"), (86_400_000, "24h")]
        {
            assert_eq!(Duration::from_millis(milliseconds).to_string(), text);
        }
    }
}
