//! Words from outside made fit for people: bounded, on one line, without control characters and without secrets.
//! It must not know where the words come from.

use crate::secrets::Secret;

/// Text from outside for a message: control and direction characters become codes, and it is cut after `most`
/// characters.
pub(crate) fn shown(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for (count, character) in text.trim().chars().enumerate() {
        if count == most {
            shown.push('…');
            break;
        }
        if deceives(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Whether a character can hide, reorder or break a line, or drive a terminal.
fn deceives(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The end of a text from outside, where the reason usually stands; at most `most` characters, fit for a message.
pub(crate) fn last(text: &str, most: usize) -> String {
    let count = text.chars().count();
    let cut: String = text.chars().skip(count.saturating_sub(most)).collect();
    let lines: Vec<&str> = cut.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let shown = shown(&lines.join(" | "), most.saturating_mul(2));
    if count > most { format!("…{shown}") } else { shown }
}

/// The innermost cause of an error, which says more than the error itself.
pub(crate) fn cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    shown(&cause.to_string(), 200)
}

/// Values that no message may contain.
#[derive(Default)]
pub(crate) struct Hidden(Vec<Secret>);

impl Hidden {
    /// Hides a value, and the forms in which an answer can repeat it.
    pub(crate) fn add(&mut self, value: &str) {
        if value.is_empty() {
            return;
        }
        let json = serde_json::to_string(value).unwrap_or_default();
        let percent = super::url::encoded(value);
        let forms = [value.to_owned(), json.trim_matches('"').to_owned(), percent];
        self.0.extend(forms.into_iter().map(Secret::new));
        // A short value may be part of a longer one, which has to go first.
        self.0.sort_by_key(|form| std::cmp::Reverse(form.reveal().len()));
    }

    /// The text with every hidden value replaced.
    pub(crate) fn cleaned(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, form| text.replace(form.reveal(), "[hidden]"))
    }
}

/// How deep the lists and objects of a JSON text lie inside each other, without reading it otherwise.
pub(crate) fn json_depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_direction_characters_become_codes() {
        assert_eq!(shown("a\u{1b}[31m\r\nb\u{202e}c", 60), "a\\u{1b}[31m\\u{d}\\u{a}b\\u{202e}c");
        assert_eq!(shown("  ä → ok  ", 60), "ä → ok");
        assert_eq!(shown("12345", 3), "123…");
    }

    #[test]
    fn every_form_of_a_hidden_value_is_replaced() {
        let mut hidden = Hidden::default();
        hidden.add("pa\"ss wörd");
        hidden.add("pa");
        for form in ["pa\"ss wörd", "pa\\\"ss wörd", "pa%22ss%20w%C3%B6rd"] {
            assert_eq!(hidden.cleaned(&format!("<{form}>")), "<[hidden]>");
        }
    }

    #[test]
    fn depth_ignores_brackets_in_strings() {
        for (text, depth) in [(r#"[{"a":[1]}]"#, 3), (r#""[[[[\"[[""#, 0), ("[[[", 3), ("]]][", 1)] {
            assert_eq!(json_depth(text.as_bytes()), depth, "{text}");
        }
    }
}
