//! What an approver signs with its own wallet, and what we pay of it.

use std::sync::Arc;

use purser::state::{Agent, Approver, Grant, Operator};
use purser_client::purser::{GrantPayee, GrantTerms};
use purser_rpc::sysvar;
use purser_rpc::wire::RawAccount;
use sha2::{Digest, Sha256};
use solana_compute_budget_interface::ComputeBudgetInstruction;
use solana_message::Message;
use solana_sdk::instruction::Instruction;
use solana_sdk::pubkey::Pubkey;

use crate::read::decode::{self, to_address, to_pubkey};
use crate::sign::instructions::{APPROVAL_UNITS, approval_fee, reclaim_fee};
use crate::sign::payers::{SIGNATURE_FEE, rent};
use crate::sign::signer::{Signer, address};
use crate::sign::signing::{self, CallSigners};
use crate::solana::SolanaChain;
use crate::solana::authorities::LAMPORTS_LOW;
use crate::{ChainError, Commitment};
use purser_model::{Address, CoSigned, UsdcAmount};

/// The payment that an approver is to allow by a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalOrder {
    /// Its wallet.
    pub approver: Address,
    pub operator: Address,
    pub agent: Address,
    /// The token account to pay.
    pub payee: Address,
    pub amount: UsdcAmount,
    /// The transfer's; empty when there is none.
    pub memo: String,
    pub tag: u64,
    pub policy_version: u64,
    /// Unix seconds.
    pub expires_at: i64,
}

/// The payer of a grant's fee and rent, to whom the rent goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantPayer {
    Approver,
    /// Our policy authority, where it can and the program would open the grant; else the approver.
    Service,
}

/// The answer to a wallet that asks to approve a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForApprover {
    /// An unsigned transaction that opens the grant for the one payment, for which the wallet pays.
    Unsigned(Vec<u8>),
    /// The same, for which we pay. Record it before anybody else sees it.
    CoSigned(CoSigned),
    /// Nothing: we do not pay, and its wallet holds too little SOL.
    Poor {
        /// We may pay in a minute: another wallet has what we pay for.
        later: bool,
    },
    /// Nothing: it is no approver of the operator.
    Stranger,
    /// Nothing: where the grant would be, one is that has not ended.
    Taken,
}

/// What there is at the address of a grant for which we may have paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaidGrant {
    /// Nothing whose rent comes back to us.
    Absent,
    /// A grant that may still pay.
    Open,
    /// One that was over, and is closed by now.
    Closed,
}

/// The accounts on which it depends whether the program opens an approver's grant, as read at one moment.
struct Registered {
    approver: Approver,
    operator: Option<RawAccount>,
    agent: Option<RawAccount>,
    /// Unix seconds.
    now: Option<i64>,
}

impl SolanaChain {
    pub async fn approval(
        &self,
        order: &ApprovalOrder,
        payer: GrantPayer,
    ) -> Result<ForApprover, ChainError> {
        let deployment = &self.instructions.0;
        let (approver, operator) = (to_pubkey(&order.approver), to_pubkey(&order.operator));
        let agent = to_pubkey(&order.agent);
        let registered = deployment.approver_address(&operator, &approver);
        let place = deployment.grant_address(&agent, order.tag);
        let asked = [registered, place, sysvar::CLOCK, operator, agent, approver];
        let mut found = self.accounts_and_payers(&asked).await?.into_iter();
        let [registered, earlier, clock, operator_account, agent_account, wallet] =
            [(); 6].map(|()| found.next().flatten());
        let ours = |account: RawAccount| (account.owner == deployment.program).then_some(account.data);
        let registered = registered.and_then(ours).and_then(|data| Approver::read(&data));
        let registered = registered.filter(|approver| !approver.is_removed());
        let Ok(policy_version) = u32::try_from(order.policy_version) else {
            return Ok(ForApprover::Stranger);
        };
        let Some(registered) = registered else { return Ok(ForApprover::Stranger) };
        let now = clock.and_then(|clock| sysvar::unix_timestamp(&clock.data));
        // One that has ended, of a payment of another day under the same key, makes room by anybody's hand, in the same transaction. One
        // that is spent sooner has paid this.
        let room = match earlier.and_then(ours).and_then(|data| Grant::read(&data)) {
            Some(grant) if now.is_none_or(|now| now < grant.expires_at) => return Ok(ForApprover::Taken),
            Some(grant) => Some(deployment.close_grant(approver, operator, place, grant.rent_refund)),
            None => None,
        };
        let terms = GrantTerms {
            payee: GrantPayee::TokenAccount(to_pubkey(&order.payee)),
            amount: order.amount.micros(),
            expires_at: order.expires_at,
            beyond_allowlist: true,
            beyond_single_limit: true,
            beyond_daily_limit: false,
            tag: Some(order.tag),
            memo_hash: Some(Sha256::digest(order.memo.as_bytes()).into()),
            policy_version: Some(policy_version),
        };
        // The memo stands right before the grant.
        let paid_by = |payer: Pubkey, rent_refund: Pubkey| {
            let opens = deployment.approve(approver, payer, rent_refund, (operator, agent), order.tag, terms);
            room.clone().into_iter().chain(opens)
        };
        let registered =
            Registered { approver: registered, operator: operator_account, agent: agent_account, now };
        if let (GrantPayer::Service, Some(signer)) = (payer, self.grant_payer(order, registered)) {
            let payer = address(signer);
            let opens = paid_by(payer, self.rent_refund(payer)).collect();
            match self.co_sign(signer, &approver, place, opens).await {
                Err(ChainError::SignerUnavailable { .. }) => {}
                co_signed => return co_signed.map(ForApprover::CoSigned),
            }
        }
        // A wallet may be emptied, or keeps what an account without data needs.
        let left = wallet.map_or(0, |wallet| wallet.lamports).checked_sub(rent(Grant::BYTES) + SIGNATURE_FEE);
        if left.is_none_or(|left| left > 0 && left < rent(0)) {
            return Ok(ForApprover::Poor { later: false });
        }
        // The wallet takes its time to sign.
        let recent = self.clock.newest().await?;
        let opens: Vec<_> = paid_by(approver, approver).collect();
        let message = Message::new_with_blockhash(&opens, Some(&approver), &recent.blockhash);
        // One signature, which is the wallet's to fill in.
        Ok(ForApprover::Unsigned([&[1], [0; 64].as_slice(), &message.serialize()].concat()))
    }

