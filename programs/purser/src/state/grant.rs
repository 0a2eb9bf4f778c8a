//! Leave to pay one payee beyond the policy, or where an account pays by such leave alone.

use core::fmt::Write;

use anchor_lang::prelude::*;
use purser_policy::{GrantRefusal, Payee, TransferRequest, UsdcAmount, Waived};
use solana_program::hash::hash;

use crate::constants::DISCRIMINATOR_BYTES;
use crate::error::PurserError;
use crate::token_account::same;

use super::agent::Agent;
use super::draft::waits_seconds;
use super::operator::Operator;

/// Behind the bits of [`Waived`].
const PAYS_TOKEN_ACCOUNT: u8 = 1 << 3;
const BY_POLICY_AUTHORITY: u8 = 1 << 4;
const BY_APPROVER: u8 = 1 << 5;

/// A grant. Address: `["grant", agent, id: u64 le]`. One that has ended or is spent stays until somebody closes it.
#[account(zero_copy)]
#[derive(Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Grant {
    pub version: u8,
    pub bump: u8,
    /// Bit 0 beyond the allowlist, 1 beyond the largest single transfer, 2 beyond the daily limit; 3: the payee is a token
    /// account, and otherwise a wallet; 4 opened by the policy authority, 5 by an approver, and otherwise by the admin.
    pub flags: u8,
    pub reserved: u8,
    /// Not 0: under this version of the agent's policy alone.
    pub policy_version: u32,
    pub id: u64,
    /// Micro-USDC that may still be paid.
    pub left: u64,
    /// The first Unix second at which it pays nothing any more.
    pub expires_at: i64,
    /// Not 0: for the one payment with this tag, of all that is left.
    pub tag: u64,
    pub operator: Pubkey,
    pub agent: Pubkey,
    pub payee: Pubkey,
    /// Gets the rent of this account back: named by who paid it.
    pub rent_refund: Pubkey,
    /// Unix second by the agent's clock. This pays nothing once the agent's `voided_at`, or for an approver's the operator's
    /// `approvers_voided_at`, is as late.
    pub opened_at: i64,
    /// The operator's loosening delay at that moment.
    pub opened_delay_seconds: u32,
    pub reserved_too: [u8; 4],
    /// Not all zeroes: for payments alone whose memo has this SHA-256.
    pub memo_hash: [u8; 32],
}

const _: () = assert!(core::mem::size_of::<Grant>() == 216);

/// The key that opened a grant.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenedBy {
    Admin,
    PolicyAuthority,
    Approver,
}

/// What a grant is for, as it is opened and announced.
#[derive(AnchorSerialize, AnchorDeserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantTerms {
    pub payee: GrantPayee,
    /// Micro-USDC.
    pub amount: u64,
    /// The first Unix second at which it pays nothing any more.
    pub expires_at: i64,
    pub beyond_allowlist: bool,
    pub beyond_single_limit: bool,
    /// What is paid still counts against the limit of what others pay after it.
    pub beyond_daily_limit: bool,
    /// For the one payment with this tag, of exactly `amount`.
    pub tag: Option<u64>,
    /// For payments alone whose memo has this SHA-256.
    pub memo_hash: Option<[u8; 32]>,
    /// Under this version of the policy alone.
    pub policy_version: Option<u32>,
}

impl GrantTerms {
    /// Whether it says all of the payment that it is for, as one of an approver must.
    pub fn is_one_payment(&self, agent: &Agent) -> bool {
        self.tag.is_some() && self.memo_hash.is_some() && self.policy_version == Some(agent.policy_version)
    }

    /// What an approver signs in words, which wallets show: a memo in front of `open_grant` that reads exactly like this.
    pub fn approval(&self, agent: &Pubkey) -> String {
        let (kind, payee) = match self.payee {
            GrantPayee::Wallet(key) => ("wallet", key),
            GrantPayee::TokenAccount(key) => ("token account", key),
        };
        let [year, month, day, hour, minute, second] = date(self.expires_at);
        let mut text = String::with_capacity(256);
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "Purser: let {agent} pay {} USDC to the {kind} {payee} until {year}-{month:02}-{day:02} \
             {hour:02}:{minute:02}:{second:02} UTC",
            UsdcAmount::from_micros(self.amount),
        );
        text
    }
}

/// Year, month, day, hour, minute and second of a Unix second, none before 1970. Years begin in March here, so that a leap day
/// comes last (Hinnant, "chrono-Compatible Low-Level Date Algorithms"). Unsigned: sBPF divides nothing else.
fn date(unix_seconds: i64) -> [u64; 6] {
    let unix_seconds = unix_seconds.max(0).unsigned_abs();
    let (days, seconds) = (unix_seconds / 86_400 + 719_468, unix_seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    [year, month, day, seconds / 3_600, seconds / 60 % 60, seconds % 60]
}

#[derive(AnchorSerialize, AnchorDeserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantPayee {
    /// Any token account that this wallet owns at that moment.
    Wallet(Pubkey),
    TokenAccount(Pubkey),
}

impl Grant {
    pub const BYTES: usize = DISCRIMINATOR_BYTES + core::mem::size_of::<Self>();

