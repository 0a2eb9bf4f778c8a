//! `submit`: sends a transaction that `--unsigned` printed and somebody signed.

use std::path::PathBuf;

use anchor_lang::prelude::Pubkey;
use anyhow::{Context, Result, anyhow, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bincode::Options as _;
use clap::{ArgGroup, Args};
use solana_rpc_client_api::client_error::TransactionError;
use solana_sdk::signature::Signature;
use solana_sdk::transaction::Transaction;

use crate::change::{message_hash, nonce_of};
use crate::effects::{self, Blockhash};
use crate::failure;
use crate::landing::{self, GoodUntil, Refusal};
use crate::meaning;
use crate::network::{Mode, Network};
use crate::report::{Outcome, Report};

#[derive(Args)]
#[command(group(ArgGroup::new("from").required(true).args(["transaction", "file"])))]
pub struct SubmitArgs {
    /// The signed transaction, in base64
    #[arg(value_name = "BASE64")]
    transaction: Option<String>,
    /// A file with the signed transaction in base64
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Only the transaction with this hash, as --unsigned printed it (`message_hash`)
    #[arg(long, value_name = "HASH")]
    hash: Option<String>,
}

pub async fn run(network: &Network, args: &SubmitArgs) -> Result<Report> {
    ensure!(
        network.mode != Mode::Unsigned,
        "submit takes a transaction that is signed: leave out --unsigned"
    );
    let transaction = args.read()?;
    let message = &transaction.message;
    let does = meaning::of(message, &network.program)?;
    let hash = message_hash(message);
    if let Some(wanted) = &args.hash {
        ensure!(
            *wanted == hash,
            "this is another transaction than the one that was printed: its hash is {hash}"
        );
    }
    ensure_signed(&transaction)?;
    let payer = message.account_keys.first().copied().unwrap_or_default();
    let signature = transaction.signatures.first().copied().unwrap_or_default();
    let report = Report::new("the transaction has landed")
        .with("does", does)
        .with("message_hash", hash)
        .with("signature", signature.to_string());
    let explain = |refusal| explain(refusal, nonce_of(message).is_some(), &payer);
    if has_landed(network, &signature).await? {
        return Ok(report.outcome(Outcome::Done));
    }
    if network.mode == Mode::Show {
        let effects = effects::of(network, &transaction, Blockhash::Own).await.map_err(explain)?;
        return Ok(report.table(effects::table(effects)).outcome(Outcome::Shown));
    }
    let good_until = match nonce_of(message) {
        Some(nonce) => GoodUntil::NonceUsed(nonce, message.recent_blockhash),
        None => GoodUntil::from_now(network).await?,
    };
    landing::land(network, &transaction, good_until).await.map_err(explain)?;
    Ok(report.outcome(Outcome::Done))
}

impl SubmitArgs {
    fn read(&self) -> Result<Transaction> {
        let (text, place) = match (&self.transaction, &self.file) {
            (Some(text), _) => (text.clone(), "the transaction".to_string()),
            (None, Some(file)) => {
                let shown = file.display();
                let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
                (text, shown.to_string())
            }
            (None, None) => bail!("no transaction"),
        };
        let transaction = decoded(&text).with_context(|| format!("cannot read {place}"))?;
        let signers = usize::from(transaction.message.header.num_required_signatures);
        ensure!(
            signers == transaction.signatures.len() && signers <= transaction.message.account_keys.len(),
            "{place} is not a transaction that a node would accept"
        );
        Ok(transaction)
    }
}

/// A transaction in the form that nodes take, without trailing bytes.
fn decoded(text: &str) -> Result<Transaction> {
    let text: String = text.split_whitespace().collect();
    let Ok(bytes) = BASE64_STANDARD.decode(text) else { bail!("it is not base64") };
    let options = bincode::options().with_fixint_encoding();
    match options.deserialize(&bytes) {
        Ok(transaction) => Ok(transaction),
        Err(_) => bail!("it is not a transaction as --unsigned prints it"),
    }
}

/// Ensures that every required signer signed, and exactly these bytes.
fn ensure_signed(transaction: &Transaction) -> Result<()> {
    let signers = transaction.message.account_keys.iter().zip(&transaction.signatures);
    for ((signer, signature), fits) in signers.zip(transaction.verify_with_results()) {
        ensure!(*signature != Signature::default(), "{signer} has not signed it");
        ensure!(
            fits,
            "the signature of {signer} does not fit: another key signed it, or it was altered after it was signed"
        );
    }
    Ok(())
}

/// Whether it was sent and landed before.
async fn has_landed(network: &Network, signature: &Signature) -> Result<bool> {
    let statuses = network.rpc.get_signature_statuses_with_history(&[*signature]).await;
    let statuses = statuses.map_err(|error| failure::explain_read(&error, &network.url))?.value;
    let landed = statuses.into_iter().flatten().next();
    Ok(landed.is_some_and(|status| status.err.is_none() && status.satisfies_commitment(network.commitment)))
}

fn explain(refusal: Refusal, has_nonce: bool, payer: &Pubkey) -> anyhow::Error {
    match (refusal, has_nonce) {
        (Refusal::Transaction(TransactionError::BlockhashNotFound), false) => anyhow!(
            "the transaction is too old: it was good for {} blocks, a minute at most. Have it printed again, with --nonce if \
             signing takes longer",
            landing::BLOCKHASH_BLOCKS
        ),
        (Refusal::Transaction(TransactionError::BlockhashNotFound), true) => {
            anyhow!("the transaction is void: its nonce has been used since. Have it printed again")
        }
        (refusal, _) => refusal.explain(payer),
    }
}
