//! Quantities: a number (`3`) or a percentage (`25%`) of a total, with exact rounding.
//! Knows nothing of pools, floors and batches; the caller says which way to round.

use std::fmt;

use crate::SyntaxError;
use crate::error::is_quotable;
use crate::parser::{self, Rule};
use crate::text_form::text_form;

/// A number of things, or a percentage of however many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// `3`: this many, whatever the total.
    Count(u32),
    /// `25%`: from 0 to 100.
    Percent(u8),
}

text_form!(Quantity, "a number such as `3` or a percentage such as `25%`");

impl Quantity {
    /// Parses `3` or `25%`.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let quantity = parser::parse(Rule::quantity, text, |error| {
            let help = help(text, error.at.start);
            error.with_help(help)
        })?;
        let digits = parser::text_of(&quantity, Rule::number);
        // YAML readers disagree about `010`: some make it 8.
        if digits.len() > 1 && digits.starts_with('0') {
            let plain = digits.trim_start_matches('0');
            let plain = if plain.is_empty() { "0" } else { plain };
            let rest = text.get(digits.len()..).unwrap_or_default();
            return Err(SyntaxError::at(text, 0..digits.len(), "a number without leading zeros").with_help(
                if is_quotable(plain) {
                    format!("write `{plain}{rest}`")
                } else {
                    "remove the zeros at the beginning".to_owned()
                },
            ));
        }
        let whole = 0..text.len();
        if parser::has(&quantity, Rule::percent) {
            let percent = digits.parse().ok().filter(|percent| *percent <= 100);
            percent.map(Self::Percent).ok_or_else(|| {
                SyntaxError::at(text, whole, "a percentage from `0%` to `100%`")
                    .with_help("write at most `100%`, or a number without `%`")
            })
        } else {
            digits.parse().map(Self::Count).map_err(|_| {
                SyntaxError::at(text, whole, "a number up to `4294967295`")
                    .with_help("write a smaller number")
            })
        }
    }

    /// The quantity of `total`, a percentage rounded down. A number is itself, also above `total`.
    pub fn round_down(self, total: u32) -> u32 {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => u32::try_from(hundredths(percent, total) / 100).unwrap_or(u32::MAX),
        }
    }

    /// The quantity of `total`, a percentage rounded up. A number is itself, also above `total`.
    pub fn round_up(self, total: u32) -> u32 {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => {
                u32::try_from(hundredths(percent, total).div_ceil(100)).unwrap_or(u32::MAX)
            }
        }
    }
}

/// Integers all the way: as binary fractions, 7% of 100 is a little over 7.
fn hundredths(percent: u8, total: u32) -> u64 {
    u64::from(percent) * u64::from(total)
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

fn help(text: &str, at: usize) -> String {
    let without_blanks: String = text.split_whitespace().collect();
    if without_blanks != text && Quantity::parse(&without_blanks).is_ok() {
        return format!("write `{without_blanks}`");
    }
    let found = text.get(at..).and_then(|rest| rest.chars().next());
    let rule = match found {
        Some('-' | '+') => "leave out the sign: ",
        Some('.' | ',') => "round it to a whole number: ",
        _ => "",
    };
    format!("{rule}write a whole number such as `2`, or a whole percentage such as `25%`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(round: fn(Quantity, u32) -> u32, table: &[(u32, &str, u32)]) {
        for &(total, text, expected) in table {
            assert_eq!(round(Quantity::parse(text).unwrap(), total), expected, "{text} of {total}");
        }
    }

    #[test]
    fn what_must_stay_rounds_up() {
        check(
            Quantity::round_up,
            &[
                (1, "66%", 1),
                (3, "66%", 2),
                (4, "66%", 3),
                (5, "66%", 4),
                (10, "66%", 7),
                (100, "7%", 7),
                (25, "28%", 7),
                (9, "66", 66),
            ],
        );
    }

    #[test]
    fn what_may_be_missing_rounds_down() {
        check(
            Quantity::round_down,
            &[
                (4, "25%", 1),
                (5, "25%", 1),
                (10, "25%", 2),
                (6, "34%", 2),
                (100, "29%", 29),
                (100, "57%", 57),
                (50, "58%", 29),
                (3, "25%", 0),
                (2, "3", 3),
            ],
        );
    }

    #[test]
    fn the_largest_total_does_not_overflow() {
        assert_eq!(Quantity::Percent(100).round_up(u32::MAX), u32::MAX);
        assert_eq!(Quantity::Percent(100).round_down(u32::MAX), u32::MAX);
    }
}
