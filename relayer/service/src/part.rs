//! Something that the service depends on, and whether it works.

use purser_model::Network;
use serde::Serialize;

/// The state of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartStatus {
    Ok,
    /// Part of its work fails.
    Degraded,
    /// All of its work fails.
    Failed,
}

/// Something the service depends on, as `/readyz` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part {
    /// `database` and `tasks`; for a network `nodes`, `clock`, `websocket`, `authorities`, `sol`, `signers`.
    #[serde(rename = "part")]
    pub name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    pub status: PartStatus,
    /// What is wrong, in words that name no operator.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

impl Part {
    /// `all` says whether the problems concern the whole part.
    pub(super) fn new(
        name: &'static str,
        network: Option<Network>,
        all: bool,
        problems: Vec<String>,
    ) -> Self {
        let status = match (problems.is_empty(), all) {
            (true, _) => PartStatus::Ok,
            (false, false) => PartStatus::Degraded,
            (false, true) => PartStatus::Failed,
        };
        Self { name, network, status, problems }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.status == PartStatus::Failed
    }
}
