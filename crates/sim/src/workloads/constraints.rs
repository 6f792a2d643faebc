//! Constraints: values that are unique, of a form and number, names of entries, and sequential numbers. Sessions add, rename, change and delete the same few
//! entries, so that many of their updates violate one. The constraints are in force from the first record on, so after every start what is there has been
//! judged by them, however the last end was: their form is known to the log and to snapshots alone.

use crate::answers::Attributes;
use crate::properties;
use crate::random::Random;
use crate::requests::{Bundle, SUFFIX, Sent};
use crate::view::View;
use crate::workload::Workload;
use dsa::settings::Texts;
use proto::op::ModifyKind;
use std::collections::{BTreeMap, BTreeSet};

/// What holds of entries.
const RULES: [&str; 4] = [
    "name=uids unique=uid",
    "name=places values=l regex=\"^[a-f]+$\" max-count=2",
    "name=managers references=manager absent=refuse",
    "name=numbers sequence=employeeNumber counter=\"cn=numbers,dc=x\" next=serialNumber class=inetOrgPerson",
];
/// The entry that has the next number.
const NUMBERS: &str = "cn=numbers,dc=x";
/// The entries that all sessions change.
const PERSONS: u64 = 8;
/// The values that are unique: fewer than the entries that want one.
const UIDS: u64 = 6;
/// Values of which the last two are not allowed.
const PLACES: [&str; 5] = ["abc", "def", "fade", "x", "ab c"];
/// See [`RULES`].
const PLACES_MAX: usize = 2;

/// See the module.
#[derive(Debug)]
pub(super) struct Constraints {
    /// Of each session, how many entries it has sent.
    added: Vec<u64>,
}

impl Constraints {
    pub(super) fn new(sessions: usize) -> Constraints {
        Constraints { added: vec![0; sessions] }
    }

    /// Adds an entry without a number. Its surname says which of its session it is.
    fn add(&mut self, session: usize, random: &mut Random, to: &mut Bundle) {
        self.added[session] += 1;
        let person = rdn(random);
        let (surname, uid) = (format!("{session}-{}", self.added[session]), uid(random));
        let (place, manager) = (place(random), dn(random));
        let mut entry = vec![("objectClass", "inetOrgPerson"), ("cn", &person[3..]), ("sn", &surname)];
        entry.push(("uid", &uid));
        if random.chance(500) {
            entry.push(("l", place));
        }
        if random.chance(400) {
            entry.push(("manager", &manager));
        }
        to.add(&format!("{person},{SUFFIX}"), &entry, Sent::Other);
    }
}

fn rdn(random: &mut Random) -> String {
    format!("cn=p{}", random.below(PERSONS))
}

fn dn(random: &mut Random) -> String {
    format!("{},{SUFFIX}", rdn(random))
}

/// One of few, in one of two spellings that are the same value.
fn uid(random: &mut Random) -> String {
    let letter = if random.chance(500) { 'u' } else { 'U' };
    format!("{letter}{}", random.below(UIDS))
}

fn place(random: &mut Random) -> &'static str {
    PLACES[random.below(PLACES.len() as u64) as usize]
}

/// The values of an attribute.
fn values<'e>(entry: &'e Attributes, name: &str) -> &'e [String] {
    entry.get(name).map_or(&[], Vec::as_slice)
}

impl Workload for Constraints {
    fn setup(&mut self, to: &mut Bundle) {
        let counter = [("objectClass", "device"), ("cn", "numbers"), ("serialNumber", "1")];
        to.add(NUMBERS, &counter, Sent::Other);
    }

    fn settings(&self) -> Option<Texts> {
        let rules = RULES.map(str::to_owned).into();
        Some(Texts::from([("constraints.rule".to_owned(), rules)]))
    }

