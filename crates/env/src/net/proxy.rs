//! The header of the PROXY protocol, version 1 and 2, that a load balancer puts before what a client sends: where the client is, and whether it used
//! TLS. (The specification is that of HAProxy, 2020.)

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// What version 2 begins with.
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// Bytes of the longest line of version 1, with its end.
const LINE_BYTES_MAX: usize = 107;
/// Bytes of version 2 before its addresses.
const HEAD: usize = 16;
/// Bytes of addresses and of what follows them in version 2.
const REST_BYTES_MAX: usize = 1024;
/// Bytes of the longest header.
pub const HEADER_BYTES_MAX: usize = HEAD + REST_BYTES_MAX;
/// Type of what is said of TLS, and its bit that says that the client used it.
const TLS: u8 = 0x20;
const CLIENT_TLS: u8 = 1;

/// A whole header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Where the client is; none if the header is of the load balancer's own connection, or of an address of another kind.
    pub source: Option<SocketAddr>,
    /// Did the client use TLS, as far as the header says?
    pub has_tls: bool,
}

/// What the beginning of a connection comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// So many bytes more, at least one, can be read without reading beyond the header.
    Needs(usize),
    /// All of it is the header.
    Whole(Header),
}

/// No header of this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

/// Reads a header, or as much of it as is there.
///
/// # Errors
/// When it can become none.
pub fn parse(bytes: &[u8]) -> Result<Parsed, Malformed> {
    let seen = bytes.len().min(SIGNATURE.len());
    if bytes[..seen] == SIGNATURE[..seen] && !bytes.is_empty() {
        return binary(bytes);
    }
    const WORD: &[u8] = b"PROXY ";
    let seen = bytes.len().min(WORD.len());
    if bytes[..seen] != WORD[..seen] {
        return Err(Malformed("it begins like no header"));
    }
    // The shortest line of all is "PROXY UNKNOWN"; which version it is is known by one byte.
    match bytes.len() {
        0 => Ok(Parsed::Needs(SIGNATURE.len())),
        _ => line(bytes),
    }
}

/// Version 1.
fn line(bytes: &[u8]) -> Result<Parsed, Malformed> {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
        return match bytes.len() < LINE_BYTES_MAX {
            // Byte by byte: what follows the line is the client's.
            true => Ok(Parsed::Needs(1)),
            false => Err(Malformed("its line is too long")),
        };
    };
    let text = bytes[..end].strip_suffix(b"\r").filter(|_| end + 1 == bytes.len() && end < LINE_BYTES_MAX);
    let text =
        text.and_then(|text| str::from_utf8(text).ok()).ok_or(Malformed("its line has no proper end"))?;
    let words: Vec<&str> = text.split(' ').collect();
    let malformed = Malformed("its line has no proper addresses");
    let source = match words[..] {
        ["PROXY", "UNKNOWN", ..] => None,
        ["PROXY", family @ ("TCP4" | "TCP6"), source, destination, port, own_port] => {
            let address = |text: &str| match family {
                "TCP4" => text.parse::<Ipv4Addr>().map(IpAddr::from).map_err(|_| malformed),
                _ => text.parse::<Ipv6Addr>().map(IpAddr::from).map_err(|_| malformed),
            };
            let number = |text: &str| text.parse::<u16>().map_err(|_| malformed);
            let (source, _, port, _) =
                (address(source)?, address(destination)?, number(port)?, number(own_port)?);
            Some(SocketAddr::new(source, port))
        }
        _ => return Err(malformed),
    };
    Ok(Parsed::Whole(Header { source, has_tls: false }))
}

/// Version 2.
fn binary(bytes: &[u8]) -> Result<Parsed, Malformed> {
    let Some((head, rest)) = bytes.split_at_checked(HEAD) else {
        return Ok(Parsed::Needs(HEAD.min(SIGNATURE.len().max(bytes.len() + 1)) - bytes.len()));
    };
    let len = usize::from(u16::from_be_bytes([head[14], head[15]]));
    if len > REST_BYTES_MAX {
        return Err(Malformed("it is too long"));
    }
    if rest.len() < len {
        return Ok(Parsed::Needs(len - rest.len()));
    }
    if rest.len() > len {
        return Err(Malformed("more than it was read"));
    }
    let is_own = match head[12] {
        0x20 => true,
        0x21 => false,
        _ => return Err(Malformed("it is of another version, or of no known command")),
    };
    let (source, addresses) = match head[13] {
        // Of no known kind: all the rest is the sender's.
        0x00 => (None, rest.len()),
        0x11 => (address::<4>(rest), 12),
        0x21 => (address::<16>(rest), 36),
        0x31 => (None, 216),
        _ if is_own => (None, rest.len()),
        _ => return Err(Malformed("its addresses are of no stream")),
    };
    if is_own {
        return Ok(Parsed::Whole(Header { source: None, has_tls: false }));
    }
    let values = rest.get(addresses..).ok_or(Malformed("its addresses are cut off"))?;
    Ok(Parsed::Whole(Header { source, has_tls: has_tls(values)? }))
}

/// Source address and port, of addresses of N bytes.
fn address<const N: usize>(rest: &[u8]) -> Option<SocketAddr>
where
    IpAddr: From<[u8; N]>,
{
    let source: [u8; N] = rest.get(..N)?.try_into().ok()?;
    let port: [u8; 2] = rest.get(2 * N..2 * N + 2)?.try_into().ok()?;
    Some(SocketAddr::new(source.into(), u16::from_be_bytes(port)))
}

