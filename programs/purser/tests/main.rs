//! The program as sBPF on LiteSVM, with the real token programs: one module for each instruction.
//!
//! `PURSER_PROGRAM_SO` selects a build other than the committed one.

mod support;

mod accept_admin;
mod apply_draft;
mod approvers;
mod bounds;
mod budgets;
mod called;
mod close_agent;
mod close_draft;
mod closed_agents;
mod create_agent;
mod create_operator;
mod decisions;
mod draft_writers;
mod error_codes;
mod grants;
mod halt;
mod intruder;
mod layout;
mod limits;
mod loosening;
mod numbering;
mod open_draft;
mod rent;
mod repeats;
mod revival;
mod set_paused;
mod set_policy;
mod thieves;
mod transfer;
mod transfer_memo;
mod transfer_rules;
mod transfer_tags;
mod transfer_window;
mod update_operator;
mod withdraw;
mod withdraw_token_2022;
mod write_draft;
