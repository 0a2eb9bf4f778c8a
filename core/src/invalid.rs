use std::fmt;
use std::str::FromStr;

/// A value that the API does not accept: which parameter, and what would be valid. Answered as 400 `invalid_request`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{param}` {message}")]
pub struct Invalid {
    param: String,
    message: String,
}

impl Invalid {
    /// `message` completes the sentence that begins with the parameter's name: "must be ...".
    pub fn new(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self { param: param.into(), message: message.into() }
    }

    /// Reads a value from its text. Invalid: the text is none, and the message is what the value's own error says.
    pub fn unless<T: FromStr<Err: fmt::Display>>(param: &str, text: &str) -> Result<T, Self> {
        text.parse().map_err(|error: T::Err| Self::new(param, error.to_string()))
    }

    /// The parameter as the client named it, with a path where it is nested: `allowed_counterparties[3]`.
    pub fn param(&self) -> &str {
        &self.param
    }

    /// The same error for a field of the parameter `object`.
    pub fn within(self, object: &str) -> Self {
        let param = match self.param.as_str() {
            "body" => object.to_owned(),
            param => format!("{object}.{param}"),
        };
        Self { param, ..self }
    }

    /// Reads back the error of a value that parses itself, from the text of a JSON parser's error. `None`: the parser's own.
    pub fn from_parser(text: &str) -> Option<Self> {
        let (param, message) = text.strip_prefix('`')?.split_once("` ")?;
        Some(Self::new(param, message))
    }

    /// What is wrong, without the parameter's name.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// Refuses text over `chars_max` characters, and the NUL character, which the databases cannot store as text.
pub fn check_text(param: &str, text: &str, chars_max: usize) -> Result<(), Invalid> {
    if text.chars().count() > chars_max {
        return Err(Invalid::new(param, format!("must be at most {chars_max} characters")));
    }
    if text.contains('\0') {
        return Err(Invalid::new(param, "must not contain the NUL character"));
    }
    Ok(())
}
