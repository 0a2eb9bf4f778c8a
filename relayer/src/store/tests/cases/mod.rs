//! The rules; `fixture` is the one of the database that this is compiled for.

use super::*;

mod accounts;
mod claims;
mod concurrency;
mod history;
mod keys;
mod leases;
mod order;
mod pending_policies;
mod quotas;
mod tags;
mod text;
mod transfers;
mod webhooks;
mod writing;
