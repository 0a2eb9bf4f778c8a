//! The program as sBPF on LiteSVM, with the real token programs: one module for each instruction.
//!
//! `PURSER_PROGRAM_SO` names another build than the committed one.

mod support;

mod accept_admin;
mod close_agent;
mod close_draft;
mod create_agent;
mod create_operator;
mod error_codes;
mod open_draft;
mod set_operator_paused;
mod set_paused;
mod set_policy;
mod set_policy_draft;
mod transfer;
mod transfer_memo;
mod transfer_rules;
mod transfer_tags;
mod transfer_window;
mod update_operator;
mod withdraw;
mod write_draft;
