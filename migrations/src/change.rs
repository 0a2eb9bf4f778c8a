//! The change of one transaction: previewed, printed for somebody else to sign, or carried out.

use anchor_lang::prelude::Pubkey;
use anyhow::{Result, anyhow, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};
use solana_sdk::hash::Hash;
use solana_sdk::instruction::Instruction;
use solana_sdk::message::Message;
use solana_sdk::signature::Signature;
use solana_sdk::transaction::Transaction;

use crate::effects::{self, Blockhash, Effect};
use crate::landing::{BLOCKHASH_BLOCKS, GoodUntil, Nonce};
use crate::meaning;
use crate::network::Mode;
use crate::report::{Outcome, Report};
use crate::signing::Signing;
use crate::tokens::sol;

/// One transaction that has not been sent.
pub struct Change {
    report: Report,
    instructions: Vec<Instruction>,
    /// What later transactions will change, which the chain does not show yet.
    ahead: Vec<Effect>,
    trial: Trial,
    haste: Haste,
}

/// Whether the cluster can simulate it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Trial {
    Asked,
    /// The program is not deployed yet.
    TooEarly,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Haste {
    AfterYes,
    AtOnce,
}

impl Change {
    /// `title`: what will have been done.
    pub fn new(title: impl Into<String>, instruction: Instruction) -> Self {
        Self::of(Report::new(title), instruction)
    }

    /// `report`: what is known beforehand.
    pub fn of(report: Report, instruction: Instruction) -> Self {
        Self {
            report,
            instructions: vec![instruction],
            ahead: Vec::new(),
            trial: Trial::Asked,
            haste: Haste::AfterYes,
        }
    }

    /// Adds an instruction to the same transaction.
    #[must_use]
    pub fn and(mut self, instruction: Instruction) -> Self {
        self.instructions.push(instruction);
        self
    }

    /// Adds a fact that is known beforehand.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.report = self.report.with(name, value);
        self
    }

    /// Puts an instruction before it.
    #[must_use]
    pub fn behind(mut self, first: Instruction) -> Self {
        self.instructions.insert(0, first);
        self
    }

    /// Adds what later transactions change.
    #[must_use]
    pub fn ahead(mut self, effects: Vec<Effect>) -> Self {
        self.ahead = effects;
        self
    }

    #[must_use]
    pub fn trial(mut self, trial: Trial) -> Self {
        self.trial = trial;
        self
    }

    /// Carried out without `--yes`: it only stops something, and whoever needs it is in a hurry.
    #[must_use]
    pub fn at_once(mut self) -> Self {
        self.haste = Haste::AtOnce;
        self
    }
}

impl Signing<'_> {
    /// Previews, prints or carries it out, as the command line says. `done`: what to say once it is done.
    pub async fn carry_out<F>(&self, change: Change, done: F) -> Result<Report>
    where
        F: AsyncFnOnce(Signature) -> Result<Report>,
    {
        match (self.network.mode, change.haste) {
            (Mode::Unsigned, _) => self.printed(change).await,
            (Mode::Show, Haste::AfterYes) => self.shown(change).await,
            (Mode::Do, _) | (Mode::Show, Haste::AtOnce) => {
                let sent = self.send(&change.instructions, &[]).await;
                let signature = sent.map_err(|refusal| refusal.explain(&self.address()))?;
                Ok(done(signature).await?.outcome(Outcome::Done))
            }
        }
    }

    /// What would change, as the cluster simulates it.
    pub async fn shown(&self, change: Change) -> Result<Report> {
        let effects = match change.trial {
            Trial::TooEarly => Vec::new(),
            Trial::Asked => {
                let message = self.message(&change.instructions, self.latest_blockhash().await?);
                let tried =
                    effects::of(self.network, &Transaction::new_unsigned(message), Blockhash::Any).await;
                tried.map_err(|refusal| refusal.explain(&self.address()))?
            }
        };
        let fee = sol(self.fee(&change.instructions).await?);
        let table = effects::table([effects, change.ahead].concat());
        Ok(change.report.with("fee_sol", fee).table(table).outcome(Outcome::Shown))
    }

    /// The transaction in base64, and what it does, decoded from its bytes.
    async fn printed(&self, change: Change) -> Result<Report> {
        let (message, good_until) = self.unsigned_message(&change.instructions).await?;
        let does = meaning::of(&message, &self.network.program)?;
        let tried = self.message(&change.instructions, message.recent_blockhash);
        let tried = effects::of(self.network, &Transaction::new_unsigned(tried), Blockhash::Any).await;
        // A multisig's vault may be unable to pay fees itself, so the cluster refuses what the multisig can do.
        let (effects, refused) = match tried {
            Ok(effects) => (effects, None),
            Err(refusal) => (Vec::new(), Some(refusal.explain(&self.address()).to_string())),
        };
        let fee = sol(self.fee(&change.instructions).await?);
        let report = change.report.with("signer", self.address().to_string()).with("does", does);
        let report = match good_until {
            GoodUntil::BlockHeight(height) => report.with("good_until_block_height", height).with(
                "good_for",
                format!(
                    "{BLOCKHASH_BLOCKS} blocks, a minute at most: sign and submit it at once, or have it printed with --nonce"
                ),
            ),
            GoodUntil::NonceUsed(nonce, _) => {
                report.with("good_for", format!("as long as the nonce {nonce} is not used"))
            }
        };
        Ok(report
            .with("fee_sol", fee)
            .with("refused_now", refused)
            .with("message_hash", message_hash(&message))
            .with("transaction", encoded(&Transaction::new_unsigned(message))?)
            .table(effects::table([effects, change.ahead].concat()))
            .outcome(Outcome::Printed))
    }

    async fn unsigned_message(&self, instructions: &[Instruction]) -> Result<(Message, GoodUntil)> {
        let Some(address) = self.network.nonce else {
            let message = self.message(instructions, self.latest_blockhash().await?);
            return Ok((message, GoodUntil::from_now(self.network).await?));
        };
        let nonce = self.network.account(&address).await?.and_then(|account| Nonce::read(&account));
        let nonce =
            nonce.ok_or_else(|| anyhow!("--nonce {address} is not a durable nonce account in use"))?;
        let signer = self.address();
        ensure!(
            nonce.authority == signer,
            "the nonce {address} is used by {} alone, and {signer} signs this",
            nonce.authority
        );
        let priced = self.priced(instructions);
        let mut message = Message::new_with_nonce(priced, Some(&signer), &address, &signer);
        message.recent_blockhash = nonce.value;
        Ok((message, GoodUntil::NonceUsed(address, nonce.value)))
    }
}

/// The hash that hardware wallets show for a message that they cannot read: SHA-256, in base58.
pub fn message_hash(message: &Message) -> String {
    Hash::new_from_array(Sha256::digest(message.serialize()).into()).to_string()
}

pub fn encoded(transaction: &Transaction) -> Result<String> {
    Ok(BASE64_STANDARD.encode(bincode::serialize(transaction)?))
}

/// The account whose durable nonce replaces a blockhash.
pub fn nonce_of(message: &Message) -> Option<Pubkey> {
    let first = message.instructions.first()?;
    let program = message.account_keys.get(usize::from(first.program_id_index))?;
    let is_advance = *program == anchor_lang::system_program::ID && first.data == meaning::ADVANCE_NONCE;
    let nonce = message.account_keys.get(usize::from(*first.accounts.first()?))?;
    is_advance.then_some(*nonce)
}
