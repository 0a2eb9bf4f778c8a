//! Ways of cheating: the saved data of an honest operator, each time with one thing hidden or forged.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signer::Signer;

use super::{Cheat, Copy, Scene, event_line, fetched, spoils};

/// How each instruction's data begins.
const TRANSFER: [u8; 4] = [163, 52, 200, 231];
const OPEN_DRAFT: [u8; 8] = [214, 134, 134, 193, 33, 117, 94, 95];
const WRITE_DRAFT: [u8; 8] = [150, 137, 163, 44, 154, 5, 190, 188];
/// Offsets of limits and pause in an `open_draft`: after the hash and the version. A presence byte comes before each limit.
const SINGLE_IN_DRAFT: usize = 45;
const DAILY_IN_DRAFT: usize = 54;
const PAUSED_IN_DRAFT: usize = 63;
/// Where entries begin in a `write_draft`: after the hash, the start and their count.
const ENTRIES_IN_DRAFT: usize = 46;
const ENTRY_BYTES: usize = 32;
/// Offset of the amount in a `transfer`: after the discriminator, the id and the second.
const AMOUNT_IN_CALL: usize = 24;
/// Offset of the amount in the event: after discriminator, agent, number and id.
const AMOUNT_IN_EVENT: usize = 64;
/// Offsets of delegate and delegated amount in a token account.
const DELEGATE: usize = 72;
const DELEGATED: usize = 121;
const THIEF: [u8; 32] = [66; 32];
/// Offset of the single limit in an account.
const LIMIT_IN_ACCOUNT: usize = 8 + 8 + 32 + 16 + 32 + 32 + 8;

/// Dates a transaction's block so many hours earlier.
fn moves_back(transaction: &mut Value, hours: i64) {
    let date = transaction["blockTime"].as_i64().expect("a date");
    transaction["blockTime"] = json!(date - hours * 3_600);
}

impl Scene {
    /// Each cheat on its own copy of the saved data, so audit the scene first.
    pub(super) fn cheats(&self) -> Vec<Cheat> {
        let [first, second, behind_full_log, last] = [0, 1, 2, 3].map(|at| self.payments[at].as_str());
        let cheat = |found: &[_], does: &dyn Fn(&Copy)| {
            let copy = self.copy();
            does(&copy);
            Cheat { copy, found: found.to_vec() }
        };
        let mut cheats = self.stricter_policies();
        cheats.extend([
            cheat(
                &[
                    ("numbering", "Payment 3 is missing"),
                    ("balances", "what changed it is not among the transactions"),
                ],
                &|copy| copy.hides(second),
            ),
            // No payment follows it, so only the chain's current state reveals it.
            cheat(
                &[("balances", "what changed it is not"), ("state", "another one than what was signed")],
                &|copy| copy.hides(last),
            ),
            cheat(&[("log", "hides the event")], &|copy| {
                copy.spoils(first, |transaction| {
                    let (at, lines) = event_line(transaction);
                    lines.remove(at);
                });
            }),
            cheat(&[("log", "that the amount is 3.000001 USDC")], &|copy| copy.spoils(first, retells)),
            // Within the program's own frame: an event without a signed instruction.
            cheat(&[("log", "1 event(s) of the program that no instruction made")], &|copy| {
                copy.spoils(first, |transaction| {
                    let (at, lines) = event_line(transaction);
                    lines.insert(at, lines[at].clone());
                });
            }),
            cheat(&[("signatures", "not what was signed")], &|copy| {
                copy.spoils(first, |transaction| {
                    rewrites(transaction, &TRANSFER, |data| data[AMOUNT_IN_CALL] ^= 1)
                });
            }),
            cheat(&[("balances", "money left that none of them explains")], &|copy| {
                copy.spoils(first, |transaction| {
                    for balance in transaction["meta"]["postTokenBalances"].as_array_mut().expect("a list") {
                        if balance["owner"] == self.ada.address.to_string() {
                            balance["uiTokenAmount"]["amount"] = json!("90000000");
                        }
                    }
                });
            }),
            // A truncated log, presented as a complete one.
            cheat(&[("log", "hides the event")], &|copy| {
                copy.spoils(behind_full_log, |transaction| {
                    let lines = transaction["meta"]["logMessages"].as_array_mut().expect("a log");
                    assert!(lines.iter().any(|line| line == "Log truncated"), "{lines:?}");
                    lines.retain(|line| line != "Log truncated");
                });
            }),
            // What a program that was replaced for a moment leaves: signed and logged as ever, and moved to somebody else.
            cheat(&[("recipients", "the program moved")], &|copy| copy.spoils(first, moves_to_a_thief)),
            cheat(&[("recipients", "let somebody else move money of")], &|copy| {
                copy.spoils(first, approves_a_thief)
            }),
            cheat(&[("signer", "did not sign")], &|copy| {
                copy.spoils(first, |transaction| self.resumes(transaction))
            }),
            cheat(&[("dates", "The account says that the payment with tag")], &|copy| {
                copy.spoils(first, |transaction| moves_back(transaction, 2));
            }),
            // The account would have forgotten the payment by now.
            cheat(&[("dates", "The node dates the block of slot")], &|copy| {
                copy.spoils(first, |transaction| moves_back(transaction, 30));
            }),
            cheat(&[("state", "may move 1000.000000 USDC out of the token account")], &|copy| {
                let purse =
                    copy.folder.path().join("accounts").join(format!("{}.json", self.ada.token_account));
                spoils(&purse, |snapshot| {
                    let mut data =
                        STANDARD.decode(snapshot["account"]["data"].as_str().expect("data")).expect("base64");
                    data[DELEGATE] = 1;
                    data[DELEGATE + 4..][..32].copy_from_slice(&THIEF);
                    data[DELEGATED..][..8].copy_from_slice(&1_000_000_000_u64.to_le_bytes());
                    snapshot["account"]["data"] = json!(STANDARD.encode(data));
                });
            }),
            cheat(&[("state", "another one than what was signed")], &|copy| {
                let agent = copy.folder.path().join("accounts").join(format!("{}.json", self.ada.address));
                spoils(&agent, |snapshot| {
                    let data = snapshot["account"]["data"].as_str().expect("data");
                    let mut data = STANDARD.decode(data).expect("base64");
                    data[LIMIT_IN_ACCOUNT] ^= 1;
                    snapshot["account"]["data"] = json!(STANDARD.encode(data));
                });
            }),
        ]);
        cheats
    }

