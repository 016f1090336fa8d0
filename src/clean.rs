//! Text that came from elsewhere, made safe to print: control characters are shown as codes, so that no answer of a load
//! balancer and no output of a target can move the cursor, forge a line or hide text.
//! It must not know where the text came from.

/// One line: every control character becomes a code, line breaks too.
pub(crate) fn line(text: &str) -> String {
    clean(text, |_| false)
}

/// Several lines: line breaks stay.
pub(crate) fn lines(text: &str) -> String {
    clean(text, |c| c == '\n')
}

/// Several lines that we coloured ourselves: line breaks and colour sequences stay (`ESC [ digits m`), nothing else does.
pub(crate) fn coloured(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        let (before, from) = rest.split_at(at);
        out.push_str(&lines(before));
        let length = colour_sequence(from);
        if length == 0 {
            out.push_str("\\u{1b}");
            rest = from.get(1..).unwrap_or_default();
        } else {
            let (sequence, after) = from.split_at(length);
            out.push_str(sequence);
            rest = after;
        }
    }
    out.push_str(&lines(rest));
    out
}

/// Length of the colour sequence at the start; 0 when it is something else.
fn colour_sequence(text: &str) -> usize {
    let Some(body) = text.strip_prefix("\u{1b}[") else { return 0 };
    let length = body.bytes().take_while(|b| b.is_ascii_digit() || *b == b';').count();
    if body.as_bytes().get(length) == Some(&b'm') { length + 3 } else { 0 }
}

/// JSON text with every such character as `\uXXXX`: JSON itself escapes only those below a blank, and a terminal obeys some
/// above. They stand inside of strings only, since JSON has none elsewhere, so that the value stays the same.
pub(crate) fn json(text: &str) -> String {
    if !text.chars().any(hidden) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

fn clean(text: &str, stays: impl Fn(char) -> bool) -> String {
    if !text.chars().any(|c| hidden(c) && !stays(c)) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if stays(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if hidden(c) => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// Control characters, and the marks that reorder text, separate lines without being one, or cannot be seen: two names
/// that look alike must be alike.
pub(crate) fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_codes() {
        assert_eq!(line("a\u{1b}[2Jb\nc\u{7}"), "a\\u{1b}[2Jb\\nc\\u{7}");
        assert_eq!(line("a\u{9b}31mb\u{202e}c"), "a\\u{9b}31mb\\u{202e}c");
        assert_eq!(lines("a\r\nb"), "a\\r\nb");
        assert_eq!(line("grün 東京"), "grün 東京");
    }

    #[test]
    fn what_cannot_be_seen_becomes_codes() {
        assert_eq!(line("w\u{200b}eb\u{61c}1\u{e0041}"), "w\\u{200b}eb\\u{61c}1\\u{e0041}");
    }

    #[test]
    fn json_says_the_same_without_them() {
        let value = "a\u{9b}2J\u{7f}\u{202e}\u{2028}\u{e0041}\u{1b}\n grün 💣";
        let text = serde_json::to_string(value).unwrap();
        let safe = json(&text);
        assert!(!safe.chars().any(hidden), "{safe}");
        assert!(safe.contains("grün 💣"), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), value);
    }

    #[test]
    fn only_colours_survive() {
        assert_eq!(coloured("\u{1b}[31mred\u{1b}[0m"), "\u{1b}[31mred\u{1b}[0m");
        assert_eq!(coloured("\u{1b}[2J\u{1b}]0;title\u{7}"), "\\u{1b}[2J\\u{1b}]0;title\\u{7}");
        assert_eq!(coloured("\u{1b}"), "\\u{1b}");
    }

    #[test]
    fn five_hundred_payloads_leave_no_raw_control_byte() {
        for number in 0..500u32 {
            let control = char::from_u32(number % 32).unwrap();
            let text = format!("{control}[{number}m\u{9b}{control}K\u{7f}");
            assert!(!line(&text).chars().any(char::is_control), "{number}");
        }
    }
}