    /// Writes the terms into a new account, opened at Unix second `now`.
    pub fn set_terms(&mut self, terms: &GrantTerms, opened_by: OpenedBy, operator: &Operator, now: i64) {
        let (payee, is_token_account) = match terms.payee {
            GrantPayee::Wallet(key) => (key, false),
            GrantPayee::TokenAccount(key) => (key, true),
        };
        let waived = Waived::NOTHING
            .and(Waived::ALLOWLIST, terms.beyond_allowlist)
            .and(Waived::SINGLE_LIMIT, terms.beyond_single_limit)
            .and(Waived::DAILY_LIMIT, terms.beyond_daily_limit);
        let opener = match opened_by {
            OpenedBy::Admin => 0,
            OpenedBy::PolicyAuthority => BY_POLICY_AUTHORITY,
            OpenedBy::Approver => BY_APPROVER,
        };
        self.flags = waived.bits() | if is_token_account { PAYS_TOKEN_ACCOUNT } else { 0 } | opener;
        self.opened_at = now;
        self.opened_delay_seconds = operator.loosening_delay_seconds;
        self.payee = payee;
        self.left = terms.amount;
        self.expires_at = terms.expires_at;
        self.tag = terms.tag.unwrap_or(0);
        self.policy_version = terms.policy_version.unwrap_or(0);
        self.memo_hash = terms.memo_hash.unwrap_or_default();
    }

    /// The rules that this payment of `agent`, at `address`, may pass. `now`: by the agent's window, so that a clock that is
    /// behind opens nothing again.
    #[inline(always)]
    pub fn waives_for(
        &self,
        address: &[u8; 32],
        (operator, agent): (&Operator, &Agent),
        request: &TransferRequest,
        now: i64,
    ) -> core::result::Result<Waived, PurserError> {
        let is_version = [0, agent.policy_version].contains(&self.policy_version);
        let is_in_force = is_version && !self.is_void(operator, agent);
        let is_memo =
            same(&self.memo_hash, &[0; 32]) || same(&self.memo_hash, &hash(request.memo).to_bytes());
        if !same(self.agent.as_array(), address) || !is_in_force || !is_memo {
            return Err(PurserError::GrantMismatch);
        }
        let waived = self.as_policy().waives_for(request, now)?;
        // Where it allows nothing that is refused without it, there is nothing to wait for.
        let loosens = waived != Waived::NOTHING || agent.pays_by_grant_only();
        if self.has(BY_POLICY_AUTHORITY) && loosens && self.loosens_at(operator).is_none_or(|at| now < at) {
            return Err(PurserError::LooseningMustWait);
        }
        Ok(waived)
    }

    /// Whether it was revoked together with others: with all of the agent's, or with those of all approvers.
    #[inline(always)]
    pub fn is_void(&self, operator: &Operator, agent: &Agent) -> bool {
        self.opened_at <= i64::from(agent.voided_at)
            || self.has(BY_APPROVER) && self.opened_at <= operator.approvers_voided_at
    }

    /// The first second at which one of the policy authority pays what is refused without it. `None`: never, as with
    /// [`PolicyDraft::waits_seconds`](super::PolicyDraft::waits_seconds).
    pub fn loosens_at(&self, operator: &Operator) -> Option<i64> {
        let waits = waits_seconds(self.opened_delay_seconds, operator.loosening_delay_seconds)?;
        Some(self.opened_at.saturating_add(i64::from(waits)))
    }

    pub fn opened_by(&self) -> OpenedBy {
        match (self.has(BY_POLICY_AUTHORITY), self.has(BY_APPROVER)) {
            (true, _) => OpenedBy::PolicyAuthority,
            (false, true) => OpenedBy::Approver,
            (false, false) => OpenedBy::Admin,
        }
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Whether it pays nothing any more at Unix second `now`, whatever happens.
    pub fn is_over(&self, now: i64) -> bool {
        self.left == 0 || now >= self.expires_at
    }

    fn as_policy(&self) -> purser_policy::Grant<'_> {
        let payee = self.payee.as_array();
        purser_policy::Grant {
            payee: match self.flags & PAYS_TOKEN_ACCOUNT {
                0 => Payee::Wallet(payee),
                _ => Payee::TokenAccount(payee),
            },
            left: UsdcAmount::from_micros(self.left),
            expires_at: self.expires_at,
            tag: (self.tag != 0).then_some(self.tag),
            waived: Waived::from_bits(self.flags),
        }
    }

    /// Reads the data of an account that the program owns, as an RPC node returns it.
    pub fn read(data: &[u8]) -> Option<Self> {
        super::read_body(data)
    }
}

impl From<GrantRefusal> for PurserError {
    fn from(refusal: GrantRefusal) -> Self {
        match refusal {
            GrantRefusal::OtherPayment => Self::GrantMismatch,
            GrantRefusal::Expired => Self::GrantExpired,
            GrantRefusal::Exceeded => Self::GrantExceeded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (second, expected) in [
            (0, [1970, 1, 1, 0, 0, 0]),
            (951_782_399, [2000, 2, 28, 23, 59, 59]),
            (951_782_400, [2000, 2, 29, 0, 0, 0]),
            (951_868_800, [2000, 3, 1, 0, 0, 0]),
            (1_800_000_000, [2027, 1, 15, 8, 0, 0]),
            (4_107_542_399, [2100, 2, 28, 23, 59, 59]),
            (4_107_542_400, [2100, 3, 1, 0, 0, 0]),
            (-1, [1970, 1, 1, 0, 0, 0]),
        ] {
            assert_eq!(date(second), expected, "{second}");
        }
    }
}