    /// Makes Ada's policy stricter than the signed one, one rule each: payments within the signed one now break it.
    fn stricter_policies(&self) -> Vec<Cheat> {
        type Spoils = fn(&mut [u8]);
        let stricter: [(&'static str, &'static str, [u8; 8], Spoils); 4] = [
            ("single_limit", "refuses it: at most 2.000000 USDC at once", OPEN_DRAFT, |data| {
                data[SINGLE_IN_DRAFT..][..8].copy_from_slice(&2_000_000_u64.to_le_bytes());
            }),
            ("rolling_day", "7.500000 USDC left in the 24 hours up to payment 2", OPEN_DRAFT, |data| {
                data[DAILY_IN_DRAFT..][..8].copy_from_slice(&5_000_000_u64.to_le_bytes());
            }),
            ("halted", "refuses it: the account was paused", OPEN_DRAFT, |data| data[PAUSED_IN_DRAFT] = 1),
            ("allowlist", "refuses it: its recipient is not on the allowlist", WRITE_DRAFT, |data| {
                for entry in data[ENTRIES_IN_DRAFT..].chunks_mut(ENTRY_BYTES) {
                    entry[0] ^= 1;
                }
            }),
        ];
        let cheats = stricter.into_iter().map(|(check, says, instruction, spoil)| {
            let copy = self.copy();
            let transactions =
                std::fs::read_dir(copy.folder.path().join("transactions")).expect("it was saved");
            for entry in transactions {
                let file = entry.expect("it was saved").path();
                spoils(&file, |transaction| rewrites(transaction, &instruction, spoil));
            }
            Cheat { copy, found: vec![("signatures", "not what was signed"), (check, says)] }
        });
        cheats.collect()
    }

    /// An inner call by the admin, who did not sign.
    fn resumes(&self, transaction: &mut Value) {
        let operator = self.operator.address;
        let resume = self.operator.chain.program().resume(self.app.admin().pubkey(), operator, None);
        let accounts =
            resume.accounts.iter().map(|meta| adds_key(transaction, &meta.pubkey)).collect::<Vec<_>>();
        let program = adds_key(transaction, &resume.program_id);
        let count = transaction["transaction"]["message"]["instructions"].as_array().expect("a list").len();
        let inner = transaction["meta"]["innerInstructions"].as_array_mut().expect("a list");
        let free = (0..count)
            .find(|index| inner.iter().all(|it| it["index"] != *index))
            .expect("a call without inner ones");
        inner
            .push(json!({ "index": free, "instructions": [{ "programIdIndex": program, "accounts": accounts,
            "data": bs58::encode(resume.data).into_string(), "stackHeight": 2 }] }));
    }

    /// What leaves an audit unable to tell, and what it says.
    pub(super) fn untellable(&self) -> Vec<(Copy, &'static str)> {
        let pruned = self.copy();
        let second = &self.payments[1];
        pruned.each_list(|lines| {
            if let Some(at) = lines.iter().position(|line| line["signature"] == second.as_str()) {
                lines.truncate(at + 1);
            }
        });
        let undated = self.copy();
        undated.spoils(second, |transaction| transaction["blockTime"] = Value::Null);
        undated.each_list(|lines| lines.iter_mut().for_each(|line| line["blockTime"] = Value::Null));
        vec![(pruned, "after its creation"), (undated, "does not know when")]
    }

