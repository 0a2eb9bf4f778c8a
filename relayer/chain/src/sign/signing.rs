//! Messages and their wire form: legacy (v0 is larger, and an 800-byte memo leaves no room), payer first.

use crate::live::clock::Recent;
use crate::sign::instructions::Call;
use crate::sign::signer::{Signer, address};
use crate::{ChainError, SignedTransfer};
use solana_message::Message;
use solana_sdk::instruction::Instruction;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Signature;
use std::sync::atomic::{AtomicU32, Ordering};

/// Most bytes of a transaction on the wire, its signatures included.
pub const TRANSACTION_BYTES_MAX: usize = 1_232;

const SIGNATURE_BYTES: usize = 64;
/// Bytes of a message before its first key: its header, and the count of keys.
const BEFORE_KEYS_BYTES: usize = 3 + 1;

/// A signed transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedBytes {
    pub bytes: Vec<u8>,
    /// The payer's signature, base58.
    pub signature: String,
}

impl SignedBytes {
    pub fn until(self, last_valid_block_height: u64) -> SignedTransfer {
        SignedTransfer { bytes: self.bytes, signature: self.signature, last_valid_block_height }
    }
}

/// Makes every transaction unique. Two equal messages over one blockhash are one transaction: pause, resume, pause would end
/// resumed and look paused. The compute unit limit makes the difference, by up to an eighth.
///
/// Counts from a random start, so that relayers that share keys rarely meet.
#[derive(Debug)]
pub struct Distinct(AtomicU32);

impl Distinct {
    pub fn from(start: u32) -> Self {
        Self(AtomicU32::new(start))
    }

    fn next(&self, mut call: Call) -> Call {
        let room = (call.compute_units / 8).max(1);
        call.compute_units += self.0.fetch_add(1, Ordering::Relaxed) % room;
        call
    }
}

/// The payer of a transaction that [`sign`] made: the first key of its message.
pub fn payer_of(signed: &[u8]) -> Option<Pubkey> {
    let (signatures, rest) = signed.split_first()?;
    let message = rest.get(usize::from(*signatures).checked_mul(64)?..)?;
    let key = message.get(BEFORE_KEYS_BYTES..)?.first_chunk::<32>()?;
    Some(Pubkey::new_from_array(*key))
}

/// Who signs a call and who pays its fee, mostly the same key.
#[derive(Clone, Copy)]
pub struct CallSigners<'a> {
    pub authority: &'a dyn Signer,
    pub payer: &'a dyn Signer,
}

impl<'a> CallSigners<'a> {
    pub fn one(signer: &'a dyn Signer) -> Self {
        Self { authority: signer, payer: signer }
    }

    /// Each signer once, in the order of the message.
    fn signers(&self) -> impl Iterator<Item = &'a dyn Signer> {
        let is_other = self.authority.public_key() != self.payer.public_key();
        std::iter::once(self.payer).chain(is_other.then_some(self.authority))
    }
}

/// Signs `call` over `recent`.
pub async fn sign(
    call: Call,
    distinct: &Distinct,
    call_signers: CallSigners<'_>,
    recent: Recent,
    priority_fee_micro_lamports: u64,
) -> Result<SignedBytes, ChainError> {
    let payer_address = address(call_signers.payer);
    let instructions = distinct.next(call).with_budget(priority_fee_micro_lamports);
    let message =
        Message::new_with_blockhash(&instructions, Some(&payer_address), &recent.blockhash).serialize();
    let mut signatures = Vec::new();
    for signer in call_signers.signers() {
        signatures.push(signer.sign(&message).await?);
    }
    // One or two signatures: a single byte in the compact form.
    let count = if signatures.len() == 1 { 1 } else { 2 };
    let bytes = [&[count], signatures.as_flattened(), &message].concat();
    within_limit(&bytes)?;
    let first = signatures.first().copied().unwrap_or([0; 64]);
    Ok(SignedBytes { bytes, signature: Signature::from(first).to_string() })
}

/// Signs as `authority` a transaction that `payer` will sign and send; returns the authority's signature.
pub async fn sign_for(
    instructions: &[Instruction],
    authority: &dyn Signer,
    payer: &Pubkey,
    recent: Recent,
) -> Result<SignedBytes, ChainError> {
    let message = Message::new_with_blockhash(instructions, Some(payer), &recent.blockhash).serialize();
    let signature = authority.sign(&message).await?;
    // The first signature is the payer's.
    let bytes = [&[2], [[0; 64], signature].as_flattened(), &message].concat();
    within_limit(&bytes)?;
    Ok(SignedBytes { bytes, signature: Signature::from(signature).to_string() })
}

