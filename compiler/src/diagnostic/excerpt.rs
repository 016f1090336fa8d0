//! The source as a person looks at it: overlong lines cut around what is underlined, so that one line of a generated file
//! does not fill the terminal. Lines and columns stay those of the file. It must not know what a finding means.

use miette::{
    LabeledSpan, MietteError, MietteSpanContents, NamedSource, SourceCode, SourceSpan, SpanContents,
};

/// Bytes of a line that are shown.
const LONGEST: usize = 200;
/// Of them before what is underlined.
const BEFORE: usize = 60;
const CUT: &str = "…";

/// A file, and where its lines were cut.
pub(super) struct Excerpt {
    source: NamedSource<String>,
    cuts: Vec<Cut>,
}

/// A line of which only a part is shown.
struct Cut {
    /// Where the line begins in the file, and where the next one does.
    line: (usize, usize),
    /// What is shown of it, in the file.
    shown: (usize, usize),
    /// Where what is shown begins in the excerpt, behind the mark of the cut.
    at: usize,
}

impl Excerpt {
    /// The source for these labels, which are moved to where their text is now.
    pub(super) fn new(name: &str, text: &str, labels: &mut [LabeledSpan]) -> Excerpt {
        // Only what is drawn is looked at: a file may be large, and its findings many.
        let drawn = drawn(text, labels);
        let lines = || text.get(drawn.clone()).unwrap_or_default().split_inclusive(['\n', '\r']);
        if lines().all(|line| line.len() <= LONGEST) {
            return Excerpt { source: NamedSource::new(name, text.to_owned()), cuts: Vec::new() };
        }
        let mut kept = text.get(..drawn.start).unwrap_or_default().to_owned();
        let mut cuts = Vec::new();
        let mut moved: Vec<(usize, usize)> =
            labels.iter().map(|label| (label.offset(), label.offset() + label.len())).collect();
        let ends = moved.clone();
        let mut start = drawn.start;
        for line in lines() {
            let next = start + line.len();
            let body = line.trim_end_matches(['\n', '\r']);
            let inside = |at: usize| start <= at && at < next.max(start + 1);
            let (mut from, mut to) = (start, start + body.len());
            if line.len() > LONGEST {
                let first = ends.iter().map(|(begin, _)| *begin).filter(|begin| inside(*begin)).min();
                from = floor(text, first.unwrap_or(start).saturating_sub(BEFORE).max(start).min(to));
                to = floor(text, (from + LONGEST).min(to));
            }
            if from > start {
                kept.push_str(CUT);
            }
            let at = kept.len();
            kept.push_str(text.get(from..to).unwrap_or_default());
            let place = |position: usize| at + position.clamp(from, to) - from;
            for ((begin, end), (old_begin, old_end)) in moved.iter_mut().zip(&ends) {
                if inside(*old_begin) || (next == text.len() && *old_begin == next) {
                    *begin = place(*old_begin);
                }
                if (start < *old_end && *old_end <= next) || (old_begin == old_end && inside(*old_end)) {
                    *end = place(*old_end);
                }
            }
            if to < start + body.len() {
                kept.push_str(CUT);
            }
            kept.push_str(line.get(body.len()..).unwrap_or_default());
            if from > start {
                cuts.push(Cut { line: (start, next), shown: (from, to), at });
            }
            start = next;
        }
        kept.push_str(text.get(drawn.end..).unwrap_or_default());
        for (label, (begin, end)) in labels.iter_mut().zip(moved) {
            *label = LabeledSpan::new(label.label().map(str::to_owned), begin, end.saturating_sub(begin));
        }
        Excerpt { source: NamedSource::new(name, kept), cuts }
    }
}

/// The lines of all labels, with one before and one after.
fn drawn(text: &str, labels: &[LabeledSpan]) -> std::ops::Range<usize> {
    let first = labels.iter().map(LabeledSpan::offset).min().unwrap_or_default();
    let last = labels.iter().map(|label| label.offset() + label.len()).max().unwrap_or_default();
    let line_before = |at: usize| text.get(..at).and_then(|text| text.rfind('\n'));
    let line_after = |at: usize| text.get(at..).and_then(|text| text.find('\n')).map(|found| at + found + 1);
    let start = line_before(first).and_then(line_before).map_or(0, |at| at + 1);
    let end = line_after(last).and_then(line_after).unwrap_or(text.len());
    start..end
}

/// The nearest place at or before `at` where a character begins.
fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let read = self.source.read_span(span, before, after)?;
        // A column is only stated for what is underlined, and counted from the start of the line in the file.
        let at = read.span().offset();
        let cut = self.cuts.iter().find(|cut| cut.at <= at && at <= cut.at + (cut.shown.1 - cut.shown.0));
        let column = match cut {
            Some(cut) if read.column() > 0 => cut.shown.0 + (at - cut.at) - cut.line.0,
            Some(_) | None => read.column(),
        };
        let name = read.name().unwrap_or_default().to_owned();
        Ok(Box::new(MietteSpanContents::new_named(
            name,
            read.data(),
            *read.span(),
            read.line(),
            column,
            read.line_count(),
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What miette reads for the first label: its text, line and column.
    fn read(text: &str, spans: &[(usize, usize)]) -> (String, usize, usize, String) {
        let mut labels: Vec<LabeledSpan> =
            spans.iter().map(|(at, len)| LabeledSpan::new(None, *at, *len)).collect();
        let excerpt = Excerpt::new("f", text, &mut labels);
        let own = excerpt.read_span(labels[0].inner(), 0, 0).unwrap();
        let around = excerpt.read_span(labels[0].inner(), 1, 1).unwrap();
        let shown = String::from_utf8(around.data().to_vec()).unwrap();
        (String::from_utf8(own.data().to_vec()).unwrap(), own.line(), own.column(), shown)
    }

    #[test]
    fn short_lines_stay_as_they_are() {
        let (own, line, column, shown) = read("a: 1\nb: two\nc: 3\n", &[(8, 3)]);
        assert_eq!((own.as_str(), line, column), ("two", 1, 3));
        assert_eq!(shown, "a: 1\nb: two\nc: 3\n");
    }

    #[test]
    fn a_long_line_is_cut_around_the_label_and_keeps_its_column() {
        for (fill, end) in [("ö", "\n"), ("x", "\r\n"), ("💣", "\r"), ("x", "")] {
            let before = format!("{}{end}k: {}", fill.repeat(400), fill.repeat(500));
            let text = format!("{before}WRONG{}{end}last: 1{end}", fill.repeat(500));
            let (own, line, column, shown) = read(&text, &[(before.len(), 5)]);
            let row = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
            assert_eq!((own.as_str(), column), ("WRONG", before.len() - row), "{end:?}");
            assert_eq!(line, usize::from(!end.is_empty()));
            assert!(shown.len() < 4 * LONGEST && shown.contains(CUT), "{shown}");
        }
    }

    #[test]
    fn every_label_stays_inside_the_excerpt() {
        let text = format!("{}\n{}\nend\n", "a".repeat(5_000), "b".repeat(5_000));
        for (at, len) in [(0, 10_003), (4_999, 2), (5_000, 1), (9_000, 0), (text.len(), 0), (5_001, 5_000)] {
            let mut labels = vec![
                LabeledSpan::new(None, at, len),
                LabeledSpan::new(None, 100, 1),
                LabeledSpan::new(None, 9_999, 2),
            ];
            let excerpt = Excerpt::new("f", &text, &mut labels);
            for label in &labels {
                assert!(excerpt.read_span(label.inner(), 1, 1).is_ok(), "{at} {len}: {label:?}");
            }
        }
    }
}
