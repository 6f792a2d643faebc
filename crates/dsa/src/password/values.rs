//! Stored passwords of an entry.

use ::password::Stored;
use model::Description;
use store::{EntryRef, ReadPoint, Values};

/// The first userPassword value of an entry of which something is true. Values with options, as of `userPassword;x-old`, stand for
/// no password.
pub(crate) fn first(
    read_point: ReadPoint<'_>,
    entry: &EntryRef<'_>,
    is_it: impl FnMut(&[u8]) -> bool,
) -> Option<Vec<u8>> {
    let user_password = Description::plain(read_point.shard().schema().well_known().user_password);
    visit(read_point, entry, |description| description == user_password, is_it)
}

/// Has an entry a password that can be verified?
/// One without is judged as a name that nobody has: else the time of a bind would tell which entries have passwords.
pub(crate) fn is_there(read_point: ReadPoint<'_>, entry: &EntryRef<'_>) -> bool {
    first(read_point, entry, |stored| Stored::read(stored).is_ok()).is_some()
}

/// Looks at the values of some descriptions of an entry until something is true of one, which is returned.
/// Big sets too: nothing keeps an entry from having hundreds of passwords.
pub(crate) fn visit(
    read_point: ReadPoint<'_>,
    entry: &EntryRef<'_>,
    is_wanted: impl Fn(Description) -> bool,
    mut is_it: impl FnMut(&[u8]) -> bool,
) -> Option<Vec<u8>> {
    let mut slots = entry.shape.slots.iter().zip(entry.slots());
    slots.find_map(|(slot, values)| match values {
        _ if !is_wanted(slot.description) => None,
        Values::Inline(mut values) => values.find(|stored| is_it(stored)).map(<[u8]>::to_vec),
        // So many passwords that they are a big set: walked through in pieces, and to its end, so no early return inside of a leaf.
        Values::Set(set) => {
            let (mut position, mut found) = (Default::default(), None);
            while found.is_none()
                && read_point.set_values(&set, &mut position, |stored| {
                    if found.is_none() && is_it(stored) {
                        found = Some(stored.to_vec());
                    }
                })
            {}
            found
        }
    })
}
