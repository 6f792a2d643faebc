//! A password that was right, and is not stored as new ones are, is stored anew: an old hash gets stronger, and clear text becomes a hash. Only
//! now is the password at hand.
//!
//! The bind waits for it, once for each password. It is left out where others would have to wait: beyond a number in a second, and when
//! the pool has work; the next bind tries again. The stored value is taken away by its octets, so a password that was changed meanwhile
//! stays, and nothing is added beside it.

use crate::access::each_value;
use crate::context::Reading;
use crate::password::first;
use crate::password::policies::{Changed, Purpose, Write};
use crate::policy::LAST_CHANGE;
use ::password::Scheme;
use model::limits::PASSWORD_VALUES_MAX;
use proto::op::ModifyKind;
use store::derived::Derived;
use store::{EntryRef, ReadPoint};

/// Proposes to store a password anew that a bind has proven by this stored value, if it should be.
/// One that is stored as it should be costs a comparison of a prefix.
#[inline]
pub(super) fn renew(reading: &mut Reading<'_>, entry: &EntryRef<'_>, stored: &[u8], password: &[u8]) {
    // One load: a change of them holds from the next bind on.
    let schemes = reading.dsa.policies.schemes();
    let is_new = matches!(&schemes[..], [only] if only.writes(stored));
    if !is_new && reading.dsa.policies.renew() {
        renew_old(reading, entry, stored, password);
    }
}

/// Has a password stored anew that is stored by another scheme than new ones are. The bind does not wait for it.
#[cold]
fn renew_old(reading: &mut Reading<'_>, entry: &EntryRef<'_>, stored: &[u8], password: &[u8]) {
    let dsa = reading.dsa;
    let schemes = &dsa.policies.schemes()[..];
    let passwords = &mut reading.scratch.passwords;
    // What is written of the account comes first; the next bind has nothing to write but this. A hash never becomes clear text.
    if passwords.verdict.write.is_some()
        || schemes.contains(&Scheme::Clear)
        || is_wanted(schemes, reading.read_point, entry, stored)
    {
        return;
    }
    let is_made = passwords.has_made(schemes, password);
    if !is_made && (!passwords.is_idle() || !dsa.policies.reserve_renewal(reading.now.monotonic_ns)) {
        return;
    }
    // Salts are drawn at each run; those of the last one are stored.
    // Later, it is run again. A scheme that cannot stand for the password leaves it as it is.
    let Ok(Ok(values)) = passwords.store(schemes, password, &mut **dsa.entropy()) else { return };
    let dn = reading.read_point.dn(entry, &mut reading.scratch.evaluator.cache);
    let name = b"userPassword".to_vec();
    let mut changes =
        vec![(ModifyKind::Delete, name.clone(), vec![stored.to_vec()]), (ModifyKind::Add, name, values)];
    changes.extend(last_change(reading, entry));
    let write = Write { dn, changes, purpose: Purpose::Renew, assertion: None };
    reading.scratch.passwords.verdict.write = Some(write);
}

/// When the entry was changed last, and by whom, as it is now: the password is another form of the same one, and who asks for what has changed
/// need not read it again. They are stored in the entry, until its next change.
fn last_change(reading: &mut Reading<'_>, entry: &EntryRef<'_>) -> Vec<Changed> {
    let (at, cache) = (reading.read_point, &mut reading.scratch.evaluator.cache);
    let known = at.shard().schema().well_known();
    let both =
        [(known.modify_timestamp, Derived::ModifyTimestamp), (known.modifiers_name, Derived::ModifiersName)];
    let kept = both.into_iter().zip(LAST_CHANGE).filter_map(|((id, what), name)| {
        let mut value = Vec::new();
        if at.has_stored(entry, id) {
            each_value(entry, id, at, &mut |stored| value = stored.to_vec());
        } else if !at.derive(entry, what, cache, &mut value) {
            return None;
        }
        Some((ModifyKind::Replace, name.to_vec(), vec![value]))
    });
    kept.collect()
}

/// Is there a value of each scheme, this one among them? Or so many others that there is no room for those that lack.
fn is_wanted(schemes: &[Scheme], at: ReadPoint<'_>, entry: &EntryRef<'_>, stored: &[u8]) -> bool {
    let is_there = |scheme: &Scheme| first(at, entry, |value| scheme.writes(value)).is_some();
    let mut count = 0;
    first(at, entry, |_| {
        count += 1;
        false
    });
    let has_room = count - 1 + schemes.len() <= PASSWORD_VALUES_MAX;
    !has_room || (schemes.iter().any(|scheme| scheme.writes(stored)) && schemes.iter().all(is_there))
}
