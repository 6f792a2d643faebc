//! The indexes of a server that runs: values of `cn=config`, and what `cn=Indexes,cn=Monitor` tells of them.

use crate::error::ClientError;
use crate::link::Link;
use crate::server::Server;
use crate::values::values;
use proto::message::Request;
use proto::op::modify::{Changes, Modify, ModifyKind, change_list};

const CONFIG: &[u8] = b"cn=config";
const INDEX: &[u8] = b"olcDbIndex";
const VERIFY: &[u8] = b"pandoIndexVerify";
const MONITOR: &[u8] = b"cn=Indexes,cn=Monitor";
const INFO: &[u8] = b"monitoredInfo";
const DIFFERENCE: &str = "difference=";

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
    /// Entries that were looked at, of those there are, while it is built or compared with them, and after that.
    pub entries: Option<(u64, u64)>,
    /// Bytes of memory.
    pub bytes: Option<u64>,
    /// What it serves beside filters: `sort`, or `sort,vlv`.
    pub serves: Option<String>,
    /// Object classes on which the filter of a view that it serves may be, with commas between them.
    pub classes: Option<String>,
    /// Why it failed.
    pub reason: Option<String>,
    /// How it stands with its comparison with the entries: `queued`, `running`, or `clean` or `differs` once it is done.
    pub verify: Option<String>,
    /// Keys in which it differs.
    pub found: Option<u64>,
    /// Keys that were not looked up, for a walk through a big set would have been needed.
    pub passed_over: Option<u64>,
    /// The first differences, in words.
    pub differences: Vec<String>,
}

impl IndexLine {
    /// Is it being compared with the entries, or to be?
    pub fn is_compared(&self) -> bool {
        self.verify.as_deref().is_some_and(|verify| matches!(verify, "queued" | "running"))
    }
}

impl Indexes {
    /// Connects and binds.
    ///
    /// # Errors
    /// What the network or the server says.
    pub fn open(server: &Server) -> Result<Indexes, ClientError> {
        Ok(Indexes { link: Link::open(server)? })
    }

    /// All indexes, and builds that failed since the start.
    ///
    /// # Errors
    /// As [`Indexes::open`].
    pub fn list(&mut self) -> Result<Vec<IndexLine>, ClientError> {
        let texts = values(&mut self.link, MONITOR, INFO)?;
        Ok(lines(texts.iter().map(|text| String::from_utf8_lossy(text).into_owned())))
    }

    /// Has indexes built, which takes its time after this returns.
    ///
    /// # Errors
    /// As [`Indexes::open`]; then none is built.
    pub fn build(&mut self, indexes: &[String]) -> Result<(), ClientError> {
        self.change(ModifyKind::Add, INDEX, indexes)
    }

    /// Drops indexes, or has their building given up.
    ///
    /// # Errors
    /// As [`Indexes::open`]; then none is dropped.
    pub fn drop(&mut self, indexes: &[String]) -> Result<(), ClientError> {
        self.change(ModifyKind::Delete, INDEX, indexes)
    }

    /// Has indexes compared with the entries, which takes its time after this returns.
    ///
    /// # Errors
    /// As [`Indexes::open`]; then none is.
    pub fn verify(&mut self, indexes: &[String]) -> Result<(), ClientError> {
        self.change(ModifyKind::Add, VERIFY, indexes)
    }

    fn change(&mut self, kind: ModifyKind, attribute: &[u8], indexes: &[String]) -> Result<(), ClientError> {
        let list = change_list([(kind, attribute, indexes.iter().map(String::as_bytes))]);
        let changes = Changes::parse(&list).map_err(|_| ClientError::Malformed("nothing"))?;
        let request = Request::Modify(Modify { dn: CONFIG, changes });
        self.link.push(|out, id| request.encode(out, id, &[]));
        self.link.outcome("no answer to a modify")
    }
}

/// A line for each index, by name, with its differences.
fn lines(texts: impl Iterator<Item = String>) -> Vec<IndexLine> {
    let (differences, texts): (Vec<String>, Vec<String>) =
        texts.partition(|text| text.starts_with(DIFFERENCE));
    let mut lines: Vec<IndexLine> = texts.iter().map(|text| line(text)).collect();
    lines.sort_by(|a, b| a.index.cmp(&b.index));
    let mut reported: Vec<(&str, u64, &str)> =
        differences.iter().filter_map(|text| difference(text)).collect();
    reported.sort_unstable();
    for (index, _, what) in reported {
        let line = lines.iter_mut().find(|line| line.index == index);
        line.into_iter().for_each(|line| line.differences.push(what.to_owned()));
    }
    lines
}

/// Index, number and words of a difference.
fn difference(text: &str) -> Option<(&str, u64, &str)> {
    let mut parts = text.strip_prefix(DIFFERENCE)?.splitn(3, ' ');
    Some((parts.next()?, parts.next()?.parse().ok()?, parts.next()?))
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
            "serves" => line.serves = Some(value.to_owned()),
            "classes" => line.classes = Some(value.to_owned()),
            "verify" => line.verify = Some(value.to_owned()),
            "found" => line.found = value.parse().ok(),
            "passed-over" => line.passed_over = value.parse().ok(),
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
        let ordering = line("index=sn:ord state=ready bytes=0 serves=sort,vlv classes=person,inetOrgPerson");
        assert_eq!(ordering.serves.as_deref(), Some("sort,vlv"));
        assert_eq!(ordering.classes.as_deref(), Some("person,inetOrgPerson"));
        let failed = line("index=cn:sub state=failed reason=no room = none");
        assert_eq!((failed.reason.as_deref(), failed.entries), (Some("no room = none"), None));
        assert_eq!((&failed.index[..], &failed.state[..]), ("cn:sub", "failed"));
    }

    #[test]
    fn differences_go_to_their_index_in_their_order() {
        let texts = [
            "difference=uid:eq 10 entry 7: b",
            "difference=uid:eq 2 entry 5 \"cn=a b\": a",
            "index=uid:eq state=ready bytes=9 verify=differs found=12 entries=5 of=5 keys=70 passed-over=3",
            "index=cn:eq state=ready bytes=9 verify=queued",
        ];
        let [cn, uid] = &lines(texts.iter().map(|text| (*text).to_owned()))[..] else {
            panic!("there are two")
        };
        assert!(cn.is_compared() && cn.differences.is_empty() && !uid.is_compared());
        assert_eq!(uid.differences, ["entry 5 \"cn=a b\": a", "entry 7: b"]);
        assert_eq!((uid.verify.as_deref(), uid.found, uid.passed_over), (Some("differs"), Some(12), Some(3)));
    }
}
