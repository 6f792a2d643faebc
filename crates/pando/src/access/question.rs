//! A question as it is written on a command line or in a file.

use super::source::Source;
use access::decide::{Decision, Item, Placed, Query, decide};
use access::{Address, AuthMethod, Entry, Name, Operation, Requester, Right, Rights};
use std::sync::Arc;

/// A question in words.
#[derive(Clone, Debug, Default)]
pub(super) struct Question {
    pub(super) who: String,
    pub(super) acts_as: Option<String>,
    pub(super) what: String,
    pub(super) peer: Option<String>,
    pub(super) strength: Option<u16>,
    pub(super) tls: Option<u16>,
    pub(super) auth: Option<String>,
    pub(super) listener: Option<String>,
    pub(super) operation: Option<String>,
}

/// What is asked about.
#[derive(Clone, Debug)]
pub(super) enum What {
    Entry(Arc<Entry>, Option<(String, Option<Vec<u8>>)>),
    Control(String),
    Extended(String),
}

/// A question that is understood, with the rules that may decide.
pub(super) struct Inquiry<'s> {
    source: &'s Source,
    who: Requester,
    what: What,
    operation: Option<Operation>,
    /// The entry that is not there, if that is so: it is judged by its name alone.
    pub(super) is_missing: bool,
    pub(super) rules: Vec<Placed>,
    pub(super) places: Vec<String>,
}

impl Question {
    /// Understands it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn ask<'s>(&self, source: &'s Source) -> Result<Inquiry<'s>, String> {
        let who = self.requester(source)?;
        let (what, is_missing) = what(&self.what, source)?;
        let operation = self.operation.as_deref().map(operation).transpose()?;
        let root = Entry { dn: String::new(), name: name(source, "")?, attributes: Vec::new() };
        let about = match &what {
            What::Entry(entry, _) => entry.name.clone(),
            What::Control(_) | What::Extended(_) => root.name,
        };
        let rules = source.rules_for(&about);
        let (rules, places) = rules.map_err(|failed| failed.faults.join("; "))?;
        Ok(Inquiry { source, who, what, operation, is_missing, rules, places })
    }

    fn requester(&self, source: &Source) -> Result<Requester, String> {
        let identity = |text: &str| -> Result<(Option<String>, bool), String> {
            match text.strip_prefix("dn:").unwrap_or(text) {
                "anonymous" | "" => Ok((None, false)),
                "root" => Ok((source.root.as_ref().map(Name::to_string), true)),
                dn => {
                    let parsed = name(source, dn)?;
                    Ok((Some(dn.to_owned()), source.root.as_ref() == Some(&parsed)))
                }
            }
        };
        let (real, is_real_root) = identity(&self.who)?;
        let (dn, is_root) = match &self.acts_as {
            Some(text) => identity(text)?,
            None => (real.clone(), is_real_root),
        };
        let tls = self.tls.unwrap_or_default();
        let method = match self.auth.as_deref() {
            Some(text) => auth(text),
            None if real.is_none() && !is_real_root => AuthMethod::None,
            None => AuthMethod::Simple,
        };
        let peer = match self.peer.as_deref() {
            None => Requester::default().peer,
            Some("ldapi") => Address::Ldapi,
            Some(text) => Address::Network(text.parse().map_err(|_| format!("`{text}` is no address"))?),
        };
        let listener = self.listener.clone().unwrap_or_default();
        let strength = self.strength.unwrap_or(tls).max(tls);
        Ok(Requester { dn, real, is_root, auth: method, strength, tls, peer, listener })
    }
}

