//! The real shard beside the naive directory: operations on both, and every way to tell them apart.

use super::directory::{ChangeKind, Directory, Name, Op, name, rdn_text, text};
use super::filter::{Filter, search};
use super::{SCHEMA, normal};
use model::{Entry, EntryId, ResultCode, Scope};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, OnceLock};
use store::record::Values;
use store::search::evaluate::Evaluator;
use store::search::{Compiled, Cursor, Scopes, Step};
use store::values::SetPosition;
use store::{
    Add, Change, DnCache, EntryRef, Known, Modify, ModifyDn, PreparedWrite, ReadPoint, Reader, Refused,
    Replacement, Settings, Shard, Stamp, Writer,
};

/// What differs, for a person to read.
pub(crate) type Differs = Result<(), String>;

pub(crate) fn schema() -> Arc<schema::Schema> {
    static SCHEMA_BUILT: OnceLock<Arc<schema::Schema>> = OnceLock::new();
    let build =
        || schema::Builder::new().standard().file("test", SCHEMA).build().expect("the schema is sound");
    Arc::clone(SCHEMA_BUILT.get_or_init(|| Arc::new(build())))
}

/// A shard with indexes of every kind (`indexed`) or with few.
pub(crate) fn shard(indexed: bool) -> Arc<Shard> {
    Shard::create(settings(indexed), schema()).expect("address space is plenty")
}

/// What such a shard is made with.
pub(crate) fn settings(indexed: bool) -> Settings {
    let index = |text: &str| text.parse().expect("it is of the form");
    let all = [
        "uid:eq,pres",
        "member:eq",
        "xText:eq,pres,sub,ord",
        "xNumber:eq,ord",
        "uidNumber:ord",
        "name:eq,pres",
        "cn:sub",
        "description:pres",
        "userCertificate:pres",
    ];
    let few = ["member:eq", "xText:ord"];
    let indexes = if indexed { all.iter() } else { few.iter() }.map(|text| index(text)).collect();
    Settings {
        suffixes: vec!["dc=com".to_owned()],
        indexes,
        memory_bytes_max: if indexed { 2 << 30 } else { 64 << 20 },
        removals_max: store::REMOVALS_MAX,
        operational_attributes: true,
        schema_check: true,
        initial_owner: "cn=root".to_owned(),
        key: [1, 2, 3, 4],
        site: 0,
    }
}

fn stamp(writer: &mut Writer<'_>) -> Stamp {
    Stamp { csn: writer.stamp(1_767_323_045_000), actor: 0 }
}

/// Applies an operation on the real shard.
pub(crate) fn apply(writer: &mut Writer<'_>, shard: &Shard, op: &Op) -> Result<EntryId, Refused> {
    let description = |text: &str| shard.schema().intern_description(text.as_bytes()).expect("a known type");
    let stamp = stamp(writer);
    match op {
        Op::Add { dn, attributes } => {
            let mut entry = Entry::new();
            for (name, values) in attributes {
                entry.push_attribute(description(name));
                values.iter().for_each(|value| entry.push_value(value.as_bytes()));
            }
            writer.add(Add { dn: text(dn).as_bytes(), entry: &mut entry, keep_operational: false }, stamp)
        }
        Op::Delete { dn } => writer.delete(text(dn).as_bytes()),
        Op::Modify { dn, changes, permissive } => {
            let changes: Vec<Change<'_>> = changes
                .iter()
                .map(|(kind, name, values)| Change {
                    kind: match kind {
                        ChangeKind::Add => store::ChangeKind::Add,
                        ChangeKind::Delete => store::ChangeKind::Delete,
                        ChangeKind::Replace => store::ChangeKind::Replace,
                        ChangeKind::Increment => store::ChangeKind::Increment,
                    },
                    description: description(name),
                    values: values.iter().map(|value| value.as_bytes()).collect(),
                })
                .collect();
            writer.modify(
                Modify {
                    dn: text(dn).as_bytes(),
                    changes: &changes,
                    keep_operational: false,
                    is_permissive: *permissive,
                    is_relaxed: false,
                    known: None,
                },
                stamp,
            )
        }
        Op::ModifyDn { dn, rdn, delete_old, superior } => {
            let (dn, rdn, superior) = (text(dn), rdn_text(rdn), superior.as_ref().map(|s| text(s)));
            let (new_rdn, new_superior) = (rdn.as_bytes(), superior.as_ref().map(|s| s.as_bytes()));
            writer.modify_dn(
                ModifyDn { dn: dn.as_bytes(), new_rdn, delete_old_rdn: *delete_old, new_superior },
                stamp,
            )
        }
    }
}

