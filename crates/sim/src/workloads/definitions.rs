//! Sessions add attribute types and object classes to the schema, and use them at once: entries are of such a class, and have the attribute that it
//! asks for, which an index on its supertype holds. They remove them again, which is refused as long as an entry uses them.

use crate::random::Random;
use crate::requests::{Bundle, SUFFIX, Sent};
use crate::view::View;
use crate::workload::Workload;
use proto::op::ModifyKind;

/// Definitions of a session.
const MADE_MAX: u64 = 12;
/// Entries of a session.
const ENTRIES: u64 = 6;
/// What the names of all added attribute types begin with.
const TYPE: &str = "simulated";
/// What they are subtypes of.
const SUPERTYPE: &str = "description";

/// Is this a subtype of another attribute type, which was added?
pub(super) fn is_subtype(name: &str, of: &str) -> bool {
    of == SUPERTYPE && name.starts_with(TYPE)
}

/// See the module.
#[derive(Debug)]
pub(super) struct Definitions {
    /// How many additions each session has sent.
    made: Vec<u64>,
    /// Values given so far.
    values: u64,
}

impl Definitions {
    pub(super) fn new(sessions: usize) -> Definitions {
        Definitions { made: vec![0; sessions], values: 0 }
    }

    fn value(&mut self) -> String {
        self.values += 1;
        format!("value {}", self.values)
    }
}

fn names(session: usize, number: u64) -> [String; 2] {
    [format!("{TYPE}{session}-{number}"), format!("class{session}-{number}")]
}

/// Adds a type and a class that asks for it, or removes them.
fn define(session: usize, number: u64, to: &mut Bundle, is_removed: bool) {
    let ([kind, class], arc) = (names(session, number), format!("1.3.6.1.4.1.99999.{session}.{number}"));
    let kind_of = format!("( {arc}.1 NAME '{kind}' SUP {SUPERTYPE} )");
    let class_of = format!("( {arc}.2 NAME '{class}' SUP top STRUCTURAL MUST ( cn $ {kind} ) )");
    match is_removed {
        true => to.undefine(&[&kind_of], &[&class_of]),
        false => to.define(&[&kind_of], &[&class_of]),
    }
}

impl Workload for Definitions {
    fn setup(&mut self, _: &mut Bundle) {}

    fn defines(&self) -> bool {
        true
    }

    fn start(&mut self, session: usize, random: &mut Random, to: &mut Bundle) {
        let made = self.made[session];
        if made == 0 || (made < MADE_MAX && random.chance(120)) {
            self.made[session] += 1;
            define(session, made + 1, to, false);
        } else if random.chance(60) {
            // It is there, unless it was lost: then it is made after all.
            define(session, 1 + random.below(made), to, false);
        } else if random.chance(80) {
            define(session, 1 + random.below(made), to, true);
        }
        // Not always of one's own.
        let of = if random.chance(700) { session } else { random.below(self.made.len() as u64) as usize };
        let [kind, class] = names(of, 1 + random.below(self.made[of].max(1)));
        let dn = format!("cn=d{session}-{},{SUFFIX}", random.below(ENTRIES));
        let value = self.value();
        match random.below(4) {
            0 => to.delete(&dn, Sent::Other),
            1 => to.modify(&dn, ModifyKind::Replace, &kind, &[&value], Sent::Other),
            _ => {
                let cn = dn.trim_start_matches("cn=").split(',').next().unwrap_or_default();
                to.add(&dn, &[("objectClass", &class), ("cn", cn), (&kind, &value)], Sent::Other);
            }
        }
    }

    fn check(&self, view: &View) -> Result<(), String> {
        for (dn, entry) in view.entries.iter().filter(|(dn, _)| dn.starts_with("cn=d")) {
            // Where entries are not held to the schema it may have others too.
            let class = entry.get("objectClass").and_then(|values| values.iter().find(|name| *name != "top"));
            let kind = class.map(|class| class.replace("class", TYPE)).unwrap_or_default();
            if entry.get(&kind).map(Vec::len) != Some(1) {
                return Err(format!("{dn} has not the attribute that its class asks for: {entry:?}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_without_what_its_class_asks_for_is_noticed() {
        let view = |name: &str| {
            let values = [("objectClass", "class0-1"), (name, "x")];
            let entry = values.map(|(name, value)| (name.to_owned(), vec![value.to_owned()])).into();
            View { entries: [("cn=d0-1,dc=x".to_owned(), entry)].into() }
        };
        let definitions = Definitions::new(1);
        assert_eq!(definitions.check(&view("simulated0-1")), Ok(()));
        assert!(definitions.check(&view("cn")).is_err());
    }
}
