//! The address that a request came from, seen through trusted proxies.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::connect_info::Connected;
use axum::http::{HeaderMap, HeaderName};
use ipnet::IpNet;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The address of the peer, which behind a proxy is the proxy's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub SocketAddr);

/// The address that a request came from, in its extensions.
#[derive(Debug, Clone, Copy)]
pub struct ClientAddress(pub Option<IpAddr>);

impl Connected<Peer> for Peer {
    fn connect_info(peer: Peer) -> Self {
        peer
    }
}

/// Proxies whose `X-Forwarded-For` is trusted. None by default: then the header is ignored.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies(Arc<[IpNet]>);

impl TrustedProxies {
    /// From the configuration's ranges.
    pub fn new(ranges: &[IpNet]) -> Self {
        Self(ranges.into())
    }

    fn contain(&self, address: IpAddr) -> bool {
        self.0.iter().any(|range| range.contains(&address))
    }

    /// The peer, or the client that a trusted peer names. Each proxy appends the address that it saw. So the last address that
    /// is not a trusted proxy's is the client's, whatever the client itself wrote before it.
    /// `None`: a trusted proxy wrote something that is not an address.
    pub fn client_of(&self, peer: SocketAddr, headers: &HeaderMap) -> Option<IpAddr> {
        let mut client = peer.ip().to_canonical();
        if !self.contain(client) {
            return Some(client);
        }
        for line in headers.get_all(X_FORWARDED_FOR).iter().rev() {
            for entry in line.to_str().ok()?.rsplit(',') {
                client = read(entry.trim())?;
                if !self.contain(client) {
                    return Some(client);
                }
            }
        }
        Some(client)
    }

    /// The scheme over which the client reached the service: ours, or the one that a trusted peer names. `None`: it names none.
    pub fn scheme_of<'a>(&self, peer: SocketAddr, headers: &'a HeaderMap) -> Option<&'a str> {
        if !self.contain(peer.ip().to_canonical()) {
            return Some("http");
        }
        let named = headers.get(X_FORWARDED_PROTO)?.to_str().ok()?;
        Some(named.split(',').next().unwrap_or(named).trim())
    }
}

/// An address, with or without a port.
fn read(entry: &str) -> Option<IpAddr> {
    let bare = entry.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(entry);
    let address = bare.parse().or_else(|_| entry.parse::<SocketAddr>().map(|address| address.ip()));
    address.ok().map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    /// The client of a request that `peer` sent with these header lines; 10.0.0.0/8 and fd00::/8 are trusted.
    fn client(peer: &str, lines: &[&str]) -> Option<String> {
        let ranges = ["10.0.0.0/8", "fd00::/8"].map(|text| text.parse().expect("a range"));
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(X_FORWARDED_FOR, HeaderValue::from_bytes(line.as_bytes()).expect("a header"));
        }
        let peer = SocketAddr::new(peer.parse().expect("an address"), 1234);
        TrustedProxies::new(&ranges).client_of(peer, &headers).map(|address| address.to_string())
    }

    #[test]
    fn header_from_an_untrusted_address_is_ignored() {
        for lines in [&[][..], &["1.2.3.4"], &["10.0.0.1"], &["nonsense"]] {
            assert_eq!(client("203.0.113.9", lines).as_deref(), Some("203.0.113.9"));
        }
        let none = TrustedProxies::default();
        let mut headers = HeaderMap::new();
        headers.append(X_FORWARDED_FOR, HeaderValue::from_static("1.2.3.4"));
        let peer = "10.0.0.1:1".parse().expect("an address");
        assert_eq!(none.client_of(peer, &headers), Some(IpAddr::from([10, 0, 0, 1])));
    }

    #[test]
    fn last_untrusted_address_that_a_trusted_proxy_names_counts() {
        for (lines, expected) in [
            (&["203.0.113.9"][..], "203.0.113.9"),
            // The client wrote the first one.
            (&["198.51.100.7, 203.0.113.9"], "203.0.113.9"),
            (&["198.51.100.7", "203.0.113.9"], "203.0.113.9"),
            (&["203.0.113.9, 10.1.1.1"], "203.0.113.9"),
            (&["198.51.100.7, 203.0.113.9", "10.1.1.1, fd00::1"], "203.0.113.9"),
            // A client that pretends to be one of our proxies gets nothing from it.
            (&["198.51.100.7, 10.9.9.9, 203.0.113.9"], "203.0.113.9"),
            (&["nonsense, 203.0.113.9"], "203.0.113.9"),
            (&["203.0.113.9:5555"], "203.0.113.9"),
            (&["[2001:db8::1]:5555"], "2001:db8::1"),
            (&["[2001:db8::1]"], "2001:db8::1"),
            (&["2001:db8::1"], "2001:db8::1"),
            (&["::ffff:203.0.113.9"], "203.0.113.9"),
            // A request that starts inside the trusted ranges is the proxy's own.
            (&["10.3.3.3"], "10.3.3.3"),
            (&[], "10.0.0.1"),
        ] {
            assert_eq!(client("10.0.0.1", lines).as_deref(), Some(expected), "{lines:?}");
            let mapped = client("::ffff:10.0.0.1", lines);
            assert_eq!(mapped.as_deref(), Some(expected), "{lines:?}");
        }
    }

    #[test]
    fn a_trusted_proxy_names_the_scheme_and_nobody_else_does() {
        let proxies = TrustedProxies::new(&["10.0.0.0/8".parse().expect("a range")]);
        let scheme = |peer: &str, named: &[&'static str]| {
            let named = named.iter().map(|text| (X_FORWARDED_PROTO, HeaderValue::from_static(text)));
            let headers = HeaderMap::from_iter(named);
            let peer = SocketAddr::new(peer.parse().expect("an address"), 1234);
            proxies.scheme_of(peer, &headers).map(str::to_owned)
        };
        assert_eq!(scheme("203.0.113.9", &["https"]).as_deref(), Some("http"));
        assert_eq!(scheme("::ffff:10.0.0.1", &["https"]).as_deref(), Some("https"));
        assert_eq!(scheme("10.0.0.1", &["https, http"]).as_deref(), Some("https"));
        assert_eq!(scheme("10.0.0.1", &[]), None);
    }

    #[test]
    fn malformed_address_from_a_trusted_proxy_is_nobody() {
        for line in ["203.0.113.9, unknown", "", "203.0.113.9,", "203.0.113.9, _hidden", "1.2.3", "\u{ff}"] {
            assert_eq!(client("10.0.0.1", &[line]), None, "{line:?}");
        }
    }
}
