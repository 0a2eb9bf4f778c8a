use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::schema::{self, Usdc};
use crate::domain::{Checks, Limit, RuleCheck};

/// One entry of `checks`: how a rule judged a transfer. Amounts are decimal strings.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Check)]
pub struct CheckBody {
    #[schema(value_type = schema::CheckedRule)]
    rule: &'static str,
    /// Whether the rule allows the transfer.
    ok: bool,
    /// What the rule allows at most; of `balance`, what there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Usdc)]
    limit: Option<String>,
    /// What already counts against the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Usdc)]
    used: Option<String>,
    /// What the limit left before this transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Usdc)]
    remaining: Option<String>,
}

impl CheckBody {
    /// Every check, in order of precedence.
    pub fn list(checks: &Checks) -> Vec<Self> {
        checks.0.iter().map(Self::from).collect()
    }
}

impl From<&RuleCheck> for CheckBody {
    fn from(check: &RuleCheck) -> Self {
        let (limit, used) = match check.limit {
            Limit::Unlimited => (None, None),
            Limit::AtMost(limit) => (Some(limit.to_string()), Some(check.used.to_string())),
        };
        let remaining = check.remaining().map(|remaining| remaining.to_string());
        Self { rule: check.rule.as_str(), ok: check.ok, limit, used, remaining }
    }
}
