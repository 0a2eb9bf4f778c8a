//! The addresses that may use a key.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};

use serde::{Deserialize, Serialize, Serializer};

use super::Invalid;

/// Most ranges of one key.
pub const CIDRS_MAX: usize = 50;
const PARAM: &str = "allowed_cidrs";
/// Prefix length shared by all IPv6 addresses that stand for IPv4 ones.
const MAPPED_BITS: u8 = 96;

/// Address ranges, at least one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct AllowedCidrs(Vec<IpNet>);

impl Serialize for AllowedCidrs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.texts())
    }
}

impl TryFrom<Vec<String>> for AllowedCidrs {
    type Error = Invalid;

    fn try_from(texts: Vec<String>) -> Result<Self, Invalid> {
        Self::parse(&texts)
    }
}

impl AllowedCidrs {
    /// Parses ranges such as `203.0.113.0/24`, or single addresses. Invalid: none, more than 50, a malformed range, or
    /// a range with host bits set.
    pub fn parse(texts: &[String]) -> Result<Self, Invalid> {
        if texts.is_empty() {
            return Err(Invalid::new(
                PARAM,
                "must not be empty; leave it out for a key that may be used from anywhere",
            ));
        }
        if texts.len() > CIDRS_MAX {
            return Err(Invalid::new(PARAM, format!("must have at most {CIDRS_MAX} ranges")));
        }
        let read = |(at, text): (usize, &String)| {
            read_range(text).map_err(|message| Invalid::new(format!("{PARAM}[{at}]"), message))
        };
        texts.iter().enumerate().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Whether an address is in one of the ranges. An IPv4 address written as IPv6 counts as IPv4.
    pub fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|range| range.contains(&address))
    }

    /// Whether each of these ranges is within one of ours.
    pub fn cover(&self, others: &Self) -> bool {
        others.0.iter().all(|other| self.0.iter().any(|range| range.contains(other)))
    }

    /// The ranges as shown and stored.
    pub fn texts(&self) -> Vec<String> {
        self.0.iter().map(IpNet::to_string).collect()
    }

    pub fn from_stored(texts: &[String]) -> Option<Self> {
        Self::parse(texts).ok()
    }
}

/// Parses a range, or a single address as a range of one; converts ranges of IPv4 addresses written as IPv6.
pub fn read_range(text: &str) -> Result<IpNet, String> {
    let problem = || "must be a range such as 203.0.113.0/24 or 2001:db8::/32, or an address".to_owned();
    let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
    // Not `IpNet`'s own parser: it takes leading zeros, which other programs read as octal.
    let address: IpAddr = address.parse().map_err(|_| problem())?;
    let range = match bits {
        None => IpNet::from(address),
        Some(bits) if bits.starts_with('+') || (bits.starts_with('0') && bits != "0") => {
            return Err(problem());
        }
        Some(bits) => {
            let bits = bits.parse().map_err(|_| problem())?;
            IpNet::new(address, bits).map_err(|_| problem())?
        }
    };
    let range = unmapped(range);
    if range.trunc() != range {
        return Err(format!("has an address with bits beyond its prefix; the range is {}", range.trunc()));
    }
    Ok(range)
}

fn unmapped(range: IpNet) -> IpNet {
    let IpNet::V6(wide) = range else { return range };
    let mapped = wide.addr().to_ipv4_mapped().zip(wide.prefix_len().checked_sub(MAPPED_BITS));
    match mapped.map(|(address, bits)| Ipv4Net::new(address, bits)) {
        Some(Ok(narrow)) => IpNet::V4(narrow),
        Some(Err(_)) | None => range,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(texts: &[&str]) -> Result<AllowedCidrs, Invalid> {
        AllowedCidrs::parse(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn addresses_are_within_however_they_are_written() {
        let allowed = ranges(&["203.0.113.0/24", "2001:db8::/32", "198.51.100.7", "::1"]).expect("valid");
        for inside in
            ["203.0.113.0", "203.0.113.255", "::ffff:203.0.113.9", "2001:db8:1::1", "198.51.100.7", "::1"]
        {
            assert!(allowed.contain(address(inside)), "{inside}");
        }
        for outside in
            ["203.0.114.0", "2001:db9::1", "198.51.100.8", "::ffff:198.51.100.8", "127.0.0.1", "::"]
        {
            assert!(!allowed.contain(address(outside)), "{outside}");
        }
        assert_eq!(allowed.texts(), ["203.0.113.0/24", "2001:db8::/32", "198.51.100.7/32", "::1/128"]);
        assert_eq!(AllowedCidrs::from_stored(&allowed.texts()), Some(allowed));
    }

    #[test]
    fn mapped_range_is_the_range_of_ipv4_and_ipv6_does_not_contain_ipv4() {
        let mapped = ranges(&["::ffff:10.0.0.0/104"]).expect("valid");
        assert_eq!(mapped.texts(), ["10.0.0.0/8"]);
        assert!(mapped.contain(address("10.9.9.9")) && mapped.contain(address("::ffff:10.9.9.9")));
        let all_of_six = ranges(&["::/0"]).expect("valid");
        assert!(all_of_six.contain(address("2001:db8::1")));
        assert!(!all_of_six.contain(address("10.0.0.1")) && !all_of_six.contain(address("::ffff:10.0.0.1")));
        assert!(ranges(&["0.0.0.0/0"]).expect("valid").contain(address("::ffff:10.0.0.1")));
    }

    #[test]
    fn invalid_range_is_refused_with_its_index() {
        let ten = "10.0.0.0/8";
        for text in [
            "",
            "10.0.0.0/33",
            "10.0.0.1/8",
            "10.0.0/8",
            "example.com",
            " 10.0.0.0/8",
            "2001:db8::1/32",
            "010.0.0.0/8",
            "10.0.0.0/08",
            "10.0.0.0/+8",
            "10.0.0.00",
            "10.0.0.0/",
        ] {
            assert_eq!(ranges(&[ten, text]).expect_err(text).param(), "allowed_cidrs[1]");
        }
        let message = ranges(&["10.0.0.1/8"]).expect_err("bits").message().to_owned();
        assert!(message.ends_with("10.0.0.0/8"), "{message}");
        assert_eq!(ranges(&[]).expect_err("none").param(), "allowed_cidrs");
        assert_eq!(ranges(&[ten; CIDRS_MAX + 1]).expect_err("too many").param(), "allowed_cidrs");
    }
}
