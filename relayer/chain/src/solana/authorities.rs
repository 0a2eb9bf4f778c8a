//! Which of our keys sign for an operator, and which can pay. An operator's admin may change the named keys at any moment, so we
//! read the chain before we refuse anything over them.

use crate::read::decode::{self, to_pubkey};
use crate::sign::instructions::{Call, transfer_fee};
use crate::sign::signer::{Signer, address};
use crate::sign::signing::CallSigners;
use crate::solana::SolanaChain;
use crate::{
    Authority, ChainError, ChainFigures, KeyLook, KeyProblem, OperatorOnChain, UnsignedTransfer, Wallet,
};
use purser_model::{Address, OpenDefence};
use purser_rpc::ACCOUNTS_MAX;
use purser_rpc::wire::RawAccount;
use solana_sdk::pubkey::Pubkey;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Wallets with fewer lamports than this (0.01 SOL) cause a warning.
pub(super) const LAMPORTS_LOW: u64 = 10_000_000;

impl SolanaChain {
    /// Which of our keys cannot act, for these operators or at all, and which of the operators are halted, by the chain's present
    /// state.
    pub async fn look_at_keys(&self, operators: &[Address]) -> Result<KeyLook, ChainError> {
        let ours = self.signers.policy.iter().map(|signer| (signer, Authority::Policy));
        let ours: Vec<_> =
            ours.chain(self.signers.transfer.iter().map(|signer| (signer, Authority::Transfer))).collect();
        futures::future::join_all(ours.iter().map(|(signer, _)| signer.look())).await;
        let room = ACCOUNTS_MAX.saturating_sub(self.payers.keys().len()).max(1);
        let (mut problems, mut halted) = (Vec::new(), Vec::new());
        let batches = operators.chunks(room).chain(operators.is_empty().then_some(operators));
        for batch in batches {
            let keys: Vec<Pubkey> = batch.iter().map(to_pubkey).collect();
            let accounts = self.accounts_and_payers(&keys).await?;
            for (key, account) in keys.iter().zip(&accounts) {
                let found = account
                    .as_ref()
                    .and_then(|account| decode::operator(&self.instructions.0.program, key, account));
                problems.extend(found.iter().flat_map(|operator| self.not_named(operator)));
                halted.extend(found.and_then(|operator| Some((operator.address, operator.halted_by?))));
            }
        }
        let fee = transfer_fee("", 1, self.prices.bounds().least);
        problems.extend(self.payers.keys().iter().filter_map(|payer| {
            let (lamports, address) = (self.payers.spendable(payer)?, decode::to_address(payer));
            if lamports < fee {
                return Some(KeyProblem::FeePayerEmpty { address, lamports });
            }
            (lamports < LAMPORTS_LOW).then_some(KeyProblem::FeePayerLow { address, lamports })
        }));
        let away = ours.into_iter().filter(|(signer, _)| signer.is_away());
        problems.extend(away.map(|(signer, role)| {
            let address = Address::from_bytes(signer.public_key());
            KeyProblem::SignerUnavailable { address, role }
        }));
        Ok(KeyLook { problems, halted })
    }

    /// Unix seconds by the chain's clock, from a node that answers now.
    pub async fn read_time(&self) -> Result<i64, ChainError> {
        self.clock.read_time().await
    }

    /// Counters and balances that are known without asking a node.
    pub fn figures(&self) -> ChainFigures {
        let wallet = |role| {
            move |signer: &Arc<dyn Signer>| Wallet {
                address: Address::from_bytes(signer.public_key()),
                role,
                spendable: self.payers.spendable(&address(&**signer)),
            }
        };
        let policy = self.signers.policy.iter().map(wallet(Authority::Policy));
        let transfer = self.signers.transfer.iter().map(wallet(Authority::Transfer));
        ChainFigures {
            nodes: self.rpc.figures(),
            wallets: policy.chain(transfer).collect(),
            in_flight: self.in_flight(),
            websocket_down_for: (!self.settings.ws_urls.is_empty()).then(|| self.connection.down_for()),
            topics_missing: self.connection.topics_missing(),
            now: self.clock.estimate(),
        }
    }

    /// The defences that an operator does without.
    pub fn open_defences(&self, operator: &OperatorOnChain) -> Vec<OpenDefence> {
        operator.open_defences(&self.settings.keypairs_here)
    }

    /// Whether the address is a key of ours.
    pub fn signs_with(&self, address: &Address) -> bool {
        let mut ours = self.signers.policy.iter().chain(&self.signers.transfer);
        ours.any(|signer| signer.public_key() == address.bytes())
    }

    /// The next of our transfer signers that the operator names and that can pay this fee. Passes over signers that are away,
    /// unless all of them are.
    pub fn transfer_signer(
        &self,
        operator: &Address,
        named: &[Address],
        fee: u64,
    ) -> Result<&dyn Signer, ChainError> {
        let is_named = |signer: &&Arc<dyn Signer>| named.contains(&Address::from_bytes(signer.public_key()));
        let ours: Vec<_> = self.signers.transfer.iter().filter(is_named).collect();
        let Some(first) = ours.first() else {
            return Err(ChainError::AuthorityRotated { operator: *operator, role: Authority::Transfer });
        };
        let funded: Vec<_> =
            ours.iter().filter(|signer| self.payers.can_pay(&address(&****signer), fee)).collect();
        let present: Vec<_> = funded.iter().copied().filter(|signer| !signer.is_away()).collect();
        let able = if present.is_empty() { funded } else { present };
        let turn = self.transfer_turn.fetch_add(1, Ordering::Relaxed);
        match able.get(turn % able.len().max(1)) {
            Some(signer) => Ok(&****signer),
            None => Err(self.empty(&***first)),
        }
    }

