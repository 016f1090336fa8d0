//! Secrets: resolved as late as possible, into a type that cannot be printed. No value, nor a piece of one, may appear
//! in an error, a log, the journal, an argument or the environment of a child.

mod form;
mod resolve;

pub use form::Form;
pub use resolve::{Refused, Secrets};

/// The value of a secret. It has no `Debug`, no `Display` and no `Clone`, and its memory is wiped when it goes.
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    #[must_use]
    pub fn new(value: String) -> Secret {
        Secret(value)
    }

    /// The value, for the one place that has to send it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        // Not `unsafe`: the bytes of the string are taken over and overwritten. The hint keeps the writes from being
        // optimised away.
        let mut bytes = std::mem::take(&mut self.0).into_bytes();
        bytes.fill(0);
        std::hint::black_box(&bytes);
    }
}

#[cfg(test)]
mod tests;
