//! A consumer of content synchronisation (RFC 4533) that knows nothing but what it is sent.

use super::{Client, control};
use model::{ResultCode, Scope};
use proto::Request;
use proto::control::content_sync::{self as sync, SyncRequest};
use proto::message::{Frame, Reply, Response, frame};
use std::collections::{BTreeMap, BTreeSet};
use std::task::{Context, Waker};

pub type Uuid = [u8; 16];
/// RDN and attributes.
pub type Copied = (String, BTreeMap<String, BTreeSet<Vec<u8>>>);

/// What a consumer has.
#[derive(Default)]
pub struct Consumer {
    pub content: BTreeMap<Uuid, Copied>,
    pub present: BTreeSet<Uuid>,
    pub cookie: Vec<u8>,
    /// Entries, with the state of each, and entries that were said to be there or to be gone, since it was last cleared.
    pub said: Vec<String>,
    /// The last message, and whether it said that what is gone was said.
    pub end: Option<(ResultCode, bool)>,
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (tag, len) = (*self.0.first()?, usize::from(*self.0.get(1)?));
        let (head, len) = match len {
            0x81 => (3, usize::from(self.0[2])),
            0x82 => (4, usize::from(self.0[2]) << 8 | usize::from(self.0[3])),
            len => (2, len),
        };
        let found = &self.0[head..head + len];
        self.0 = &self.0[head + len..];
        Some((tag, found))
    }

    fn of(value: &'a [u8]) -> Reader<'a> {
        Reader(Reader(value).next().expect("it is an element").1)
    }
}

