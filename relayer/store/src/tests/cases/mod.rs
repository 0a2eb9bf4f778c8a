//! The rules; `fixture` belongs to the database under test.

use super::*;

mod accounts;
mod actions;
mod chain_wins;
mod claims;
mod cleaning;
mod co_signatures;
mod concurrency;
mod denials;
mod duplicates;
mod facts;
mod grants_opened;
mod history;
mod keys;
mod leases;
mod order;
mod passkeys;
mod payments;
mod pending_policies;
mod policy_versions;
mod quotas;
mod requests;
mod sessions;
mod streams;
mod text;
mod transfer_sums;
mod transfers;
mod webhooks;
mod writing;
