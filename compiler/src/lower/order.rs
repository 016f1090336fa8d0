//! Sorts the targets of each wave by a label, where that is asked for.
//! It must not know how many go at a time.

use std::cmp::Ordering;

use manent_plan::{Plan, TargetIx};

use super::Draft;

pub(super) fn order(mut draft: Draft) -> Draft {
    let Some(order) = draft.order.take() else { return draft };
    let Plan { targets, rollout, .. } = &mut draft.plan;
    let value = |at: &TargetIx| {
        let label = targets.get(at.at()).and_then(|target| target.labels.get(&order.label));
        label.map_or("", String::as_str)
    };
    for batch in rollout.waves.iter_mut().flat_map(|wave| &mut wave.batches) {
        // Stable: targets with the same value stay in the order of the file, also when the highest goes first.
        batch.sort_by(|one, two| {
            let ascending = natural(value(one), value(two));
            if order.descending { ascending.reverse() } else { ascending }
        });
    }
    draft
}

/// Compares as people do: runs of digits are numbers, so `db-9` comes before `db-10`.
fn natural(one: &str, two: &str) -> Ordering {
    let (mut left, mut right) = (one, two);
    loop {
        let (Some(a), Some(b)) = (left.chars().next(), right.chars().next()) else {
            return left.len().cmp(&right.len()).then_with(|| one.cmp(two));
        };
        let ordering = if a.is_ascii_digit() && b.is_ascii_digit() {
            let (number, rest) = digits(left);
            let (other, other_rest) = digits(right);
            (left, right) = (rest, other_rest);
            number.len().cmp(&other.len()).then_with(|| number.cmp(other))
        } else {
            left = left.get(a.len_utf8()..).unwrap_or("");
            right = right.get(b.len_utf8()..).unwrap_or("");
            a.cmp(&b)
        };
        if ordering != Ordering::Equal {
            return ordering;
        }
    }
}

/// The number at the beginning, without leading zeros, and the rest.
fn digits(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    (number.trim_start_matches('0'), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_inside_text_are_numbers() {
        let mut words = ["db-10", "db-9", "db-09", "db", "10", "9", "", "a1b2", "a1b10", "a01b3"];
        words.sort_by(|one, two| natural(one, two));
        assert_eq!(words, ["", "9", "10", "a1b2", "a01b3", "a1b10", "db", "db-09", "db-9", "db-10"]);
    }
}