impl Consumer {
    pub fn take(&mut self, bytes: &[u8], id: i32) {
        let mut at = 0;
        while let Ok(Frame::Complete { len }) = frame(&bytes[at..]) {
            let reply = Reply::decode(&bytes[at..at + len]).expect("answers decode");
            at += len;
            if reply.id != id {
                continue;
            }
            let value_of = |oid: &[u8]| reply.controls.iter().find(|c| c.oid == oid).and_then(|c| c.value);
            match reply.response {
                Response::SearchEntry(entry) => {
                    let mut state = Reader::of(value_of(sync::STATE_OID).expect("an entry has a state"));
                    let (state, uuid) = (state.next().unwrap().1[0], state.next().unwrap().1);
                    let dn = String::from_utf8(entry.dn.to_vec()).unwrap();
                    self.said
                        .push(format!("{} {dn}", ["present", "add", "modify", "delete"][usize::from(state)]));
                    assert!(state == 1 || state == 2);
                    let attributes = entry.attributes.iter().map(|a| {
                        let name = String::from_utf8(a.description.to_vec()).unwrap();
                        (name, a.values.iter().map(<[u8]>::to_vec).collect())
                    });
                    let rdn = dn.split(',').next().unwrap().to_owned();
                    self.present.insert(uuid.try_into().unwrap());
                    self.content.insert(uuid.try_into().unwrap(), (rdn, attributes.collect()));
                }
                Response::Intermediate(info) => {
                    assert_eq!(info.oid, Some(sync::INFO_OID));
                    self.info(Reader(info.value.unwrap()).next().unwrap());
                }
                Response::Done(_, result) => {
                    let mut deletes = false;
                    if let Some(value) = value_of(sync::DONE_OID) {
                        let mut done = Reader::of(value);
                        self.cookie = done.next().unwrap().1.to_vec();
                        deletes = done.next().is_some();
                        self.refreshed(deletes);
                    }
                    self.end = Some((result.result_code().unwrap(), deletes));
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(at, bytes.len());
    }

    fn info(&mut self, (tag, value): (u8, &[u8])) {
        let mut body = Reader(value);
        match tag {
            0x80 => self.cookie = value.to_vec(),
            0xa1 | 0xa2 => {
                self.cookie = body.next().unwrap().1.to_vec();
                self.refreshed(tag == 0xa1);
            }
            _ => {
                let mut next = body.next().unwrap();
                if next.0 == 4 {
                    self.cookie = next.1.to_vec();
                    next = body.next().unwrap();
                }
                let deletes = next.0 == 1;
                if deletes {
                    next = body.next().unwrap();
                }
                let mut uuids = Reader(next.1);
                while let Some((_, uuid)) = uuids.next() {
                    let uuid: Uuid = uuid.try_into().unwrap();
                    self.said.push(if deletes { "gone" } else { "unchanged" }.to_owned());
                    match deletes {
                        true => _ = self.content.remove(&uuid),
                        false => _ = self.present.insert(uuid),
                    }
                }
            }
        }
    }

    fn refreshed(&mut self, deletes: bool) {
        if !deletes {
            self.content.retain(|uuid, _| self.present.contains(uuid));
        }
        self.present.clear();
    }

    pub fn code(&self) -> Option<ResultCode> {
        self.end.map(|(code, _)| code)
    }
}

/// A search that follows changes, of a client.
pub struct Wish<'a> {
    pub base: &'a str,
    pub filter: &'a str,
    pub persists: bool,
    pub reload_hint: bool,
}

impl Client {
    /// Begins a search; what comes at once is taken. The message id.
    pub fn begin_sync(&mut self, asked: &Wish<'_>, consumer: &mut Consumer) -> i32 {
        let cookie = (!consumer.cookie.is_empty()).then(|| consumer.cookie.clone());
        let request = SyncRequest {
            persists: asked.persists,
            cookie: cookie.as_deref(),
            reload_hint: asked.reload_hint,
        };
        let value = request.encode();
        let filter = proto::filter_string::parse(asked.filter.as_bytes()).unwrap();
        let search = super::search_for(asked.base, Scope::Subtree, filter.filter(), &[]);
        let (id, bytes) = self.encode(&Request::Search(search), &[control(sync::OID, &value, true)]);
        (consumer.end, consumer.present) = (None, BTreeSet::new());
        let mut out = Vec::new();
        let feed = self.session.feed(&mut self.worker, &bytes, &mut out);
        assert_eq!(feed.consumed, bytes.len());
        consumer.take(&out, id);
        self.follow(id, consumer);
        id
    }

    /// Takes all that there is.
    pub fn follow(&mut self, id: i32, consumer: &mut Consumer) {
        let out = self.followed();
        consumer.take(&out, id);
    }

    /// What searches that follow changes have to say. As a connection does, takes away what was written after every call.
    pub fn followed(&mut self) -> Vec<u8> {
        let (mut out, mut all) = (Vec::new(), Vec::new());
        let mut state = self.session.step(&mut self.worker, &mut out);
        loop {
            all.append(&mut out);
            while state == dsa::State::Busy {
                state = self.session.step(&mut self.worker, &mut out);
                all.append(&mut out);
            }
            let cx = &mut Context::from_waker(Waker::noop());
            state = self.session.poll_notices(&self.worker, cx, &mut out);
            all.append(&mut out);
            if state != dsa::State::Busy {
                return all;
            }
        }
    }

    /// Has a consumer what a search of this client finds?
    pub fn is_synchronous(&mut self, asked: &Wish<'_>, consumer: &Consumer) {
        let found = self.search(asked.base, Scope::Subtree, asked.filter, &["*", "entryUUID"]);
        assert_eq!(found.end.code, ResultCode::Success);
        let expected: BTreeMap<String, Copied> = found
            .entries
            .into_iter()
            .map(|(dn, attributes)| {
                let mut attributes: BTreeMap<String, BTreeSet<Vec<u8>>> = attributes
                    .into_iter()
                    .map(|(name, values)| (name, values.into_iter().collect()))
                    .collect();
                let uuid = attributes.remove("entryUUID").unwrap().into_iter().next().unwrap();
                (String::from_utf8(uuid).unwrap(), (dn.split(',').next().unwrap().to_owned(), attributes))
            })
            .collect();
        let content: BTreeMap<String, Copied> = consumer
            .content
            .iter()
            .map(|(uuid, copied)| {
                let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
                let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
                (parts.join("-"), copied.clone())
            })
            .collect();
        assert_eq!(content, expected);
    }
}
