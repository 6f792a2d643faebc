//! An `aci` as rules.

use super::aci_bind::{OfAci, subjects, url};
use super::aci_text::{Aci, Item, Permission};
use super::build::{anyone, at, both, filter, named};
use super::pattern::{Capture, stars};
use super::translation::Translation;
use crate::right::{Right, Rights};
use crate::rule::{
    AttributeSelector, Items, Operation, Operations, Pattern, Place, Reach, Rule, Subject, Target, ValueTest,
};
use proto::filter_string::FilterBuf;

/// What an `aci` is about.
#[derive(Clone)]
struct About {
    place: Place,
    filter: Option<FilterBuf>,
    /// What a star in its target comes to. In 389 all that is below what it matches is meant, too, which no place says.
    star: Option<FilterBuf>,
    /// Attributes; none if it is about entries alone.
    selectors: Vec<AttributeSelector>,
    capture: Option<Capture>,
    /// Filters on values, with the right that each is about.
    values: Vec<(Right, String, FilterBuf)>,
    /// Controls or extended operations.
    feature: Option<Items>,
    move_to: Option<Place>,
    move_from: Option<Place>,
    /// Entries that it is not about.
    not: Option<Place>,
}

/// What is denied where no `aci` allows it. A bind is no matter of them.
pub(super) fn close(line: u64, dn: &str, done: &mut Translation) {
    let items = Items::Attributes(vec![AttributeSelector::Entry, AttributeSelector::Every]);
    let target = Target {
        place: at(Reach::Subtree, dn),
        filter: None,
        items,
        values: None,
        operations: Operations::ANY,
    };
    let deny = Rights::SEE | Rights::WRITE | Rights::EDIT | Rights::of(&[Right::Manage]);
    let rule =
        Rule { name: "end".to_owned(), target, subjects: anyone(), allow: Rights::NONE, deny, rank: 0 };
    done.push(line, rule);
}

/// Writes the rules of one `aci`; `own` is the entry that it stands in.
pub(super) fn emit(line: u64, aci: &Aci, own: Option<&str>, is_opendj: bool, done: &mut Translation) {
    let about = match about(aci, own, is_opendj) {
        Ok(about) => about,
        Err(why) => return done.leave(line, &aci.name, &why),
    };
    let is_star = |item: &Item| item.key == "targetattr" && item.operator == "=" && item.value.trim() == "*";
    if aci.targets.iter().any(is_star) {
        done.remark(line, format!("`{}` reaches userPassword and other secrets, as it did", aci.name));
    }
    if about.star.is_some() && !is_opendj {
        let why = "what is below the entries that a star matches is meant by no rule that allows; one that denies is about all below that place";
        done.leave(line, &aci.name, why);
    }
    for permission in &aci.permissions {
        let about = starred(&about, permission, is_opendj);
        match subjects(&permission.bind, OfAci { capture: about.capture.as_ref(), is_opendj }) {
            Ok(subjects) => rules(line, aci, &about, permission, &subjects, done),
            Err(why) if permission.allows => done.leave(line, &aci.name, &why),
            Err(why) => {
                // Without it others would be allowed what it denies.
                done.leave(line, &aci.name, &format!("{why}; what it denies is denied to everybody"));
                rules(line, aci, &about, permission, &anyone(), done);
            }
        }
    }
}

/// What a permission is about, with its star: what is denied is so of more rather than of less.
fn starred(about: &About, permission: &Permission, is_opendj: bool) -> About {
    let mut about = about.clone();
    match (about.star.take(), &mut about.place) {
        (Some(_), Place::At(reach, Pattern { each_below, .. })) if !permission.allows && !is_opendj => {
            (*reach, *each_below) = (Reach::Children, false);
        }
        (star, _) => about.filter = both(about.filter.take(), star),
    }
    about
}

