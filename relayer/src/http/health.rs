//! `GET /healthz`: the process answers, and what keeps it from serving. Needs no key, so it names no operator.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use serde::Serialize;

use crate::chain::{Authority, KeyProblem};
use crate::service::Signers;

#[derive(Serialize)]
pub(super) struct HealthBody {
    status: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<ProblemBody>,
}

#[derive(Serialize)]
#[serde(tag = "code", rename_all = "snake_case")]
enum ProblemBody {
    FeePayerEmpty { network: &'static str, address: String },
    AuthorityRotated { network: &'static str, role: &'static str, operators: usize },
}

/// 200 whatever is wrong: starting again would mend none of it.
pub(super) async fn get(State(signers): State<Signers>) -> Json<HealthBody> {
    let mut problems = Vec::new();
    let mut rotated: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (network, problem) in signers.problems() {
        let network = network.as_str();
        match problem {
            KeyProblem::FeePayerEmpty { address, .. } => {
                problems.push(ProblemBody::FeePayerEmpty { network, address: address.to_string() });
            }
            KeyProblem::AuthorityRotated { role, .. } => {
                let role = match role {
                    Authority::Policy => "policy_authority",
                    Authority::Transfer => "transfer_authority",
                };
                *rotated.entry((network, role)).or_default() += 1;
            }
            KeyProblem::FeePayerLow { .. } => {}
        }
    }
    let rotated = rotated.into_iter();
    problems.extend(rotated.map(|((network, role), operators)| ProblemBody::AuthorityRotated {
        network,
        role,
        operators,
    }));
    let status = if problems.is_empty() { "ok" } else { "degraded" };
    Json(HealthBody { status, problems })
}