    /// As if a program had allowed what the real one refused: a payment above the limit with real signatures.
    pub(super) async fn lets_too_much_pass(&self) -> Copy {
        let copy = self.copy();
        // The audit lists failed transactions but does not fetch them.
        let fetched = fetched(self.url(), &self.too_much).await;
        std::fs::write(copy.transaction(&self.too_much), fetched.to_string())
            .expect("the folder is writable");
        for entry in std::fs::read_dir(copy.folder.path().join("signatures")).expect("lists were saved") {
            spoils(&entry.expect("lists were saved").path(), |list| {
                for line in list.as_array_mut().expect("a list") {
                    if line["signature"] == self.too_much.as_str() {
                        line["err"] = Value::Null;
                    }
                }
            });
        }
        copy.spoils(&self.too_much, |transaction| {
            transaction["meta"]["err"] = Value::Null;
            transaction["meta"]["logMessages"] = Value::Null;
        });
        copy
    }

    /// Repeats a payment's event as another program might log it, which must change nothing. Also returns that program.
    pub(super) fn adds_a_line_of_another_program(&self) -> (Copy, &'static str) {
        const OTHER: &str = "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo";
        let copy = self.copy();
        copy.spoils(&self.payments[0], |transaction| {
            let (at, lines) = event_line(transaction);
            let event = lines[at].clone();
            let around = [format!("Program {OTHER} invoke [1]"), format!("Program {OTHER} success")];
            lines.splice(0..0, [json!(around[0]), event, json!(around[1])]);
        });
        (copy, OTHER)
    }
}

/// Adds a key behind those of the message, as lookup tables do, and returns its place.
fn adds_key(transaction: &mut Value, key: &Pubkey) -> usize {
    let own = transaction["transaction"]["message"]["accountKeys"].as_array().expect("a list").len();
    let loaded = &mut transaction["meta"]["loadedAddresses"];
    if loaded["writable"].is_null() {
        *loaded = json!({ "writable": [], "readonly": [] });
    }
    let keys = loaded["writable"].as_array_mut().expect("a list");
    keys.push(json!(key.to_string()));
    own + keys.len() - 1
}

/// The token program's transfer among the inner instructions, and the place of its recipient.
fn inner_transfer(transaction: &mut Value) -> (&mut Vec<Value>, usize, usize) {
    for inner in transaction["meta"]["innerInstructions"].as_array_mut().expect("a list") {
        let calls = inner["instructions"].as_array_mut().expect("a list");
        let number = |call: &Value| {
            bs58::decode(call["data"].as_str().unwrap_or_default()).into_vec().ok()?.first().copied()
        };
        let found = calls.iter().enumerate().find_map(|(at, call)| match number(call) {
            Some(3) => Some((at, 1)),
            Some(12) => Some((at, 2)),
            _ => None,
        });
        if let Some((at, recipient)) = found {
            return (calls, at, recipient);
        }
    }
    panic!("no transfer of the token program")
}

fn moves_to_a_thief(transaction: &mut Value) {
    let thief = adds_key(transaction, &Pubkey::new_from_array(THIEF));
    let (calls, at, recipient) = inner_transfer(transaction);
    calls[at]["accounts"][recipient] = json!(thief);
}

/// Lets the thief move money of the account from then on.
fn approves_a_thief(transaction: &mut Value) {
    let thief = adds_key(transaction, &Pubkey::new_from_array(THIEF));
    let (calls, at, recipient) = inner_transfer(transaction);
    let mut approves = calls[at].clone();
    let accounts = approves["accounts"].as_array().expect("a list");
    let (purse, owner) = (accounts[0].clone(), accounts[recipient + 1].clone());
    approves["accounts"] = json!([purse, thief, owner]);
    approves["data"] = json!(bs58::encode([&[4][..], &[255; 8]].concat()).into_string());
    calls.push(approves);
}

/// Changes the amount in the event, but not in the instruction.
fn retells(transaction: &mut Value) {
    let (at, lines) = event_line(transaction);
    let data = lines[at].as_str().expect("a line").trim_start_matches("Program data: ");
    let mut event = STANDARD.decode(data).expect("base64");
    event[AMOUNT_IN_EVENT] ^= 1;
    lines[at] = json!(format!("Program data: {}", STANDARD.encode(event)));
}

/// Replaces the signed instruction by another.
fn rewrites(transaction: &mut Value, instruction: &[u8], spoil: impl Fn(&mut [u8])) {
    for called in transaction["transaction"]["message"]["instructions"].as_array_mut().expect("a list") {
        let data = bs58::decode(called["data"].as_str().expect("base58")).into_vec();
        let mut data = data.expect("base58");
        if data.starts_with(instruction) {
            spoil(&mut data);
            called["data"] = json!(bs58::encode(data).into_string());
        }
    }
}
