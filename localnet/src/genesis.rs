//! What is on the chain before the first block: the program, the USDC mint, funded accounts.

use solana_program_pack::Pack;
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use spl_token_interface::state::Mint;
use surfpool_core::solana_account::Account;
use surfpool_core::surfnet::svm::SurfnetSvm;

use crate::amount::{SOL_DECIMALS, USDC_DECIMALS};
use crate::error::{Context, Result};
use crate::state::{NetworkRecord, mint_authority};

const UPGRADEABLE_LOADER: Pubkey = Pubkey::from_str_const("BPFLoaderUpgradeab1e11111111111111111111111");
const SYSTEM_PROGRAM: Pubkey = Pubkey::from_str_const("11111111111111111111111111111111");
/// What the mint authority gets, so that it can pay for minting.
const AUTHORITY_LAMPORTS: u64 = 1_000 * 10u64.pow(SOL_DECIMALS);

/// Writes the program as an upgradeable one; its upgrade authority is the network's mint authority.
pub fn deploy(svm: &mut SurfnetSvm, program_id: &Pubkey, elf: &[u8], authority: &Pubkey) -> Result<()> {
    let (program_data_address, _) = Pubkey::find_program_address(&[program_id.as_ref()], &UPGRADEABLE_LOADER);
    // The loader's bincode layouts: ProgramData { slot: 0, authority: Some }, then the code; Program { programdata }.
    let mut program_data = Vec::with_capacity(45 + elf.len());
    program_data.extend_from_slice(&3u32.to_le_bytes());
    program_data.extend_from_slice(&0u64.to_le_bytes());
    program_data.push(1);
    program_data.extend_from_slice(authority.as_ref());
    program_data.extend_from_slice(elf);
    let mut program = Vec::with_capacity(36);
    program.extend_from_slice(&2u32.to_le_bytes());
    program.extend_from_slice(program_data_address.as_ref());
    put(svm, &program_data_address, UPGRADEABLE_LOADER, program_data, false, 0)?;
    put(svm, program_id, UPGRADEABLE_LOADER, program, true, 0)
        .map_err(|error| crate::error::Error::new(format!("the program does not load: {error}")))
}

/// Creates the USDC mint (legacy token program, 6 decimals) unless an earlier run did, and funds its authority.
pub fn create_mint(svm: &mut SurfnetSvm, record: &NetworkRecord) -> Result<()> {
    let mint = record.mint().pubkey();
    let authority = mint_authority(&mint).pubkey();
    if svm.get_account(&mint).context("cannot read the mint")?.is_none() {
        let mut data = vec![0; Mint::LEN];
        let state = Mint {
            mint_authority: Some(authority).into(),
            supply: 0,
            decimals: USDC_DECIMALS as u8,
            is_initialized: true,
            freeze_authority: Some(authority).into(),
        };
        Mint::pack(state, &mut data).context("cannot write the mint")?;
        put(svm, &mint, spl_token_interface::ID, data, false, 0)?;
    }
    fund(svm, &authority, AUTHORITY_LAMPORTS)
}

/// Lifts a wallet's balance to `lamports`; what is above stays.
pub fn fund(svm: &mut SurfnetSvm, address: &Pubkey, lamports: u64) -> Result<()> {
    match svm.get_account(address).context("cannot read an account")? {
        Some(account) if account.lamports >= lamports => Ok(()),
        Some(mut account) => {
            account.lamports = lamports;
            svm.set_account(address, account).context(format!("cannot fund {address}"))
        }
        None => put(svm, address, SYSTEM_PROGRAM, Vec::new(), false, lamports),
    }
}

fn put(
    svm: &mut SurfnetSvm,
    address: &Pubkey,
    owner: Pubkey,
    data: Vec<u8>,
    executable: bool,
    lamports: u64,
) -> Result<()> {
    let lamports = lamports.max(svm.inner.minimum_balance_for_rent_exemption(data.len()));
    let account = Account { lamports, data, owner, executable, rent_epoch: 0 };
    svm.set_account(address, account).context(format!("cannot write {address}"))
}
