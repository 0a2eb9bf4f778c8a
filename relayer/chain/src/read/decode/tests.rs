use super::*;

const PROGRAM: Pubkey = purser::ID;
const MINT: Pubkey = Pubkey::new_from_array([9; 32]);

fn token_data(mint: Pubkey, owner: [u8; 32], amount: u64, state: u8) -> Vec<u8> {
    let mut data = vec![0; TOKEN_ACCOUNT_BYTES];
    data[..32].copy_from_slice(mint.as_ref());
    data[32..64].copy_from_slice(&owner);
    data[64..72].copy_from_slice(&amount.to_le_bytes());
    data[TOKEN_STATE] = state;
    data
}

fn at(owner: Pubkey, data: Vec<u8>) -> Destination {
    let account = RawAccount { owner, executable: false, lamports: 1, data };
    destination(&PROGRAM, &MINT, &Pubkey::new_from_array([1; 32]), Some(&account))
}

#[test]
fn token_accounts_are_classified_in_the_programs_order() {
    let owner = [5; 32];
    let other = Pubkey::new_from_array([8; 32]);
    let of = |mint, state| at(TOKEN_PROGRAM, token_data(mint, owner, 1, state));
    assert_eq!(of(MINT, 1), Destination::TokenAccount { owner: Address::from_bytes(owner) });
    assert_eq!(of(MINT, 2), Destination::Frozen);
    assert_eq!(of(other, 1), Destination::OtherMint);
    assert_eq!(of(other, 2), Destination::OtherMint);
    assert_eq!(of(MINT, 0), Destination::Uninitialized);
    assert_eq!(of(other, 0), Destination::Uninitialized);
    assert_eq!(of(MINT, 7), Destination::Uninitialized);
}

#[test]
fn only_a_legacy_token_account_is_one_whatever_the_bytes_say() {
    let data = token_data(MINT, [5; 32], 1, 1);
    let token_2022 = Pubkey::from_str_const("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb");
    assert_eq!(at(token_2022, data.clone()), Destination::NotTokenAccount);
    assert_eq!(at(PROGRAM, data.clone()), Destination::NotTokenAccount);
    assert_eq!(at(TOKEN_PROGRAM, data[..82].to_vec()), Destination::NotTokenAccount);
    assert_eq!(at(TOKEN_PROGRAM, [data, vec![0]].concat()), Destination::NotTokenAccount);
    assert_eq!(at(TOKEN_PROGRAM, vec![]), Destination::NotTokenAccount);
}

#[test]
fn wallet_is_named_its_usdc_token_account_and_an_absent_pda_is_missing() {
    let wallet = Pubkey::from_str_const("11111111111111111111111111111111");
    let usdc_token_account = to_address(&associated_token_account(&wallet, &MINT));
    assert!(wallet.is_on_curve());
    assert_eq!(destination(&PROGRAM, &MINT, &wallet, None), Destination::Wallet { usdc_token_account });
    let system_owned = RawAccount { owner: SYSTEM_PROGRAM, executable: false, lamports: 1, data: vec![] };
    let (pda, _) = Pubkey::find_program_address(&[b"vault"], &PROGRAM);
    let usdc_token_account = to_address(&associated_token_account(&pda, &MINT));
    assert_eq!(
        destination(&PROGRAM, &MINT, &pda, Some(&system_owned)),
        Destination::Vault { usdc_token_account }
    );
    assert_eq!(destination(&PROGRAM, &MINT, &pda, None), Destination::Missing);
}

#[test]
fn only_a_wallet_is_paid_as_one_whatever_stands_at_its_token_account() {
    let raw = |owner, executable, data| RawAccount { owner, executable, lamports: 1, data };
    let wallet = Pubkey::from_str_const("11111111111111111111111111111111");
    let (vault, _) = Pubkey::find_program_address(&[b"vault"], &PROGRAM);
    let ata = |of: &Pubkey| to_address(&associated_token_account(of, &MINT));
    let paid_at = Destination::TokenAccount { owner: to_address(&wallet) };
    let of = |address: &Pubkey, account: Option<RawAccount>| {
        destination_of_wallet(&PROGRAM, &MINT, (address, account.as_ref()), paid_at)
    };
    let system_owned = || Some(raw(SYSTEM_PROGRAM, false, vec![]));
    assert_eq!(of(&wallet, None), paid_at);
    assert_eq!(of(&wallet, system_owned()), paid_at);
    let is_vault = Destination::NotWallet(NotWallet::Vault { usdc_token_account: ata(&vault) });
    assert_eq!(of(&vault, None), is_vault);
    assert_eq!(of(&vault, system_owned()), is_vault);
    assert_eq!(of(&vault, Some(raw(PROGRAM, false, agent_data()))), is_vault);
    let none = |kind| Destination::NotWallet(kind);
    // A token account may even be its own owner.
    for mint in [MINT, Pubkey::new_from_array([8; 32])] {
        let data = token_data(mint, wallet.to_bytes(), 1, 1);
        assert_eq!(of(&wallet, Some(raw(TOKEN_PROGRAM, false, data))), none(NotWallet::TokenAccount));
    }
    assert_eq!(of(&wallet, Some(raw(PROGRAM, true, vec![1]))), none(NotWallet::Program));
    assert_eq!(of(&wallet, Some(raw(PROGRAM, false, vec![1]))), none(NotWallet::OfProgram));
}

