//! The addresses to listen on: are they free, or does a relayer serve there already?

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{Findings, PATIENCE};
use purser_relayer::config::ServerConfig;

/// More than `/healthz` answers.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

pub(super) async fn look_at(config: &ServerConfig, findings: &mut Findings) -> Result<()> {
    look_at_one("server.listen", config.listen, findings).await?;
    match config.admin_listen {
        Some(address) => look_at_one("server.admin_listen", address, findings).await,
        None => Ok(()),
    }
}

async fn look_at_one(setting: &str, address: SocketAddr, findings: &mut Findings) -> Result<()> {
    let taken = match TcpListener::bind(address) {
        Ok(_) => return findings.ok(setting, format!("{address} is free")),
        Err(error) => error,
    };
    match taken.kind() {
        ErrorKind::AddrInUse if is_relayer(address).await => {
            findings.ok(setting, format!("a relayer serves at {address} already"))
        }
        ErrorKind::AddrInUse => findings.not_ok(
            setting,
            format!("another program listens on {address}"),
            format!(
                "end that program (ss -ltnp 'sport = :{}' names it), or choose another port in `{setting}`",
                address.port()
            ),
        ),
        ErrorKind::PermissionDenied => findings.not_ok(
            setting,
            format!("{address}: {taken}"),
            format!("choose a port above 1023 in `{setting}`, and have a proxy listen on this one"),
        ),
        _ => findings.not_ok(
            setting,
            format!("{address}: {taken}"),
            format!("name an address of this machine in `{setting}`"),
        ),
    }
}

/// Whether what listens there answers `/healthz` as a relayer does.
async fn is_relayer(address: SocketAddr) -> bool {
    let asks = async {
        let mut stream = TcpStream::connect(reachable(address)).await?;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await?;
        let mut answer = Vec::new();
        stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        Ok::<_, io::Error>(
            ["ok", "degraded", "unwell"]
                .iter()
                .any(|status| answer.contains(&format!("{{\"status\":\"{status}\""))),
        )
    };
    timeout(PATIENCE, asks).await.is_ok_and(|answered| answered.unwrap_or(false))
}

/// Where a listener on every address of the machine is reached.
pub(crate) fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
