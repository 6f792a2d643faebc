//! Indexes that are switched on and off, and verified, while the server runs. What was reported of them holds after its end.

use super::{Violation, World};
use crate::answers::Answer;
use crate::node::Node;
use crate::properties;
use crate::requests::{Bundle, SUFFIX, Sent};
use crate::view::View;
use crate::workloads::is_subtype;
use model::{ResultCode, Scope};
use proto::op::ModifyKind;
use std::collections::{BTreeMap, BTreeSet};

/// Indexes that come and go, beside those that are configured.
const NAMES: [&str; 9] = [
    "cn:eq",
    "cn:sub",
    "cn:pres",
    "ou:eq",
    "ou:sub",
    "description:pres",
    "objectClass:eq",
    "sn:eq",
    "member:eq",
];
/// Of 1,000 moments, those that something is asked for, indexes are worked on, and searches compared.
const ASKED_OF_1000: u64 = 50;
const STEPS_OF_1000: u64 = 300;
const SEARCHES_OF_1000: u64 = 20;

/// What is known of the indexes that are not configured.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// They were reported to be ready, and nobody has asked for their end.
    must: BTreeSet<&'static str>,
    /// They were asked for.
    coming: BTreeSet<&'static str>,
    /// They were to be dropped.
    leaving: BTreeSet<&'static str>,
    /// They are compared with the entries.
    compared: BTreeSet<&'static str>,
}

impl World {
    /// What becomes of indexes between two other moments.
    pub(super) fn indexes(&mut self, node: &mut Node) -> Result<(), Violation> {
        if self.random.chance(STEPS_OF_1000) {
            let pace = node.step_indexes();
            self.trace.note(format_args!("  indexes: {pace:?}"));
        }
        // The one that waits for the log cannot ask.
        if node.waits(0) {
            return Ok(());
        }
        if self.random.chance(ASKED_OF_1000) {
            self.ask_for_index(node)?;
        }
        if self.random.chance(SEARCHES_OF_1000) {
            self.search(node)?;
        }
        Ok(())
    }

    /// After a start those are there that were reported to be, and no others than those that were asked for.
    pub(super) fn look_at_indexes(&mut self, node: &mut Node) -> Result<(), Violation> {
        let lines = self.report(node);
        let there: BTreeSet<&str> = NAMES.into_iter().filter(|name| lines.contains_key(*name)).collect();
        let known = std::mem::take(&mut self.known);
        let wrong = |what| Err(Violation { property: properties::SWITCHED, what });
        if let Some(name) = known.must.difference(&there).next() {
            return wrong(format!("the index {name} was reported to be ready, and is not there"));
        }
        let may: BTreeSet<&str> =
            [&known.must, &known.coming, &known.leaving].into_iter().flatten().copied().collect();
        if let Some(name) = there.difference(&may).next() {
            return wrong(format!("nobody wants the index {name}"));
        }
        self.known.must = there;
        Ok(())
    }

    /// Asks for what makes a change: an index that is not there, or the end or a comparison of one that is.
    fn ask_for_index(&mut self, node: &mut Node) -> Result<(), Violation> {
        let lines = self.report(node);
        self.note_indexes(node, &lines)?;
        let name = *self.random.one_of(&NAMES);
        let (kind, attribute) = match lines.get(name).map(String::as_str) {
            None => (ModifyKind::Add, "olcDbIndex"),
            Some(_) if self.random.chance(500) => (ModifyKind::Add, "pandoIndexVerify"),
            Some(line) if line.contains("state=failed") => (ModifyKind::Add, "olcDbIndex"),
            Some(_) => (ModifyKind::Delete, "olcDbIndex"),
        };
        let mut bundle = Bundle::default();
        bundle.modify("cn=config", kind, attribute, &[name], Sent::Other);
        let answers = node.ask(0, &bundle, &self.clock);
        self.trace.note(format_args!("  {kind:?} {attribute} {name}: {answers:?}"));
        if answers != [Answer::Done(1, ResultCode::Success)] {
            return Ok(());
        }
        let known = &mut self.known;
        match (kind, attribute) {
            (_, "pandoIndexVerify") => _ = known.compared.insert(name),
            (ModifyKind::Add, _) => _ = (known.leaving.remove(name), known.coming.insert(name)),
            _ => {
                known.must.remove(name);
                known.coming.remove(name);
                known.compared.remove(name);
                known.leaving.insert(name);
            }
        }
        Ok(())
    }

