//! Something that the service depends on, and whether it works.

use purser_model::Network;

/// The state of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartStatus {
    Ok,
    /// Part of its work fails.
    Degraded,
    /// All of its work fails.
    Failed,
}

impl PartStatus {
    /// `ok`, `degraded` or `failed`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::Failed => "failed",
        }
    }
}

/// Something the service depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// `database` and `tasks`; for a network `nodes`, `clock`, `websocket`, `authorities`, `sol`, `signers`.
    pub name: &'static str,
    pub network: Option<Network>,
    pub status: PartStatus,
    /// What is wrong, in words that name no operator.
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
