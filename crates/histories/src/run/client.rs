//! A client: one connection, one request at a time or one transaction.

use client::{ClientError, Link, Server};
use model::{ResultCode, Scope};
use proto::control::{Control, assertion, read_entry};
use proto::filter_string::{self, FilterBuf};
use proto::list::{Attributes, Octets, attribute_list, octet_list};
use proto::message::{Reply, Request, Response};
use proto::op::modify::{Changes, change_list};
use proto::op::{Add, Modify, ModifyKind, Search, SearchEntry};
use std::collections::BTreeMap;
use std::fmt;

mod transaction;
pub(super) use transaction::{Ended, How};

/// An entry: the first value of each attribute, by its name.
pub(super) type Entry = BTreeMap<String, String>;

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Lost {
    /// The connection has ended, or the server said that it does not know the outcome.
    Connection,
    /// The server said nothing for so long that the client gave up.
    Silent,
    /// The server did not read, start a transaction, or add what comes before all: it is `busy`, as a node without a majority is, or
    /// unwilling to add, as a leader with a full disk is.
    Busy,
    /// The server answers something that it must not.
    Strange(String),
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::Connection => f.write_str("the connection has ended"),
            Lost::Silent => f.write_str("the server does not answer"),
            Lost::Busy => f.write_str("the server is busy"),
            Lost::Strange(what) => f.write_str(what),
        }
    }
}

impl From<ClientError> for Lost {
    fn from(error: ClientError) -> Lost {
        match error {
            ClientError::Io(_) | ClientError::Closed(_) => Lost::Connection,
            ClientError::Silent(_) => Lost::Silent,
            other => Lost::Strange(other.to_string()),
        }
    }
}

/// Attributes of an entry get one value each, if the entry is still as it was.
#[derive(Clone, Debug)]
pub(super) struct Update {
    pub(super) dn: String,
    pub(super) set: Vec<(&'static str, String)>,
    /// A filter; empty for none.
    pub(super) only_if: String,
    /// An attribute that is read in the same moment, after it.
    pub(super) read: Option<&'static str>,
}

/// How an update came out: it was done, and this was read; or not.
pub(super) type Done = Result<Entry, ResultCode>;

/// See the module.
pub(super) struct Client {
    link: Link,
    /// Transactions that it has called by a name of its own.
    chosen: usize,
}

impl Client {
    /// Connects and binds. A server that says nothing for `silence_s` seconds is given up.
    pub(super) fn connect(server: &Server, silence_s: u64) -> Result<Client, ClientError> {
        Ok(Client { link: Link::open_for(server, silence_s)?, chosen: 0 })
    }

    /// Adds an entry, which may be there already.
    pub(super) fn add(&mut self, dn: &str, attributes: &[(&str, &str)]) -> Result<(), Lost> {
        let list =
            attribute_list(attributes.iter().map(|(name, value)| (name.as_bytes(), [value.as_bytes()])));
        let attributes = Attributes::parse(&list).expect("just encoded");
        let add = Add { dn: dn.as_bytes(), attributes };
        self.link.push(|out, id| Request::Add(add).encode(out, id, &[]));
        match self.link.receive(result)? {
            ResultCode::Success | ResultCode::EntryAlreadyExists => Ok(()),
            ResultCode::Busy | ResultCode::UnwillingToPerform => Err(Lost::Busy),
            ResultCode::Unavailable => Err(Lost::Connection),
            code => Err(Lost::Strange(format!("adding {dn}: {code:?}"))),
        }
    }

    /// Reads attributes of one entry.
    pub(super) fn read(&mut self, dn: &str, attributes: &[&str]) -> Result<Entry, Lost> {
        let mut found = self.search(dn, Scope::Base, attributes)?;
        match found.pop_first() {
            Some((_, entry)) => Ok(entry),
            None => Err(Lost::Strange(format!("{dn} is not there"))),
        }
    }

