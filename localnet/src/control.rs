//! What tests do to a running network, over a port of its own: JSON-RPC, or `POST /METHOD/PARAMETER/...` with an empty body.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jsonrpc_core::types::error::{Error as RpcError, ErrorCode};
use jsonrpc_core::{IoHandler, Params, Value};
use jsonrpc_http_server::hyper::{Body, Request};
use jsonrpc_http_server::{
    DomainsValidation, RequestMiddlewareAction, Response, RestApi, Server, ServerBuilder,
};
use serde_json::json;
use solana_pubkey::Pubkey;

use crate::client::{minted, traveled};
use crate::error::{Error, Result};
use crate::gate::{self, Origin};

const SLOW_MAX: Duration = Duration::from_secs(600);

/// What happens to a transaction that is sent.
#[derive(Debug, PartialEq, Eq)]
pub enum Fate {
    Passes,
    Fails,
    Waits(Duration),
}

/// The faults that were asked for.
pub struct Faults {
    slow_ms: AtomicU64,
    fails: AtomicU64,
    spared: [u8; 32],
}

impl Faults {
    /// None yet; and none for what `payer` pays, so that money can be minted at any time.
    pub fn sparing(payer: &Pubkey) -> Self {
        Self { slow_ms: AtomicU64::new(0), fails: AtomicU64::new(0), spared: payer.to_bytes() }
    }

    /// Counts a failure that was asked for.
    pub fn fate_of_transaction(&self, payer: Option<[u8; 32]>) -> Fate {
        if payer == Some(self.spared) {
            return Fate::Passes;
        }
        if self.fails.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1)).is_ok() {
            return Fate::Fails;
        }
        match self.slow_ms.load(Ordering::Acquire) {
            0 => Fate::Passes,
            ms => Fate::Waits(Duration::from_millis(ms)),
        }
    }
}

/// Serves until the returned server is dropped.
pub fn serve(port: u16, rpc_url: String, mint: Pubkey, faults: Arc<Faults>) -> Result<Server> {
    let mut methods = IoHandler::new();
    let url = rpc_url.clone();
    methods.add_sync_method("fund", move |params: Params| {
        let (to, amount): (String, Value) = params.parse()?;
        let amount = amount.as_str().map_or_else(|| amount.to_string(), str::to_owned);
        let url = url.clone();
        apart(move || minted(&url, mint, &to, &amount))
    });
    methods.add_sync_method("advance", move |params: Params| {
        let (seconds,): (i64,) = params.parse()?;
        let url = rpc_url.clone();
        apart(move || traveled(&url, Some(seconds), None))
    });
    methods.add_sync_method("slow", {
        let faults = faults.clone();
        move |params: Params| {
            let (ms,): (u64,) = params.parse()?;
            if Duration::from_millis(ms) > SLOW_MAX {
                return Err(RpcError::invalid_params(format!("at most {} s", SLOW_MAX.as_secs())));
            }
            faults.slow_ms.store(ms, Ordering::Release);
            Ok(json!({ "slow_ms": ms }))
        }
    });
    methods.add_sync_method("fail_next_send", move |params: Params| {
        let (times,): (u64,) = params.parse()?;
        faults.fails.store(times, Ordering::Release);
        Ok(json!({ "fails": times }))
    });
    ServerBuilder::new(methods)
        .rest_api(RestApi::Unsecure)
        // No page of a browser steers it, by whichever name it got here.
        .cors(DomainsValidation::AllowOnly(vec![]))
        .request_middleware(only_local)
        .threads(1)
        .start_http(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        .map_err(|error| Error::new(format!("port {port} for control: {error}")))
}

/// Refuses what names another machine, or comes from a page of another site.
fn only_local(request: Request<Body>) -> RequestMiddlewareAction {
    let header = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap_or_default());
    match gate::origin(header("host"), header("origin")) {
        Ok(Origin::Local) => request.into(),
        Ok(Origin::Foreign) | Err(_) => RequestMiddlewareAction::Respond {
            should_validate_hosts: false,
            response: Box::pin(async { Ok(Response::host_not_allowed().into()) }),
        },
    }
}

/// On a thread of its own: the client of JSON-RPC cannot wait on one of the server's.
fn apart(work: impl FnOnce() -> Result<Value> + Send + 'static) -> jsonrpc_core::Result<Value> {
    let refused = |message: String| RpcError { code: ErrorCode::ServerError(-32000), message, data: None };
    match std::thread::spawn(work).join() {
        Ok(done) => done.map_err(|error| refused(error.to_string())),
        Err(_) => Err(refused("the network ended".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_and_spare_the_mint() {
        let mint = Pubkey::new_from_array([7; 32]);
        let faults = Faults::sparing(&mint);
        let other = Some([1; 32]);
        assert_eq!(faults.fate_of_transaction(other), Fate::Passes);
        faults.fails.store(2, Ordering::Release);
        faults.slow_ms.store(2_000, Ordering::Release);
        assert_eq!(faults.fate_of_transaction(Some(mint.to_bytes())), Fate::Passes);
        assert_eq!(faults.fate_of_transaction(other), Fate::Fails);
        assert_eq!(faults.fate_of_transaction(other), Fate::Fails);
        assert_eq!(faults.fate_of_transaction(other), Fate::Waits(Duration::from_secs(2)));
        assert_eq!(faults.fate_of_transaction(Some(mint.to_bytes())), Fate::Passes);
    }
}
