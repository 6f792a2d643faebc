//! Filters, in BER and as text.

use proto::{filter, filter_string};

/// What decodes can be encoded and decoded again to the same.
pub fn check_ber(data: &[u8]) {
    let Ok(decoded) = filter::decode(data) else { return };
    let mut ber = Vec::new();
    filter::encode(&decoded, &mut ber);
    assert_eq!(filter::decode(&ber).expect("an encoded filter decodes"), decoded);
    let mut text = Vec::new();
    filter_string::write(&decoded, &mut text);
    assert!(std::str::from_utf8(&text).is_ok(), "a written filter is UTF-8");
    // Text is stricter than BER about attribute descriptions; if it parses, it means the same, but for spaces
    // before a description, which text ignores.
    let spaces = text.windows(2).any(|pair| pair == b"( ");
    if let (Ok(parsed), false) = (filter_string::parse(&text), spaces) {
        let mut again = Vec::new();
        filter_string::write(&parsed.filter(), &mut again);
        assert_eq!(again, text);
    }
}

/// What parses can be written and parsed again to the same.
pub fn check_string(data: &[u8]) {
    let Ok(parsed) = filter_string::parse(data) else { return };
    let mut text = Vec::new();
    filter_string::write(&parsed.filter(), &mut text);
    assert_eq!(filter_string::parse(&text).expect("a written filter parses"), parsed);
    let mut ber = Vec::new();
    filter::encode(&parsed.filter(), &mut ber);
    assert_eq!(ber, parsed.ber());
}
