//! Lists. The values of an attribute have no order in LDAP, so a list is one value that grows: its elements, with commas
//! between. Who appends replaces the value by a longer one if it is still the one that was read, which the assertion control
//! tells, and reads it back by post-read. A transaction of this kind is one modify, or several in a transaction of RFC 5805.

use super::Shared;
use super::client::{Client, Ended, Entry, How, Lost, Update};
use super::recorder::Recorder;
use env::entropy::{Entropy as _, SeededEntropy};
use histories::Step;
use model::ResultCode;
use std::sync::atomic::{AtomicU64, Ordering};

const LISTS: u64 = 4;
const BASE: &str = "ou=lists,dc=x";
const VALUE: &str = "description";
/// What a list without elements holds: a value is never empty.
const NONE: &str = "none";
/// Elements after which all go on with new lists.
const LENGTH_MAX: usize = 60;

/// Which lists are in use: the first is generation 0.
#[derive(Debug, Default)]
pub(super) struct Generation {
    now: AtomicU64,
    next_element: AtomicU64,
}

/// A list as it was read.
struct Held {
    name: String,
    dn: String,
    text: String,
    elements: Vec<u64>,
}

/// Adds the first.
pub(super) fn set_up(client: &mut Client) -> Result<(), Lost> {
    client.add(BASE, &[("objectClass", "organizationalUnit"), ("ou", "lists")])?;
    add_generation(client, 0)
}

fn add_generation(client: &mut Client, generation: u64) -> Result<(), Lost> {
    let unit = format!("g{generation}");
    client.add(&above(generation), &[("objectClass", "organizationalUnit"), ("ou", &unit)])?;
    (0..LISTS).map(|number| format!("l{number}")).try_for_each(|name| {
        let dn = format!("cn={name},{}", above(generation));
        client.add(&dn, &[("objectClass", "device"), ("cn", &name), (VALUE, NONE)])
    })
}

fn above(generation: u64) -> String {
    format!("ou=g{generation},{BASE}")
}

/// Reads one list or all of them, or appends to some.
pub(super) fn turn(
    client: &mut Client,
    recorder: &mut Recorder<'_>,
    chance: &mut SeededEntropy,
    shared: &Shared,
) -> Result<(), Lost> {
    let generation = shared.generation.now.load(Ordering::SeqCst);
    match chance.next_u64() % 8 {
        0 => scan(client, recorder, generation),
        1 | 2 => read_one(client, recorder, generation, chance.next_u64() % LISTS),
        _ if shared.transactions && !chance.next_u64().is_multiple_of(4) => {
            let picked = (0..LISTS).filter(|_| chance.next_u64().is_multiple_of(2)).collect::<Vec<u64>>();
            append(client, recorder, chance, shared, generation, &picked)
        }
        _ => {
            let number = chance.next_u64() % LISTS;
            append(client, recorder, chance, shared, generation, &[number])
        }
    }
}

/// Reads the lists that are in use, and those before.
pub(super) fn survey(
    client: &mut Client,
    recorder: &mut Recorder<'_>,
    generation: &Generation,
) -> Result<(), Lost> {
    let now = generation.now.load(Ordering::SeqCst);
    // It may be that they were to be added when the server was killed.
    add_generation(client, now)?;
    (now.saturating_sub(2)..=now).try_for_each(|generation| scan(client, recorder, generation))
}

fn name_of(generation: u64, number: u64) -> String {
    format!("g{generation}l{number}")
}

fn held(generation: u64, number: u64, entry: &Entry) -> Result<Held, Lost> {
    let text = entry.get(VALUE).cloned().unwrap_or_default();
    let elements = match text.as_str() {
        NONE => Ok(Vec::new()),
        text => text.split(',').map(str::parse).collect(),
    };
    let name = name_of(generation, number);
    let elements = elements.map_err(|_| Lost::Strange(format!("{name} holds {text:?}")))?;
    Ok(Held { name, dn: format!("cn=l{number},{}", above(generation)), text, elements })
}

fn list(held: &Held) -> Step {
    Step::List { list: held.name.clone(), elements: Some(held.elements.clone()) }
}

fn read_one(
    client: &mut Client,
    recorder: &mut Recorder<'_>,
    generation: u64,
    number: u64,
) -> Result<(), Lost> {
    recorder.invoke(&[Step::List { list: name_of(generation, number), elements: None }]);
    let read = read_held(client, generation, number).inspect_err(|lost| recorder.lost(lost))?;
    recorder.ok(vec![list(&read)]);
    Ok(())
}