impl Inquiry<'_> {
    /// The rights that there are on what is asked about.
    pub(super) fn rights(&self) -> Vec<Right> {
        let of_entry = [Right::Disclose, Right::Search, Right::Read];
        let of_entry = of_entry.into_iter().chain([
            Right::Create,
            Right::Remove,
            Right::Rename,
            Right::MoveOut,
            Right::MoveIn,
            Right::Proxy,
            Right::Manage,
        ]);
        match &self.what {
            What::Entry(_, None) => of_entry.collect(),
            What::Entry(_, Some(_)) => {
                let rights = [Right::Search, Right::Compare, Right::Read, Right::Auth];
                let written = [Right::Add, Right::Delete, Right::Increment, Right::Manage];
                rights.into_iter().chain(written).collect()
            }
            What::Control(_) | What::Extended(_) => vec![Right::Use],
        }
    }

    /// The decision about a right.
    pub(super) fn decide(&self, right: Right) -> Decision {
        let nowhere = Entry {
            dn: String::new(),
            name: Name::parse(self.source.world.schema(), b"").expect("the empty DN is one"),
            attributes: Vec::new(),
        };
        let (entry, item) = match &self.what {
            What::Entry(entry, None) => (&**entry, Item::Entry),
            What::Entry(entry, Some((name, None))) => (&**entry, Item::Attribute(name)),
            What::Entry(entry, Some((name, Some(value)))) => (&**entry, Item::Value(name, value)),
            What::Control(oid) => (&nowhere, Item::Control(oid)),
            What::Extended(oid) => (&nowhere, Item::Extended(oid)),
        };
        let operation = self.operation.unwrap_or_else(|| usual(right));
        decide(&*self.source.world, &self.rules, &self.who, &Query { operation, entry, item, right })
    }
}

/// The operation in which a right is asked for, if no other is said.
fn usual(right: Right) -> Operation {
    match right {
        Right::Disclose | Right::Search | Right::Read | Right::Proxy | Right::Manage | Right::Use => {
            Operation::Search
        }
        Right::Compare => Operation::Compare,
        Right::Auth => Operation::Bind,
        Right::Add | Right::Delete | Right::Increment => Operation::Modify,
        Right::Create => Operation::Add,
        Right::Remove => Operation::Delete,
        Right::Rename | Right::MoveOut | Right::MoveIn => Operation::Rename,
    }
}

/// `DN[/attribute[=value]]`, `control:OID` or `extended:OID`. Also whether it is an entry that is not there.
fn what(text: &str, source: &Source) -> Result<(What, bool), String> {
    if let Some(oid) = text.strip_prefix("control:") {
        return Ok((What::Control(oid.to_owned()), false));
    }
    if let Some(oid) = text.strip_prefix("extended:") {
        return Ok((What::Extended(oid.to_owned()), false));
    }
    let (dn, item) = text.split_once('/').map_or((text, None), |(dn, item)| (dn, Some(item)));
    let item = item.map(|item| match item.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.as_bytes().to_vec())),
        None => (item.to_owned(), None),
    });
    if let Some((name, _)) = &item {
        let kind = name.split(';').next().unwrap_or_default();
        if source.world.schema().find_type(kind.as_bytes()).is_none() {
            return Err(format!("there is no attribute `{kind}` (write / in a DN as \\2f)"));
        }
    }
    let name = name(source, dn)?;
    match source.world.entry(&name) {
        Some(entry) => Ok((What::Entry(entry, item), false)),
        None => {
            let entry = Entry { dn: dn.to_owned(), name, attributes: Vec::new() };
            Ok((What::Entry(Arc::new(entry), item), true))
        }
    }
}

fn name(source: &Source, dn: &str) -> Result<Name, String> {
    Name::parse(source.world.schema(), dn.as_bytes())
        .ok_or_else(|| format!("`{dn}` is no DN under the schema"))
}

fn auth(text: &str) -> AuthMethod {
    match text.to_ascii_uppercase().as_str() {
        "NONE" => AuthMethod::None,
        "SIMPLE" => AuthMethod::Simple,
        mechanism => AuthMethod::Sasl(mechanism.to_owned()),
    }
}

fn operation(text: &str) -> Result<Operation, String> {
    let known = Operation::WORDS.iter().find(|(word, _)| *word == text);
    let words = || Operation::WORDS.map(|(word, _)| word).join(", ");
    known.map(|(_, operation)| *operation).ok_or_else(|| format!("`{text}` is no operation: {}", words()))
}

/// The rights that a word names.
///
/// # Errors
/// Which words there are.
pub(super) fn rights(text: &str) -> Result<Vec<Right>, String> {
    if let Some((_, rights)) = Rights::SHORT.iter().find(|(word, _)| *word == text) {
        return Ok(Right::ALL.into_iter().filter(|right| rights.has(*right)).collect());
    }
    let one = Right::ALL.into_iter().find(|right| right.word() == text);
    one.map(|right| vec![right])
        .ok_or_else(|| format!("`{text}` is no right: {}", Right::ALL.map(Right::word).join(", ")))
}
