//! The directory as a map from names to attributes, with operations as RFC 4511 words them.

use super::{base, normal};
use model::ResultCode;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One RDN: types and values as spelled.
pub(crate) type Rdn = Vec<(String, String)>;
/// A DN, the RDN of the entry first.
pub(crate) type Dn = Vec<Rdn>;
/// Normal forms of RDNs, the suffix first, so that a subtree is a range of the map.
pub(crate) type Name = Vec<String>;

/// The naming context.
pub(crate) const SUFFIX: &str = "dc=com";
/// Values from which on the store keeps an attribute apart from the entry's record.
const INLINE_VALUES_MAX: usize = 64;

/// What a change of a modify does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Add,
    Delete,
    Replace,
    Increment,
}

/// An operation that writes.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Add { dn: Dn, attributes: Vec<(String, Vec<String>)> },
    Delete { dn: Dn },
    Modify { dn: Dn, changes: Vec<(ChangeKind, String, Vec<String>)>, permissive: bool },
    ModifyDn { dn: Dn, rdn: Rdn, delete_old: bool, superior: Option<Dn> },
}

/// An entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    /// By description: the values as spelled.
    pub(crate) attributes: BTreeMap<String, Vec<String>>,
    /// Types and values of the RDN.
    naming: Rdn,
    /// Attributes that once had so many values that they cannot name the entry until they are replaced.
    big: BTreeSet<String>,
}

/// The directory. A clone of it is a snapshot.
#[derive(Clone, Default)]
pub(crate) struct Directory {
    pub(crate) entries: BTreeMap<Name, Arc<Node>>,
}

/// The string form of a DN.
pub(crate) fn text(dn: &[Rdn]) -> String {
    let rdns: Vec<String> = dn.iter().map(|rdn| rdn_text(rdn)).collect();
    rdns.join(",")
}

/// The string form of an RDN.
pub(crate) fn rdn_text(rdn: &[(String, String)]) -> String {
    let parts: Vec<String> = rdn.iter().map(|(kind, value)| format!("{kind}={value}")).collect();
    parts.join("+")
}

fn rdn_name(rdn: &[(String, String)]) -> String {
    let mut parts: Vec<String> =
        rdn.iter().map(|(kind, value)| format!("{kind}={}", normal(kind, value))).collect();
    parts.sort();
    parts.join("+")
}

/// The name that a DN means.
pub(crate) fn name(dn: &[Rdn]) -> Name {
    dn.iter().rev().map(|rdn| rdn_name(rdn)).collect()
}

type Outcome = Result<(), ResultCode>;

impl Node {
    /// Its object classes decide what must be there.
    fn missing_must(&self) -> bool {
        let classes = &self.attributes["objectClass"];
        let has = |class: &str| classes.iter().any(|c| c == class);
        let absent = |wanted: &str| !self.attributes.keys().any(|d| base(d) == wanted);
        (has("inetOrgPerson") && (absent("cn") || absent("sn")))
            || (has("organizationalUnit") && absent("ou"))
            || (has("groupOfNames") && (absent("cn") || absent("member")))
            || (has("domain") && absent("dc"))
    }

    fn has(&self, description: &str, value: &str) -> bool {
        let wanted = normal(description, value);
        self.attributes.get(description).is_some_and(|v| v.iter().any(|v| normal(description, v) == wanted))
    }

    fn give_name(&mut self, rdn: &Rdn) {
        for (kind, value) in rdn {
            if !self.has(kind, value) {
                self.attributes.entry(kind.clone()).or_default().push(value.clone());
            }
        }
        self.naming = rdn.clone();
    }

    fn note_big(&mut self) {
        let naming = |d: &str| self.naming.iter().any(|(kind, _)| kind == d);
        let big = |(d, values): (&String, &Vec<String>)| {
            (values.len() > INLINE_VALUES_MAX && !naming(d) && d != "objectClass").then(|| d.clone())
        };
        let more: Vec<String> = self.attributes.iter().filter_map(big).collect();
        self.big.extend(more);
        self.big.retain(|d| self.attributes.contains_key(d));
    }