/// Does one of the values say that the client used TLS?
fn has_tls(mut values: &[u8]) -> Result<bool, Malformed> {
    let mut found = false;
    while !values.is_empty() {
        let cut = Malformed("a value in it is cut off");
        let (head, rest) = values.split_at_checked(3).ok_or(cut)?;
        let len = usize::from(u16::from_be_bytes([head[1], head[2]]));
        let (value, rest) = rest.split_at_checked(len).ok_or(cut)?;
        found |= head[0] == TLS && value.first().is_some_and(|client| client & CLIENT_TLS != 0);
        values = rest;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version_2(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let mut header = SIGNATURE.to_vec();
        header.extend([command, family]);
        header.extend((rest.len() as u16).to_be_bytes());
        header.extend(rest);
        header
    }

    /// Reads as a connection does: never more than is asked for. Returns the header and what was left.
    fn read(mut stream: &[u8]) -> Result<(Header, usize), Malformed> {
        let mut bytes = Vec::new();
        loop {
            match parse(&bytes)? {
                Parsed::Whole(header) => return Ok((header, stream.len())),
                Parsed::Needs(more) => {
                    assert!(more > 0 && bytes.len() + more <= HEADER_BYTES_MAX);
                    if stream.is_empty() {
                        return Err(Malformed("the end"));
                    }
                    let (now, later) = stream.split_at(more.min(stream.len()));
                    bytes.extend(now);
                    stream = later;
                }
            }
        }
    }

    const IPV4: [u8; 12] = [192, 0, 2, 7, 10, 0, 0, 1, 0x30, 0x39, 1, 0x85];

    #[test]
    fn headers_of_both_versions() {
        let mut ipv6 = [0; 36];
        (ipv6[0], ipv6[1], ipv6[15], ipv6[33]) = (0x20, 1, 7, 9);
        let with_tls = [&IPV4[..], &[4, 0, 1, 9, TLS, 0, 5, CLIENT_TLS, 0, 0, 0, 0]].concat();
        let without = [&IPV4[..], &[TLS, 0, 5, 2, 0, 0, 0, 0]].concat();
        for (header, source, has_tls) in [
            (b"PROXY TCP4 192.0.2.7 10.0.0.1 12345 389\r\n".to_vec(), Some("192.0.2.7:12345"), false),
            (b"PROXY TCP6 2001::7 ::1 9 389\r\n".to_vec(), Some("[2001::7]:9"), false),
            (b"PROXY UNKNOWN\r\n".to_vec(), None, false),
            (b"PROXY UNKNOWN ffff::1 x\r\n".to_vec(), None, false),
            (version_2(0x21, 0x11, &IPV4), Some("192.0.2.7:12345"), false),
            (version_2(0x21, 0x21, &ipv6), Some("[2001::7]:9"), false),
            (version_2(0x21, 0x11, &with_tls), Some("192.0.2.7:12345"), true),
            (version_2(0x21, 0x11, &without), Some("192.0.2.7:12345"), false),
            (version_2(0x20, 0x11, &with_tls), None, false),
            (version_2(0x20, 0x00, b""), None, false),
            (version_2(0x21, 0x00, b"anything"), None, false),
            (version_2(0x21, 0x31, &[1; 216]), None, false),
        ] {
            let expected = Header { source: source.map(|text| text.parse().unwrap()), has_tls };
            let stream = [&header[..], b"0\x0c"].concat();
            assert_eq!(read(&stream), Ok((expected, 2)), "{header:?}");
            for cut in 0..header.len() {
                assert_eq!(read(&header[..cut]), Err(Malformed("the end")), "{cut} of {header:?}");
            }
        }
    }

    #[test]
    fn what_is_no_header() {
        let long = format!("PROXY UNKNOWN {}\r\n", "x".repeat(92));
        assert_eq!(long.len(), LINE_BYTES_MAX + 1);
        for (bytes, said) in [
            (&b"0\x0c\x02\x01"[..], "begins"),
            (b"PROXX", "begins"),
            (b"\x16\x03\x01", "begins"),
            (b"PROXY TCP4 192.0.2.7 10.0.0.1 12345\r\n", "addresses"),
            (b"PROXY TCP4 192.0.2.7 10.0.0.1 12345 389 1\r\n", "addresses"),
            (b"PROXY TCP4 192.0.2 10.0.0.1 12345 389\r\n", "addresses"),
            (b"PROXY TCP4 ::1 ::1 1 389\r\n", "addresses"),
            (b"PROXY TCP4 192.0.2.7 10.0.0.1 65536 389\r\n", "addresses"),
            (b"PROXY TCP9 192.0.2.7 10.0.0.1 1 389\r\n", "addresses"),
            (b"PROXY UNKNOWN\n", "end"),
            (long.as_bytes(), "too long"),
            (&version_2(0x21, 0x11, &[0; REST_BYTES_MAX + 1]), "too long"),
            (&version_2(0x31, 0x11, &IPV4), "another version"),
            (&version_2(0x22, 0x11, &IPV4), "no known command"),
            (&version_2(0x21, 0x12, &IPV4), "no stream"),
            (&version_2(0x21, 0x11, &IPV4[..11]), "cut off"),
            (&version_2(0x21, 0x11, &[&IPV4[..], &[TLS, 0, 2, 1]].concat()), "cut off"),
        ] {
            let error = read(bytes).unwrap_err();
            assert!(error.0.contains(said), "{bytes:?}: {error:?}");
        }
    }
}
