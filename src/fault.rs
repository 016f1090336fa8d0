//! The error that ends a verb: what is wrong, why, and what to do next, with the exit code that belongs to it.
//! It must not print; `console` does.

use crate::exit::Exit;

/// Why a verb could not do its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The exit code.
    pub(crate) exit: Exit,
    /// What is wrong: lower case, no final period, the user's text in backticks.
    pub(crate) message: String,
    /// What led to it, outermost first.
    pub(crate) causes: Vec<String>,
    /// An action, where one helps.
    pub(crate) help: Option<String>,
    /// Diagnostics were printed already: nothing more is to be said to a person.
    pub(crate) told: bool,
    /// The diagnostics, for `--json`.
    pub(crate) diagnostics: Vec<serde_json::Value>,
}

impl Fault {
    /// A fault with an exit code of its own.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Fault {
        Fault {
            exit,
            message: message.into(),
            causes: Vec::new(),
            help: None,
            told: false,
            diagnostics: Vec::new(),
        }
    }

    /// Exit code 1.
    pub(crate) fn error(message: impl Into<String>) -> Fault {
        Fault::new(Exit::Error, message)
    }

    /// Exit code 2: the user's input is at fault.
    pub(crate) fn input(message: impl Into<String>) -> Fault {
        Fault::new(Exit::Input, message)
    }

    /// Adds the action that helps.
    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Fault {
        self.help = Some(help.into());
        self
    }

    /// Adds what led to it, with everything that led to that.
    #[must_use]
    pub(crate) fn because(mut self, cause: &dyn std::error::Error) -> Fault {
        let mut next = Some(cause);
        while let Some(cause) = next {
            let text = cause.to_string();
            // Some errors repeat their source in their own text.
            if !self.causes.last().is_some_and(|last| last.contains(&text)) {
                self.causes.push(text);
            }
            next = cause.source();
        }
        self
    }

    /// What stands on stdout with `--json` in place of the answer.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "error": {
                "exit_code": self.exit.code(),
                "message": self.message,
                "causes": self.causes,
                "help": self.help,
                "diagnostics": self.diagnostics,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_listed_once() {
        let inner = std::io::Error::other("no space");
        let fault = Fault::error("cannot write `a`").because(&inner);
        assert_eq!(fault.causes, ["no space"]);
    }
}
