//! Transactions that are printed here, signed elsewhere, and submitted.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use solana_sdk::hash::Hash;
use solana_sdk::instruction::Instruction;
use solana_sdk::message::Message;
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;
use solana_sdk::transaction::Transaction;

use crate::room::{Room, Wallet, row};

/// An operator whose admin's key is on no machine that runs these commands.
struct Cold {
    room: Room,
    admin: Wallet,
    /// A wallet that is there, and may do nothing.
    here: Wallet,
    operator: String,
    policy: Wallet,
}

impl Cold {
    async fn new() -> Self {
        let room = Room::new();
        let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
        let operator = room.creates_operator(&admin, &policy, &[]);
        let here = room.wallet("here").await;
        Self { room, admin, here, operator, policy }
    }

    /// What names the admin as a guardian of this address.
    fn guardian(&self, address: &str, more: &[&str]) -> Value {
        let admin = self.admin.address();
        let update = ["operator", "update", "--operator", &self.operator, "--guardian", address];
        self.room.printed(&self.here, &[&update[..], &["--signer", &admin], more].concat())
    }

    fn submit(&self, transaction: &str) -> Value {
        self.room.done(&self.here, &["submit", transaction])
    }

    /// Why it is not sent, with `--yes` and without.
    #[track_caller]
    fn refuses(&self, transaction: &str, expected: &str) {
        for more in [&["--yes"][..], &[]] {
            let error = self.room.fails(&self.here, &[&["submit", transaction], more].concat());
            assert!(error.contains(expected), "{more:?}: {error}");
        }
    }
}

fn decoded(printed: &Value) -> Transaction {
    let bytes = BASE64_STANDARD.decode(printed["transaction"].as_str().unwrap()).unwrap();
    bincode::deserialize(&bytes).unwrap()
}

fn encoded(transaction: &Transaction) -> String {
    BASE64_STANDARD.encode(bincode::serialize(transaction).unwrap())
}

/// As a hardware wallet does.
pub fn signed(printed: &Value, signer: &Keypair) -> String {
    let mut transaction = decoded(printed);
    let blockhash = transaction.message.recent_blockhash;
    transaction.sign(&[signer], blockhash);
    encoded(&transaction)
}

