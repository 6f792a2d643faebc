//! The cookie of content synchronisation (RFC 4533): a place in the log, and of which search it is. The server keeps nothing of it.
//!
//! ```text
//! rid=001,csn=20261128020655.123000Z#000001#000#000000,pando=0123456789abcdef0123456789abcdef
//! ```
//! The place is a CSN, which is the same on all nodes of a cluster and after a restart. The last field is a keyed hash of it, of the base and
//! its name, of scope, filter and selection, and of the requester with the rules that are left of it. A cookie with another one is of another
//! search, of other rights or of another server. A second one is of the number of entries, since a delete has no CSN.
//!
//! slapd as a consumer keeps rid and csn alone, and sends these. They are taken without the hash: what the client gets does not depend on
//! what it claims to have, but it may then claim what it has not. The rid is the client's own number and is given back.

use model::Csn;
use std::fmt::Write as _;
use store::stream::Reached;

/// A cookie, taken apart.
/// Nothing in it is trusted but what the check covers; a client that changes its rid changes nobody's state but its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cookie {
    /// The number that a client of OpenLDAP has given itself.
    pub(super) rid: u16,
    /// The state; none if the client has nothing.
    pub(super) csn: Option<Csn>,
    /// What ties the state to a search, and what tells it from others with the same CSN.
    pub(super) check: Option<(u64, u64)>,
}

/// The largest rid of OpenLDAP. It writes three digits.
const RID_MAX: u16 = 999;

impl Cookie {
    /// Reads a cookie. `None` if this server has made none such, and no client of OpenLDAP either.
    pub(super) fn read(cookie: &[u8]) -> Option<Cookie> {
        let mut read = Cookie::default();
        if cookie.is_empty() {
            return Some(read);
        }
        // In any order, as clients of OpenLDAP read them.
        for field in std::str::from_utf8(cookie).ok()?.split(',') {
            match field.split_once('=')? {
                ("rid", number) => read.rid = number.parse().ok().filter(|rid| *rid <= RID_MAX)?,
                // The number of a server of OpenLDAP means nothing here.
                ("sid", _) => {}
                // Of several providers there is one CSN each; this server is one.
                ("csn", csn) => read.csn = Some(Csn::parse(csn)?),
                ("pando", check) if check.len() == 32 && check.is_ascii() => {
                    let number = |text| u64::from_str_radix(text, 16).ok();
                    read.check = Some((number(&check[..16])?, number(&check[16..])?));
                }
                _ => return None,
            }
        }
        Some(read)
    }

    /// Has its client all that a state has? `check` makes of a number of entries what a cookie says of it.
    /// If the number is not known, deletes may lie between the two states: they give no CSN.
    pub(super) fn has_all_of(&self, state: Reached, check: impl Fn(u64) -> u64) -> bool {
        let entries = state.known_entries().map(check);
        self.csn.is_some_and(|csn| state.csn <= csn)
            && entries.is_some()
            && entries == self.check.map(|(_, entries)| entries)
    }

    /// As it is sent.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut text = format!("rid={:03}", self.rid);
        if let Some(csn) = self.csn {
            let _ = write!(text, ",csn={csn}");
        }
        if let Some((search, state)) = self.check {
            let _ = write!(text, ",pando={search:016x}{state:016x}");
        }
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cookies_come_back(rid in 0..=RID_MAX, csn in proptest::option::of(any::<u64>()), check in proptest::option::of(any::<(u64, u64)>())) {
            let cookie = Cookie { rid, csn: csn.map(Csn), check };
            prop_assert_eq!(Cookie::read(&cookie.write()), Some(cookie));
        }

        #[test]
        fn nothing_else_is_taken_for_one(bytes in "[ -~]{1,60}") {
            if let Some(cookie) = Cookie::read(bytes.as_bytes()) {
                prop_assert!(bytes.contains("id=") || cookie.csn.is_some() || cookie.check.is_some());
            }
        }
    }

    /// Two states with one CSN are the same if they have as many entries, and not if nobody knows how many.
    #[test]
    fn numbers_that_are_not_known_are_not_equal() {
        let check = |entries: u64| entries ^ 7;
        let state = |entries| Reached { csn: Csn(1 << 20), entries };
        let cookie = |entries| Cookie { rid: 1, csn: Some(Csn(1 << 20)), check: Some((0, check(entries))) };
        assert!(cookie(3).has_all_of(state(3), check));
        assert!(cookie(3).has_all_of(Reached { csn: Csn(1), entries: 3 }, check));
        assert!(!cookie(3).has_all_of(state(2), check));
        assert!(!cookie(3).has_all_of(Reached { csn: Csn(1 << 21), entries: 3 }, check));
        let unknown = store::stream::ENTRIES_UNKNOWN;
        assert!(!cookie(unknown).has_all_of(state(unknown), check));
        assert!(!cookie(3).has_all_of(state(unknown), check));
        assert!(!Cookie { check: None, ..cookie(3) }.has_all_of(state(3), check));
    }

    #[test]
    fn what_slapd_sends() {
        assert_eq!(Cookie::read(b"rid=001"), Some(Cookie { rid: 1, ..Cookie::default() }));
        let with = Cookie::read(b"rid=001,sid=00a,csn=20260102030405.123000Z#00000a#001#000000").unwrap();
        assert_eq!(with.csn.unwrap().to_string(), "20260102030405.123000Z#00000a#001#000000");
        for wrong in [
            &b"rid=1000"[..],
            b"csn=20260102030405.123456Z#00000a#001#000000",
            b"csn=20260102030405.123000Z#00000a#001#000000;20260102030405.123000Z#00000a#002#000000",
            b"x",
            b"\xff",
        ] {
            assert_eq!(Cookie::read(wrong), None);
        }
    }
}