    fn property(&self) -> &'static str {
        properties::CONSTRAINED
    }

    fn start(&mut self, session: usize, random: &mut Random, to: &mut Bundle) {
        for _ in 0..1 + random.below(3) {
            let of = dn(random);
            match random.below(10) {
                0..=3 => self.add(session, random, to),
                4 => to.delete(&of, Sent::Other),
                5 => to.rename(&of, &rdn(random), Sent::Other),
                6 => to.modify(&of, ModifyKind::Replace, "uid", &[&uid(random)], Sent::Other),
                7 => to.modify(&of, ModifyKind::Add, "l", &[place(random)], Sent::Other),
                8 => to.modify(&of, ModifyKind::Replace, "l", &[place(random)], Sent::Other),
                _ => to.modify(&of, ModifyKind::Replace, "manager", &[&dn(random)], Sent::Other),
            }
        }
    }

    fn check(&self, view: &View) -> Result<(), String> {
        let number = |entry: &Attributes, name: &str| match values(entry, name) {
            [one] => one.parse::<u64>().ok(),
            _ => None,
        };
        let next = view.entries.get(NUMBERS).and_then(|counter| number(counter, "serialNumber"));
        let (mut uids, mut numbers) = (BTreeSet::new(), BTreeMap::new());
        for (dn, entry) in view.entries.iter().filter(|(dn, _)| dn.starts_with("cn=p")) {
            for uid in values(entry, "uid") {
                if !uids.insert(uid.to_lowercase()) {
                    return Err(format!("{dn} has the uid {uid} of another entry"));
                }
            }
            let places = values(entry, "l");
            let is_place = |place: &String| place.bytes().all(|byte| (b'a'..=b'f').contains(&byte));
            if places.len() > PLACES_MAX || !places.iter().all(is_place) {
                return Err(format!("{dn} has places that are not allowed: {places:?}"));
            }
            if let Some(manager) = values(entry, "manager").iter().find(|dn| !view.entries.contains_key(*dn))
            {
                return Err(format!("the manager of {dn} is {manager}, which is not there"));
            }
            let Some(own) =
                number(entry, "employeeNumber").filter(|own| next.is_some_and(|next| *own < next))
            else {
                return Err(format!("{dn} has no number below {next:?}: {entry:?}"));
            };
            let Some(surname) = values(entry, "sn").first() else {
                return Err(format!("{dn} has no surname"));
            };
            if let Some(other) = numbers.insert(own, surname.clone()) {
                return Err(format!("{surname} and {other} have the number {own}"));
            }
        }
        // A session's later entry has a higher number, whatever became of those before it.
        let mut last = BTreeMap::new();
        for (own, surname) in &numbers {
            let place =
                surname.split_once('-').and_then(|(of, place)| Some((of, place.parse::<u64>().ok()?)));
            let Some((of, place)) = place else { continue };
            if last.insert(of, place).is_some_and(|before| before > place) {
                return Err(format!("{surname} has the number {own}, and a later entry a lower one"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(dn: &str, others: &[(&str, &str)]) -> (String, Attributes) {
        let mut entry = Attributes::new();
        for (name, value) in others {
            entry.entry((*name).to_owned()).or_default().push((*value).to_owned());
        }
        (dn.to_owned(), entry)
    }

    #[test]
    fn what_violates_a_constraint_is_noticed() {
        let one =
            [("sn", "0-1"), ("uid", "u1"), ("employeeNumber", "1"), ("l", "abc"), ("manager", "cn=p1,dc=x")];
        let other = [("sn", "0-2"), ("uid", "u2"), ("employeeNumber", "2")];
        let check = |change: &dyn Fn(&mut Attributes)| {
            let (dn, mut entry) = person("cn=p1,dc=x", &other);
            change(&mut entry);
            let counter = person(NUMBERS, &[("serialNumber", "3")]);
            Constraints::new(1)
                .check(&View { entries: [person("cn=p0,dc=x", &one), (dn, entry), counter].into() })
        };
        let set = |name: &'static str, value: &'static str| {
            check(&move |entry| _ = entry.insert(name.to_owned(), vec![value.to_owned()]))
        };
        assert_eq!(check(&|_| ()), Ok(()));
        for (name, value) in [
            ("uid", "U1"),
            ("l", "x"),
            ("manager", "cn=p2,dc=x"),
            ("employeeNumber", "1"),
            ("employeeNumber", "3"),
            ("sn", "0-0"),
        ] {
            assert!(set(name, value).is_err(), "{name}: {value}");
        }
        assert!(check(&|entry| _ = entry.remove("employeeNumber")).is_err());
    }
}