/// Signs as `payer` a transaction that `other` has to sign as well, and sends.
pub async fn sign_as_payer(
    instructions: &[Instruction],
    payer: &dyn Signer,
    other: &Pubkey,
    recent: Recent,
) -> Result<SignedBytes, ChainError> {
    let message = Message::new_with_blockhash(instructions, Some(&address(payer)), &recent.blockhash);
    // Without the other's signature nothing may land.
    if message.header.num_required_signatures != 2 || message.account_keys.get(1) != Some(other) {
        let message = "a transaction of others needs their signature".to_owned();
        return Err(ChainError::Rejected { code: None, message });
    }
    let message = message.serialize();
    let signature = payer.sign(&message).await?;
    let bytes = [&[2], [signature, [0; 64]].as_flattened(), &message].concat();
    within_limit(&bytes)?;
    Ok(SignedBytes { bytes, signature: Signature::from(signature).to_string() })
}

/// Whose signature [`sign_as_payer`] put on these bytes, and the keys that the message names after it; the first of them has to sign.
/// `None`: it is not a valid one.
pub fn co_signed(bytes: &[u8]) -> Option<([u8; 32], Vec<[u8; 32]>)> {
    let (signatures, message) = bytes.strip_prefix(&[2])?.split_at_checked(2 * SIGNATURE_BYTES)?;
    let (before, keys) = message.split_at_checked(BEFORE_KEYS_BYTES)?;
    let count = usize::from(*before.last()?);
    let (keys, _) = keys.as_chunks::<32>();
    let [payer, others @ ..] = keys.get(..count)? else { return None };
    let signature = Signature::try_from(signatures.get(..SIGNATURE_BYTES)?).ok()?;
    let is_signed = before.first() == Some(&2) && signature.verify(payer, message);
    is_signed.then(|| (*payer, others.to_vec()))
}

