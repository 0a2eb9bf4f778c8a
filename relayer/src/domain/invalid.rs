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

    /// What is wrong, without the parameter's name.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// Checks a label shown to people, 1 to `chars_max` characters. Invalid: blank, longer, a NUL, or a character that
/// makes a screen show a different text.
pub fn check_name(param: &str, name: &str, chars_max: usize) -> Result<(), Invalid> {
    if name.trim().is_empty() {
        return Err(Invalid::new(param, "must not be empty"));
    }
    if name.chars().any(reorders) {
        return Err(Invalid::new(param, "must not contain characters that override the direction of text"));
    }
    check_text(param, name, chars_max)
}

/// Bidirectional embeddings, overrides and isolates. A label in a right-to-left script needs none of them.
const fn reorders(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Refuses text over `chars_max` characters, and the NUL character, which the databases cannot store as text.
pub(super) fn check_text(param: &str, text: &str, chars_max: usize) -> Result<(), Invalid> {
    if text.chars().count() > chars_max {
        return Err(Invalid::new(param, format!("must be at most {chars_max} characters")));
    }
    if text.contains('\0') {
        return Err(Invalid::new(param, "must not contain the NUL character"));
    }
    Ok(())
}
