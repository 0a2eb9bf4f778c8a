//! The agents of an operator, as the chain holds them.

use anchor_lang::Discriminator;
use anchor_lang::prelude::Pubkey;
use anyhow::Result;
use purser::constants::DISCRIMINATOR_BYTES;
use purser::state::{Agent, AgentView};
use serde_json::json;
use solana_rpc_client_api::filter::{Memcmp, RpcFilterType};
use solana_rpc_client_api::request::RpcRequest;
use solana_rpc_client_api::response::RpcKeyedAccount;

use crate::failure;
use crate::network::Network;

/// All agents of an operator.
pub async fn agents_of(network: &Network, operator: &Pubkey) -> Result<Vec<(Pubkey, AgentView)>> {
    let found = owned::<Agent>(network, std::mem::offset_of!(Agent, operator), operator).await?;
    Ok(found.into_iter().filter_map(|(address, data)| Some((address, Agent::read(&data)?))).collect())
}

/// The program's accounts of a kind that have `key` at this place of their fields, with their data.
pub async fn owned<T: Discriminator>(
    network: &Network,
    at: usize,
    key: &Pubkey,
) -> Result<Vec<(Pubkey, Vec<u8>)>> {
    let is = |offset, bytes: &[u8]| RpcFilterType::Memcmp(Memcmp::new_raw_bytes(offset, bytes.to_vec()));
    let config = json!({
        "encoding": "base64", "commitment": network.commitment.commitment,
        "filters": [is(0, T::DISCRIMINATOR), is(DISCRIMINATOR_BYTES + at, key.as_ref())],
    });
    let params = json!([network.program.to_string(), config]);
    let answer = network.rpc.send::<Vec<RpcKeyedAccount>>(RpcRequest::GetProgramAccounts, params).await;
    let answer = answer.map_err(|error| failure::explain_read(&error, &network.url))?;
    let found = answer
        .into_iter()
        .filter_map(|found| Some((found.pubkey.parse().ok()?, found.account.data.decode()?)));
    Ok(found.collect())
}