#[test]
fn wallet_lacks_a_token_account_until_one_is_there_and_not_by_lamports() {
    let wallet = Pubkey::from_str_const("11111111111111111111111111111111");
    let ata = associated_token_account(&wallet, &MINT);
    let of = |account: Option<&RawAccount>| {
        let paid_at = destination(&PROGRAM, &MINT, &ata, account);
        destination_of_wallet(&PROGRAM, &MINT, (&wallet, None), paid_at)
    };
    assert_eq!(of(None), Destination::NoTokenAccount);
    let mut found = RawAccount { owner: SYSTEM_PROGRAM, executable: false, lamports: 1, data: vec![] };
    assert_eq!(of(Some(&found)), Destination::NoTokenAccount);
    (found.owner, found.data) = (TOKEN_PROGRAM, token_data(MINT, [7; 32], 0, 1));
    assert_eq!(of(Some(&found)), Destination::TokenAccount { owner: Address::from_bytes([7; 32]) });
    found.data[TOKEN_STATE] = TOKEN_STATE_FROZEN;
    assert_eq!(of(Some(&found)), Destination::Frozen);
}

#[test]
fn the_rent_that_is_told_is_that_of_a_token_account() {
    assert_eq!(crate::sign::payers::rent(TOKEN_ACCOUNT_BYTES), purser_core::TOKEN_ACCOUNT_RENT_LAMPORTS);
}

/// An agent with a valid layout and nothing else.
fn agent_data() -> Vec<u8> {
    let mut data = vec![0; Agent::BYTES];
    data[..8].copy_from_slice(<Agent as anchor_lang::Discriminator>::DISCRIMINATOR);
    data[8] = purser::constants::LAYOUT_VERSION;
    data
}

#[test]
fn accounts_of_another_program_are_not_ours() {
    let data = agent_data();
    let key = Pubkey::new_from_array([1; 32]);
    let mut account = RawAccount { owner: PROGRAM, executable: false, lamports: 1, data };
    assert!(agent(&PROGRAM, &key, &account, (&key, None)).is_some());
    assert!(operator(&PROGRAM, &key, &account).is_none());
    account.owner = TOKEN_PROGRAM;
    assert!(agent(&PROGRAM, &key, &account, (&key, None)).is_none());
    account.owner = PROGRAM;
    account.data[8] -= 1;
    assert!(agent(&PROGRAM, &key, &account, (&key, None)).is_none(), "the layout before");
    account.data[8] += 1;
    account.data.truncate(Agent::BYTES - 1);
    assert!(agent(&PROGRAM, &key, &account, (&key, None)).is_none());
}

#[test]
fn only_the_agents_own_token_account_gives_its_balance_and_whether_it_is_frozen() {
    let key = Pubkey::new_from_array([1; 32]);
    let own = Pubkey::default();
    let data = agent_data();
    let account = RawAccount { owner: PROGRAM, executable: false, lamports: 1, data };
    let mut token = RawAccount {
        owner: TOKEN_PROGRAM,
        executable: false,
        lamports: 1,
        data: token_data(MINT, [1; 32], 7, 1),
    };
    let seen_at = |address, token: &RawAccount| {
        let agent = agent(&PROGRAM, &key, &account, (address, Some(token))).unwrap();
        (agent.balance, agent.is_frozen)
    };
    assert_eq!(seen_at(&own, &token), (UsdcAmount::from_micros(7), false));
    token.data[TOKEN_STATE] = TOKEN_STATE_FROZEN;
    assert_eq!(seen_at(&own, &token), (UsdcAmount::from_micros(7), true));
    assert_eq!(seen_at(&MINT, &token), (UsdcAmount::ZERO, false));
}
