//! The rights on an entry as text. Clients of 389 Directory Server read `entryLevelRights` and `attributeLevelRights`, which always come; those of
//! Sun's servers and of UnboundID's read `aclRights`, which is asked for by name.
//!
//! Each operation is asked about by a view of its own, for rules may be about some operations. All that is asked of one view is asked before
//! the next is made: a view may be dropped when another is made, and then would have no rights.

use crate::access::{Action, Item, Own, OwnName, Requester, ViewId};
use crate::collective;
use crate::selection::{RequestedSelection, Selection};
use crate::worker::Scratch;
use ::access::{Operation, Right, Rights};
use model::{Description, OptionsId, ResultCode};
use proto::list::{Octets, put_attribute};
use schema::{HeldDescriptions, Schema, Syntax};
use std::fmt::Write;
use store::derived::Derived;
use store::{EntryRef, ReadPoint};

/// Units of work of the rights on one attribute; more with options, for these are not remembered.
const ATTRIBUTE: u64 = 64;
const WITH_OPTIONS: u64 = 1024;

/// Which rights on an entry are shown, and in which operation each is needed.
/// The operations are those in which the server itself asks for the right: a rule with `op` counts here as it counts there.
const ON_ENTRY: [(Operation, &[Right]); 5] = [
    (Operation::Search, &[Right::Disclose, Right::Read]),
    (Operation::Add, &[Right::Create]),
    (Operation::Delete, &[Right::Remove]),
    (Operation::Rename, &[Right::Rename]),
    (Operation::Bind, &[Right::Proxy]),
];

/// The same of the rights on an attribute.
/// Rights that none of the clients has a letter or a word for are not asked: *increment*, *auth*, *manage*.
const ON_ATTRIBUTE: [(Operation, &[Right]); 3] = [
    (Operation::Search, &[Right::Read, Right::Search]),
    (Operation::Compare, &[Right::Compare]),
    (Operation::Modify, &[Right::Add, Right::Delete]),
];

/// An entry that is about to be written.
/// Who asks is not whose rights are shown: the view is the asker's, and decides what may be shown of the entry at all.
pub(crate) struct Written<'w> {
    /// Who asks.
    pub(crate) who: Requester,
    /// The view of the one who asks.
    pub(crate) view: ViewId,
    /// A search, of an entry of the directory or of the server's own.
    pub(crate) action: Action,
    pub(crate) entry: &'w EntryRef<'w>,
    /// Where the entry is: of the directory, or of the server's own entries.
    pub(crate) read_point: ReadPoint<'w>,
}

/// The rights on one attribute.
struct OnOne {
    description: Description,
    /// On all of its values.
    rights: Rights,
    /// On one value: the DN of the subject.
    own: Rights,
    /// What decided about it; empty if nobody asked.
    reasons: String,
}

/// The rights of a subject on an entry, on their way to become text.
/// It is made for one entry and dropped with it. Nothing here is remembered: what makes the next entry cheap are the views.
pub(super) struct Rendered<'s, 'd> {
    schema: &'s Schema,
    /// Options that no entry has may be asked for, and are forgotten with this.
    held: HeldDescriptions<'s>,
    /// Whose rights are shown.
    subject: Requester,
    /// DN of the subject, as it was found; empty of nobody.
    dn: &'d [u8],
    /// On the entry as a whole.
    entry: Rights,
    /// In the order in which they are shown: those that were named come first.
    attributes: Vec<OnOne>,
    /// What decided about the entry; empty if nobody asked.
    reasons: String,
    /// Are rules to be named? Only to those who administer the entry.
    asks_reasons: bool,
}

impl<'s, 'd> Rendered<'s, 'd> {
    /// Nothing is asked yet.
    pub(super) fn new(written: &Written<'s>, subject: Requester, dn: &'d [u8]) -> Rendered<'s, 'd> {
        let schema = written.read_point.shard().schema();
        Rendered {
            schema,
            held: HeldDescriptions::new(schema),
            subject,
            dn,
            entry: Rights::NONE,
            attributes: Vec::new(),
            reasons: String::new(),
            asks_reasons: false,
        }
    }

