//! Content synchronisation (RFC 4533): the controls of its request and of its answers, and what is said between them.
//!
//! ```text
//! syncRequestValue ::= SEQUENCE { mode ENUMERATED { refreshOnly (1), refreshAndPersist (3) }, cookie OCTET STRING OPTIONAL,
//!                                 reloadHint BOOLEAN DEFAULT FALSE }
//! syncStateValue   ::= SEQUENCE { state ENUMERATED { present (0), add (1), modify (2), delete (3) }, entryUUID, cookie OPTIONAL }
//! syncDoneValue    ::= SEQUENCE { cookie OPTIONAL, refreshDeletes BOOLEAN DEFAULT FALSE }
//! syncInfoValue    ::= CHOICE { newcookie [0] cookie,
//!                               refreshDelete [1], refreshPresent [2] SEQUENCE { cookie OPTIONAL, refreshDone DEFAULT TRUE },
//!                               syncIdSet [3] SEQUENCE { cookie OPTIONAL, refreshDeletes DEFAULT FALSE, SET OF syncUUID } }
//! ```

use super::{Control, encode_message};
use crate::ber::{self, Reader};
use crate::error::Error;
use crate::op::Intermediate;
use crate::tag::{self, context, context_constructed};

/// OID of the control of a request.
pub const OID: &[u8] = b"1.3.6.1.4.1.4203.1.9.1.1";
/// OID of the control of an entry.
pub const STATE_OID: &[u8] = b"1.3.6.1.4.1.4203.1.9.1.2";
/// OID of the control of the last message.
pub const DONE_OID: &[u8] = b"1.3.6.1.4.1.4203.1.9.1.3";
/// OID of the message between entries.
pub const INFO_OID: &[u8] = b"1.3.6.1.4.1.4203.1.9.1.4";

const SET: u8 = 0x31;
const REFRESH_ONLY: i32 = 1;
const REFRESH_AND_PERSIST: i32 = 3;

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncRequest<'a> {
    /// Shall the search stay, and tell of changes?
    pub persists: bool,
    /// The state that the client has, if it has one.
    pub cookie: Option<&'a [u8]>,
    /// Does it prefer all content to e-syncRefreshRequired?
    pub reload_hint: bool,
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncState {
    /// It came into the content, or the client may not have it.
    Add = 1,
    /// It was in the content, and has changed.
    Modify = 2,
}

impl<'a> SyncRequest<'a> {
    /// Decodes the value of the control.
    ///
    /// # Errors
    /// When it is none.
    pub fn decode(value: &'a [u8]) -> Result<SyncRequest<'a>, Error> {
        let mut body = Reader::inside(value, tag::SEQUENCE, "expected the value of a sync request")?;
        let at = body.offset();
        let persists = match body.number(tag::ENUMERATED, i32::MAX, "expected a mode")? {
            REFRESH_ONLY => false,
            REFRESH_AND_PERSIST => true,
            _ => return Err(Error::structure(at, "there is no such mode")),
        };
        let cookie = body.optional(tag::OCTET_STRING)?;
        let reload_hint = match body.peek() {
            Some(tag::BOOLEAN) => body.boolean("expected a hint")?,
            _ => false,
        };
        body.finish(&[])?;
        Ok(SyncRequest { persists, cookie, reload_hint })
    }

    /// The value of the control.
    pub fn encode(&self) -> Vec<u8> {
        ber::sequence(|out| {
            let mode = if self.persists { REFRESH_AND_PERSIST } else { REFRESH_ONLY };
            ber::put_enumerated(out, mode as u32);
            self.cookie.iter().for_each(|cookie| ber::put_octets(out, cookie));
            if self.reload_hint {
                ber::put_boolean(out, tag::BOOLEAN, true);
            }
        })
    }
}

/// The value of the control of an entry.
pub fn state_value(state: SyncState, uuid: &[u8; 16]) -> Vec<u8> {
    ber::sequence(|out| {
        ber::put_enumerated(out, state as u32);
        ber::put_octets(out, uuid);
    })
}

/// The control of an entry, with this value.
pub fn state_control(value: &[u8]) -> Control<'_> {
    Control { oid: STATE_OID, critical: false, value: Some(value) }
}

/// The value of the control of the last message.
pub fn done_value(cookie: Option<&[u8]>, refresh_deletes: bool) -> Vec<u8> {
    ber::sequence(|out| {
        cookie.iter().for_each(|cookie| ber::put_octets(out, cookie));
        if refresh_deletes {
            ber::put_boolean(out, tag::BOOLEAN, true);
        }
    })
}