fn about(aci: &Aci, own: Option<&str>, is_opendj: bool) -> Result<About, String> {
    let mut about = About {
        place: own.map_or(Place::All, |dn| at(Reach::Subtree, dn)),
        filter: None,
        star: None,
        selectors: Vec::new(),
        capture: None,
        values: Vec::new(),
        feature: None,
        move_to: None,
        move_from: None,
        not: None,
    };
    let scope = aci.targets.iter().find(|item| item.key == "targetscope");
    let reach = match scope.map(|item| item.value.to_ascii_lowercase()) {
        None => Reach::Subtree,
        Some(scope) => match scope.as_str() {
            "base" => Reach::Base,
            "one" | "onelevel" => Reach::One,
            "sub" | "subtree" => Reach::Subtree,
            "subordinate" => Reach::Children,
            other => return Err(format!("there is no scope `{other}`")),
        },
    };
    if let (Place::At(own, _), true) = (&mut about.place, scope.is_some()) {
        *own = reach;
    }
    aci.targets.iter().try_for_each(|item| target(&mut about, item, reach, is_opendj))?;
    Ok(about)
}

fn target(about: &mut About, item: &Item, reach: Reach, is_opendj: bool) -> Result<(), String> {
    let is_not = item.operator == "!=";
    match item.key.as_str() {
        "targetscope" => {}
        "target" => {
            let found = stars(&url(item.value.trim())?, reach)?;
            if is_not {
                if found.filter.is_some() {
                    return Err("a star in a target with != is not carried over".to_owned());
                }
                about.not = Some(found.place);
            } else {
                about.place = found.place;
                about.star = found.filter;
                about.capture = found.capture;
            }
        }
        "targetfilter" => {
            let text = item.value.trim();
            let text = if text.starts_with('(') { text.to_owned() } else { format!("({text})") };
            let text = if is_not { format!("(!{text})") } else { text };
            about.filter = both(about.filter.take(), Some(filter(&text)?));
        }
        "targetattr" => about.selectors = selectors(&item.value, is_not, is_opendj)?,
        "targattrfilters" if !is_not => about.values = value_filters(&item.value)?,
        "target_to" if !is_not => {
            about.move_to = Some(stars(&url(item.value.trim())?, Reach::Subtree)?.place)
        }
        "target_from" if !is_not => {
            about.move_from = Some(stars(&url(item.value.trim())?, Reach::Subtree)?.place)
        }
        "targetcontrol" if !is_not => about.feature = Some(Items::Controls(oids(&item.value))),
        "extop" if !is_not => about.feature = Some(Items::Extended(oids(&item.value))),
        other => return Err(format!("`{other} {}` has no counterpart", item.operator)),
    }
    Ok(())
}

fn oids(text: &str) -> Vec<String> {
    text.split("||").map(|oid| oid.trim().to_owned()).collect()
}

fn selectors(text: &str, is_not: bool, is_opendj: bool) -> Result<Vec<AttributeSelector>, String> {
    let mut selectors = if is_not { vec![AttributeSelector::Every] } else { Vec::new() };
    for name in text.split("||").map(str::trim) {
        selectors.push(match name {
            "*" if !is_not && is_opendj => AttributeSelector::User,
            "*" if !is_not => AttributeSelector::Every,
            "+" if !is_not => AttributeSelector::Operational,
            "*" | "+" => return Err("all attributes but all attributes".to_owned()),
            name if name.contains('*') => {
                return Err("stars in names of attributes are not carried over".to_owned());
            }
            name => named(name, is_not),
        });
    }
    // In OpenDJ the star is of user attributes, passwords among them.
    if is_opendj && selectors.contains(&AttributeSelector::User) {
        selectors.push(named("userPassword", false));
    }
    Ok(selectors)
}

/// `add=NAME:FILTER && NAME:FILTER, del=NAME:FILTER`
fn value_filters(text: &str) -> Result<Vec<(Right, String, FilterBuf)>, String> {
    let mut found = Vec::new();
    let mut right = None;
    for part in text.split("&&").flat_map(split_operations) {
        let mut part = part.trim();
        for (begin, of) in [("add=", Right::Add), ("del=", Right::Delete), ("delete=", Right::Delete)] {
            if let Some(rest) = part.strip_prefix(begin) {
                (right, part) = (Some(of), rest.trim());
            }
        }
        let right = right.ok_or("`add=` or `del=` is expected")?;
        let (name, text) = part.split_once(':').ok_or("NAME:FILTER is expected")?;
        found.push((right, name.trim().to_owned(), filter(text.trim())?));
    }
    Ok(found)
}

