//! From places counted in characters, as the YAML parser gives them, to bytes.
//! It must not know what stands there.

use std::ops::Range;

/// Every how many characters a byte position is remembered.
const STRIDE: usize = 256;

/// Converts exactly and cheaply: nothing to do for ASCII, else at most [`STRIDE`] characters are walked.
pub(super) struct Places<'a> {
    text: &'a str,
    /// Byte position of every 256th character; empty when all characters are single bytes.
    marks: Vec<u32>,
}

impl<'a> Places<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let marks = if text.is_ascii() {
            Vec::new()
        } else {
            let positions = text.char_indices().map(|(at, _)| u32::try_from(at).unwrap_or(u32::MAX));
            positions.step_by(STRIDE).collect()
        };
        Places { text, marks }
    }

    /// The byte at which the character with this number begins; the end of the text beyond it.
    pub(super) fn byte(&self, character: usize) -> usize {
        if self.marks.is_empty() {
            return character.min(self.text.len());
        }
        let Some(mark) = self.marks.get(character / STRIDE) else { return self.text.len() };
        let mark = *mark as usize;
        let rest = self.text.get(mark..).unwrap_or("");
        rest.char_indices().nth(character % STRIDE).map_or(self.text.len(), |(offset, _)| mark + offset)
    }
}

/// The span of a quoted text up to its closing quote: the parser's goes on to the end of a comment behind it.
pub(super) fn without_comment(text: &str, span: &Range<usize>) -> Range<usize> {
    let inner = text.get(span.clone()).unwrap_or("");
    let mut characters = inner.char_indices().skip_while(|(_, character)| !matches!(character, '"' | '\''));
    let Some((_, quote)) = characters.next() else { return span.clone() };
    let mut characters = characters.peekable();
    while let Some((at, character)) = characters.next() {
        if quote == '"' && character == '\\' {
            characters.next();
        } else if character == quote {
            // Two single quotes are one in the text.
            if quote == '\'' && characters.next_if(|(_, next)| *next == '\'').is_some() {
                continue;
            }
            return span.start..span.start + at + 1;
        }
    }
    span.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_text_ends_with_its_quote() {
        for (text, end) in [
            ("'a' # it's", 3),
            ("'it''s' # b", 7),
            (r#""a\" # b" # c"#, 9),
            (r#""a" # "b""#, 3),
            ("&x 'a' # b", 6),
            ("\"a\"", 3),
        ] {
            assert_eq!(without_comment(text, &(0..text.len())), 0..end, "{text}");
        }
    }

    #[test]
    fn every_character_of_mixed_text_is_found() {
        let text: String = "aé漢🦀 ".repeat(400);
        let places = Places::new(&text);
        for (number, (at, _)) in text.char_indices().enumerate() {
            assert_eq!(places.byte(number), at);
        }
        assert_eq!(places.byte(text.chars().count()), text.len());
        assert_eq!(places.byte(1 << 30), text.len());
    }
}