    /// Reads attributes of the entries below one, all at once.
    pub(super) fn read_below(
        &mut self,
        dn: &str,
        attributes: &[&str],
    ) -> Result<BTreeMap<String, Entry>, Lost> {
        self.search(dn, Scope::One, attributes)
    }

    fn search(
        &mut self,
        dn: &str,
        scope: Scope,
        attributes: &[&str],
    ) -> Result<BTreeMap<String, Entry>, Lost> {
        let filter = parse("(objectClass=*)");
        let selection = octet_list(attributes.iter().map(|name| name.as_bytes()));
        let selection = Octets::parse(&selection).expect("just encoded");
        let search = Search::unlimited(dn.as_bytes(), scope, filter.filter(), selection);
        self.link.push(|out, id| Request::Search(search.clone()).encode(out, id, &[]));
        let mut entries = BTreeMap::new();
        loop {
            let next = self.link.receive(|reply| match &reply.response {
                Response::SearchEntry(found) => Ok(entry(found)),
                _ => Err(result(reply)),
            })?;
            match next {
                Ok((dn, entry)) => _ = entries.insert(dn, entry),
                Err(ResultCode::Success) => return Ok(entries),
                Err(ResultCode::Busy) => return Err(Lost::Busy),
                Err(code) => return Err(Lost::Strange(format!("searching {dn}: {code:?}"))),
            }
        }
    }

    /// Updates an entry.
    pub(super) fn update(&mut self, update: &Update) -> Result<Done, Lost> {
        self.push_update(update, &[]);
        self.link.receive(done)?
    }

    /// Puts an update on its way; returns the id of its message.
    fn push_update(&mut self, update: &Update, more: &[Control<'_>]) -> i32 {
        let values =
            update.set.iter().map(|(name, value)| (ModifyKind::Replace, name.as_bytes(), [value.as_bytes()]));
        let list = change_list(values);
        let changes = Changes::parse(&list).expect("just encoded");
        let filter =
            (!update.only_if.is_empty()).then(|| assertion::encode(&parse(&update.only_if).filter()));
        let selection = update.read.map(|name| {
            let list = octet_list([name.as_bytes()]);
            read_entry::encode_selection(Octets::parse(&list).expect("just encoded"))
        });
        let mut controls = more.to_vec();
        controls.extend(filter.iter().map(|value| assertion::control(value, true)));
        let post = |value| Control { oid: read_entry::POST_OID, critical: true, value: Some(value) };
        controls.extend(selection.as_deref().map(post));
        let modify = Modify { dn: update.dn.as_bytes(), changes };
        self.link.push(|out, id| Request::Modify(modify).encode(out, id, &controls))
    }
}

fn parse(filter: &str) -> FilterBuf {
    filter_string::parse(filter.as_bytes()).expect("filters of workloads are sound")
}

fn entry(found: &SearchEntry<'_>) -> (String, Entry) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let attributes = found.attributes.iter();
    let values = attributes.filter_map(|a| Some((text(a.description), text(a.values.iter().next()?))));
    (text(found.dn), values.collect())
}

fn result(reply: &Reply<'_>) -> ResultCode {
    reply.result().and_then(|result| result.result_code()).unwrap_or(ResultCode::Other)
}

/// How an update came out, by its answer.
fn done(reply: &Reply<'_>) -> Result<Done, Lost> {
    match result(reply) {
        ResultCode::Success => Ok(Ok(post_read(reply.controls)?)),
        // The log fails, or the leader was lost: nobody knows what the log has.
        ResultCode::Unavailable => Err(Lost::Connection),
        code => Ok(Err(code)),
    }
}

/// What post-read brought, if it was asked for.
fn post_read(controls: proto::Controls<'_>) -> Result<Entry, Lost> {
    let Some(value) = controls.find(read_entry::POST_OID).and_then(|control| control.value) else {
        return Ok(Entry::new());
    };
    let found =
        read_entry::decode_entry(value).map_err(|_| Lost::Strange("a post-read that is none".to_owned()))?;
    Ok(entry(&found).1)
}
