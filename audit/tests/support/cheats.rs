//! What a node hides, or a directory's maker changes.

use anchor_lang::Event;
use anchor_lang::prelude::Pubkey;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use purser::events::HaltSet;
use purser_audit::archive::Line;
use purser_client::UPGRADEABLE_LOADER;
use serde_json::{Value, json};

use super::{PAYEE, TestChain};

impl TestChain {
    /// Takes all but the operator's creation out of all lists, as a node does that hides an account as a whole.
    pub fn hides_the_account(&mut self) {
        self.of_operator.truncate(1);
        self.of_agent.clear();
        self.of_purse.clear();
    }

    /// Takes everything before a transaction out of all lists, as a node does that keeps the newest blocks.
    pub fn prunes_before(&mut self, signature: &str) {
        self.of_operator = from(&self.of_operator, signature);
        self.of_agent = from(&self.of_agent, signature);
        self.of_purse = from(&self.of_purse, signature);
    }

    pub fn prunes_purse_before(&mut self, signature: &str) {
        self.of_purse = from(&self.of_purse, signature);
    }

    /// Takes the dates out of all lists.
    pub fn forgets_dates(&mut self) {
        for line in self.of_operator.iter_mut().chain(&mut self.of_agent).chain(&mut self.of_purse) {
            line.block_time = None;
        }
    }

    /// The log's line of an event, which any program can write.
    pub fn event_line(&self) -> String {
        let event = HaltSet { operator: self.operator, agent: None, halted_by: None, signer: PAYEE };
        format!("Program data: {}", STANDARD.encode(event.data()))
    }

    /// The lists as they are, to be put back by [`Self::set_lists`].
    pub fn lists(&self) -> [Vec<Line>; 3] {
        [self.of_operator.clone(), self.of_agent.clone(), self.of_purse.clone()]
    }

    pub fn set_lists(&mut self, lists: [Vec<Line>; 3]) {
        [self.of_operator, self.of_agent, self.of_purse] = lists;
    }

    /// Takes a transaction out of all lists, as a node does that hides it.
    pub fn hides(&mut self, signature: &str) {
        self.of_operator.retain(|line| line.signature != signature);
        self.of_agent.retain(|line| line.signature != signature);
        self.of_purse.retain(|line| line.signature != signature);
    }

    /// Tampers with a saved file: a path inside the folder, without its ending.
    pub fn spoils(&self, file: &str, spoil: impl FnOnce(&mut Value)) {
        let path = self.folder.path().join(format!("{file}.json"));
        let mut value = serde_json::from_slice(&std::fs::read(&path).expect("it was saved")).expect("JSON");
        spoil(&mut value);
        std::fs::write(path, value.to_string()).expect("the folder is writable");
    }

    /// Tampers with the token account as it stands.
    pub fn spoils_purse(&self, spoil: impl FnOnce(&mut Vec<u8>)) {
        let purse = self.at.token_account(&self.agent);
        self.spoils(&format!("accounts/{purse}"), |snapshot| {
            let mut data =
                STANDARD.decode(snapshot["account"]["data"].as_str().expect("data")).expect("base64");
            spoil(&mut data);
            snapshot["account"]["data"] = json!(STANDARD.encode(data));
        });
    }

    /// Tampers with the program as it stands.
    pub fn spoils_program(&self, spoil: impl FnOnce(&mut [u8])) {
        let data_at = Pubkey::find_program_address(&[purser::ID.as_ref()], &UPGRADEABLE_LOADER).0;
        self.spoils(&format!("accounts/{data_at}"), |snapshot| {
            let mut data =
                STANDARD.decode(snapshot["account"]["data"].as_str().expect("data")).expect("base64");
            spoil(&mut data);
            snapshot["account"]["data"] = json!(STANDARD.encode(data));
        });
    }
}

/// A list from this transaction on.
fn from(lines: &[Line], signature: &str) -> Vec<Line> {
    lines.iter().skip_while(|line| line.signature != signature).cloned().collect()
}