/// Parts at commas before `add=` and `del=`.
fn split_operations(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.match_indices(',').map(|(at, _)| at).find(|at| {
        let next = rest[at + 1..].trim_start();
        next.starts_with("add=") || next.starts_with("del")
    }) {
        parts.push(&rest[..at]);
        rest = &rest[at + 1..];
    }
    parts.push(rest);
    parts
}

fn rules(
    line: u64,
    aci: &Aci,
    about: &About,
    permission: &Permission,
    subjects: &[Subject],
    done: &mut Translation,
) {
    let mut writer = Writer { line, aci, permission, subjects, done };
    if let Some(feature) = &about.feature {
        return writer.write(
            "",
            Target {
                place: Place::All,
                filter: None,
                items: feature.clone(),
                values: None,
                operations: Operations::ANY,
            },
            Rights::of(&[Right::Use]),
        );
    }
    let (mut of_attributes, mut of_entry, mut is_self_write, mut moves) =
        (Rights::NONE, Rights::NONE, false, false);
    for word in &permission.rights {
        let (attributes, entry): (&[Right], &[Right]) = match word.as_str() {
            "read" => (&[Right::Read], &[Right::Disclose, Right::Read]),
            "search" => (&[Right::Search], &[Right::Disclose, Right::Search]),
            "compare" => (&[Right::Compare], &[Right::Disclose]),
            "write" => (&[Right::Add, Right::Delete, Right::Increment], &[Right::Rename]),
            "add" => (&[], &[Right::Create]),
            "delete" => (&[], &[Right::Remove]),
            "proxy" => (&[], &[Right::Proxy]),
            "selfwrite" => {
                is_self_write = true;
                (&[], &[])
            }
            "moddn" => {
                moves = true;
                (&[], &[Right::Rename])
            }
            "import" => (&[], &[Right::MoveIn]),
            "export" => (&[], &[Right::MoveOut]),
            "all" => {
                is_self_write = true;
                (
                    &[
                        Right::Read,
                        Right::Search,
                        Right::Compare,
                        Right::Add,
                        Right::Delete,
                        Right::Increment,
                    ],
                    &[
                        Right::Disclose,
                        Right::Read,
                        Right::Search,
                        Right::Create,
                        Right::Remove,
                        Right::Rename,
                    ],
                )
            }
            other => {
                writer.done.leave(line, &aci.name, &format!("there is no right `{other}`"));
                continue;
            }
        };
        of_attributes |= Rights::of(attributes);
        of_entry |= Rights::of(entry);
    }
    writer.all(about, (of_attributes, of_entry), is_self_write, moves);
    match &about.not {
        None => {}
        // Of the entries that it is not about, the opposite, above it.
        Some(place) if permission.allows => {
            let rights = of_attributes | of_entry;
            let selectors =
                std::iter::once(AttributeSelector::Entry).chain(about.selectors.iter().cloned()).collect();
            writer.except(place.clone(), Items::Attributes(selectors), rights);
        }
        Some(_) => writer
            .done
            .remark(line, format!("`{}`: it denies in its target too, which it was not about", aci.name)),
    }
}

/// Writes rules of one permission.
struct Writer<'w> {
    line: u64,
    aci: &'w Aci,
    permission: &'w Permission,
    subjects: &'w [Subject],
    done: &'w mut Translation,
}