    /// Whether a key of ours signed this as the payer, for this order's approver and grant: whoever writes the database cannot have a
    /// wallet sign anything else. Asks no node.
    pub fn has_co_signed(&self, order: &ApprovalOrder, given: &CoSigned) -> bool {
        let place = self.instructions.0.grant_address(&to_pubkey(&order.agent), order.tag);
        let Some((payer, others)) = signing::co_signed(&given.signed.bytes) else { return false };
        let is_ours = self.signers.policy.iter().any(|signer| signer.public_key() == payer);
        let is_approvers = others.first() == Some(&order.approver.bytes());
        is_ours && is_approvers && others.contains(&place.to_bytes())
    }

    /// Closes the grant at this address if it is spent or has ended and its rent comes back to us, and waits until that is confirmed.
    pub async fn reclaim_grant(&self, operator: &Address, grant: &Address) -> Result<PaidGrant, ChainError> {
        let place = to_pubkey(grant);
        let mut found = self.accounts_and_payers(&[place, sysvar::CLOCK]).await?.into_iter();
        let [account, clock] = [(); 2].map(|()| found.next().flatten());
        let ours = account.filter(|account| account.owner == self.instructions.0.program);
        let Some(grant) = ours.and_then(|account| Grant::read(&account.data)) else {
            return Ok(PaidGrant::Absent);
        };
        if !self.payers.is_ours(&to_address(&grant.rent_refund)) {
            return Ok(PaidGrant::Absent);
        }
        let now = clock.and_then(|clock| sysvar::unix_timestamp(&clock.data));
        if !now.is_some_and(|now| grant.is_over(now)) {
            return Ok(PaidGrant::Open);
        }
        let at = [to_pubkey(operator), place, grant.rent_refund];
        let signer = self.reclaimer()?;
        let call = self.instructions.reclaim_grant(address(signer), at);
        self.unrecorded().execute(CallSigners::one(signer), call, Commitment::Confirmed).await?;
        Ok(PaidGrant::Closed)
    }

    /// Our policy authority, if it can pay for the grant and keep what it needs for policies, and the program opens the grant by what
    /// was read: what it refuses costs a fee all the same.
    fn grant_payer(&self, order: &ApprovalOrder, registered: Registered) -> Option<&dyn Signer> {
        let Registered { mut approver, operator, agent, now } = registered;
        let (program, now) = (&self.instructions.0.program, now?);
        let [operator_account, agent] = [operator?, agent?];
        if [&operator_account, &agent].iter().any(|account| account.owner != *program) {
            return None;
        }
        let named = decode::operator(program, &to_pubkey(&order.operator), &operator_account)?;
        let (operator, agent) = (Operator::read(&operator_account.data)?, Agent::read(&agent.data)?.agent);
        let opens = operator.halted_by | agent.halted_by == 0
            && !agent.policy.is_paused()
            && u64::from(agent.policy_version) == order.policy_version
            && operator.may_approve(&to_pubkey(&order.approver))
            && now < order.expires_at
            && approver.grants(order.amount.micros(), now).is_ok();
        let signer = self.policy_signer(&named).ok().filter(|signer| opens && !signer.is_away())?;
        let costs = rent(Grant::BYTES) + approval_fee(self.prices.now());
        self.payers.can_pay(&address(signer), costs.saturating_add(LAMPORTS_LOW)).then_some(signer)
    }

    /// Signs as the payer what `approver` still has to sign.
    async fn co_sign(
        &self,
        signer: &dyn Signer,
        approver: &Pubkey,
        grant: Pubkey,
        mut opens: Vec<Instruction>,
    ) -> Result<CoSigned, ChainError> {
        let price = self.prices.now();
        if price > 0 {
            let limit = ComputeBudgetInstruction::set_compute_unit_limit(APPROVAL_UNITS);
            let price = ComputeBudgetInstruction::set_compute_unit_price(price);
            opens.splice(0..0, [limit, price]);
        }
        self.prices.writes([grant, address(signer)]);
        let recent = self.clock.newest().await?;
        let signed = signing::sign_as_payer(&opens, signer, approver, recent).await?;
        self.payers.signed(&address(signer), rent(Grant::BYTES) + approval_fee(price));
        let signed = signed.until(recent.last_valid_block_height);
        Ok(CoSigned { grant: to_address(&grant), signed })
    }

    /// A transfer authority: the program lets it close a grant that is over, as anybody, and no other.
    fn reclaimer(&self) -> Result<&dyn Signer, ChainError> {
        let (signers, fee) = (&self.signers.transfer, reclaim_fee(self.prices.now()));
        let can_pay =
            |signer: &&Arc<dyn Signer>| !signer.is_away() && self.payers.can_pay(&address(&***signer), fee);
        match (signers.iter().find(can_pay), signers.first()) {
            (Some(signer), _) => Ok(&**signer),
            (None, Some(first)) => Err(self.empty(&**first)),
            (None, None) => Err(ChainError::Misconfigured("there is no transfer authority".to_owned())),
        }
    }
}
