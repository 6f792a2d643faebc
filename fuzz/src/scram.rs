//! Messages of SCRAM: whatever a client sends is read without harm, and what is read stands in the message (S4, S9).

use proto::sasl::scram::{ClientFinal, ClientFirst};

/// Reads a message as the first one and as the final one.
pub fn check(data: &[u8]) {
    if let Some(first) = ClientFirst::decode(data) {
        assert_eq!([first.header, first.bare].concat(), data, "header and bare message are all of it");
        assert!(!first.user.is_empty() && !first.user.contains(&0), "a name is a text");
        assert!(!first.nonce.is_empty() && !first.nonce.contains(&b','), "a nonce is one part");
    }
    if let Some(last) = ClientFinal::decode(data) {
        assert_eq!([last.without_proof, b",p=", last.proof].concat(), data, "the proof is the last part");
        assert!(!last.nonce.contains(&b',') && !last.binding.contains(&b','), "each is one part");
    }
}