/// The control of the last message, with this value.
pub fn done_control(value: &[u8]) -> Control<'_> {
    Control { oid: DONE_OID, critical: false, value: Some(value) }
}

/// What is said between entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncInfo<'a> {
    /// The client has this state now.
    NewCookie(&'a [u8]),
    /// All content was refreshed, and this state is reached. `deletes`: what is gone was said; else what was not named is gone.
    RefreshDone {
        /// See above.
        deletes: bool,
        /// The state.
        cookie: &'a [u8],
    },
    /// These entries are still there as they were, or are gone.
    IdSet {
        /// Are they gone?
        deletes: bool,
        /// The state that is reached then.
        cookie: Option<&'a [u8]>,
        /// Their UUIDs.
        uuids: &'a [[u8; 16]],
    },
}

impl SyncInfo<'_> {
    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>, message_id: i32) {
        let mut value = Vec::new();
        match *self {
            SyncInfo::NewCookie(cookie) => ber::put_tlv(&mut value, context(0), cookie),
            SyncInfo::RefreshDone { deletes, cookie } => {
                let mark = ber::begin(&mut value, context_constructed(if deletes { 1 } else { 2 }));
                ber::put_octets(&mut value, cookie);
                ber::end(&mut value, mark);
            }
            SyncInfo::IdSet { deletes, cookie, uuids } => {
                let mark = ber::begin(&mut value, context_constructed(3));
                cookie.iter().for_each(|cookie| ber::put_octets(&mut value, cookie));
                if deletes {
                    ber::put_boolean(&mut value, tag::BOOLEAN, true);
                }
                let set = ber::begin(&mut value, SET);
                uuids.iter().for_each(|uuid| ber::put_octets(&mut value, uuid));
                ber::end(&mut value, set);
                ber::end(&mut value, mark);
            }
        }
        let message = Intermediate { oid: Some(INFO_OID), value: Some(&value) };
        encode_message(out, message_id, &[], |out| message.encode(out));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_back() {
        for persists in [false, true] {
            for cookie in [None, Some(&b"x"[..])] {
                for reload_hint in [false, true] {
                    let request = SyncRequest { persists, cookie, reload_hint };
                    assert_eq!(SyncRequest::decode(&request.encode()), Ok(request));
                }
            }
        }
        for bad in [
            &[][..],
            &[0x30, 0],
            &[0x30, 3, 10, 1, 2],
            &[0x30, 3, 10, 1, 0],
            &[0x30, 3, 2, 1, 1],
            &[0x30, 4, 10, 1, 1, 0],
        ] {
            assert!(SyncRequest::decode(bad).is_err(), "{bad:?}");
        }
    }

    /// RFC 4533 sections 2.3 to 2.5, to the octet.
    #[test]
    fn answers_to_the_octet() {
        let uuid = [7; 16];
        let state = state_value(SyncState::Modify, &uuid);
        assert_eq!(state, [&[0x30, 21, 10, 1, 2, 4, 16][..], &uuid].concat());
        assert_eq!(done_value(Some(b"x"), true), [0x30, 6, 4, 1, b'x', 1, 1, 0xff]);
        assert_eq!(done_value(None, false), [0x30, 0]);
        let value_of = |info: SyncInfo<'_>| {
            let mut out = Vec::new();
            info.encode(&mut out, 1);
            let reply = crate::message::Reply::decode(&out).unwrap();
            match reply.response {
                crate::message::Response::Intermediate(said) => {
                    assert_eq!(said.oid, Some(INFO_OID));
                    said.value.unwrap().to_vec()
                }
                _ => panic!("it is an intermediate response"),
            }
        };
        assert_eq!(value_of(SyncInfo::NewCookie(b"x")), [0x80, 1, b'x']);
        assert_eq!(value_of(SyncInfo::RefreshDone { deletes: false, cookie: b"x" }), [0xa2, 3, 4, 1, b'x']);
        assert_eq!(value_of(SyncInfo::RefreshDone { deletes: true, cookie: b"x" }), [0xa1, 3, 4, 1, b'x']);
        let set = [&[0xa3, 23, 1, 1, 0xff, 0x31, 18, 4, 16][..], &uuid].concat();
        assert_eq!(value_of(SyncInfo::IdSet { deletes: true, cookie: None, uuids: &[uuid] }), set);
        assert_eq!(
            value_of(SyncInfo::IdSet { deletes: false, cookie: Some(b"x"), uuids: &[] }),
            [0xa3, 5, 4, 1, b'x', 0x31, 0]
        );
    }
}
