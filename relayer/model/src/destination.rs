//! Where a webhook may be. Guards against requests to hosts that only the service can reach.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use url::{Host, Url};

use super::Invalid;

/// Longest webhook URL, in characters.
pub const URL_CHARS_MAX: usize = 2_048;

/// What the configuration allows beyond public HTTPS.
#[derive(Debug, Clone, Default)]
pub struct DestinationRules {
    pub allow_http: bool,
    /// Allowed ports; empty for any.
    pub ports: Vec<u16>,
    /// Non-public ranges that may be reached, for development.
    pub open_ranges: Vec<IpNet>,
}

/// A webhook URL whose form is allowed. Every connection checks where its host name resolves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookUrl(Url);

impl WebhookUrl {
    /// Invalid: over 2,048 characters, not an absolute https URL, with user info or a fragment, a port that is not
    /// allowed, or a host that is not public.
    pub fn parse(text: &str, rules: &DestinationRules) -> Result<Self, Invalid> {
        let invalid = |message: &str| Invalid::new("url", message);
        if text.chars().count() > URL_CHARS_MAX {
            return Err(Invalid::new("url", format!("must be at most {URL_CHARS_MAX} characters")));
        }
        if text.chars().any(|letter| letter.is_control() || letter.is_whitespace() || letter == '\\') {
            return Err(invalid("must not contain spaces, backslashes or control characters"));
        }
        let url = Url::parse(text).map_err(|_| invalid("must be an absolute URL"))?;
        match url.scheme() {
            "https" => {}
            "http" if rules.allow_http => {}
            _ => return Err(invalid("must begin with https://")),
        }
        if !url.username().is_empty() || url.password().is_some() || has_user_info(text) {
            return Err(invalid("must not contain a user name or password"));
        }
        if url.fragment().is_some() {
            return Err(invalid("must not contain a fragment"));
        }
        let this = Self(url);
        this.check(rules).map_err(invalid)?;
        Ok(this)
    }

    /// Reads a URL that this service stored. The rules may have changed since: see [`Self::check`].
    pub fn from_stored(text: &str) -> Option<Self> {
        Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https")).map(Self)
    }

    /// Whether port and host are allowed now; the error is phrased to follow "url".
    pub fn check(&self, rules: &DestinationRules) -> Result<(), &'static str> {
        if self.0.scheme() == "http" && !rules.allow_http {
            return Err("must begin with https://");
        }
        let port = self.0.port_or_known_default();
        if !rules.ports.is_empty() && !port.is_some_and(|port| rules.ports.contains(&port)) {
            return Err("must use a port that this service delivers to");
        }
        match self.0.host() {
            Some(Host::Ipv4(address)) => check_literal(address.into(), rules),
            Some(Host::Ipv6(address)) => check_literal(address.into(), rules),
            Some(Host::Domain(name)) => check_name(name, rules),
            None => Err("must name a host"),
        }
    }

    /// The URL as requested: normalised by the URL standard.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The name to resolve; `None` when the host is an address.
    pub fn host_name(&self) -> Option<&str> {
        self.0.domain()
    }
}

/// Checks the text, because the parser drops an empty user name: `https://@host/`.
fn has_user_info(text: &str) -> bool {
    let after_scheme = text.split_once("//").map_or(text, |(_, rest)| rest);
    after_scheme.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('@'))
}

fn check_literal(address: IpAddr, rules: &DestinationRules) -> Result<(), &'static str> {
    if may_reach(address, rules) { Ok(()) } else { Err("must be at a public address") }
}

/// Zones that never lead to the public Internet. All other names are judged by where they resolve.
const PRIVATE_ZONES: [&str; 12] = [
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "arpa",
    "onion",
    "invalid",
];

fn check_name(name: &str, rules: &DestinationRules) -> Result<(), &'static str> {
    // With open ranges, internal names are meant to be reached; their addresses are still checked.
    if !rules.open_ranges.is_empty() {
        return Ok(());
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let Some((_, zone)) = name.rsplit_once('.') else { return Err("must be at a public host name") };
    if PRIVATE_ZONES.iter().any(|private| zone.eq_ignore_ascii_case(private)) {
        return Err("must be at a public host name");
    }
    Ok(())
}

/// Whether we may connect to this address: it is public, or in a range that the configuration opens.
pub fn may_reach(address: IpAddr, rules: &DestinationRules) -> bool {
    rules.open_ranges.iter().any(|range| range.contains(&address)) || is_public(address)
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// IPv4's special-purpose registry: all of it is closed.
const CLOSED_V4: [(Ipv4Addr, u8); 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 31, 196, 0), 24),
    (Ipv4Addr::new(192, 52, 193, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast, reserved and broadcast.
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    !CLOSED_V4.iter().any(|(network, prefix)| {
        let mask = u32::MAX << (32 - prefix);
        bits & mask == network.to_bits() & mask
    })
}

/// The prefix of DNS64: its last four bytes are the IPv4 address to which a gateway (NAT64) translates.
const TRANSLATED_V6: [u16; 6] = [0x64, 0xff9b, 0, 0, 0, 0];

/// Global unicast is 2000::/3, except parts of it that mean something else. Mapped, unique local, link-local, site-local and
/// multicast addresses lie outside it. Where a network has IPv6 alone, its resolver answers with translated addresses: each is as
/// public as the IPv4 address in it.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, third, ..] = address.segments();
    if address.segments().starts_with(&TRANSLATED_V6) {
        let [.., a, b, c, d] = address.octets();
        return is_public_v4(Ipv4Addr::new(a, b, c, d));
    }
    let global_unicast = first & 0xe000 == 0x2000;
    // Protocol assignments with Teredo, ORCHID and documentation; 6to4; the newer documentation range; the old 6bone.
    let protocols = first == 0x2001 && second < 0x0200;
    let documentation = first == 0x2001 && second == 0x0db8;
    let six_to_four = first == 0x2002;
    let six_bone = first == 0x3ffe;
    let new_documentation = first == 0x3fff && second < 0x1000;
    let as112 = first == 0x2620 && second == 0x004f && third == 0x8000;
    global_unicast
        && !protocols
        && !documentation
        && !six_to_four
        && !six_bone
        && !new_documentation
        && !as112
}

#[cfg(test)]
mod tests;
