//! A record of the log as people read it: LDIF change records (RFC 2849) below a comment that tells index, time, actor
//! and ids.

use super::Rules;
use dsa::account_times::AccountTime;
use dsa::journal::Command;
use dsa::parcel::{Body, Envelope, Parcel};
use model::csn::write_generalized_time;
use proto::control::{Controls, transaction_specification};
use proto::ldif::{write_attribute, write_control, write_dn};
use proto::message::{Frame, Message, Request, frame};
use proto::op::ModifyKind;
use std::io::Write as _;
use wal::{Kind, Record};

/// Appends a record of the log of a group: see [`super::Data::group`].
///
/// # Errors
/// In words, if it is none that this program could have written.
pub fn write(group: u32, record: Record<'_>, out: &mut Vec<u8>) -> Result<(), String> {
    let Record { index, place, kind, payload } = record;
    match kind {
        Kind::Parcel => return parcel(group, record, out),
        Kind::Rules => {
            let (ms, rules) = Rules::of_note(payload)?;
            let _ = write!(out, "# record {index} at {place}, ");
            from_here_on("rules", ms, rules.text().lines().skip(1), out);
        }
        Kind::Commands => {
            let _ = write!(out, "# record {index} at {place}, ");
            updates(&Command::decode(payload)?, &Envelope::default(), out);
        }
        Kind::Checkpoint => _ = writeln!(out, "# record {index} at {place}: nothing\n"),
        other => _ = writeln!(out, "# record {index} at {place}: {other:?}\n"),
    }
    Ok(())
}

/// The lines of what holds from a time on.
fn from_here_on<'t>(what: &str, ms: u64, lines: impl Iterator<Item = &'t str>, out: &mut Vec<u8>) {
    write_generalized_time(ms, out);
    let _ = writeln!(out, ": the {what} are from here on");
    lines.for_each(|line| _ = writeln!(out, "#   {line}"));
    out.push(b'\n');
}

/// Appends the commands of a parcel, each with the name by which a restore ends at it.
fn parcel(group: u32, record: Record<'_>, out: &mut Vec<u8>) -> Result<(), String> {
    let mut parcel = Parcel::decode(record.index.0, record.payload)?;
    let Record { index, place, .. } = record;
    let mut number = 0;
    while let Some(item) = parcel.next_command()? {
        number += 1;
        let _ = write!(out, "# command {group}:{index}.{number} at {place}, ");
        match item.body {
            Body::Updates(command) => updates(&command, &item.envelope, out),
            Body::Rules(text) => from_here_on("rules", parcel.head.time_ms, text.lines().skip(1), out),
            Body::Settings(text) => {
                // Without the remarks, the checksum and the hash of a password.
                let hidden = ["#", "checksum", "root-password "];
                let is_shown = |line: &&str| !hidden.iter().any(|begin| line.starts_with(begin));
                from_here_on("settings", parcel.head.time_ms, text.lines().filter(is_shown), out);
            }
            Body::Times(times) => {
                write_generalized_time(parcel.head.time_ms, out);
                let _ = writeln!(out, ": times of accounts\n");
                for AccountTime { entry, field, ms, .. } in times.iter() {
                    let _ = write!(out, "#   entry {}: {field:?} ", entry.0);
                    write_generalized_time(ms, out);
                    out.push(b'\n');
                }
                out.push(b'\n');
            }
            Body::Behaviour(behaviour) => {
                write_generalized_time(parcel.head.time_ms, out);
                let _ = writeln!(out, ": updates are applied by behaviour {behaviour} from here on\n");
            }
            Body::Nothing => {
                write_generalized_time(parcel.head.time_ms, out);
                out.extend_from_slice(b": nothing\n\n");
            }
        }
    }
    Ok(())
}

fn updates(command: &Command<'_>, envelope: &Envelope<'_>, out: &mut Vec<u8>) {
    write_generalized_time(command.wall_ms, out);
    let _ = write!(out, ", by \"{}\"", String::from_utf8_lossy(command.actor).escape_default());
    if !command.ids.is_empty() {
        let ids: Vec<String> = command.ids.iter().map(u32::to_string).collect();
        let _ = write!(out, ", ids {}", ids.join(" "));
    }
    if command.is_transaction {
        out.extend_from_slice(b", a transaction");
    }
    if !envelope.conditions.is_empty() {
        let _ = write!(out, ", with {} bytes of conditions", envelope.conditions.len());
    }
    out.push(b'\n');
    let mut rest = command.messages;
    while let Ok(Frame::Complete { len }) = frame(rest) {
        match Message::decode(&rest[..len]) {
            Ok(message) => change(&message, out),
            // It was refused for that, and so it will be again.
            Err(error) => _ = writeln!(out, "# a request that is no regular one: {}", error.reason),
        }
        out.push(b'\n');
        rest = &rest[len..];
    }
}

