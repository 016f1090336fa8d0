//! Where lines end in a plan file: after each key at the top, and after each element of a list there. It must not know
//! which keys there are.

use std::io::{self, Write};

use serde_json::ser::Formatter;

/// Compact JSON with line breaks at the two outer levels.
#[derive(Default)]
pub(super) struct Lines {
    depth: u32,
    empty: bool,
}

/// Deeper values stand on the line of what holds them.
const BROKEN: u32 = 2;

impl Lines {
    fn open(&mut self, out: &mut (impl Write + ?Sized), bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.empty = true;
        out.write_all(bracket)
    }

    fn close(&mut self, out: &mut (impl Write + ?Sized), bracket: &[u8]) -> io::Result<()> {
        if self.depth <= BROKEN && !self.empty {
            out.write_all(b"\n")?;
        }
        self.depth = self.depth.saturating_sub(1);
        self.empty = false;
        out.write_all(bracket)
    }

    fn next(&mut self, out: &mut (impl Write + ?Sized), first: bool) -> io::Result<()> {
        self.empty = false;
        if !first {
            out.write_all(b",")?;
        }
        match self.depth {
            0..BROKEN => out.write_all(b"\n"),
            BROKEN => out.write_all(b"\n  "),
            _ if first => Ok(()),
            _ => out.write_all(b" "),
        }
    }
}

/// Whether a character can hide, reorder or break a line, or drive a terminal.
fn deceives(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

impl Formatter for Lines {
    /// JSON itself escapes only control characters below a blank. The file is printed and reviewed as it is, so that
    /// nothing in it may move a cursor, turn the direction of text or stay unseen.
    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| deceives(*c)) {
            let (before, from) = rest.split_at(at);
            out.write_all(before.as_bytes())?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = from.get(c.len_utf8()..).unwrap_or_default();
        }
        out.write_all(rest.as_bytes())
    }

    fn begin_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"]")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.next(out, first)
    }

    fn end_array_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.empty = false;
        Ok(())
    }

    fn begin_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"}")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.next(out, first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn end_object_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.empty = false;
        Ok(())
    }
}
