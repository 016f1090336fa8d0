//! Why a piece of the testbed could not do what a test asked.
//! It does not sort its causes: a test can only stop and show the text.

use std::fmt;

/// What every function of the testbed answers.
pub type Result<T> = std::result::Result<T, Trouble>;

/// A reason in words. `Debug` prints the words alone, so that `unwrap` in a test shows them readable.
#[derive(Clone)]
pub struct Trouble(String);

impl Trouble {
    /// A reason.
    pub fn new(words: impl Into<String>) -> Trouble {
        Trouble(words.into())
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Trouble {}

/// Adds what was being done to an error.
pub trait Context<T> {
    /// Puts `doing` before the error's own words.
    fn doing(self, doing: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn doing(self, doing: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Trouble(format!("{doing}: {error}")))
    }
}