impl Writer<'_> {
    fn all(
        &mut self,
        about: &About,
        (of_attributes, of_entry): (Rights, Rights),
        is_self_write: bool,
        moves: bool,
    ) {
        let target = |items, values, operations| Target {
            place: about.place.clone(),
            filter: about.filter.clone(),
            items,
            values,
            operations,
        };
        let entry = || Items::Attributes(vec![AttributeSelector::Entry]);
        // To see an entry is to see an attribute of it; a denied attribute denies no entry.
        let seen = of_entry.and(Rights::of(&[Right::Disclose, Right::Read, Right::Search]));
        let of_entry = match self.permission.allows {
            true => of_entry.without(if about.selectors.is_empty() { seen } else { Rights::NONE }),
            false => of_entry.without(seen).without(Rights::of(&[Right::Rename])),
        };
        let written = of_attributes.and(Rights::WRITE);
        let plain = if about.values.is_empty() { of_attributes } else { of_attributes.without(written) };
        self.write("entry", target(entry(), None, Operations::ANY), of_entry);
        if !about.selectors.is_empty() {
            let attributes = || Items::Attributes(about.selectors.clone());
            let (plain, written) = match self.permission.allows {
                true => (plain, Rights::NONE),
                false => (plain.without(Rights::WRITE), plain.and(Rights::WRITE)),
            };
            self.write("", target(attributes(), None, Operations::ANY), plain);
            // Who may add an entry may give it any attribute, whatever else is denied.
            let changes = [Operation::Modify, Operation::Rename, Operation::PasswordModify];
            self.write("write", target(attributes(), None, Operations::of(changes)), written);
        }
        for (right, name, filter) in about.values.iter().filter(|(right, ..)| written.has(*right)) {
            let items = Items::Attributes(vec![named(name, false)]);
            self.write(
                "values",
                target(items, Some(ValueTest::Filter(filter.clone())), Operations::ANY),
                Rights::of(&[*right]),
            );
        }
        if of_entry.has(Right::Create) && self.permission.allows {
            // Who may add an entry may give it any attribute.
            let items = Items::Attributes(vec![AttributeSelector::Every]);
            self.write(
                "content",
                target(items, None, Operations::of([Operation::Add])),
                Rights::of(&[Right::Add]),
            );
        }
        if is_self_write && !written.has(Right::Add) {
            for selector in about
                .selectors
                .iter()
                .filter(|selector| matches!(selector, AttributeSelector::Named { excluded: false, .. }))
            {
                let items = Items::Attributes(vec![selector.clone()]);
                self.write(
                    "self",
                    target(items, Some(ValueTest::Requester), Operations::ANY),
                    Rights::of(&[Right::Add, Right::Delete]),
                );
            }
        }
        if moves {
            let place = |of: &Option<Place>| of.clone().unwrap_or_else(|| about.place.clone());
            let at = |place| Target {
                place,
                filter: None,
                items: entry(),
                values: None,
                operations: Operations::ANY,
            };
            self.write("from", at(place(&about.move_from)), Rights::of(&[Right::MoveOut]));
            self.write("to", at(place(&about.move_to)), Rights::of(&[Right::MoveIn]));
        }
    }

    fn name(&self, suffix: &str) -> String {
        let slug: String = self
            .aci
            .name
            .chars()
            .map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
            .collect();
        let slug: Vec<&str> = slug.split('-').filter(|word| !word.is_empty()).collect();
        let slug: String = slug.join("-").chars().take(24).collect();
        let slug = slug.trim_end_matches('-');
        let slug = if slug.is_empty() { "aci" } else { slug };
        if suffix.is_empty() { slug.to_owned() } else { format!("{slug}-{suffix}") }
    }

    fn write(&mut self, suffix: &str, target: Target, rights: Rights) {
        let (allow, deny, rank) =
            if self.permission.allows { (rights, Rights::NONE, 1) } else { (Rights::NONE, rights, 2) };
        self.rule(suffix, target, (allow, deny), rank);
    }

    fn except(&mut self, place: Place, items: Items, rights: Rights) {
        let target = Target { place, filter: None, items, values: None, operations: Operations::ANY };
        let text =
            format!("`{}`: a target with != is a deny of higher rank for the same subjects", self.aci.name);
        self.done.remark(self.line, text);
        self.rule("except", target, (Rights::NONE, rights), 3);
    }

    fn rule(&mut self, suffix: &str, target: Target, (allow, deny): (Rights, Rights), rank: u32) {
        if !(allow | deny).is_empty() {
            let rule =
                Rule { name: self.name(suffix), target, subjects: self.subjects.to_vec(), allow, deny, rank };
            self.done.push(self.line, rule);
        }
    }
}
