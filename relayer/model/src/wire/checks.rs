use serde::Serialize;
use utoipa::ToSchema;

use super::schema::{Text, Usdc};
use crate::{CheckedRule, Checks, Limit, RuleCheck};

/// One entry of `checks`: how a rule judged a transfer. Amounts are decimal strings.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Check)]
pub struct CheckBody {
    rule: CheckedRule,
    /// Whether the rule allows the transfer.
    ok: bool,
    /// What the rule allows at most; of `balance`, what there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    limit: Option<Usdc>,
    /// What already counts against the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    used: Option<Usdc>,
    /// What the limit left before this transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    remaining: Option<Usdc>,
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
            Limit::AtMost(limit) => (Some(limit.into()), Some(check.used.into())),
        };
        Self { rule: check.rule, ok: check.ok, limit, used, remaining: check.remaining().map(Text) }
    }
}