fn change(message: &Message<'_>, out: &mut Vec<u8>) {
    let begin = |dn: &[u8], kind: &str, out: &mut Vec<u8>| {
        write_dn(out, dn);
        controls(message.controls, out);
        write_attribute(out, b"changetype", kind.as_bytes());
    };
    match &message.request {
        Request::Add(add) => {
            begin(add.dn, "add", out);
            for attribute in add.attributes.iter() {
                attribute.values.iter().for_each(|value| write_attribute(out, attribute.description, value));
            }
        }
        Request::Delete(dn) => begin(dn, "delete", out),
        Request::Modify(modify) => {
            begin(modify.dn, "modify", out);
            for change in modify.changes.iter() {
                let (kind, modification) = (change.kind, &change.modification);
                let kind: &[u8] = match kind {
                    ModifyKind::Add => b"add",
                    ModifyKind::Delete => b"delete",
                    ModifyKind::Replace => b"replace",
                    ModifyKind::Increment => b"increment",
                };
                write_attribute(out, kind, modification.description);
                let values = modification.values.iter();
                values.for_each(|value| write_attribute(out, modification.description, value));
                out.extend_from_slice(b"-\n");
            }
        }
        Request::ModifyDn(modify) => {
            begin(modify.dn, "modrdn", out);
            write_attribute(out, b"newrdn", modify.new_rdn);
            write_attribute(out, b"deleteoldrdn", if modify.delete_old_rdn { b"1" } else { b"0" });
            if let Some(superior) = modify.new_superior {
                write_attribute(out, b"newsuperior", superior);
            }
        }
        _ => out.extend_from_slice(b"# a request that changes nothing\n"),
    }
}

/// A transaction's identifier means nothing any more, and would have the update refused: the comment tells of it.
fn controls(controls: Controls<'_>, out: &mut Vec<u8>) {
    for control in controls.iter().filter(|control| control.oid != transaction_specification::OID) {
        match model::oid::is_numeric(control.oid) {
            true => write_control(out, control.oid, control.critical, control.value),
            // Such as nobody knows, so it meant nothing.
            false => out.extend_from_slice(b"# a control without an OID\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsa::parcel;
    use model::Filter;
    use proto::control::{Control, assertion, manage_dsa_it};
    use proto::list::{Attributes, attribute_list};
    use proto::op::modify::{Changes, change_list};
    use proto::op::{Add, Modify, ModifyDn};
    use wal::{Index, Place};

    fn written(messages: &[u8], ids: Vec<u32>) -> String {
        let command = Command { wall_ms: 0, actor: b"cn=r", ids: ids.into(), messages, is_transaction: true };
        let (mut payload, mut out) = (Vec::new(), Vec::new());
        command.encode(&mut payload);
        let place = Place { file: 2, offset: 4096 };
        let record = Record { index: Index(5), kind: Kind::Commands, payload: &payload, place };
        write(0, record, &mut out).expect("it is regular");
        String::from_utf8(out).expect("LDIF is text")
    }

    #[test]
    fn controls_stand_before_the_change() {
        let mut messages = Vec::new();
        let value = assertion::encode(&Filter::Present(b"cn"));
        let controls = [
            transaction_specification::control(b"7"),
            assertion::control(&value, true),
            manage_dsa_it::control(false),
            Control { oid: b"1.2\nx", critical: false, value: None },
        ];
        Request::Delete(b"cn=a").encode(&mut messages, 1, &controls);
        let expected = "\
dn: cn=a
control: 1.3.6.1.1.12 true:: hwJjbg==
control: 2.16.840.1.113730.3.4.2 false
# a control without an OID
changetype: delete

";
        assert_eq!(written(&messages, vec![]).split_once('\n').expect("a comment comes first").1, expected);
    }

    #[test]
    fn commands_of_a_parcel_are_named_one_by_one() {
        let (mut payload, mut out, mut messages) = (Vec::new(), Vec::new(), Vec::new());
        Request::Delete(b"cn=a").encode(&mut messages, 1, &[]);
        let command = Command {
            wall_ms: 0,
            actor: b"cn=r",
            ids: vec![].into(),
            messages: &messages,
            is_transaction: false,
        };
        parcel::Head::default().encode(5, &mut payload);
        parcel::push_updates(&command, &Envelope::default(), &mut payload);
        parcel::push_nothing(&mut payload);
        let place = Place { file: 2, offset: 4096 };
        write(1, Record { index: Index(5), kind: Kind::Parcel, payload: &payload, place }, &mut out).unwrap();
        let expected = "\
# command 1:5.1 at file 2 offset 4096, 19700101000000Z, by \"cn=r\"
dn: cn=a
changetype: delete

# command 1:5.2 at file 2 offset 4096, 19700101000000Z: nothing

";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_record_reads_as_ldif() {
        let list = attribute_list([(&b"cn"[..], [&b"x"[..], b"\xff"])]);
        let attributes = Attributes::parse(&list).expect("just encoded");
        let changes = change_list([
            (ModifyKind::Replace, &b"sn"[..], vec![&b"y"[..]]),
            (ModifyKind::Delete, &b"mail"[..], vec![]),
        ]);
        let changes = Changes::parse(&changes).expect("just encoded");
        let (new_rdn, new_superior) = (&b"cn=b"[..], Some(&b"dc=y"[..]));
        let mut messages = Vec::new();
        for request in [
            Request::Add(Add { dn: b"cn=a", attributes }),
            Request::Modify(Modify { dn: b"cn=a", changes }),
            Request::ModifyDn(ModifyDn { dn: b"cn=a", new_rdn, delete_old_rdn: true, new_superior }),
            Request::Delete(b"cn=b,dc=y"),
        ] {
            request.encode(&mut messages, 1, &[]);
        }
        let expected = "\
# record 5 at file 2 offset 4096, 19700101000000Z, by \"cn=r\", ids 7, a transaction
dn: cn=a
changetype: add
cn: x
cn:: /w==

dn: cn=a
changetype: modify
replace: sn
sn: y
-
delete: mail
-

dn: cn=a
changetype: modrdn
newrdn: cn=b
deleteoldrdn: 1
newsuperior: dc=y

dn: cn=b,dc=y
changetype: delete

";
        assert_eq!(written(&messages, vec![7]), expected);
    }
}
