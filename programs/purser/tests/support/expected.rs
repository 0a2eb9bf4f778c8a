use anchor_lang::error::ErrorCode;
use purser::error::PurserError;
use solana_instruction_error::InstructionError;

/// The error of the first instruction that fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected(pub InstructionError);

impl Expected {
    /// The address is in use: the system program's refusal to allocate it.
    pub const ALREADY_IN_USE: Self = Self(InstructionError::Custom(0));
    /// The payer has too few lamports: the system program's refusal.
    pub const TOO_FEW_LAMPORTS: Self = Self(InstructionError::Custom(1));
    /// The token program's refusal to touch a frozen account.
    pub const FROZEN: Self = Self(InstructionError::Custom(17));
    /// The token program's refusal of a mint that differs from the accounts' mint.
    pub const MINT_MISMATCH: Self = Self(InstructionError::Custom(3));
    /// The token program's refusal of decimals that differ from the mint's.
    pub const MINT_DECIMALS_MISMATCH: Self = Self(InstructionError::Custom(18));
}

impl From<PurserError> for Expected {
    fn from(error: PurserError) -> Self {
        Self(InstructionError::Custom(error.into()))
    }
}

impl From<ErrorCode> for Expected {
    fn from(error: ErrorCode) -> Self {
        Self(InstructionError::Custom(error.into()))
    }
}

impl From<InstructionError> for Expected {
    fn from(error: InstructionError) -> Self {
        Self(error)
    }
}
