//! Distinguished names: what parses can be written and parsed again to the same.

use model::dn;

/// Parses; writes what was parsed; parses that; compares.
pub fn check(data: &[u8]) {
    let mut text = Vec::new();
    let Ok(rdns) = dn::parse(data) else { return };
    for (n, rdn) in rdns.iter().enumerate() {
        for (m, ava) in rdn.iter().enumerate() {
            match (n, m) {
                (0, 0) => {}
                (_, 0) => text.push(b','),
                _ => text.push(b'+'),
            }
            text.extend_from_slice(ava.attribute_type);
            text.push(b'=');
            dn::escape_value(&ava.value, &mut text);
        }
    }
    if text.len() <= model::limits::DN_BYTES_MAX {
        let again = dn::parse(&text);
        assert_eq!(again.as_ref(), Ok(&rdns), "a written DN parses to the same");
    }
}