    /// A signer for a transfer that can pay this fee, by what we know of its operator. Reads the operator before it refuses.
    pub async fn signer_of_transfer(
        &self,
        order: &UnsignedTransfer,
        fee: u64,
    ) -> Result<&dyn Signer, ChainError> {
        match self.transfer_signer(&order.operator, &order.transfer_authorities, fee) {
            Err(ChainError::AuthorityRotated { .. } | ChainError::FeePayerEmpty { .. }) => {
                let missing = ChainError::NotFound { what: "operator", address: order.operator };
                let found = self.read_operator(&order.operator).await?.ok_or(missing)?;
                self.transfer_signer(&order.operator, &found.transfer_authorities, fee)
            }
            chosen => chosen,
        }
    }

    /// The price per compute unit of a call. A pause or a halt pays the most, so that it waits for nobody.
    pub fn price_of(&self, call: &Call) -> u64 {
        if call.stops { self.prices.bounds().most } else { self.prices.now() }
    }

    /// The price for a transfer. One with an expired signature is signed again for the highest price allowed.
    pub async fn price_of_transfer(&self, order: &UnsignedTransfer) -> u64 {
        if order.has_expired {
            return self.prices.bounds().most;
        }
        self.prices.now_for(&self.rpc, &to_pubkey(&order.destination)).await
    }

    /// Our policy key that the operator names.
    pub fn policy_signer(&self, operator: &OperatorOnChain) -> Result<&dyn Signer, ChainError> {
        let is_named = |signer: &&Arc<dyn Signer>| signer.public_key() == operator.policy_authority.bytes();
        let rotated = ChainError::AuthorityRotated { operator: operator.address, role: Authority::Policy };
        self.signers.policy.iter().find(is_named).map(|signer| &**signer).ok_or(rotated)
    }

    /// Whether the operator names this relayer's keys; if not, the program would refuse all that we sign for it. One of several
    /// transfer authorities is enough.
    pub fn same_authorities(&self, operator: &OperatorOnChain) -> Result<(), ChainError> {
        self.policy_signer(operator)?;
        self.transfer_signer(&operator.address, &operator.transfer_authorities, 0).map(drop)
    }

    /// Who signs and pays for a call. Any of our keys that can may pay for a pause or a halt.
    pub fn call_signers<'a>(
        &'a self,
        authority: &'a dyn Signer,
        call: &Call,
    ) -> Result<CallSigners<'a>, ChainError> {
        let price = self.price_of(call);
        if self.payers.can_pay(&address(authority), call.fee(1, price).saturating_add(call.rent)) {
            return Ok(CallSigners::one(authority));
        }
        let mut others = self.signers.transfer.iter().chain(&self.signers.policy);
        let can_pay = |signer: &&Arc<dyn Signer>| {
            !signer.is_away() && self.payers.can_pay(&address(&***signer), call.fee(2, price))
        };
        match others.find(can_pay).filter(|_| call.stops) {
            Some(payer) => Ok(CallSigners { authority, payer: &**payer }),
            None => Err(self.empty(authority)),
        }
    }

    /// Checks that the rent of all steps can be paid, before the first one.
    pub fn require_rent(&self, authority: &dyn Signer, rent: u64) -> Result<(), ChainError> {
        if self.payers.can_pay(&address(authority), rent) { Ok(()) } else { Err(self.empty(authority)) }
    }

    pub(super) fn empty(&self, payer: &dyn Signer) -> ChainError {
        let lamports = self.payers.spendable(&address(payer)).unwrap_or(0);
        ChainError::FeePayerEmpty { address: Address::from_bytes(payer.public_key()), lamports }
    }

    /// The accounts at `keys`, read together with our wallets.
    pub async fn accounts_and_payers(&self, keys: &[Pubkey]) -> Result<Vec<Option<RawAccount>>, ChainError> {
        let all: Vec<Pubkey> = keys.iter().chain(self.payers.keys()).copied().collect();
        let mut accounts = self.accounts(&all).await?;
        self.payers.saw(&accounts.split_off(keys.len().min(accounts.len())));
        Ok(accounts)
    }

    fn not_named(&self, operator: &OperatorOnChain) -> Vec<KeyProblem> {
        let mut transfer =
            self.signers.transfer.iter().map(|signer| Address::from_bytes(signer.public_key()));
        let has_transfer = transfer.any(|ours| operator.transfer_authorities.contains(&ours));
        let has_policy = self.policy_signer(operator).is_ok();
        [(has_policy, Authority::Policy), (has_transfer, Authority::Transfer)]
            .into_iter()
            .filter(|(is_named, _)| !is_named)
            .map(|(_, role)| KeyProblem::AuthorityRotated { operator: operator.address, role })
            .collect()
    }
}
