//! Who pays whom in every world.

use purser_core::{AccountId, Address, AgentAddresses, Network, OperatorId, Payer};

pub const PAYEE: Address = Address::from_bytes([8; 32]);
/// The grant that is named, whichever it is: a payment has one.
pub const GRANT: Address = Address::from_bytes([10; 32]);
pub const PAYEE_OWNER: Address = Address::from_bytes([9; 32]);

/// The one account that pays.
pub const fn payer() -> Payer {
    Payer {
        network: Network::Test,
        operator_id: OperatorId::from_bytes([1; 16]),
        operator: Address::from_bytes([2; 32]),
        account_id: AccountId::from_bytes([3; 16]),
        addresses: AgentAddresses {
            agent: Address::from_bytes([4; 32]),
            token_account: Address::from_bytes([5; 32]),
        },
    }
}

/// What is asked for under a key.
pub const fn amount(number: usize) -> u64 {
    100 + number as u64
}
