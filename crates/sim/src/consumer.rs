//! A consumer of content synchronisation (RFC 4533) that knows nothing but what it is sent, and believes all of it.
//!
//! Entries are distinguished by their entryUUID. Of the name of an entry it keeps the RDN: a rename of an entry above is reported of that one only (section 4.1).

use model::ResultCode;
use proto::ber::Reader;
use proto::control::content_sync as sync;
use proto::error::Error;
use proto::op::SearchEntry;
use proto::tag::{BOOLEAN, OCTET_STRING, context, context_constructed};
use proto::{Reply, Response, control::Control};
use std::collections::{BTreeMap, BTreeSet};

/// An entryUUID.
type Uuid = [u8; 16];

/// An entry without what follows from its place: RDN, and values by attribute description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    rdn: String,
    attributes: BTreeMap<String, BTreeSet<Vec<u8>>>,
}

impl Copied {
    /// Of an entry that was found, with its entryUUID as text, if it came with one.
    pub fn of(entry: &SearchEntry<'_>) -> (Option<String>, Copied) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let dn = text(entry.dn);
        let rdn = dn.split(',').next().unwrap_or_default().to_owned();
        let attributes = entry.attributes.iter();
        let mut attributes: BTreeMap<String, BTreeSet<Vec<u8>>> = attributes
            .map(|a| (text(a.description), a.values.iter().map(<[u8]>::to_vec).collect()))
            .collect();
        let uuid = attributes.remove("entryUUID").and_then(|values| values.into_iter().next());
        (uuid.as_deref().map(text), Copied { rdn, attributes })
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Consumer {
    content: BTreeMap<Uuid, Copied>,
    /// What was named since the refresh began.
    present: BTreeSet<Uuid>,
    /// The last cookie that came.
    pub cookie: Option<Vec<u8>>,
}

impl Consumer {
    /// What it has, by the text of the entryUUID.
    pub fn content(&self) -> BTreeMap<String, Copied> {
        self.content.iter().map(|(uuid, copied)| (text_of(uuid), copied.clone())).collect()
    }

    /// A refresh begins.
    pub fn begin(&mut self) {
        self.present.clear();
    }

    /// Takes a message of its search. The code of the last one.
    ///
    /// # Errors
    /// In words, what a consumer cannot understand.
    pub fn take(&mut self, reply: &Reply<'_>) -> Result<Option<ResultCode>, String> {
        match &reply.response {
            Response::SearchEntry(entry) => self.entry(entry, reply)?,
            Response::Intermediate(info) if info.oid == Some(sync::INFO_OID) => {
                self.info(info.value.unwrap_or_default()).map_err(|error| error.to_string())?;
            }
            Response::Done(_, result) => {
                if let Some(value) = value_of(reply, sync::DONE_OID) {
                    self.done(value).map_err(|error| error.to_string())?;
                }
                return Ok(result.result_code());
            }
            other => return Err(format!("it is sent {other:?}")),
        }
        Ok(None)
    }

    fn entry(&mut self, entry: &SearchEntry<'_>, reply: &Reply<'_>) -> Result<(), String> {
        let value = value_of(reply, sync::STATE_OID).ok_or("an entry has no state")?;
        let uuid = state_of(value).map_err(|error| error.to_string())?.ok_or("a state has no UUID")?;
        self.present.insert(uuid);
        self.content.insert(uuid, Copied::of(entry).1);
        Ok(())
    }

    fn info(&mut self, value: &[u8]) -> Result<(), Error> {
        let (kind, contents) = Reader::new(value).element()?;
        let mut body = Reader::new(contents);
        if kind == context(0) {
            self.cookie = Some(contents.to_vec());
        } else if kind == context_constructed(3) {
            if let Some(cookie) = body.optional(OCTET_STRING)? {
                self.cookie = Some(cookie.to_vec());
            }
            let deletes = body.peek() == Some(BOOLEAN) && body.boolean("are they gone")?;
            let mut uuids = body.enter_any()?.1;
            while !uuids.is_empty() {
                let Ok(uuid) = Uuid::try_from(uuids.octets("a UUID")?) else { continue };
                match deletes {
                    true => _ = self.content.remove(&uuid),
                    false => _ = self.present.insert(uuid),
                }
            }
        } else {
            if let Some(cookie) = body.optional(OCTET_STRING)? {
                self.cookie = Some(cookie.to_vec());
            }
            self.refreshed(kind == context_constructed(1));
        }
        Ok(())
    }

    fn done(&mut self, value: &[u8]) -> Result<(), Error> {
        let mut body = Reader::inside(value, proto::tag::SEQUENCE, "the value of a sync done")?;
        if let Some(cookie) = body.optional(OCTET_STRING)? {
            self.cookie = Some(cookie.to_vec());
        }
        let deletes = body.peek() == Some(BOOLEAN) && body.boolean("was said what is gone")?;
        self.refreshed(deletes);
        Ok(())
    }

    /// The refresh has ended. Where it did not say what is gone, all is gone that it did not name.
    fn refreshed(&mut self, deletes: bool) {
        if !deletes {
            self.content.retain(|uuid, _| self.present.contains(uuid));
        }
        self.present.clear();
    }
}

fn value_of<'a>(reply: &Reply<'a>, oid: &[u8]) -> Option<&'a [u8]> {
    reply.controls.iter().find(|control: &Control<'_>| control.oid == oid).and_then(|control| control.value)
}

fn state_of(value: &[u8]) -> Result<Option<Uuid>, Error> {
    let mut body = Reader::inside(value, proto::tag::SEQUENCE, "the value of a sync state")?;
    body.number(proto::tag::ENUMERATED, i32::MAX, "a state")?;
    Ok(Uuid::try_from(body.octets("a UUID")?).ok())
}

fn text_of(uuid: &Uuid) -> String {
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
