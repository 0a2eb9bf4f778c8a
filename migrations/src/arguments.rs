//! The texts of the command line, parsed once.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use anchor_lang::prelude::Pubkey;
use clap::{Args, ValueEnum};
use purser::constants::LOOSENING_DELAY_SECONDS_MAX;
use purser_policy::{Limit, UsdcAmount};
use solana_commitment_config::CommitmentConfig;
use ulid::Ulid;

/// Where to go, and who signs.
#[derive(Args)]
pub struct ClusterArgs {
    /// The cluster: an RPC address, or localnet, devnet, testnet, mainnet
    #[arg(
        long,
        env = "ANCHOR_PROVIDER_URL",
        global = true,
        help_heading = "Cluster",
        hide_env_values = true
    )]
    pub url: Option<String>,
    /// The keypair file that signs and pays
    #[arg(
        long,
        env = "ANCHOR_WALLET",
        value_name = "FILE",
        global = true,
        help_heading = "Cluster",
        hide_env_values = true
    )]
    pub wallet: Option<PathBuf>,
    /// What counts as done
    #[arg(long, value_enum, default_value = "confirmed", global = true, help_heading = "Cluster")]
    pub commitment: Commitment,
    /// Paid for each compute unit, in micro-lamports (millionths of a lamport)
    #[arg(long, value_name = "MICRO_LAMPORTS", default_value_t = 0, global = true, help_heading = "Cluster")]
    pub priority_fee: u64,
    /// The program's address [default: the one that this binary was built with]
    #[arg(long, value_name = "ADDRESS", value_parser = address, global = true, help_heading = "Cluster")]
    pub program_id: Option<Pubkey>,
    /// Answer with one line of JSON
    #[arg(long, global = true, help_heading = "Cluster")]
    pub json: bool,
    #[command(flatten)]
    pub change: ChangeArgs,
}

/// Whether what a command changes is shown, printed or done.
#[derive(Args)]
pub struct ChangeArgs {
    /// Do it. Without it, what would change is shown before and after, nothing is done, and the exit status is 3. What
    /// only stops something (halts and `pause`) is done without it
    #[arg(long, global = true, help_heading = "Change")]
    pub yes: bool,
    /// Send nothing, and print the unsigned transaction in base64 with what it does, for a multisig or a hardware wallet;
    /// `submit` takes it back signed
    #[arg(long, global = true, help_heading = "Change")]
    pub unsigned: bool,
    /// Who signs and pays, where its key is not here: for --unsigned, or to see what would change [default: the wallet]
    #[arg(long, value_name = "ADDRESS", value_parser = address, global = true, help_heading = "Change")]
    pub signer: Option<Pubkey>,
    /// With --unsigned: the signer's durable nonce account (`solana create-nonce-account` makes one). The transaction then
    /// is good until the nonce is used, not for a minute
    #[arg(long, value_name = "ADDRESS", value_parser = address, global = true, help_heading = "Change")]
    pub nonce: Option<Pubkey>,
}

impl ChangeArgs {
    /// Options that contradict each other.
    pub fn contradiction(&self) -> Option<&'static str> {
        match self {
            Self { yes: true, unsigned: true, .. } => Some("--unsigned does nothing that --yes could allow"),
            Self { yes: true, signer: Some(_), .. } => {
                Some("--signer names somebody whose key is not here: print the transaction with --unsigned")
            }
            Self { nonce: Some(_), unsigned: false, .. } => Some("--nonce goes with --unsigned"),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Commitment {
    Confirmed,
    Finalized,
}

impl From<Commitment> for CommitmentConfig {
    fn from(commitment: Commitment) -> Self {
        match commitment {
            Commitment::Confirmed => CommitmentConfig::confirmed(),
            Commitment::Finalized => CommitmentConfig::finalized(),
        }
    }
}

/// A Solana address in base58.
pub fn address(text: &str) -> Result<Pubkey, String> {
    Pubkey::from_str(text).map_err(|_| "is not a Solana address (32 bytes in base58)".to_string())
}

/// An address, or `none`.
pub fn address_or_none(text: &str) -> Result<AddressOrNone, String> {
    match text {
        "none" => Ok(AddressOrNone::Nobody),
        text => address(text).map(AddressOrNone::Address),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressOrNone {
    Address(Pubkey),
    Nobody,
}

impl From<AddressOrNone> for Pubkey {
    /// The program encodes "nobody" as the default key.
    fn from(value: AddressOrNone) -> Self {
        match value {
            AddressOrNone::Address(address) => address,
            AddressOrNone::Nobody => Pubkey::default(),
        }
    }
}

/// An amount of USDC as decimal text, or `none` for no limit. Zero lets nothing out.
pub fn limit(text: &str) -> Result<Limit, String> {
    match text {
        "none" => Ok(Limit::Unlimited),
        text => UsdcAmount::from_str(text)
            .map(Limit::AtMost)
            .map_err(|error| format!("{error}, nor \"none\" for no limit")),
    }
}

/// An amount of USDC as decimal text.
pub fn usdc(text: &str) -> Result<UsdcAmount, String> {
    UsdcAmount::from_str(text).map_err(|error| error.to_string())
}

/// A time: whole seconds, or with a unit behind them.
pub fn delay(text: &str) -> Result<u32, String> {
    let units = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400)];
    let (digits, unit) = units
        .iter()
        .find_map(|(letter, seconds)| Some((text.strip_suffix(letter)?, *seconds)))
        .unwrap_or((text, 1));
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let seconds =
        digits.parse::<u32>().ok().filter(|_| is_number).and_then(|number| number.checked_mul(unit));
    match seconds {
        Some(seconds) if seconds <= LOOSENING_DELAY_SECONDS_MAX => Ok(seconds),
        _ => Err("is not a time of at most 30 days: give seconds, or a number with s, m, h or d, as 2h"
            .to_string()),
    }
}

/// An agent account: by its id, which is found among its operator's, or by its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentName {
    Id(AccountId),
    Address(Pubkey),
}

/// The id of an agent account in the relayer's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AccountId(pub [u8; 16]);

const ACCOUNT_ID_PREFIX: &str = "acct_";

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{ACCOUNT_ID_PREFIX}{}", Ulid::from_bytes(self.0))
    }
}