fn read_held(client: &mut Client, generation: u64, number: u64) -> Result<Held, Lost> {
    let dn = format!("cn=l{number},{}", above(generation));
    held(generation, number, &client.read(&dn, &[VALUE])?)
}

/// One search: a transaction that reads all lists.
fn scan(client: &mut Client, recorder: &mut Recorder<'_>, generation: u64) -> Result<(), Lost> {
    let steps = (0..LISTS).map(|number| Step::List { list: name_of(generation, number), elements: None });
    recorder.invoke(&steps.collect::<Vec<Step>>());
    let found = client.read_below(&above(generation), &[VALUE]).inspect_err(|lost| recorder.lost(lost))?;
    let steps = (0..LISTS).map(|number| {
        let dn = format!("cn=l{number},{}", above(generation));
        let entry = found.get(&dn).ok_or_else(|| Lost::Strange(format!("a scan did not find {dn}")))?;
        held(generation, number, entry).map(|held| list(&held))
    });
    recorder.ok(steps.collect::<Result<Vec<Step>, Lost>>()?);
    Ok(())
}

/// Appends an element to each of these lists if none has changed since it was read. Of several one may be left as it is: it
/// was only read.
fn append(
    client: &mut Client,
    recorder: &mut Recorder<'_>,
    chance: &mut SeededEntropy,
    shared: &Shared,
    generation: u64,
    numbers: &[u64],
) -> Result<(), Lost> {
    let mut asked = Vec::new();
    let mut new = Vec::new();
    for number in numbers {
        let (list, element) = (name_of(generation, *number), next_element(shared));
        asked.push(Step::List { list: list.clone(), elements: None });
        let only_read = numbers.len() > 1 && chance.next_u64().is_multiple_of(4);
        new.push((!only_read).then_some(element));
        if !only_read {
            asked.push(Step::Append { list: list.clone(), element });
        }
        asked.push(Step::List { list, elements: None });
    }
    if asked.is_empty() {
        return Ok(());
    }
    recorder.invoke(&asked);
    let reads = numbers.iter().map(|number| read_held(client, generation, *number));
    // Nothing was asked to change yet.
    let before: Vec<Held> = reads.collect::<Result<_, _>>().inspect_err(|_| recorder.fail())?;
    let read = shared.reads_back(chance).then_some(VALUE);
    let updates: Vec<Update> = before.iter().zip(&new).map(|(held, new)| update(held, *new, read)).collect();
    let alone = !shared.transactions || chance.next_u64().is_multiple_of(2);
    let after = match (&updates[..], alone) {
        ([single], true) => client.update(single).map(|done| done.map(|read| vec![read])),
        _ => whole(client, &updates, chance, shared),
    };
    match after.inspect_err(|lost| recorder.lost(lost))? {
        Err(_) => recorder.fail(),
        Ok(after) => {
            let mut steps = Vec::new();
            for ((held_before, new), (number, after)) in
                before.iter().zip(&new).zip(numbers.iter().zip(&after))
            {
                let list_name = held_before.name.clone();
                steps.push(list(held_before));
                steps.extend(new.map(|element| Step::Append { list: list_name, element }));
                if read.is_some() {
                    steps.push(list(&held(generation, *number, after)?));
                }
            }
            recorder.ok(steps);
        }
    }
    if before.iter().any(|held| held.elements.len() >= LENGTH_MAX) {
        add_generation(client, generation + 1)?;
        shared.generation.now.fetch_max(generation + 1, Ordering::SeqCst);
    }
    Ok(())
}

fn next_element(shared: &Shared) -> u64 {
    shared.generation.next_element.fetch_add(1, Ordering::Relaxed)
}

fn update(held: &Held, new: Option<u64>, read: Option<&'static str>) -> Update {
    let text = match (new, held.elements.is_empty()) {
        (None, _) => held.text.clone(),
        (Some(element), true) => element.to_string(),
        (Some(element), false) => format!("{},{element}", held.text),
    };
    let only_if = format!("({VALUE}={})", held.text);
    Update { dn: held.dn.clone(), set: vec![(VALUE, text)], only_if, read }
}

/// All in one transaction, which is given up now and then.
fn whole(
    client: &mut Client,
    updates: &[Update],
    chance: &mut SeededEntropy,
    shared: &Shared,
) -> Result<Result<Vec<Entry>, ResultCode>, Lost> {
    let how = match chance.next_u64() % 16 {
        0 => How::GiveUp,
        1 => How::Leave,
        _ => How::Commit,
    };
    match client.transaction(updates, how, shared.forms.draw(chance))? {
        Ended::Committed(read) => Ok(Ok(read)),
        Ended::Nothing(code) => Ok(Err(code)),
    }
}
