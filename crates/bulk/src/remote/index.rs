//! The indexes of a server that runs: values of `cn=config`, and what `cn=Indexes,cn=Monitor` tells of them.

use super::link::{Link, refusal};
use super::read::values;
use super::{RemoteError, Server};
use proto::message::Request;
use proto::op::modify::{Changes, Modify, ModifyKind, change_list};

const CONFIG: &[u8] = b"cn=config";
const INDEX: &[u8] = b"olcDbIndex";
const MONITOR: &[u8] = b"cn=Indexes,cn=Monitor";
const INFO: &[u8] = b"monitoredInfo";

/// A connection to a server whose indexes are looked at or changed.
pub struct Indexes {
    link: Link,
}

/// What a server tells of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexLine {
    /// `ATTR:KIND`.
    pub index: String,
    /// `ready`, `building`, `waiting` for searches that began before it was complete, `queued`, `leaving` or `failed`.
    pub state: String,
    /// Entries that were looked at, of those there are, while it is built.
    pub entries: Option<(u64, u64)>,
    /// Bytes of memory.
    pub bytes: Option<u64>,
    /// Why it failed.
    pub reason: Option<String>,
}

impl Indexes {
    /// Connects and binds.
    ///
    /// # Errors
    /// What the network or the server says.
    pub fn open(server: &Server) -> Result<Indexes, RemoteError> {
        Ok(Indexes { link: Link::open(server)? })
    }

    /// All indexes, and builds that failed since the start.
    ///
    /// # Errors
    /// As [`Indexes::open`].
    pub fn list(&mut self) -> Result<Vec<IndexLine>, RemoteError> {
        let texts = values(&mut self.link, MONITOR, INFO)?;
        let mut lines: Vec<IndexLine> =
            texts.iter().map(|text| line(&String::from_utf8_lossy(text))).collect();
        lines.sort_by(|a, b| a.index.cmp(&b.index));
        Ok(lines)
    }

    /// Has indexes built, which takes its time after this returns.
    ///
    /// # Errors
    /// As [`Indexes::open`]; then none is built.
    pub fn build(&mut self, indexes: &[String]) -> Result<(), RemoteError> {
        self.change(ModifyKind::Add, indexes)
    }

    /// Drops indexes, or has their building given up.
    ///
    /// # Errors
    /// As [`Indexes::open`]; then none is dropped.
    pub fn drop(&mut self, indexes: &[String]) -> Result<(), RemoteError> {
        self.change(ModifyKind::Delete, indexes)
    }

    fn change(&mut self, kind: ModifyKind, indexes: &[String]) -> Result<(), RemoteError> {
        let list = change_list([(kind, INDEX, indexes.iter().map(String::as_bytes))]);
        let changes = Changes::parse(&list).map_err(|_| RemoteError::Malformed("nothing"))?;
        let request = Request::Modify(Modify { dn: CONFIG, changes });
        self.link.push(|out, id| request.encode(out, id, &[]));
        match self.link.receive(|reply| reply.result().map(|result| refusal(&result)))? {
            Some(None) => Ok(()),
            Some(Some(why)) => Err(RemoteError::Refused(why)),
            None => Err(RemoteError::Malformed("no answer to a modify")),
        }
    }
}

fn line(text: &str) -> IndexLine {
    let mut line = IndexLine::default();
    let (facts, reason) = match text.split_once(" reason=") {
        Some((facts, reason)) => (facts, Some(reason.to_owned())),
        None => (text, None),
    };
    let (mut done, mut all) = (None, None);
    for (name, value) in facts.split(' ').filter_map(|fact| fact.split_once('=')) {
        match name {
            "index" => line.index = value.to_owned(),
            "state" => line.state = value.to_owned(),
            "entries" => done = value.parse().ok(),
            "of" => all = value.parse().ok(),
            "bytes" => line.bytes = value.parse().ok(),
            _ => {}
        }
    }
    line.entries = done.zip(all);
    line.reason = reason;
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood() {
        let building = line("index=uid:eq state=building entries=5 of=70 bytes=9");
        assert_eq!(
            (building.entries, building.bytes, &building.state[..]),
            (Some((5, 70)), Some(9), "building")
        );
        let failed = line("index=cn:sub state=failed reason=no room = none");
        assert_eq!((failed.reason.as_deref(), failed.entries), (Some("no room = none"), None));
        assert_eq!((&failed.index[..], &failed.state[..]), ("cn:sub", "failed"));
    }
}