fn within_limit(transaction: &[u8]) -> Result<(), ChainError> {
    let bytes = transaction.len();
    if bytes <= TRANSACTION_BYTES_MAX {
        return Ok(());
    }
    let message = format!("transaction of {bytes} bytes is above {TRANSACTION_BYTES_MAX}");
    Err(ChainError::Rejected { code: None, message })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sign::instructions::Instructions;
    use crate::sign::signer::FileSigner;
    use crate::{AgentAddresses, UnsignedTransfer};
    use purser_client::purser::{GrantPayee, GrantTerms};
    use purser_client::{Deployment, DraftAccounts, INLINE_ENTRIES_MAX, Proposal};
    use purser_model::{Address, AllowedRecipients, SpendingPolicy, Terms};
    use purser_policy::{Limit, UsdcAmount};
    use solana_compute_budget_interface::ComputeBudgetInstruction;
    use solana_sdk::hash::Hash;
    use solana_sdk::signature::Keypair;

    const PROGRAM: Instructions =
        Instructions(Deployment { program: purser::ID, usdc_mint: Pubkey::new_from_array([9; 32]) });

    fn payer() -> FileSigner {
        FileSigner::from_bytes(&Keypair::new().to_bytes()).unwrap()
    }

    fn recent() -> Recent {
        Recent {
            blockhash: Hash::new_from_array([7; 32]),
            last_valid_block_height: 1,
            slot: 1,
            at: std::time::Instant::now(),
        }
    }

    fn transfer(memo: &str) -> UnsignedTransfer {
        let any = |byte| Address::from_bytes([byte; 32]);
        UnsignedTransfer {
            operator: any(1),
            transfer_authorities: Vec::new(),
            agent: AgentAddresses { agent: any(2), token_account: any(3) },
            destination: any(4),
            transfer_id: [0xff; 16],
            asked_at: 0,
            tag_buckets: 1,
            amount: UsdcAmount::MAX,
            memo: memo.into(),
            beyond: None,
            has_expired: false,
        }
    }

    #[tokio::test]
    async fn a_transfer_with_an_800_byte_memo_a_price_and_a_limit_on_what_is_loaded_fits_one_transaction() {
        let memo = "🏠".repeat(200);
        assert_eq!(memo.len(), 800);
        let payer = payer();
        let call = PROGRAM.transfer(address(&payer), &transfer(&memo));
        let asked: Vec<u8> =
            call.clone().with_budget(u64::MAX).iter().map(|instruction| instruction.data[0]).collect();
        let signed = sign(call, &Distinct::from(u32::MAX), CallSigners::one(&payer), recent(), u64::MAX)
            .await
            .unwrap();
        assert!(signed.bytes.len() <= TRANSACTION_BYTES_MAX, "{}", signed.bytes.len());
        // Unit limit, loaded-accounts limit, unit price.
        assert_eq!(asked[..3], [2, 4, 3]);
    }

    #[tokio::test]
    async fn the_signature_is_the_payers_over_the_message() {
        let payer = payer();
        let call = PROGRAM.transfer(address(&payer), &transfer("rent"));
        let signed =
            sign(call, &Distinct::from(u32::MAX), CallSigners::one(&payer), recent(), 0).await.unwrap();
        let signature: Signature = signed.signature.parse().unwrap();
        assert_eq!(signed.bytes[0], 1);
        assert_eq!(&signed.bytes[1..65], signature.as_ref());
        assert!(signature.verify(address(&payer).as_ref(), &signed.bytes[65..]));
        assert_eq!(payer_of(&signed.bytes), Some(address(&payer)));
    }

    #[tokio::test]
    async fn a_pause_that_another_key_pays_for_bears_both_signatures_the_payers_first() {
        let (authority, payer) = (self::payer(), self::payer());
        let (operator, agent) = (Pubkey::default(), Pubkey::new_from_array([2; 32]));
        let at = DraftAccounts { authority: address(&authority), operator, agent };
        let call_signers = CallSigners { authority: &authority, payer: &payer };
        let call = PROGRAM.set_paused(at, true);
        let signed = sign(call, &Distinct::from(0), call_signers, recent(), 0).await.unwrap();
        assert_eq!((signed.bytes[0], payer_of(&signed.bytes)), (2, Some(address(&payer))));
        let (signatures, message) = signed.bytes[1..].split_at(128);
        for (signature, signer) in signatures.chunks(64).zip([&payer, &authority]) {
            let signature = Signature::try_from(signature).unwrap();
            assert!(signature.verify(address(signer).as_ref(), message));
        }
        assert_eq!(signed.signature, Signature::try_from(&signatures[..64]).unwrap().to_string());
    }

    #[tokio::test]
    async fn handed_over_transfer_has_room_for_another_signature_and_both_memos() {
        let (authority, facilitator) = (payer(), Pubkey::new_from_array([8; 32]));
        for (own, other) in [(0, 560), (560, 0), (300, 260)] {
            let memo = (other > 0).then(|| "x".repeat(other));
            let terms = Terms { fee_payer: Address::from_bytes([8; 32]), memo };
            let order = transfer(&"x".repeat(own));
            let instructions = PROGRAM.transfer_for(address(&authority), &order, &terms, u64::MAX);
            // Only unit limit and unit price, within what facilitators accept.
            let units = u32::from_le_bytes(instructions[0].data[1..5].try_into().unwrap());
            let price = u64::from_le_bytes(instructions[1].data[1..9].try_into().unwrap());
            assert_eq!((instructions[0].data[0], instructions[1].data[0]), (2, 3));
            assert!(units <= 400_000 && price == 50_000, "{units} {price}");
            assert_eq!(instructions.len(), if other > 0 { 4 } else { 3 });
            let named = instructions.iter().flat_map(|instruction| &instruction.accounts);
            assert!(named.into_iter().all(|account| account.pubkey != facilitator));
            let signed = sign_for(&instructions, &authority, &facilitator, recent()).await.unwrap();
            assert_eq!((signed.bytes[0], payer_of(&signed.bytes)), (2, Some(facilitator)));
            assert_eq!(signed.bytes[1..65], [0; 64], "the payer's own");
            let signature: Signature = signed.signature.parse().unwrap();
            assert_eq!(&signed.bytes[65..129], signature.as_ref());
            assert!(signature.verify(address(&authority).as_ref(), &signed.bytes[129..]));
        }
    }

    #[tokio::test]
    async fn what_we_pay_for_needs_the_others_signature_and_fits_with_ours() {
        let (payer, approver) = (payer(), Pubkey::new_from_array([8; 32]));
        let any = |byte| Pubkey::new_from_array([byte; 32]);
        let terms = GrantTerms {
            payee: GrantPayee::TokenAccount(any(4)),
            amount: u64::MAX,
            expires_at: 1_800_000_000,
            beyond_allowlist: true,
            beyond_single_limit: true,
            beyond_daily_limit: false,
            tag: Some(1),
            memo_hash: Some([5; 32]),
            policy_version: Some(u32::MAX),
        };
        let opens = PROGRAM.0.approve(approver, address(&payer), any(6), (any(1), any(2)), 1, terms);
        let longest = [
            ComputeBudgetInstruction::set_compute_unit_limit(u32::MAX),
            ComputeBudgetInstruction::set_compute_unit_price(u64::MAX),
            PROGRAM.0.close_grant(approver, any(1), any(3), any(7)),
        ];
        let all = [longest.as_slice(), &opens].concat();
        let signed = sign_as_payer(&all, &payer, &approver, recent()).await.unwrap();
        assert_eq!((signed.bytes[0], payer_of(&signed.bytes)), (2, Some(address(&payer))));
        let signature: Signature = signed.signature.parse().unwrap();
        assert_eq!((&signed.bytes[1..65], &signed.bytes[65..129]), (signature.as_ref(), [0; 64].as_slice()));
        assert!(signature.verify(address(&payer).as_ref(), &signed.bytes[129..]));
        let (by, others) = co_signed(&signed.bytes).unwrap();
        assert_eq!((by, others[0]), (address(&payer).to_bytes(), approver.to_bytes()));
        assert!(others.contains(&PROGRAM.0.grant_address(&any(2), 1).to_bytes()));
        for at in [0, 1, 64, 129, 140, 200, signed.bytes.len() - 1] {
            let mut changed = signed.bytes.clone();
            changed[at] ^= 1;
            assert_eq!(co_signed(&changed), None, "byte {at}");
        }
        assert!((0..signed.bytes.len()).all(|end| co_signed(&signed.bytes[..end]).is_none()));
        let own = PROGRAM.0.approve(address(&payer), address(&payer), any(6), (any(1), any(2)), 1, terms);
        assert!(sign_as_payer(&own, &payer, &approver, recent()).await.is_err(), "nobody else has to sign");
        assert!(sign_as_payer(&opens, &payer, &any(9), recent()).await.is_err(), "somebody else has to sign");
    }

    #[tokio::test]
    async fn the_same_call_over_the_same_blockhash_is_a_new_transaction_every_time() {
        let (payer, distinct) = (payer(), Distinct::from(u32::MAX - 2));
        let mut signatures = std::collections::HashSet::new();
        for _ in 0..1_000 {
            let (operator, agent) = (Pubkey::default(), Pubkey::default());
            let at = DraftAccounts { authority: address(&payer), operator, agent };
            let call = PROGRAM.set_paused(at, true);
            signatures.insert(
                sign(call, &distinct, CallSigners::one(&payer), recent(), 0).await.unwrap().signature,
            );
        }
        assert_eq!(signatures.len(), 1_000);
    }

    #[tokio::test]
    async fn the_longest_inline_allowlist_and_every_step_of_the_longest_draft_fit() {
        let payer = payer();
        let [operator, agent] = [Pubkey::new_from_array([1; 32]), Pubkey::new_from_array([2; 32])];
        let at = DraftAccounts { authority: address(&payer), operator, agent };
        let entries = |from: usize, count: usize| -> Vec<[u8; 32]> {
            (from..from + count).map(|index| [index as u8; 32]).collect()
        };
        let policy = |count: usize| SpendingPolicy {
            max_single_transfer: Limit::AtMost(UsdcAmount::MAX),
            max_daily_spend: Limit::AtMost(UsdcAmount::MAX),
            require_memo: true,
            paused: true,
            allowlist: AllowedRecipients::only(entries(0, 5), entries(5, count - 5)),
        };
        let rent_refund = Pubkey::new_from_array([3; 32]);
        let inline = policy(INLINE_ENTRIES_MAX);
        let set_policy = PROGRAM.set_policy(at, rent_refund, u32::MAX, &inline);
        let create = PROGRAM.create_agent(address(&payer), address(&payer), operator, [4; 16], &inline);
        let proposal = Proposal { agent, expected_version: u32::MAX, policy: policy(256) };
        let steps = PROGRAM.seal_draft(at, at.authority, &proposal, None);
        assert_eq!(steps.len(), 12);
        for call in [set_policy, create].into_iter().chain(steps) {
            sign(call, &Distinct::from(u32::MAX), CallSigners::one(&payer), recent(), u64::MAX)
                .await
                .unwrap();
        }
    }

    #[tokio::test]
    async fn transaction_that_is_too_long_is_refused_before_it_is_sent() {
        let payer = payer();
        let call = PROGRAM.transfer(address(&payer), &transfer(&"x".repeat(1_200)));
        let refused = sign(call, &Distinct::from(u32::MAX), CallSigners::one(&payer), recent(), 0).await;
        assert!(matches!(refused, Err(ChainError::Rejected { code: None, .. })), "{refused:?}");
    }
}
