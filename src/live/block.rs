//! A block of lines on a terminal that is drawn again in place.
//! It must not know what the lines say; they are cleaned here once more and cut to the width.

use std::io::{self, Write};

use crate::clean;

/// The block on stderr.
#[derive(Debug, Default)]
pub(crate) struct Block {
    drawn: usize,
}

impl Block {
    /// Draws the lines over the last ones. What does not fit on the screen is left out from the top, so that the newest
    /// stays in sight.
    pub(crate) fn draw(&mut self, lines: &[String], size: (usize, usize)) {
        let (width, height) = size;
        let from = lines.len().saturating_sub(height.saturating_sub(1).max(1));
        let mut text = String::new();
        self.rewind(&mut text);
        let shown = lines.get(from..).unwrap_or_default();
        for line in shown {
            text.push_str(&cut(&clean::coloured(line), width));
            text.push('\n');
        }
        self.drawn = shown.len();
        write(&text);
    }

    /// Takes the block away, so that something else can be printed.
    pub(crate) fn clear(&mut self) {
        let mut text = String::new();
        self.rewind(&mut text);
        self.drawn = 0;
        write(&text);
    }

    fn rewind(&self, text: &mut String) {
        if self.drawn > 0 {
            text.push_str(&format!("\u{1b}[{}A\u{1b}[J", self.drawn));
        }
    }
}

fn write(text: &str) {
    let mut stderr = io::stderr().lock();
    // Deliberately ignored: a terminal that is gone must not stop a run.
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// The first `width` characters, colour sequences not counted and closed at the end.
fn cut(line: &str, width: usize) -> String {
    let mut out = String::with_capacity(line.len());
    let mut shown = 0;
    let mut coloured = false;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            coloured = true;
            out.push(c);
            for c in chars.by_ref() {
                out.push(c);
                if c == 'm' {
                    break;
                }
            }
            continue;
        }
        if shown == width {
            break;
        }
        shown += 1;
        out.push(c);
    }
    if coloured {
        out.push_str("\u{1b}[0m");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_without_breaking_colours() {
        assert_eq!(cut("abcdef", 3), "abc");
        assert_eq!(cut("\u{1b}[31mabcdef\u{1b}[0m", 3), "\u{1b}[31mabc\u{1b}[0m");
        assert_eq!(cut("ab", 3), "ab");
    }
}
