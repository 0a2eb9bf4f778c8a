//! Clients that other people's generators make from the description. `docs/build/sdk.md` has those of its own; here are those of
//! openapi-generator, which needs a Java, and with `PURSER_TEST_LONG=1` two more and what linters say. Without one, or without the
//! packages of `.ci/run`, a test says so and skips.

use std::fs;
use std::path::PathBuf;

use purser_tests::network::temp_folder;
use purser_tests::{Operator, foreign};
use tokio::process::Command;

/// The folder with the generator.
async fn generator() -> Option<PathBuf> {
    let python = foreign::python()?;
    let java = Command::new("java").arg("-version").output().await;
    if !java.is_ok_and(|output| output.status.success()) {
        eprintln!("not run: there is no Java");
        return None;
    }
    Some(python)
}

const PAYS: &str = r#"
import os
from purser_api import AccountsApi, ApiClient, Configuration, CreateTransfer, EventsApi, Payee, TransfersApi

def client(key):
    host = os.environ["PURSER_URL"].removesuffix("/v1")
    return ApiClient(Configuration(host=host, access_token=os.environ[key]))

transfers = TransfersApi(client("PURSER_AGENT_KEY"))
order = CreateTransfer(var_from=os.environ["PURSER_ACCOUNT"], to=Payee(os.environ["PURSER_PAYEE"]), amount="0.25", idempotency_key="generated")
first, second = [transfers.create_transfer(order) for _ in range(2)]
print(first.status.actual_instance, first.transfer_id == second.transfer_id)
listed = transfers.list_transfers(idempotency_key="generated").data
print(len(listed), type(listed[0]) is type(first))
print(AccountsApi(client("PURSER_OPERATOR_KEY")).list_accounts().data[0].account_id == os.environ["PURSER_ACCOUNT"])
kinds = {event.actual_instance.type for event in EventsApi(client("PURSER_OPERATOR_KEY")).list_events().data}
print("transfer.settled" in kinds)
"#;

#[tokio::test]
async fn python_client_of_openapi_generator_pays_once_and_lists_the_same_type() {
    let Some(programs) = generator().await else { return };
    let agent = Operator::shared().await.creates_account_with("Ada", "10").await;
    let (payee, _) = agent.operator.chain.new_payee().await;
    let folder = temp_folder();
    fs::write(folder.path().join("pays.py"), PAYS).expect("the folder is writable");
    let line = "purser openapi > openapi.json
        openapi-generator-cli generate -g python -i openapi.json -o client --package-name purser_api >&2
        PYTHONPATH=client python pays.py";
    let mut shell = foreign::shell(folder.path(), &[programs], line);
    shell.env("PURSER_URL", format!("{}/v1", agent.operator.app().base_url()));
    shell.env("PURSER_AGENT_KEY", agent.new_key().await.key());
    shell.env("PURSER_OPERATOR_KEY", agent.operator.client.key());
    shell.env("PURSER_ACCOUNT", &agent.id).env("PURSER_PAYEE", payee.to_string());
    assert_eq!(foreign::printed(shell).await, "settled True\n1 True\nTrue\nTrue\n");
    assert_eq!(agent.operator.chain.usdc_micros(&payee).await, 250_000);
}

#[tokio::test]
async fn typescript_client_of_openapi_generator_compiles() {
    let (Some(programs), Some(modules)) = (generator().await, foreign::node_modules()) else { return };
    let folder = temp_folder();
    let line = "purser openapi > openapi.json
        openapi-generator-cli generate -g typescript-fetch -i openapi.json -o client >&2
        tsc --noEmit --strict --target es2022 --module nodenext --lib es2022,dom --skipLibCheck client/index.ts
        grep -c 'idempotencyKey: string;' client/models/CreateTransfer.ts client/models/CreateX402Payment.ts";
    let shell = foreign::shell(folder.path(), &[programs, modules.join(".bin")], line);
    let counted = "client/models/CreateTransfer.ts:1\nclient/models/CreateX402Payment.ts:1\n";
    assert_eq!(foreign::printed(shell).await, counted);
}

/// Two linters with their recommended rules, and two more generators, fetched for it.
#[tokio::test]
async fn redocly_and_spectral_find_no_error_and_clients_of_hey_api_and_orval_compile() {
    let Some(modules) = foreign::node_modules() else { return };
    if std::env::var_os("PURSER_TEST_LONG").is_none() {
        return;
    }
    let folder = temp_folder();
    fs::write(folder.path().join(".spectral.json"), r#"{ "extends": ["spectral:oas"] }"#)
        .expect("the folder is writable");
    let line = "purser openapi > openapi.json
        npm install --silent --no-audit --no-fund @redocly/cli@2 @stoplight/spectral-cli@6 @hey-api/openapi-ts@0.99 orval@8 typescript@5.9 >&2
        redocly lint --extends=recommended openapi.json >&2
        spectral lint --fail-severity=error openapi.json >&2
        openapi-ts --input openapi.json --output hey --client @hey-api/client-fetch >&2
        orval --input openapi.json --output orval/purser.ts --client fetch >&2
        tsc --noEmit --strict --target es2022 --module esnext --moduleResolution bundler --lib es2022,dom,dom.iterable --skipLibCheck hey/*.ts orval/*.ts
        echo compiled";
    // The packages of this folder, with the Node of the others.
    let shell =
        foreign::shell(folder.path(), &[folder.path().join("node_modules/.bin"), modules.join(".bin")], line);
    assert_eq!(foreign::printed(shell).await, "compiled\n");
}
