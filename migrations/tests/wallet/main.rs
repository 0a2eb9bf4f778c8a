//! The binary against a real network process: what an operator does with its own wallet.

mod accounts;
mod changes;
mod docs;
mod grants;
mod money;
mod operator;
mod policy;
mod program;
mod room;
mod scripts;
mod unsigned;
mod upgrades;
