//! Registers: values of entries that are read by base searches, replaced, and compared and swapped by the assertion control.

use super::Shared;
use super::client::{Client, Ended, How, Lost, Update};
use super::form::Form;
use super::recorder::Recorder;
use env::entropy::{Entropy as _, SeededEntropy};
use histories::Step;
use model::ResultCode;
use std::sync::atomic::{AtomicU64, Ordering};

const REGISTERS: u64 = 4;
const BASE: &str = "ou=registers,dc=x";
const VALUE: &str = "description";

/// Every value is written once, so that what is read tells who wrote it.
static NEXT: AtomicU64 = AtomicU64::new(1);

fn dn(register: &str) -> String {
    format!("cn={register},{BASE}")
}

/// Adds them; all hold 0.
pub(super) fn set_up(client: &mut Client) -> Result<(), Lost> {
    client.add(BASE, &[("objectClass", "organizationalUnit"), ("ou", "registers")])?;
    (0..REGISTERS).map(|number| format!("r{number}")).try_for_each(|name| {
        client.add(&dn(&name), &[("objectClass", "device"), ("cn", &name), (VALUE, "0")])
    })
}

/// Reads, writes, or compares and swaps one.
pub(super) fn turn(
    client: &mut Client,
    recorder: &mut Recorder<'_>,
    chance: &mut SeededEntropy,
    shared: &Shared,
) -> Result<(), Lost> {
    let register = format!("r{}", chance.next_u64() % REGISTERS);
    let alone = !shared.transactions || chance.next_u64().is_multiple_of(2);
    let form = (!alone).then(|| shared.forms.draw(chance));
    match chance.next_u64() % 8 {
        0..=3 => read(client, recorder, &register).map(|_| ()),
        4 | 5 => {
            let value = NEXT.fetch_add(1, Ordering::Relaxed);
            let step = |_| Step::Write { register: register.clone(), value };
            write(client, recorder, &register, value, (String::new(), None), form, step)
        }
        _ => {
            let (from, to) = (read(client, recorder, &register)?, NEXT.fetch_add(1, Ordering::Relaxed));
            let step = |done| Step::Swap { register: register.clone(), from, to, done };
            // What depends on nothing is a plain modify: in a transaction it is prepared as it comes, and installed at the end.
            let how = (format!("({VALUE}={from})"), shared.reads_back(chance).then_some(VALUE));
            write(client, recorder, &register, to, how, form, step)
        }
    }
}

/// Reads all of them.
pub(super) fn survey(client: &mut Client, recorder: &mut Recorder<'_>) -> Result<(), Lost> {
    (0..REGISTERS).try_for_each(|number| read(client, recorder, &format!("r{number}")).map(|_| ()))
}

fn read(client: &mut Client, recorder: &mut Recorder<'_>, register: &str) -> Result<u64, Lost> {
    recorder.invoke(&[Step::Read { register: register.to_owned(), value: None }]);
    let entry = client.read(&dn(register), &[VALUE]).inspect_err(|lost| recorder.lost(lost))?;
    let value = entry.get(VALUE).and_then(|value| value.parse().ok());
    let value = value.ok_or_else(|| Lost::Strange(format!("{register} holds {entry:?}")))?;
    recorder.ok(vec![Step::Read { register: register.to_owned(), value: Some(value) }]);
    Ok(value)
}

/// Writes one, alone or in a transaction, if it fits a filter, and reads it back or not; `step` says how it is recorded, once
/// it is known whether it was done.
fn write(
    client: &mut Client,
    recorder: &mut Recorder<'_>,
    register: &str,
    value: u64,
    (only_if, reads): (String, Option<&'static str>),
    form: Option<Form>,
    step: impl Fn(Option<bool>) -> Step,
) -> Result<(), Lost> {
    recorder.invoke(&[step(None)]);
    let update = Update { dn: dn(register), set: vec![(VALUE, value.to_string())], only_if, read: reads };
    let done = match form {
        None => client.update(&update),
        // A transaction of one.
        Some(form) => {
            client.transaction(std::slice::from_ref(&update), How::Commit, form).map(|ended| match ended {
                Ended::Committed(mut read) => Ok(read.pop().unwrap_or_default()),
                Ended::Nothing(code) => Err(code),
            })
        }
    };
    match done.inspect_err(|lost| recorder.lost(lost))? {
        Ok(read) if reads.is_some() && read.get(VALUE) != Some(&value.to_string()) => {
            return Err(Lost::Strange(format!("{register} was set to {value}, and post-read says {read:?}")));
        }
        Ok(_) => recorder.ok(vec![step(Some(true))]),
        Err(ResultCode::AssertionFailed) => recorder.ok(vec![step(Some(false))]),
        Err(_) => recorder.fail(),
    }
    Ok(())
}
