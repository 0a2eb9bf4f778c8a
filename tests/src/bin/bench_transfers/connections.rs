//! Connections that stay open and cost little: CPU that the load uses is missing in the measurement.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use axum::body::Bytes;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::{HeaderValue, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// The connections to one relayer: as many as there are requests in flight.
pub struct Connections {
    address: SocketAddr,
    host: HeaderValue,
    bearer: HeaderValue,
    idle: Mutex<Vec<SendRequest<Full<Bytes>>>>,
}

impl Connections {
    /// To the relayer at `base_url`, `http://ADDRESS:PORT`, with an API key.
    pub fn to(base_url: &str, key: &str) -> Result<Self> {
        let host = base_url.strip_prefix("http://").context("a relayer on this machine")?;
        Ok(Self {
            address: host.parse()?,
            host: host.parse()?,
            bearer: format!("Bearer {key}").parse()?,
            idle: Mutex::default(),
        })
    }

    /// Posts JSON; returns the status and the body.
    pub async fn post(&self, path: &'static str, body: Bytes) -> Result<(u16, Bytes)> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let request = Request::post(path)
            .header(HOST, &self.host)
            .header(AUTHORIZATION, &self.bearer)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body))?;
        let response = connection.send_request(request).await?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await?.to_bytes();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        Ok((status, body))
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let (connection, driver) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(driver);
        Ok(connection)
    }
}
