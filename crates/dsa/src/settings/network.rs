//! Networks, such as `10.0.0.0/8`, and single addresses.

use access::Network;
use std::net::IpAddr;

/// Networks on one list.
const NETWORKS_MAX: usize = 256;

/// Reads a list with commas.
///
/// # Errors
/// What is wrong with it.
pub fn parse_list(text: &str) -> Result<Vec<Network>, String> {
    let networks: Vec<Network> = text.split(',').map(|one| parse(one.trim())).collect::<Result<_, _>>()?;
    let many = format!("{NETWORKS_MAX} networks are on a list at most");
    if networks.len() > NETWORKS_MAX { Err(many) } else { Ok(networks) }
}

/// Reads one.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &str) -> Result<Network, String> {
    let malformed = || format!("`{text}` is neither an address nor a network such as 10.0.0.0/8");
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix.parse::<u8>().map_err(|_| malformed())?)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().map_err(|_| malformed())?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let prefix = prefix.unwrap_or(bits);
    if prefix > bits { Err(malformed()) } else { Ok(Network { address, prefix }) }
}

/// As it is read.
pub fn show_list(networks: &[Network]) -> String {
    networks.iter().map(show).collect::<Vec<_>>().join(",")
}

/// As it is read.
pub fn show(network: &Network) -> String {
    format!("{}/{}", network.address, network.prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back() {
        assert_eq!(show_list(&parse_list("10.0.0.0/8, ::1").unwrap()), "10.0.0.0/8,::1/128");
        for text in ["", "10.0.0.0/33", "::/129", "host", "10.0.0.0/-1", "10.0.0.0/8,"] {
            assert!(parse_list(text).unwrap_err().contains("neither an address"), "{text}");
        }
    }
}