/// Prepares a modify at a read point, if it is one that can be prepared.
pub(crate) fn prepared_write(
    point: ReadPoint<'_>,
    op: &Op,
    cache: &mut DnCache,
    prepared_writes: &mut Vec<u8>,
) -> Option<PreparedWrite> {
    let Op::Modify { dn, changes, .. } = op else { return None };
    let mut keys = Vec::new();
    let target = point.target(text(dn).as_bytes(), cache, &mut keys).ok()?;
    // Options that nobody has used yet are known to no schema: such a modify cannot be prepared.
    let replacement = |(kind, name, values): &'_ (ChangeKind, String, Vec<String>)| {
        assert!(matches!(kind, ChangeKind::Replace) && values.len() == 1, "only replacements are prepared");
        point.shard().schema().find_description(name.as_bytes())
    };
    let replacements: Vec<Replacement<'_>> = changes
        .iter()
        .map(|change| Some(Replacement { description: replacement(change)?, value: change.2[0].as_bytes() }))
        .collect::<Option<_>>()?;
    let known = Known { target, keys: &keys, sequence: point.sequence() };
    point.prepare(&known, &replacements, cache, prepared_writes)
}

/// Installs what was prepared; `false` if it cannot be.
pub(crate) fn install(writer: &mut Writer<'_>, ready: &PreparedWrite, prepared_writes: &mut [u8]) -> bool {
    let stamp = stamp(writer);
    writer.install(ready, prepared_writes, stamp)
}

/// The code of an outcome.
pub(crate) fn code<T>(outcome: &Result<T, Refused>) -> ResultCode {
    outcome.as_ref().err().map_or(ResultCode::Success, Refused::result_code)
}

fn same<T: PartialEq + Debug>(what: &str, real: T, naive: T) -> Differs {
    if real == naive { Ok(()) } else { Err(format!("{what}: the store has {real:?}, the model {naive:?}")) }
}

/// All attributes of a stored entry, values in normal form.
fn attributes(point: ReadPoint<'_>, entry: &EntryRef<'_>) -> BTreeSet<(String, Vec<String>)> {
    let schema = point.shard().schema();
    let sorted = |description: &str, values: Vec<&[u8]>| {
        let mut values: Vec<String> = values
            .into_iter()
            .map(|v| normal(description, std::str::from_utf8(v).expect("values are text")))
            .collect();
        values.sort();
        (description.to_owned(), values)
    };
    let classes = entry.shape.class_values.iter().map(|v| &**v).collect();
    let mut all = BTreeSet::from([sorted("objectClass", classes)]);
    for (slot, values) in entry.shape.slots.iter().zip(entry.slots()) {
        let values = match values {
            Values::Inline(values) => values.collect(),
            Values::Set(set) => {
                let (mut out, mut position) = (Vec::new(), SetPosition::default());
                while point.set_values(&set, &mut position, |value| out.push(value)) {}
                assert_eq!(out.len(), set.count as usize, "the count of a set is that of its values");
                out
            }
        };
        all.insert(sorted(&schema.describe(slot.description), values));
    }
    all
}

