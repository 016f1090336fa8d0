//! "Did you mean": the known word that is nearest to an unknown one.
//! Knows nothing of what the words are for.

/// Longer words are not typing mistakes of short ones; this also bounds the work.
const LONGEST_WORD: usize = 64;

/// The word of `among` that `word` was most likely meant to be, if one is near enough: the first of the nearest.
/// Case does not count, a swap of neighbours counts once.
pub fn suggest<'a>(word: &str, among: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let typed = letters(word)?;
    let mut nearest: Option<(usize, &str)> = None;
    for known in among {
        let Some(wanted) = letters(known) else { continue };
        let distance = distance(&typed, &wanted);
        let allowed = (typed.len().max(wanted.len()) / 3).max(1);
        // A word of which nothing is left (`a` for `b`) is another word.
        let alike = distance <= allowed && distance < typed.len().max(wanted.len());
        if alike && nearest.is_none_or(|(best, _)| distance < best) {
            nearest = Some((distance, known));
        }
    }
    nearest.map(|(_, known)| known.to_owned())
}

fn letters(word: &str) -> Option<Vec<char>> {
    let letters: Vec<char> = word.chars().flat_map(char::to_lowercase).take(LONGEST_WORD + 1).collect();
    (!letters.is_empty() && letters.len() <= LONGEST_WORD).then_some(letters)
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `from` into `to`.
fn distance(from: &[char], to: &[char]) -> usize {
    // Three rows of the usual table: a swap looks back two rows.
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    let mut typed_before = None;
    for (row, &typed) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        let mut wanted_before = None;
        for (column, &wanted) in to.iter().enumerate() {
            let at = |line: &[usize], index: usize| line.get(index).copied().unwrap_or(usize::MAX - 1);
            let mut best = (at(&above, column) + usize::from(typed != wanted))
                .min(at(&above, column + 1) + 1)
                .min(at(&current, column) + 1);
            if typed_before == Some(wanted) && wanted_before == Some(typed) {
                best = best.min(column.checked_sub(1).map_or(best, |index| at(&before, index) + 1));
            }
            current.push(best);
            wanted_before = Some(wanted);
        }
        typed_before = Some(typed);
        before = std::mem::replace(&mut above, current);
    }
    above.last().copied().unwrap_or(from.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, among: &[&str], expected: Option<&str>) {
        assert_eq!(suggest(word, among.iter().copied()).as_deref(), expected, "for `{word}`");
    }

    #[test]
    fn the_nearest_word_wins() {
        check("hots", &["port", "host", "from"], Some("host"));
        check("drain_timout", &["restore_timeout", "drain_timeout"], Some("drain_timeout"));
        check("max_unavailable", &["maxFailures", "maxUnavailable"], Some("maxUnavailable"));
        check("Rollout", &["rollout"], Some("rollout"));
        check("ab", &["ac", "ad"], Some("ac"));
    }

    #[test]
    fn a_word_too_far_off_gets_no_suggestion() {
        check("banana", &["host", "port"], None);
        check("x", &["y"], None);
        check("", &["y"], None);
        check("host", &[], None);
        check(&"a".repeat(100_000), &["a"], None);
    }

    #[test]
    fn a_swap_counts_once() {
        let chars = |word: &str| word.chars().collect::<Vec<_>>();
        for (from, to, steps) in
            [("ab", "ba", 1), ("host", "hsot", 1), ("kitten", "sitting", 3), ("", "abc", 3)]
        {
            assert_eq!(distance(&chars(from), &chars(to)), steps, "`{from}` to `{to}`");
        }
    }
}