    /// Chooses the attributes: those that were named, and those of the entry that the search selects and its requester may read.
    /// Whether a named one is there makes no difference. Else a list of rights would say what a search for the attribute does not.
    pub(super) fn choose(
        &mut self,
        scratch: &mut Scratch,
        written: &Written<'_>,
        selectors: Octets<'_>,
        named: &[Vec<u8>],
    ) {
        let (schema, views) = (self.schema, &mut scratch.views);
        for name in named {
            // A range of language tags is selected by a search, and is no attribute.
            if let Ok(description) = self.held.describe(name) {
                self.take(description);
            }
        }
        let asked = RequestedSelection { selectors, types_only: false, follows: false, view: written.view };
        let selection = Selection::new(asked, schema);
        let shape = written.entry.shape;
        // The values of the object class are the shape's, and those that are worked out are nowhere: both are no slots.
        let classes = (!shape.class_values.is_empty()).then_some(schema.well_known().object_class);
        let derived = Derived::ALL.into_iter().filter(|what| what.is_of_entry());
        let derived = derived.map(|what| what.attribute_type(schema));
        let plain = classes.into_iter().chain(derived).map(Description::plain);
        for description in shape.slots.iter().map(|slot| slot.description).chain(plain) {
            let is_read = selection.includes(description, false, schema, views)
                || selection.judges(description, schema, views);
            if is_read {
                self.take(description);
            }
        }
        for description in collective_of(scratch, written, &selection) {
            self.take(description);
        }
    }

    /// Each attribute is shown once, however often it was named.
    /// The lists are short: a few hundred names, and what one entry has.
    fn take(&mut self, description: Description) {
        if self.attributes.iter().all(|other| other.description != description) {
            let (rights, own) = (Rights::NONE, Rights::NONE);
            self.attributes.push(OnOne { description, rights, own, reasons: String::new() });
        }
    }

    /// Asks for all rights, and by which rules they are so if `reasons` says so.
    /// One view is asked at a time, for the entry and then for each attribute. The decision itself is made by the class, as for any request;
    /// nothing is weighed here but that a hidden entry gives no rights.
    pub(super) fn ask(&mut self, scratch: &mut Scratch, written: &Written<'_>, reasons: bool) {
        // The root DN has its rights of no rule.
        let reasons = reasons && !self.subject.is_root();
        self.asks_reasons = reasons;
        for (operation, rights) in ON_ENTRY {
            let view = self.view(scratch, written, operation);
            let held = rights.iter().filter(|right| scratch.views.may(view, **right));
            self.entry |= Rights::of(&held.copied().collect::<Vec<_>>());
            if reasons {
                let found = scratch.views.reasons(view, Item::Entry, rights, self.schema);
                put_reasons(&mut self.reasons, rights, &found);
            }
        }
        // Of rules on values the one on the subject's own DN has letters of its own: clients join and leave groups by it.
        let own = self.own_name();
        for (operation, rights) in ON_ATTRIBUTE {
            let view = self.view(scratch, written, operation);
            for one in &mut self.attributes {
                let (description, schema) = (one.description, self.schema);
                let on = scratch.views.on_attribute(view, description, schema);
                let wanted = Rights::of(rights);
                one.rights |= on.every.and(wanted);
                // Where all values have the same rights, one of them has no others.
                if operation == Operation::Modify && is_name(schema, description) && on.every != on.some {
                    let shard = written.read_point.shard();
                    let held = rights.iter().filter(|right| {
                        let on = scratch.views.on_values(view, description, **right, shard);
                        on.may(&own, schema, description, self.dn, &mut Vec::new())
                    });
                    one.own = Rights::of(&held.copied().collect::<Vec<_>>());
                }
                if reasons {
                    let item = Item::Attribute(description);
                    put_reasons(&mut one.reasons, rights, &scratch.views.reasons(view, item, rights, schema));
                }
            }
        }
        // Of an entry that is hidden nothing else may be done: for the subject it is not there. Only another may be added in its place.
        if !self.entry.has(Right::Disclose) {
            self.entry = self.entry.and(Rights::of(&[Right::Create]));
            self.attributes.iter_mut().for_each(|one| (one.rights, one.own) = (Rights::NONE, Rights::NONE));
        }
    }

