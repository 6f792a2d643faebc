//! Attributes of other servers whose values may be secrets, though the schema does not know them.

/// Parts of names that passwords, hashes and keys have in the field: unicodePwd, nsds5ReplicaCredentials, krbMKey.
const PARTS: [&[u8]; 8] = [b"pass", b"pwd", b"secret", b"hash", b"credential", b"key", b"token", b"pin"];

/// Does the name, in lower case, of an attribute that the schema does not have speak of a secret? A word too many only hides a value.
pub(crate) fn speaks_of_secrets(name: &[u8]) -> bool {
    PARTS.iter().any(|part| name.windows(part.len()).any(|window| window == *part))
}
