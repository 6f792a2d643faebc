//! Values of the control that asks for effective rights: any octets are read without harm, within its bounds, and what is read comes back.

use model::limits::{EFFECTIVE_RIGHTS_BYTES_MAX, EFFECTIVE_RIGHTS_NAMES_MAX};
use proto::control::effective_rights::EffectiveRights;

/// Reads a value, and what it is written as in the first form.
pub fn check(data: &[u8]) {
    let Ok(asked) = EffectiveRights::decode(data) else { return };
    assert!(data.len() <= EFFECTIVE_RIGHTS_BYTES_MAX && asked.attributes.len() <= EFFECTIVE_RIGHTS_NAMES_MAX);
    let value = asked.encode();
    // The first form is longer than the others, and than what has lengths in fewer octets than ours.
    if value.len() <= EFFECTIVE_RIGHTS_BYTES_MAX {
        let again = EffectiveRights::decode(&value).expect("what was encoded decodes");
        assert_eq!(again.authorization_id, asked.authorization_id);
        assert!(again.attributes.iter().eq(asked.attributes.iter()));
    }
}
