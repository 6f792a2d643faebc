//! Messages of OAUTHBEARER: whatever a client sends is read without harm, and what is read stands in the message (S7, S9).

use proto::sasl::oauth_bearer::OauthBearer;

/// Reads a message, and what is read of it once more.
pub fn check(data: &[u8]) {
    let Some(read) = OauthBearer::decode(data) else { return };
    assert!(!read.token.is_empty() && read.token.is_ascii(), "a token is a word");
    assert!(data.windows(read.token.len()).any(|part| part == read.token), "it stands in the message");
    assert!(!read.authorization_id.contains(&0), "a name is a text");
    let mut written = Vec::new();
    read.encode(&mut written);
    assert_eq!(OauthBearer::decode(&written), Some(read), "what was read comes back");
}
