//! A long allowlist on its way: written in parts into a draft account, which `set_policy` takes over at once.

use anchor_lang::prelude::{Discriminator, Pubkey};
use anyhow::{Context, Result};
use purser::constants::{DRAFT_SEED, ENTRY_BYTES};
use purser::state::AllowlistDraft;
use purser::{accounts, instruction};

use super::LocatedAgent;
use crate::loader::progress::Progress;
use crate::network::{Network, Signing};

/// Entries that one transaction carries.
const PART_ENTRIES: usize = 20;

/// The address of a draft that holds exactly `entries`; goes on with one that a broken run left.
pub async fn stage(signing: &Signing<'_>, located: &LocatedAgent, entries: &[Pubkey]) -> Result<Pubkey> {
    let agent = located.address;
    let operator = located.operator_address;
    let authority = signing.address();
    let draft = Pubkey::find_program_address(&[DRAFT_SEED, agent.as_ref()], &purser::ID).0;
    let written = match written(signing.network, &draft).await? {
        Some(begun) if begun.is_start_of(entries) => begun.entries.len(),
        begun => {
            if begun.is_some() {
                let accounts = accounts::CloseDraft { authority, operator, agent, draft };
                signing.call(accounts, instruction::CloseDraft {}).await?;
            }
            let accounts = accounts::OpenDraft {
                authority,
                operator,
                agent,
                draft,
                system_program: anchor_lang::system_program::ID,
            };
            signing.call(accounts, instruction::OpenDraft { entry_count: count(entries.len())? }).await?;
            0
        }
    };
    let mut progress = Progress::start("writing the allowlist", entries.len() as u64);
    let mut start = written;
    for part in entries.get(written..).unwrap_or_default().chunks(PART_ENTRIES) {
        let write = instruction::WriteDraft { start: count(start)?, entries: part.to_vec() };
        let sent = signing.call(accounts::WriteDraft { authority, operator, agent, draft }, write).await;
        sent.context("the allowlist is written in part and not in force: run the command again to go on")?;
        start += part.len();
        progress.set(start as u64);
    }
    progress.finish();
    Ok(draft)
}

/// A draft as the chain holds it.
struct Begun {
    entry_count: usize,
    entries: Vec<Pubkey>,
}

impl Begun {
    fn is_start_of(&self, entries: &[Pubkey]) -> bool {
        self.entry_count == entries.len() && entries.starts_with(&self.entries)
    }
}

async fn written(network: &Network, draft: &Pubkey) -> Result<Option<Begun>> {
    let account = network.account(draft).await?.filter(|account| account.owner == purser::ID);
    account.map(|account| parse(&account.data).context("the agent's draft has an unknown layout")).transpose()
}

fn parse(data: &[u8]) -> Option<Begun> {
    let body = data.strip_prefix(AllowlistDraft::DISCRIMINATOR)?;
    let draft: AllowlistDraft =
        bytemuck::try_pod_read_unaligned(body.get(..core::mem::size_of::<AllowlistDraft>())?).ok()?;
    let tail = data.get(AllowlistDraft::BYTES..)?;
    let entries = tail.chunks_exact(ENTRY_BYTES).take(draft.written.into());
    Some(Begun {
        entry_count: draft.entry_count.into(),
        entries: entries.filter_map(|entry| Some(Pubkey::new_from_array(entry.try_into().ok()?))).collect(),
    })
}

fn count(entries: usize) -> Result<u16> {
    u16::try_from(entries).context("an allowlist is too long")
}
