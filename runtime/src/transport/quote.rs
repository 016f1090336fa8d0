//! The one function that turns a value into a word of the shell language. Everything that is sent to a shell goes
//! through it or is a constant. It must not know what the word is for.

/// A value that cannot be passed to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a value with a NUL byte cannot be passed to a command")]
pub struct HasNul;

/// A value as one word for a POSIX shell, whatever is in it: between single quotes nothing has a meaning but the single
/// quote itself, which is put between double quotes.
///
/// # Errors
/// When it holds a NUL byte, which no argument can.
pub fn quote(value: &str) -> Result<String, HasNul> {
    if value.contains('\0') {
        return Err(HasNul);
    }
    Ok(format!("'{}'", value.replace('\'', r#"'"'"'"#)))
}

/// Values as words, separated by blanks.
///
/// # Errors
/// As [`quote`].
pub(super) fn words<'a>(values: impl IntoIterator<Item = &'a str>) -> Result<String, HasNul> {
    Ok(values.into_iter().map(quote).collect::<Result<Vec<_>, _>>()?.join(" "))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    /// Prints its arguments with NUL after each: what the shell understood.
    fn understood(shell: &str, line: &str) -> Vec<u8> {
        let mut child = Command::new(shell)
            .args(["-s"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("`{shell}` is needed for this test: install package {shell} ({error})")
            });
        let mut input = child.stdin.take().unwrap();
        let script = format!("exec printf '%s\\0' {line}\n");
        let writer = std::thread::spawn(move || input.write_all(script.as_bytes()));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        assert!(output.status.success(), "{shell}: {output:?}");
        output.stdout
    }

    /// A small generator of our own, so that a failing round is the same again.
    struct Chance(u64);

    impl Chance {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(self.0 >> 33).unwrap() % limit
        }
    }

    fn hostile(chance: &mut Chance) -> String {
        const PIECES: [&str; 48] = [
            "'",
            "\"",
            "\\",
            "`",
            "$",
            "$(",
            ")",
            "${IFS}",
            ";",
            "&",
            "|",
            "<",
            ">",
            "\n",
            "\r",
            "\t",
            " ",
            "*",
            "?",
            "[",
            "]",
            "{",
            "}",
            "(",
            "!",
            "#",
            "~",
            "%",
            "^",
            "=",
            "-",
            "--",
            "\\'",
            "'\\''",
            "$'",
            "\u{1}",
            "\u{7f}",
            "\u{1b}[2J",
            "é",
            "日本",
            "\u{202e}",
            "\u{85}",
            "rm -rf /",
            "$(reboot)",
            "a",
            "Z",
            "0",
            "\\\n",
        ];
        (0..chance.below(12)).map(|_| PIECES[chance.below(PIECES.len())]).collect()
    }

    #[test]
    fn hostile_values_reach_real_shells_as_they_are() {
        let mut chance = Chance(7);
        for shell in ["dash", "bash"] {
            for _ in 0..60 {
                let values: Vec<String> = (0..400).map(|_| hostile(&mut chance)).collect();
                let line = words(values.iter().map(String::as_str)).unwrap();
                let expected: Vec<u8> =
                    values.iter().flat_map(|value| [value.as_bytes(), b"\0"].concat()).collect();
                assert!(understood(shell, &line) == expected, "{shell}");
            }
        }
    }

    #[test]
    fn every_single_character_is_kept() {
        let all: Vec<String> = (1..=0x2ff_u32).filter_map(char::from_u32).map(String::from).collect();
        let line = words(all.iter().map(String::as_str)).unwrap();
        let expected: Vec<u8> = all.iter().flat_map(|value| [value.as_bytes(), b"\0"].concat()).collect();
        for shell in ["dash", "bash"] {
            assert!(understood(shell, &line) == expected, "{shell}");
        }
    }

    #[test]
    fn a_nul_byte_is_refused() {
        assert_eq!(quote("a\0b"), Err(HasNul));
        assert_eq!(words(["a", "\0"]), Err(HasNul));
        assert_eq!(words(["", "it's"]).unwrap(), r#"'' 'it'"'"'s'"#);
    }
}