#[tokio::test(flavor = "multi_thread")]
async fn printed_transaction_is_signed_elsewhere_and_submitted() {
    let cold = Cold::new().await;
    let guardian = Keypair::new().pubkey().to_string();
    let printed = cold.guardian(&guardian, &[]);
    // What it does, by its bytes: and what that changes, by the cluster.
    let does = &printed["does"][0]["update_operator"];
    assert_eq!((&does["admin"], &does["operator"]), (&json!(cold.admin.address()), &json!(cold.operator)));
    assert_eq!(does["update"]["guardian"], json!(guardian));
    assert_eq!(row(&printed, "operator", "guardian"), (&Value::Null, &json!(guardian)));
    assert_eq!((&printed["signer"], &printed["refused_now"]), (&json!(cold.admin.address()), &Value::Null));
    assert!(printed["good_for"].as_str().unwrap().starts_with("150 blocks, a minute at most"), "{printed}");
    assert!(printed["good_until_block_height"].as_u64().unwrap() > 150);
    let shown = cold.room.done(&cold.admin, &["operator", "show"]);
    assert_eq!(shown["guardian"], Value::Null);

    let transaction = signed(&printed, &cold.admin.keypair);
    let hash = printed["message_hash"].as_str().unwrap();
    let looked = cold.room.shown(&cold.here, &["submit", &transaction, "--hash", hash]);
    assert_eq!(row(&looked, "operator", "guardian"), (&Value::Null, &json!(guardian)));
    assert_eq!((&looked["does"], &looked["message_hash"]), (&printed["does"], &json!(hash)));
    // Out of a file too, with line breaks.
    let file = cold.room.folder.path().join("signed");
    std::fs::write(&file, format!("{}\n{}\n", &transaction[..76], &transaction[76..])).unwrap();
    let done = cold.room.done(&cold.here, &["submit", "--file", file.to_str().unwrap(), "--hash", hash]);
    assert_eq!(done["done"], json!(true));
    let shown = cold.room.done(&cold.admin, &["operator", "show"]);
    assert_eq!(shown["guardian"], json!(guardian));
    // Once more is no harm: it has landed.
    assert_eq!(cold.submit(&transaction)["signature"], done["signature"]);
    let text = cold.room.command(&cold.here, &["submit", &transaction]).output().unwrap();
    assert!(String::from_utf8(text.stdout).unwrap().starts_with("the transaction has landed\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn altered_or_unsigned_transaction_is_not_sent() {
    let cold = Cold::new().await;
    let (meant, thief) = (Keypair::new().pubkey(), Keypair::new().pubkey());
    let printed = cold.guardian(&meant.to_string(), &[]);
    let transaction = signed(&printed, &cold.admin.keypair);
    let refuses = |transaction: &str, expected: &str| cold.refuses(transaction, expected);

    refuses(printed["transaction"].as_str().unwrap(), &format!("{} has not signed it", cold.admin.address()));
    refuses(&signed_by_any(&printed, &cold.here.keypair), "another key signed it, or it was altered");
    // Its guardian replaced by the thief, after it was signed.
    let mut bytes = BASE64_STANDARD.decode(&transaction).unwrap();
    let place = (0..bytes.len() - 32).find(|at| bytes[*at..at + 32] == meant.to_bytes()).unwrap();
    bytes[place..place + 32].copy_from_slice(&thief.to_bytes());
    refuses(&BASE64_STANDARD.encode(&bytes), "it was altered after it was signed");
    // Replaced before: whoever signed did not look. The printed hash shows it.
    let other = cold.guardian(&thief.to_string(), &[]);
    let other = signed(&other, &cold.admin.keypair);
    let hash = printed["message_hash"].as_str().unwrap();
    let error = cold.room.refused(&cold.here, &["submit", &other, "--hash", hash]);
    assert!(error.contains("another transaction than the one that was printed"), "{error}");
    assert!(
        row(&cold.room.shown(&cold.here, &["submit", &other]), "operator", "guardian").1
            == &json!(thief.to_string())
    );

    // Something in it that no command makes, or that means nothing to this program.
    let mut with_theft = decoded(&printed).message;
    let stolen = solana_transfer(&cold.admin.keypair.pubkey(), &thief, 1_000_000_000);
    let update = instruction(&with_theft, 0);
    with_theft = Message::new_with_blockhash(
        &[update, stolen],
        Some(&cold.admin.keypair.pubkey()),
        &with_theft.recent_blockhash,
    );
    let signed_theft =
        Transaction::new(&[&cold.admin.keypair], with_theft.clone(), with_theft.recent_blockhash);
    refuses(&encoded(&signed_theft), "instruction 2 is one of the program 11111111111111111111111111111111");
    let mut longer = decoded(&printed);
    longer.message.instructions[0].data.push(0);
    let blockhash = longer.message.recent_blockhash;
    longer.sign(&[&cold.admin.keypair], blockhash);
    refuses(&encoded(&longer), "what it does is not known");
    let program = Keypair::new().pubkey().to_string();
    let error = cold.room.refused(&cold.here, &["submit", &transaction, "--program-id", &program]);
    assert!(error.contains(&format!("of the program {}", purser::ID)), "{error}");

    let mut trailing = BASE64_STANDARD.decode(&transaction).unwrap();
    trailing.push(0);
    refuses(&BASE64_STANDARD.encode(trailing), "it is not a transaction as --unsigned prints it");
    refuses(&transaction[..40], "it is not a transaction as --unsigned prints it");
    refuses("***", "it is not base64");
    refuses(&BASE64_STANDARD.encode(vec![255; 90_000]), "it is not a transaction");
    let shown = cold.room.done(&cold.admin, &["operator", "show"]);
    assert_eq!(shown["guardian"], Value::Null);
}

/// The signature of one key in the place of another's.
fn signed_by_any(printed: &Value, signer: &Keypair) -> String {
    let mut transaction = decoded(printed);
    transaction.signatures = vec![signer.sign_message(&transaction.message_data())];
    encoded(&transaction)
}

fn instruction(message: &Message, index: usize) -> Instruction {
    let compiled = &message.instructions[index];
    let meta = |index: &u8| solana_sdk::instruction::AccountMeta {
        pubkey: message.account_keys[usize::from(*index)],
        is_signer: message.is_signer((*index).into()),
        is_writable: message.is_maybe_writable((*index).into(), None),
    };
    Instruction {
        program_id: message.account_keys[usize::from(compiled.program_id_index)],
        accounts: compiled.accounts.iter().map(meta).collect(),
        data: compiled.data.clone(),
    }
}

fn solana_transfer(from: &Pubkey, to: &Pubkey, lamports: u64) -> Instruction {
    solana_system_interface::instruction::transfer(from, to, lamports)
}

#[tokio::test(flavor = "multi_thread")]
async fn wallet_without_the_right_is_refused_before_signing_and_after() {
    let cold = Cold::new().await;
    // The policy authority is no admin.
    let guardian = Keypair::new().pubkey().to_string();
    let update = ["operator", "update", "--operator", &cold.operator, "--guardian", &guardian];
    let printed = cold.room.printed(&cold.policy, &update);
    assert_eq!(printed["signer"], json!(cold.policy.address()));
    let refused = printed["refused_now"].as_str().unwrap();
    assert!(refused.contains("may not do this") && refused.contains(&cold.policy.address()), "{refused}");
    assert_eq!(printed["changes"], json!([]));
    cold.refuses(&signed(&printed, &cold.policy.keypair), "may not do this");
    // Whose key is not here does not sign by itself.
    let halt = ["operator", "halt", "--operator", &cold.operator, "--signer", &cold.admin.address()];
    assert!(cold.room.fails(&cold.here, &halt).contains("print the transaction with --unsigned"));
    let shown = cold.room.shown(&cold.here, &[&update[..], &["--signer", &cold.admin.address()]].concat());
    assert_eq!(row(&shown, "operator", "guardian").1, &json!(guardian));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_is_too_old_is_refused_and_a_nonce_keeps_it_good() {
    let cold = Cold::new().await;
    let (first, second) = (Keypair::new().pubkey().to_string(), Keypair::new().pubkey().to_string());
    let old = cold.guardian(&first, &[]);
    let nonce = Keypair::new().pubkey();
    let value = Hash::new_from_array([7; 32]);
    puts_nonce(&cold.room, &nonce, &cold.admin.keypair.pubkey(), &value).await;
    let place = nonce.to_string();
    let lasting = cold.guardian(&first, &["--nonce", &place]);
    let late = cold.guardian(&second, &["--nonce", &place]);
    assert_eq!(lasting["good_for"], json!(format!("as long as the nonce {nonce} is not used")));
    assert_eq!(lasting["good_until_block_height"], Value::Null);
    assert!(lasting["does"][0]["advance_nonce"]["nonce"] == json!(place), "{lasting}");
    assert_eq!(decoded(&lasting).message.recent_blockhash, value);

    cold.room.chain.outlives(&decoded(&old).message.recent_blockhash).await;
    cold.refuses(&signed(&old, &cold.admin.keypair), "too old: it was good for 150 blocks, a minute at most");
    let shown = cold.room.shown(&cold.here, &["submit", &signed(&lasting, &cold.admin.keypair)]);
    assert_eq!(row(&shown, "operator", "guardian").1, &json!(first));
    cold.submit(&signed(&lasting, &cold.admin.keypair));
    let guardian = || cold.room.done(&cold.admin, &["operator", "show"])["guardian"].clone();
    assert_eq!(guardian(), json!(first));
    // Only one of two lands over the same nonce.
    cold.refuses(&signed(&late, &cold.admin.keypair), "void: its nonce has been used");
    assert_eq!(guardian(), json!(first));

    let foreign = Keypair::new().pubkey();
    puts_nonce(&cold.room, &foreign, &cold.here.keypair.pubkey(), &value).await;
    for (nonce, expected) in
        [(foreign, "is used by"), (cold.here.keypair.pubkey(), "not a durable nonce account")]
    {
        let update = ["operator", "update", "--operator", &cold.operator, "--guardian", "none", "--unsigned"];
        let by = ["--signer", &cold.admin.address(), "--nonce", &nonce.to_string()];
        let error = cold.room.fails(&cold.here, &[&update[..], &by].concat());
        assert!(error.contains(expected), "{error}");
    }
}

/// As `solana create-nonce-account` leaves it.
async fn puts_nonce(room: &Room, address: &Pubkey, authority: &Pubkey, value: &Hash) {
    let mut data = vec![1, 0, 0, 0, 1, 0, 0, 0];
    data.extend(authority.to_bytes());
    data.extend(value.to_bytes());
    data.extend(5_000u64.to_le_bytes());
    room.chain.sets_account(address, &Pubkey::default(), &data).await;
}

/// A list too long for one transaction, signed piece by piece: the same command prints the next one.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_is_signed_elsewhere_step_by_step() {
    let cold = Cold::new().await;
    let agent = cold.room.creates_agent(&cold.operator, &cold.policy, 0).await.to_string();
    let recipients: Vec<String> = (0..30).map(|_| Keypair::new().pubkey().to_string()).collect();
    let file = cold.room.folder.path().join("recipients");
    std::fs::write(&file, recipients.join("\n")).unwrap();
    let admin = cold.admin.address();
    let set = ["account", "set-policy", "--account", &agent, "--allow-file", file.to_str().unwrap()];
    let set = [&set[..], &["--signer", &admin]].concat();
    // Opened, written twice, applied.
    for left in (1..=4).rev() {
        let printed = cold.room.printed(&cold.here, &set);
        assert_eq!(printed["transactions_left"], json!(left), "{printed}");
        let (before, after) = row(&printed, "account", "allowed_counterparties");
        assert_eq!((before, after["wallets"].as_array().unwrap().len()), (&json!("anyone"), 30));
        cold.submit(&signed(&printed, &cold.admin.keypair));
    }
    let shown = cold.room.done(&cold.here, &["account", "show", "--account", &agent]);
    assert_eq!(shown["allowed_counterparties"]["wallets"].as_array().unwrap().len(), 30);
    assert_eq!(shown["waiting_policy"], Value::Null);
    let refused = cold.room.fails(&cold.here, &["deploy", "--unsigned"]);
    assert!(refused.contains("hundreds of transactions"), "{refused}");
}
