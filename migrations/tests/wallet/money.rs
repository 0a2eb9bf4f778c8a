use purser::token_account::TOKEN_PROGRAMS;
use serde_json::{Value, json};
use solana_sdk::pubkey::Pubkey;
use solana_sdk::signature::Keypair;
use solana_sdk::signer::Signer;

use crate::room::Room;

#[tokio::test(flavor = "multi_thread")]
async fn agent_is_emptied_and_closed_and_the_rent_goes_back_to_who_paid() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let operator = room.creates_operator(&admin, &policy, &["--loosening-delay", "1h"]);
    let agent = room.creates_agent(&operator, &policy, 40_000_000).await.to_string();
    let (payee, payee_wallet) = room.chain.new_payee().await;
    let (payee, wallet) = (payee.to_string(), payee_wallet.pubkey().to_string());
    let withdraw =
        |amount, to| ["account", "withdraw", "--account", agent.as_str(), "--amount", amount, "--to", to];
    assert!(room.refused(&policy, &withdraw("1", &payee)).contains("may not do this"));
    assert!(room.refused(&admin, &withdraw("40.000001", &payee)).contains("holds 40.000000 USDC"));
    assert!(room.refused(&admin, &withdraw("0.0000001", &payee)).contains("more than the 6 digits"));
    assert!(room.refused(&admin, &withdraw("1", &wallet)).contains(&payee));
    assert_eq!(room.done(&admin, &withdraw("0.000001", &payee))["balance"], json!("39.999999"));

    let close = ["account", "close", "--account", agent.as_str()];
    assert!(room.refused(&admin, &close).contains("39.999999 USDC still"));
    assert!(room.refused(&admin, &[&close[..], &["--to", &wallet]].concat()).contains(&payee));
    // With a policy that waits: its draft goes too.
    let pause = ["account", "pause", "--account", agent.as_str()];
    room.done(&policy, &pause);
    room.done(&policy, &["account", "set-policy", "--account", agent.as_str(), "--paused", "false"]);
    let balance = async |wallet: &Keypair| room.rpc().get_balance(&wallet.pubkey()).await.unwrap();
    let before = balance(&policy.keypair).await;
    let closed = room.done(&admin, &[&close[..], &["--to", &payee]].concat());
    assert_eq!((&closed["swept_usdc"], &closed["to"]), (&json!("39.999999"), &json!(payee)));
    assert_eq!(closed["rent_back_to"], json!(policy.address()));
    assert_eq!(closed["draft_rent_back_to"], json!(policy.address()));
    assert!(balance(&policy.keypair).await > before);
    assert_eq!(room.chain.usdc_micros(&payee.parse().unwrap()).await, 40_000_000);
    assert!(room.refused(&admin, &["account", "show", "--account", &agent]).contains("was closed"));
    // The next one at this address is the admin's to make, and nobody lists it before.
    let id = closed["account_id"].as_str().unwrap();
    let agent_id = closed["agent_id"].as_str().unwrap();
    let create = [
        "account",
        "create",
        "--agent-id",
        agent_id,
        "--operator",
        operator.as_str(),
        "--max-daily-spend",
        "1",
    ];
    assert!(room.refused(&policy, &create).contains("only the admin's wallet creates it anew"));
    let list = ["--operator", operator.as_str(), "--allow", id];
    let other = ["account", "create", "--agent-id", "0190a1b2c3d4e5f60718293a4b5c6d7e"];
    let refused = room.refused(&policy, &[&other[..], &list].concat());
    assert!(refused.contains("closed accounts are not listed"), "{refused}");
    room.done(&admin, &create);
    room.done(&policy, &[&other[..], &list].concat());
    let unknown =
        ["account", "set-policy", "--account", &agent, "--allow", "acct_01J00000000000000000000009"];
    let refused = room.refused(&admin, &[&unknown[..], &["--operator", operator.as_str()]].concat());
    assert!(refused.contains("is not an agent account of the operator"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_agent_is_closed_without_naming_anybody() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let operator = room.creates_operator(&admin, &policy, &[]);
    let agent = room.creates_agent(&operator, &policy, 0).await.to_string();
    assert!(room.refused(&policy, &["account", "close", "--account", &agent]).contains("may not do this"));
    let closed = room.done(&admin, &["account", "close", "--account", &agent]);
    assert_eq!((&closed["to"], &closed["draft_rent_back_to"]), (&Value::Null, &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn money_of_any_mint_gets_out_of_any_account_of_the_agent() {
    let room = Room::new();
    let (admin, policy) = (room.wallet("admin").await, room.wallet("policy").await);
    let operator = room.creates_operator(&admin, &policy, &[]);
    let agent = room.creates_agent(&operator, &policy, 1_000_000).await;
    let name = agent.to_string();
    for program in TOKEN_PROGRAMS {
        let stray = Stray::of(&room, &program, &agent).await;
        let (from, to) = (stray.from.to_string(), stray.to.to_string());
        let words = ["account", "withdraw", "--account", &name, "--from", &from, "--to", &to, "--amount"];
        let done = room.done(&admin, &[&words[..], &["0.5"]].concat());
        assert_eq!((&done["balance"], &done["mint"]), (&json!("6.500000"), &json!(stray.mint.to_string())));
        assert_eq!(room.done(&admin, &[&words[..], &["all"]].concat())["balance"], json!("0.000000"));
        assert_eq!(room.chain.usdc_micros(&stray.to).await, 7_000_000);
        assert!(room.refused(&admin, &[&words[..], &["all"]].concat()).contains("is empty"));
        // Into an account of another mint, and out of an account that is not the agent's.
        let (payee, _) = room.chain.new_payee().await;
        let wrong = ["account", "withdraw", "--account", &name, "--amount", "1", "--to", &to];
        assert!(room.refused(&admin, &wrong).contains("is a token account of the mint"));
        let wrong = [&words[..4], &["--from", &to, "--to", &from, "--amount", "1"]].concat();
        assert!(room.refused(&admin, &wrong).contains("belongs to"), "{payee}");
    }
}

/// An account of another mint that the agent owns, with 7.000000 in it, and somebody's to send it to.
struct Stray {
    mint: Pubkey,
    from: Pubkey,
    to: Pubkey,
}

impl Stray {
    async fn of(room: &Room, program: &Pubkey, agent: &Pubkey) -> Self {
        let any = || Keypair::new().pubkey();
        let (mint, from, to) = (any(), any(), any());
        let mint_data = room.chain.data(&room.network.usdc_mint).await.unwrap();
        room.chain.sets_account(&mint, program, &mint_data).await;
        for (address, owner, micros) in [(from, *agent, 7_000_000_u64), (to, any(), 0)] {
            let mut data = [mint.to_bytes(), owner.to_bytes()].concat();
            data.extend(micros.to_le_bytes());
            data.resize(165, 0);
            // Initialised.
            data[108] = 1;
            room.chain.sets_account(&address, program, &data).await;
        }
        Self { mint, from, to }
    }
}