/// Compares the whole content. `current`: is the read point the newest, so that counts are exact?
pub(crate) fn content(
    point: ReadPoint<'_>,
    directory: &Directory,
    cache: &mut DnCache,
    current: bool,
) -> Differs {
    cache.refresh(point);
    for (name, node) in &directory.entries {
        let dn: Vec<&str> = name.iter().rev().map(String::as_str).collect();
        let dn = dn.join(",");
        let id = point.resolve(dn.as_bytes(), cache).map_err(|e| format!("{dn} does not resolve: {e:?}"))?;
        let entry = point.entry(id).ok_or_else(|| format!("{dn} resolves to an entry that is not there"))?;
        let naive = node.attributes.iter().map(|(description, values)| {
            let mut values: Vec<String> = values.iter().map(|v| normal(description, v)).collect();
            values.sort();
            (description.clone(), values)
        });
        same(&dn, attributes(point, &entry), naive.collect())?;
        let mut spelled = Vec::new();
        point.write_dn(&entry, cache, &mut spelled);
        same("a DN", String::from_utf8_lossy(&spelled).into_owned(), directory.spelled(name))?;
        if current {
            same(
                &format!("subordinates of {dn}"),
                point.subordinates(id) as usize,
                directory.children(name).count(),
            )?;
        }
    }
    if current {
        same("number of entries", point.shard().entries() as usize, directory.entries.len())?;
    }
    let everything = Filter::Present("objectClass".to_owned());
    if let Some((top, _)) = directory.entries.first_key_value() {
        let mut evaluator = Evaluator::default();
        let found = find(point, &mut evaluator, top, Scope::Subtree, &everything)?;
        same("all entries", found, directory.entries.keys().cloned().collect())?;
    }
    Ok(())
}

/// The name of a stored entry.
fn name_of(point: ReadPoint<'_>, entry: &EntryRef<'_>, cache: &mut DnCache) -> Result<Name, String> {
    let mut out = Vec::new();
    point.write_dn(entry, cache, &mut out);
    let rdns = model::dn::parse(&out).map_err(|e| format!("a written DN does not parse: {e}"))?;
    let pair = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let dn: Vec<_> = rdns
        .iter()
        .map(|rdn| rdn.iter().map(|ava| (pair(ava.attribute_type), pair(&ava.value))).collect())
        .collect();
    Ok(name(&dn))
}

fn find(
    point: ReadPoint<'_>,
    evaluator: &mut Evaluator,
    top: &Name,
    scope: Scope,
    filter: &Filter,
) -> Result<BTreeSet<Name>, String> {
    evaluator.cache.refresh(point);
    let base: Vec<&str> = top.iter().rev().map(String::as_str).collect();
    let base = point
        .resolve(base.join(",").as_bytes(), &mut evaluator.cache)
        .map_err(|e| format!("{base:?}: {e:?}"))?;
    let compiled = Compiled::new(&filter.real(), point.shard(), &|_| true);
    let mut cursor = Cursor::open(point, Scopes::new(base, scope), compiled, None);
    let mut found = BTreeSet::new();
    // Slices of all lengths, down to one that is used up by the first value.
    let mut slices = (1..3000).step_by(231).cycle();
    loop {
        match cursor.step(point, evaluator, &mut slices.next().expect("it goes round")) {
            Step::Entry(entry) => {
                let name = name_of(point, &entry, &mut evaluator.cache)?;
                if !found.insert(name.clone()) {
                    return Err(format!("{name:?} is found twice"));
                }
            }
            Step::Pause => {}
            Step::End => return Ok(found),
        }
    }
}

/// Compares a search, by index and by looking at everything.
pub(crate) fn searches(
    point: ReadPoint<'_>,
    directory: &Directory,
    evaluator: &mut Evaluator,
    top: &Name,
    scope: Scope,
    filter: &Filter,
) -> Differs {
    if !directory.entries.contains_key(top) {
        return Ok(());
    }
    let naive = search(directory, top, scope, filter);
    let found = find(point, evaluator, top, scope, filter)?;
    same(&format!("{scope:?} search of {top:?} for {filter:?}"), found, naive.clone())?;
    // No index helps a negation: twice negated, a filter means the same and every entry is looked at.
    let scan = Filter::Not(Box::new(Filter::Not(Box::new(filter.clone()))));
    let found = find(point, evaluator, top, scope, &scan)?;
    same(&format!("{scope:?} scan of {top:?} for {filter:?}"), found, naive)
}

/// A registered reader of a shard.
pub(crate) fn reader(shard: &Arc<Shard>) -> Reader {
    Reader::register(shard).expect("a slot is free")
}
