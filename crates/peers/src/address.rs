//! Where a server can be reached: a name or an address, and a port.

use std::fmt;
use std::net::Ipv6Addr;

/// Bytes of a host, as in the DNS.
const HOST_BYTES_MAX: usize = 253;
/// Addresses of one kind that a server has at most.
pub const ADDRESSES_MAX: usize = 8;

/// A host and a port: `HOST:PORT`, with an IPv6 address in brackets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    host: String,
    port: u16,
}

impl Address {
    /// From its text; `None` if it is none. Port 0 is none.
    pub fn parse(text: &str) -> Option<Address> {
        let (host, digits) = text.rsplit_once(':')?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        let host = match host.strip_prefix('[') {
            // As it is printed, so that each address has one text.
            Some(rest) => rest.strip_suffix(']')?.parse::<Ipv6Addr>().ok()?.to_string(),
            None => Some(host).filter(|host| host.bytes().all(is_plain))?.to_owned(),
        };
        let port: u16 = digits.parse().ok()?;
        let is_port =
            port != 0 && digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        ((1..=HOST_BYTES_MAX).contains(&host.len()) && is_port).then_some(Address { host, port })
    }

    /// The name or address, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port; not 0.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back() {
        for text in ["127.0.0.1:7389", "a.example.com:1", "[::1]:65535", "[fe80::1]:9"] {
            assert_eq!(Address::parse(text).expect("it is one").to_string(), text);
        }
    }

    #[test]
    fn what_is_none() {
        let long = format!("{}:1", "a".repeat(254));
        let texts =
            ["", ":1", "a", "a:", "a:0", "a:01", "a:+1", "a:65536", "a b:1", "::1:1", "[a]:1", "[::1:1"];
        for text in texts.into_iter().chain([long.as_str(), "a\n:1", "a:1\n"]) {
            assert_eq!(Address::parse(text), None, "{text}");
        }
    }
}
