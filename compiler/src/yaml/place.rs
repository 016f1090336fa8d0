//! From places counted in characters, as the YAML parser gives them, to bytes.
//! It must not know what stands there.

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

#[cfg(test)]
mod tests {
    use super::*;

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
