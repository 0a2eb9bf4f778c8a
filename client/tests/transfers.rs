//! The forms of a transfer.

use purser_client::purser::instruction;
use purser_client::{
    Deployment, LOADED_BYTES, TransferOrder, arguments, loaded_bytes, table_units, transfer_arguments,
};
use solana_sdk::pubkey::Pubkey;

#[test]
fn all_forms_of_a_transfer_say_the_same_of_the_same_accounts() {
    let key = |byte| Pubkey::new_from_array([byte; 32]);
    let deployment = Deployment { program: key(1), usdc_mint: key(2) };
    let order = TransferOrder {
        operator: key(3),
        agent: key(4),
        source: key(5),
        destination: key(6),
        transfer_id: [7; 16],
        asked_at: 8,
        amount: 9,
        memo: "tea 🫖",
    };
    let (plain, checked) =
        (deployment.transfer(key(10), &order), deployment.transfer_checked(key(10), &order));
    assert_eq!(plain.accounts[..5], checked.accounts[..5]);
    let keys: Vec<_> = checked.accounts[5..].iter().map(|meta| (meta.pubkey, meta.is_writable)).collect();
    assert_eq!(keys, [(deployment.usdc_mint, false), (plain.accounts[5].pubkey, false)]);
    let granted = deployment.transfer_extended(key(10), &order, Some(key(11)), None);
    assert_eq!(granted.accounts[..6], checked.accounts[..6]);
    assert_eq!((granted.accounts[6].pubkey, granted.accounts[6].is_writable), (key(11), true));
    for data in [&plain.data, &checked.data, &granted.data] {
        let read = transfer_arguments(data).expect("a transfer");
        assert_eq!((read.transfer_id, read.asked_at, read.amount), ([7; 16], 8, 9));
        assert_eq!(read.memo, "tea 🫖".as_bytes());
    }
    // Neither is taken for the other.
    assert!(arguments::<instruction::Transfer>(&checked.data).is_none());
    assert!(arguments::<instruction::TransferChecked>(&plain.data).is_none());
    assert!(transfer_arguments(&deployment.accept_admin(key(1), key(2)).data).is_none());
}

#[test]
fn larger_tables_ask_for_more_bytes_and_units() {
    assert_eq!((loaded_bytes(1), table_units(0)), (LOADED_BYTES, 0));
    for buckets in [1, 64, 512, 4_096, 54_000] {
        // 4 units for each KiB, and twice the account beside the programs.
        assert!(table_units(buckets) >= u32::from(buckets) * 192 / 256);
        assert!(loaded_bytes(buckets) >= 2 * u32::from(buckets) * 192 + 600_000);
    }
    assert!(loaded_bytes(u16::MAX) <= 64 * 1024 * 1024);
}