    /// Takes note of what is reported.
    fn note_indexes(&mut self, node: &Node, lines: &BTreeMap<String, String>) -> Result<(), Violation> {
        let wrong = |property| move |what| Violation { property, what };
        let (known, tally) = (&mut self.known, &mut self.tally);
        for (name, line) in lines {
            if line.contains("verify=differs") || line.contains("difference=") {
                return Err(wrong(properties::VERIFIED)(line.clone()));
            }
            // While the former one of that name is to go, it is that one.
            let is_ready = line.contains("state=ready") && !line.contains("state=leaving");
            if is_ready && let Some(ready) = known.coming.take(&name[..]) {
                known.must.insert(ready);
                tally.indexes += 1;
                properties::indexes(&node.recovered.dsa).map_err(wrong(properties::INDEXES))?;
            }
            if line.contains("verify=clean") && known.compared.remove(&name[..]) {
                tally.verified += 1;
            }
        }
        let before = known.leaving.len();
        known.leaving.retain(|name| lines.contains_key(*name));
        tally.dropped += (before - known.leaving.len()) as u64;
        Ok(())
    }

    /// What is reported of each index: all lines about it.
    fn report(&mut self, node: &mut Node) -> BTreeMap<String, String> {
        let mut bundle = Bundle::default();
        bundle.search(
            "cn=Indexes,cn=Monitor",
            Scope::Base,
            "(objectClass=*)",
            &["monitoredInfo"],
            Sent::Other,
        );
        let answers = node.ask(0, &bundle, &self.clock);
        self.trace.note(format_args!("  {answers:?}"));
        let mut lines = BTreeMap::<String, String>::new();
        for answer in &answers {
            let Answer::Entry(_, _, attributes) = answer else { continue };
            for line in attributes.get("monitoredInfo").into_iter().flatten() {
                let name = line.split(['=', ' ']).nth(1).unwrap_or_default();
                *lines.entry(name.to_owned()).or_default() += &format!("{line}\n");
            }
        }
        lines
    }

    /// Whatever plan there is for a search, it finds what a look at all entries finds.
    fn search(&mut self, node: &mut Node) -> Result<(), Violation> {
        let wrong = |what| Violation { property: properties::SEARCHED, what };
        let view = View::of(node.read_all(0, &self.clock)).map_err(wrong)?;
        let (attribute, kind) = self.random.one_of(&NAMES).split_once(':').expect("each has a kind");
        let of = |entry: &crate::answers::Attributes| {
            let own = entry.iter().filter(|(name, _)| *name == attribute || is_subtype(name, attribute));
            own.flat_map(|(_, values)| values.clone()).collect::<Vec<_>>()
        };
        let values: Vec<String> =
            view.entries.values().flat_map(of).filter(|value| value.len() > 3).collect();
        if values.is_empty() {
            return Ok(());
        }
        let value = self.random.one_of(&values).clone();
        let begin = &value[..3];
        let (filter, matches): (String, &dyn Fn(&String) -> bool) = match kind {
            "eq" => (format!("({attribute}={value})"), &|other| other.eq_ignore_ascii_case(&value)),
            "sub" => (format!("({attribute}={begin}*)"), &|other| other.starts_with(begin)),
            _ => (format!("({attribute}=*)"), &|_| true),
        };
        let mut bundle = Bundle::default();
        bundle.search(SUFFIX, Scope::Subtree, &filter, &["1.1"], Sent::Other);
        let found: BTreeSet<String> = node
            .ask(0, &bundle, &self.clock)
            .into_iter()
            .filter_map(|answer| if let Answer::Entry(_, dn, _) = answer { Some(dn) } else { None })
            .collect();
        let expected = view.entries.iter().filter(|(_, entry)| of(entry).iter().any(matches));
        let expected: BTreeSet<String> = expected.map(|(dn, _)| dn.clone()).collect();
        if found != expected {
            return Err(wrong(format!("{filter} finds {found:?}, and all entries have {expected:?}")));
        }
        Ok(())
    }
}
