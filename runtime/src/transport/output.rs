//! What commands print: bounded while it is read, and made harmless where people see it.
//! It must not interpret it.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::KEPT;

/// Room beside the tail for the line with which the ledger begins its answer.
const LINE: usize = 1024;

/// Reads a stream to its end and keeps its tail.
pub(super) async fn tail(mut stream: impl AsyncRead + Unpin) -> std::io::Result<Vec<u8>> {
    let mut kept: VecDeque<u8> = VecDeque::new();
    let mut piece = vec![0_u8; 16 * 1024];
    loop {
        let read = stream.read(&mut piece).await?;
        if read == 0 {
            return Ok(kept.into());
        }
        kept.extend(piece.iter().take(read));
        let over = kept.len().saturating_sub(KEPT + LINE);
        drop(kept.drain(..over));
    }
}

/// As text; what is not UTF-8 becomes a replacement character.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Text from outside on one line for people: control characters as codes, at most so many characters.
#[must_use]
pub fn shown(text: &str, limit: usize) -> String {
    let mut line = String::new();
    for (at, character) in text.trim_end().chars().enumerate() {
        if at >= limit {
            line.push('…');
            break;
        }
        // Also marks that turn the direction of text, which could make a line read as another one.
        let turns =
            matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}');
        if character.is_control() || turns {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_as_codes() {
        assert_eq!(shown("\u{1b}[31mred\r\nnext\u{7}\n", 80), "\\u{1b}[31mred\\r\\nnext\\u{7}");
        assert_eq!(shown("a\u{202e}b\u{9b}c", 80), "a\\u{202e}b\\u{9b}c");
        assert_eq!(shown("été", 2), "ét…");
        for code in (0..0x20).chain(0x7f..0xa0) {
            let payload = format!("x{}y", char::from_u32(code).unwrap());
            assert!(!shown(&payload, 80).chars().any(char::is_control), "{code:x}");
        }
    }

    #[tokio::test]
    async fn only_the_tail_of_a_long_stream_is_kept() {
        let long: Vec<u8> = (0..300_000_u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let kept = tail(&long[..]).await.unwrap();
        assert_eq!(kept, long[long.len() - KEPT - LINE..]);
    }
}