    /// The view of the subject on the entry, in an operation.
    /// It is the one that this operation would be decided by.
    fn view(&self, scratch: &mut Scratch, written: &Written<'_>, operation: Operation) -> ViewId {
        let action = Action { operation, ..written.action };
        scratch.view(self.subject, action, written.entry, written.read_point)
    }

    /// The subject's name.
    fn own_name(&self) -> Own {
        let own = OwnName::new(self.schema, self.dn.to_vec()).filter(|_| !self.dn.is_empty());
        own.map_or(Own::Nobody, |own| Own::Name(own.into()))
    }

    /// Units of work that it was.
    /// It is paid from the slice of the search, so a search that shows rights gives way to others as often as any (CVE-2013-4485).
    pub(super) fn work(&self) -> u64 {
        let of = |one: &OnOne| match one.description.options {
            OptionsId::NONE => ATTRIBUTE,
            _ => WITH_OPTIONS,
        };
        let all: u64 = self.attributes.iter().map(of).sum();
        (ATTRIBUTE + all) << if self.asks_reasons { 2 } else { 0 }
    }

    /// Appends the attributes that show it.
    /// They are no attributes of the schema, and are not selected by it: those that always come are what 389's clients expect, who ask by the control
    /// alone.
    pub(super) fn put(&self, wants_acl: bool, types_only: bool, out: &mut Vec<u8>) {
        let mut put = |name: &str, values: &[String]| {
            let values = if types_only { &[] } else { values };
            put_attribute(out, name.as_bytes(), values.iter().map(String::as_bytes));
        };
        put("entryLevelRights", &[self.letters()]);
        if !self.attributes.is_empty() {
            let each = self.attributes.iter();
            let all: Vec<String> = each.map(|one| format!("{}:{}", self.name(one), one.letters())).collect();
            put("attributeLevelRights", &[all.join(", ")]);
        }
        // One attribute for each that is shown: that is how these clients know which it is about.
        if wants_acl {
            put("aclRights;entryLevel", &[self.flags()]);
            for one in &self.attributes {
                let proxy = self.entry.has(Right::Proxy);
                put(&format!("aclRights;attributeLevel;{}", self.name(one)), &[one.flags(proxy)]);
            }
        }
        if self.asks_reasons {
            let of_entry = format!("entry:{}", self.reasons);
            let each = self.attributes.iter().map(|one| format!("{}:{}", self.name(one), one.reasons));
            put("aclRightsInfo", &std::iter::once(of_entry).chain(each).collect::<Vec<_>>());
        }
    }

    /// As the schema spells it.
    fn name(&self, one: &OnOne) -> String {
        self.schema.describe(one.description).into_owned()
    }

    /// As 389 Directory Server writes the rights on an entry.
    fn letters(&self) -> String {
        letters(&[
            ('v', self.entry.has(Right::Read)),
            ('a', self.entry.has(Right::Create)),
            ('d', self.entry.has(Right::Remove)),
            ('n', self.entry.has(Right::Rename)),
        ])
    }

    /// As Sun's servers do. To write an entry is to change a value of one of the attributes.
    fn flags(&self) -> String {
        flags(&[
            ("add", self.entry.has(Right::Create)),
            ("delete", self.entry.has(Right::Remove)),
            ("read", self.entry.has(Right::Read)),
            ("write", self.attributes.iter().any(OnOne::is_written)),
            ("proxy", self.entry.has(Right::Proxy)),
        ])
    }
}

impl OnOne {
    /// To change a value takes both rights.
    fn is_written(&self) -> bool {
        self.rights.has(Right::Add) && self.rights.has(Right::Delete)
    }

