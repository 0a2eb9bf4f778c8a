//! One error for the whole binary: a single line that says what failed and, where there is one, the way out.

use std::fmt;

/// What the user reads after `error:`; always one line.
#[derive(Debug)]
pub struct Error(String);

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn new(message: impl fmt::Display) -> Self {
        let text = message.to_string();
        Self(text.lines().next().unwrap_or("unknown error").trim_end_matches(':').to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Adds what was being done to a foreign error.
pub trait Context<T> {
    fn context(self, doing: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, doing: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Error::new(format!("{doing}: {error}")))
    }
}