    fn change(&mut self, kind: ChangeKind, description: &str, values: &[String]) -> Outcome {
        match kind {
            ChangeKind::Add => self.add_values(description, values),
            ChangeKind::Delete => self.delete_values(description, values),
            ChangeKind::Replace => {
                let forms: BTreeSet<String> = values.iter().map(|v| normal(description, v)).collect();
                if forms.len() < values.len() {
                    return Err(ResultCode::AttributeOrValueExists);
                }
                self.big.remove(description);
                self.attributes.insert(description.to_owned(), values.to_vec());
                Ok(())
            }
            ChangeKind::Increment => self.increment(description, values),
        }
    }

    fn add_values(&mut self, description: &str, values: &[String]) -> Outcome {
        let there = self.attributes.entry(description.to_owned()).or_default();
        let mut forms: BTreeSet<String> = there.iter().map(|v| normal(description, v)).collect();
        if !values.iter().all(|v| forms.insert(normal(description, v))) {
            return Err(ResultCode::AttributeOrValueExists);
        }
        there.extend_from_slice(values);
        Ok(())
    }

    /// A change of a permissive modify, value by value: what is there need not come, and what is not there need not go.
    fn change_permissively(&mut self, kind: ChangeKind, description: &str, values: &[String]) -> Outcome {
        match kind {
            ChangeKind::Add => values.iter().try_for_each(|value| match self.has(description, value) {
                true => Ok(()),
                false => self.add_values(description, std::slice::from_ref(value)),
            }),
            ChangeKind::Delete if values.is_empty() => {
                let is_there = self.attributes.get(description).is_some_and(|values| !values.is_empty());
                if is_there { self.delete_values(description, &[]) } else { Ok(()) }
            }
            ChangeKind::Delete => values.iter().try_for_each(|value| match self.has(description, value) {
                true => self.delete_values(description, std::slice::from_ref(value)),
                false => Ok(()),
            }),
            _ => self.change(kind, description, values),
        }
    }

    fn delete_values(&mut self, description: &str, values: &[String]) -> Outcome {
        let there = self.attributes.entry(description.to_owned()).or_default();
        if there.is_empty() {
            return Err(ResultCode::NoSuchAttribute);
        }
        if values.is_empty() {
            there.clear();
            self.big.remove(description);
        }
        for value in values {
            let wanted = normal(description, value);
            let Some(at) = there.iter().position(|v| normal(description, v) == wanted) else {
                return Err(ResultCode::NoSuchAttribute);
            };
            there.remove(at);
        }
        Ok(())
    }

    fn increment(&mut self, description: &str, values: &[String]) -> Outcome {
        if self.big.contains(description) || values.len() != 1 {
            return Err(ResultCode::ConstraintViolation);
        }
        let there = self.attributes.entry(description.to_owned()).or_default();
        if there.is_empty() {
            return Err(ResultCode::NoSuchAttribute);
        }
        let number = |v: &String| v.parse::<i128>().map_err(|_| ResultCode::ConstraintViolation);
        let by = number(&values[0])?;
        for value in there {
            *value = (number(value)? + by).to_string();
        }
        Ok(())
    }
}

impl Directory {
    /// Applies an operation, or says why not.
    pub(crate) fn apply(&mut self, op: &Op) -> Outcome {
        match op {
            Op::Add { dn, attributes } => self.add(dn, attributes),
            Op::Delete { dn } => {
                let name = self.existing(dn)?;
                if self.children(&name).next().is_some() {
                    return Err(ResultCode::NotAllowedOnNonLeaf);
                }
                self.entries.remove(&name);
                Ok(())
            }
            Op::Modify { dn, changes, permissive } => self.modify(dn, changes, *permissive),
            Op::ModifyDn { dn, rdn, delete_old, superior } => {
                self.modify_dn(dn, rdn, *delete_old, superior.as_ref())
            }
        }
    }

    fn existing(&self, dn: &Dn) -> Result<Name, ResultCode> {
        let name = name(dn);
        if self.entries.contains_key(&name) { Ok(name) } else { Err(ResultCode::NoSuchObject) }
    }

