use std::fmt;

words! {
    /// Whose key halted an account or an operator.
    pub enum HaltedBy = "HaltedBy": "Whose key halted." {
        Admin = "admin",
        PolicyAuthority = "policy_authority",
        Guardian = "guardian",
    }
}

impl HaltedBy {
    /// For a sentence.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Admin => "the admin",
            Self::PolicyAuthority => "the policy authority",
            Self::Guardian => "the guardian",
        }
    }
}

words! {
    /// What a halt stops.
    pub enum HaltScope = "HaltScope": "What is halted." {
        Account = "account",
        /// Every account of the operator.
        Operator = "operator",
    }
}

/// A halt in force. It is separate from the policy, and only the admin lifts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Halt {
    pub by: HaltedBy,
    pub scope: HaltScope,
}

impl Halt {
    /// The halt that stops an account, if any. When both are halted, reports the operator's halt.
    pub fn of(operator: Option<HaltedBy>, account: Option<HaltedBy>) -> Option<Self> {
        let of_operator = operator.map(|by| Self { by, scope: HaltScope::Operator });
        of_operator.or(account.map(|by| Self { by, scope: HaltScope::Account }))
    }
}

/// For somebody who wanted to pay: what is halted, by whom, and who can lift it.
impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = self.by.in_words();
        match self.scope {
            HaltScope::Account => write!(
                f,
                "The account has been halted by {by}. Only the operator's admin can resume it, with its own wallet \
                 (`anchor run resume`)."
            ),
            HaltScope::Operator => write!(
                f,
                "The operator with all of its accounts has been halted by {by}. Only the operator's admin can resume \
                 them, with its own wallet (`anchor run resume-all`)."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halt_of_the_operator_is_named_first() {
        assert_eq!(Halt::of(None, None), None);
        let account = Halt::of(None, Some(HaltedBy::Guardian)).expect("halted");
        assert_eq!((account.scope, account.by), (HaltScope::Account, HaltedBy::Guardian));
        assert!(
            account.to_string().contains("halted by the guardian") && account.to_string().contains("resume`")
        );
        let both = Halt::of(Some(HaltedBy::PolicyAuthority), Some(HaltedBy::Guardian)).expect("halted");
        assert_eq!((both.scope, both.by), (HaltScope::Operator, HaltedBy::PolicyAuthority));
        assert!(both.to_string().contains("`anchor run resume-all`"));
    }
}