/// `acct_...` or an address.
pub fn agent_name(text: &str) -> Result<AgentName, String> {
    if text.starts_with(ACCOUNT_ID_PREFIX) {
        return account_id(text).map(AgentName::Id);
    }
    address(text)
        .map(AgentName::Address)
        .map_err(|_| "is neither an account id (acct_...) nor a Solana address".to_string())
}

fn account_id(text: &str) -> Result<AccountId, String> {
    let ulid = text.strip_prefix(ACCOUNT_ID_PREFIX).and_then(|ulid| Ulid::from_string(ulid).ok());
    let id = AccountId(ulid.ok_or("is not an account id (acct_ and 26 characters)")?.to_bytes());
    // One spelling only: lower case and look-alike letters decode too, but the service never writes them.
    match id.to_string() == text {
        true => Ok(id),
        false => Err("is not an account id (acct_ and 26 characters, upper case)".to_string()),
    }
}

/// The id of a transfer in the relayer's interface.
pub fn transfer_id(text: &str) -> Result<Ulid, String> {
    let ulid = text.strip_prefix("txn_").and_then(|ulid| Ulid::from_string(ulid).ok());
    // One spelling only, as with accounts.
    ulid.filter(|ulid| text == format!("txn_{ulid}"))
        .ok_or_else(|| "is not a transfer id (txn_ and 26 characters, upper case)".to_string())
}

/// The 16 bytes from which an agent account's address is derived.
pub fn agent_id(text: &str) -> Result<[u8; 16], String> {
    let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let bits = u128::from_str_radix(text, 16).ok().filter(|_| is_hex);
    bits.map(u128::to_be_bytes).ok_or_else(|| "is not an agent id (32 hex digits)".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_exact_decimals_or_none() {
        assert_eq!(limit("none"), Ok(Limit::Unlimited));
        assert_eq!(limit("0"), Ok(Limit::AtMost(UsdcAmount::ZERO)));
        assert_eq!(limit("12.500001"), Ok(Limit::AtMost(UsdcAmount::from_micros(12_500_001))));
        for text in ["", "1e3", "-1", "0.0000001", "1.", " 1", "None", "NaN"] {
            assert!(limit(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn delays_are_seconds_or_carry_a_unit() {
        for (text, seconds) in
            [("0", 0), ("90", 90), ("90s", 90), ("15m", 900), ("1h", 3_600), ("30d", 2_592_000)]
        {
            assert_eq!(delay(text), Ok(seconds), "{text}");
        }
        for text in ["", "h", "1.5h", "-1", "+1", "1w", "31d", "2592001", "99999999999d", " 1h"] {
            assert!(delay(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn account_ids_have_one_spelling() {
        let id = AccountId([7; 16]).to_string();
        assert_eq!(agent_name(&id), Ok(AgentName::Id(AccountId([7; 16]))));
        assert!(agent_name(&id.to_lowercase()).is_err());
        assert!(agent_name("acct_").is_err());
        // 26 characters that encode more than 128 bits.
        assert!(agent_name("acct_ZZZZZZZZZZZZZZZZZZZZZZZZZZ").is_err());
    }

    #[test]
    fn transfer_ids_have_one_spelling() {
        let ulid = Ulid::from_bytes([7; 16]);
        assert_eq!(transfer_id(&format!("txn_{ulid}")), Ok(ulid));
        for text in
            [ulid.to_string(), format!("txn_{ulid}").to_lowercase(), "txn_".into(), format!("acct_{ulid}")]
        {
            assert!(transfer_id(&text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn agent_ids_are_32_hex_digits() {
        assert_eq!(agent_id(&"07".repeat(16)), Ok([7; 16]));
        for text in
            ["", "+7", &"7".repeat(31), &"7".repeat(33), &"g".repeat(32), &format!("+{}", "7".repeat(31))]
        {
            assert!(agent_id(text).is_err(), "{text:?}");
        }
    }
}