    /// Capitals are of one's own DN alone.
    fn letters(&self) -> String {
        let (all, own) = (self.rights, self.own);
        letters(&[
            ('r', all.has(Right::Read)),
            ('s', all.has(Right::Search)),
            ('c', all.has(Right::Compare)),
            ('w', all.has(Right::Add)),
            ('o', all.has(Right::Delete)),
            ('W', own.has(Right::Add) && !all.has(Right::Add)),
            ('O', own.has(Right::Delete) && !all.has(Right::Delete)),
        ])
    }

    /// As Sun's servers write the rights on an attribute. The right to act as the entry is repeated for each.
    fn flags(&self, proxy: bool) -> String {
        let (all, own) = (self.rights, self.own);
        flags(&[
            ("search", all.has(Right::Search)),
            ("read", all.has(Right::Read)),
            ("compare", all.has(Right::Compare)),
            ("write", self.is_written()),
            ("selfwrite_add", own.has(Right::Add)),
            ("selfwrite_delete", own.has(Right::Delete)),
            ("proxy", proxy),
        ])
    }
}

/// What is shown of an entry about which the requester may not ask: the code in the place of rights, as 389 Directory Server does.
pub(super) fn put_refused(code: ResultCode, types_only: bool, out: &mut Vec<u8>) {
    let number = (code as u32).to_string();
    for (name, value) in
        [("entryLevelRights", number.clone()), ("attributeLevelRights", format!("*:{number}"))]
    {
        put_attribute(out, name.as_bytes(), (!types_only).then_some(value.as_bytes()));
    }
}

/// The collective attributes of the entry that the search selects and of which its requester may read a value: those that it returns.
fn collective_of(scratch: &mut Scratch, written: &Written<'_>, selection: &Selection) -> Vec<Description> {
    let Written { who, view, entry, read_point, .. } = *written;
    let schema = read_point.shard().schema();
    let all = scratch.views.collections(read_point, &mut scratch.evaluator.cache);
    let Some(all) = all else { return Vec::new() };
    let mut wanted = collective::attributes(&all, read_point);
    wanted.retain(|description| {
        let on = scratch.views.on_attribute(view, *description, schema);
        on.some.has(Right::Read) && selection.asks_for(*description, schema)
    });
    let mut shown = collective::shown(&all, &wanted, entry, read_point);
    shown.retain(|(description, values)| {
        scratch.views.on_attribute(view, *description, schema).every.has(Right::Read)
            || values.iter().any(|value| scratch.may_read_value((who, view), *description, value, read_point))
    });
    shown.into_iter().map(|(description, _)| description).collect()
}

/// Are values of an attribute names of entries?
fn is_name(schema: &Schema, description: Description) -> bool {
    let syntax = schema.attribute_type(description.attribute_type).syntax;
    matches!(syntax, Syntax::Dn | Syntax::NameAndOptionalUid)
}

/// The letters of what is held, in this order.
fn letters(all: &[(char, bool)]) -> String {
    let held: String = all.iter().filter(|(_, is_held)| *is_held).map(|(letter, _)| letter).collect();
    if held.is_empty() { "none".to_owned() } else { held }
}

/// Each name with 1 or 0.
fn flags(all: &[(&str, bool)]) -> String {
    let each = all.iter().map(|(name, is_held)| format!("{name}:{}", u8::from(*is_held)));
    each.collect::<Vec<_>>().join(",")
}

/// Appends which rule decides each right.
/// Rules have names without blanks, so the text can be taken apart again.
fn put_reasons(out: &mut String, rights: &[Right], reasons: &[Option<(bool, &str)>]) {
    for (right, reason) in rights.iter().zip(reasons) {
        let written = match reason {
            Some((true, rule)) => write!(out, " {}=allow({rule})", right.word()),
            Some((false, rule)) => write!(out, " {}=deny({rule})", right.word()),
            None => write!(out, " {}=none", right.word()),
        };
        written.expect("a string takes what is written");
    }
}
