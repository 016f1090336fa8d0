//! The form that a setting needs its secret to have. Errors say what was expected and never what was found.

/// The form of a secret's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `user:password`, on one line.
    UserPassword,
    /// A token for a header: visible ASCII on one line.
    Token,
    /// A private key in PEM or OpenSSH form.
    PrivateKey,
    /// A password: one line.
    Line,
}

impl Form {
    /// What the form asks for, in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Form::UserPassword => "`user:password` on one line",
            Form::Token => "a token: one line of visible characters",
            Form::PrivateKey => "a private key that begins with `-----BEGIN`",
            Form::Line => "one line that is not empty",
        }
    }

    /// Whether a value has the form.
    #[must_use]
    pub fn fits(self, value: &str) -> bool {
        let line = !value.is_empty() && !value.chars().any(char::is_control);
        match self {
            Form::UserPassword => {
                // A JSON object has a colon, too, and is what stores hand out when a field is forgotten.
                let object = value.trim_start().starts_with(['{', '[']);
                line && !object && value.split_once(':').is_some_and(|(user, _)| !user.is_empty())
            }
            Form::Token => !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic()),
            Form::PrivateKey => {
                value.trim_start().starts_with("-----BEGIN ") && value.contains("PRIVATE KEY-----")
            }
            Form::Line => line,
        }
    }
}
