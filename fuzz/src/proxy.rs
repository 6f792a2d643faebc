//! Headers of the PROXY protocol: any bytes are read without harm, a header is never read beyond its end, and cut anywhere it asks for no more than
//! its rest (T8).

use env::net::proxy::{HEADER_BYTES_MAX, Parsed, parse};

/// Reads bytes as a connection does, and each beginning of what was read.
pub fn check(data: &[u8]) {
    let _ = parse(data);
    let mut len = 0;
    loop {
        match parse(&data[..len]) {
            Err(_) => return,
            Ok(Parsed::Whole(_)) => break,
            Ok(Parsed::Needs(more)) => {
                assert!(more > 0 && len + more <= HEADER_BYTES_MAX, "a header has its bound");
                if len + more > data.len() {
                    return;
                }
                len += more;
            }
        }
    }
    for cut in 0..len {
        match parse(&data[..cut]) {
            Ok(Parsed::Needs(more)) => assert!(cut + more <= len, "nothing behind the header is read"),
            other => panic!("{cut} bytes of {len}: {other:?}"),
        }
    }
}