    /// Everything at and below a name.
    pub(crate) fn subtree<'d>(
        &'d self,
        top: &'d Name,
    ) -> impl Iterator<Item = (&'d Name, &'d Arc<Node>)> + 'd {
        self.entries.range(top.clone()..).take_while(|(name, _)| name.starts_with(top))
    }

    /// Immediate subordinates.
    pub(crate) fn children<'d>(
        &'d self,
        top: &'d Name,
    ) -> impl Iterator<Item = (&'d Name, &'d Arc<Node>)> + 'd {
        self.subtree(top).filter(|(name, _)| name.len() == top.len() + 1)
    }

    fn add(&mut self, dn: &Dn, attributes: &[(String, Vec<String>)]) -> Outcome {
        let name = name(dn);
        let has_superior = name.len() == 1 || self.entries.contains_key(&name[..name.len() - 1]);
        if name[0] != SUFFIX || !has_superior {
            return Err(ResultCode::NoSuchObject);
        }
        if self.entries.contains_key(&name) {
            return Err(ResultCode::EntryAlreadyExists);
        }
        let mut node = Node { attributes: attributes.iter().cloned().collect(), ..Node::default() };
        node.give_name(&dn[0]);
        for (description, values) in attributes {
            let values = node.attributes.get(description).unwrap_or(values);
            if description == "uidNumber" && values.len() > 1 {
                return Err(ResultCode::ConstraintViolation);
            }
            let forms: BTreeSet<String> = values.iter().map(|v| normal(description, v)).collect();
            if forms.len() < values.len() {
                return Err(ResultCode::AttributeOrValueExists);
            }
        }
        if node.missing_must() {
            return Err(ResultCode::ObjectClassViolation);
        }
        node.note_big();
        self.entries.insert(name, Arc::new(node));
        Ok(())
    }

    /// The DN of an entry as it was named.
    pub(crate) fn spelled(&self, name: &Name) -> String {
        let rdn = |depth: usize| {
            let naming = &self.entries[&name[..depth]].naming;
            naming.iter().map(|(kind, value)| format!("{kind}={value}")).collect::<Vec<_>>().join("+")
        };
        (1..=name.len()).rev().map(rdn).collect::<Vec<_>>().join(",")
    }

    fn modify(
        &mut self,
        dn: &Dn,
        changes: &[(ChangeKind, String, Vec<String>)],
        permissive: bool,
    ) -> Outcome {
        let name = self.existing(dn)?;
        let mut node = Node::clone(&self.entries[&name]);
        for (kind, description, values) in changes {
            match permissive {
                true => node.change_permissively(*kind, description, values)?,
                false => node.change(*kind, description, values)?,
            }
        }
        if node.naming.iter().any(|(kind, value)| !node.has(kind, value)) {
            return Err(ResultCode::NotAllowedOnRdn);
        }
        self.finish(name, node)
    }

    fn finish(&mut self, name: Name, mut node: Node) -> Outcome {
        node.attributes.retain(|_, values| !values.is_empty());
        if node.attributes.get("uidNumber").is_some_and(|v| v.len() > 1) {
            return Err(ResultCode::ConstraintViolation);
        }
        if node.missing_must() {
            return Err(ResultCode::ObjectClassViolation);
        }
        node.note_big();
        self.entries.insert(name, Arc::new(node));
        Ok(())
    }

    fn modify_dn(&mut self, dn: &Dn, rdn: &Rdn, delete_old: bool, superior: Option<&Dn>) -> Outcome {
        let old = self.existing(dn)?;
        if old.len() == 1 {
            return Err(ResultCode::NamingViolation);
        }
        let mut new = match superior {
            Some(superior) => self.existing(superior)?,
            None => old[..old.len() - 1].to_vec(),
        };
        if new.starts_with(&old) {
            return Err(ResultCode::UnwillingToPerform);
        }
        new.push(rdn_name(rdn));
        if new != old && self.entries.contains_key(&new) {
            return Err(ResultCode::EntryAlreadyExists);
        }
        let mut node = Node::clone(&self.entries[&old]);
        if rdn.iter().any(|(kind, _)| node.big.contains(kind)) {
            return Err(ResultCode::NamingViolation);
        }
        if delete_old {
            for (kind, value) in std::mem::take(&mut node.naming) {
                node.delete_values(&kind, &[value])?;
            }
            node.attributes.retain(|_, values| !values.is_empty());
        }
        node.give_name(rdn);
        self.finish(old.clone(), node)?;
        self.rename_subtree(&old, &new);
        Ok(())
    }

    fn rename_subtree(&mut self, old: &Name, new: &Name) {
        let moved: Vec<Name> = self.subtree(old).map(|(name, _)| name.clone()).collect();
        let nodes: Vec<_> = moved.iter().map(|name| (name.clone(), self.entries.remove(name))).collect();
        for (name, node) in nodes {
            let moved: Name = new.iter().chain(&name[old.len()..]).cloned().collect();
            self.entries.insert(moved, node.expect("it was listed"));
        }
    }
}
