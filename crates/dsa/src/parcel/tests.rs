use super::*;
use crate::account_times::Field;
use model::{Csn, EntryId};
use proptest::prelude::*;
use proto::Request;

fn deletes(count: i32) -> Vec<u8> {
    let mut messages = Vec::new();
    for id in 1..=count {
        Request::Delete(b"cn=a").encode(&mut messages, id, &[]);
    }
    messages
}

fn command(messages: &[u8], is_transaction: bool) -> Command<'_> {
    Command { wall_ms: 77, actor: b"cn=root", ids: Cow::Borrowed(&[]), messages, is_transaction }
}

const HEAD: Head = Head {
    time_ms: 77,
    epoch: 0,
    free_before: Some(90),
    keeps_superclasses: false,
    checked: Some((99, 0x1234)),
};

#[test]
fn a_parcel_with_one_command_takes_48_bytes_besides_actor_and_messages() {
    let (messages, mut out) = (deletes(1), Vec::new());
    HEAD.encode(100, &mut out);
    let command = command(&messages, false);
    push_updates(&command, &Envelope::default(), &mut out);
    // And eight of the record's header.
    assert_eq!(out.len() - command.actor.len() - messages.len(), 40);
    assert_eq!(out.len(), HEAD_BYTES + command_bytes(&command));
}

#[test]
fn a_parcel_comes_back() {
    let (one, three) = (deletes(1), deletes(3));
    let mut conditions = Vec::new();
    let condition = Condition { code: 50, dn: b"cn=a", filter: b"\x87\x02cn" };
    condition.encode(&mut conditions);
    condition.encode(&mut conditions);
    let all = Envelope {
        front: Some(Front { node: 7 << 40, number: 9 }),
        not_after_ms: Some(u64::MAX),
        conditions: &conditions,
        is_schema: false,
    };
    let of_schema = Envelope { is_schema: true, ..Envelope::default() };
    let time = |field| AccountTime { entry: EntryId(7), created: Csn(9 << 40), field, ms: 3 };
    let times = [time(Field::LastSuccess), time(Field::DelayEnd)];
    for epoch in [0, 5] {
        // The first parcels did not say which ids are free, nor that superclasses are judged.
        let free_before = HEAD.free_before.filter(|_| epoch == 0);
        let head = Head { epoch, free_before, keeps_superclasses: epoch != 0, ..HEAD };
        let mut out = Vec::new();
        head.encode(100, &mut out);
        push_updates(&command(&one, false), &Envelope::default(), &mut out);
        push_updates(&command(&three, true), &all, &mut out);
        push_updates(&command(&one, false), &of_schema, &mut out);
        push_rules("what holds", &mut out);
        push_settings("what is set", &Envelope::default(), &mut out);
        push_times(&times, &mut out);
        push_behaviour(7, &mut out);
        push_nothing(&mut out);
        let mut parcel = Parcel::decode(100, &out).unwrap();
        assert_eq!(parcel.head, head);
        let first = parcel.next_command().unwrap().unwrap();
        assert_eq!((first.envelope, first.body), (Envelope::default(), Body::Updates(command(&one, false))));
        let second = parcel.next_command().unwrap().unwrap();
        assert_eq!((second.envelope, second.body), (all, Body::Updates(command(&three, true))));
        let found: Result<Vec<_>, _> = Condition::all(second.envelope.conditions).collect();
        assert_eq!(found, Ok(vec![condition; 2]));
        assert_eq!(parcel.next_command().unwrap().unwrap().envelope, of_schema);
        assert_eq!(parcel.next_command().unwrap().unwrap().body, Body::Rules("what holds"));
        assert_eq!(parcel.next_command().unwrap().unwrap().body, Body::Settings("what is set"));
        match parcel.next_command().unwrap().unwrap().body {
            Body::Times(found) => assert_eq!(found.iter().collect::<Vec<_>>(), times),
            other => panic!("{other:?}"),
        }
        assert_eq!(parcel.next_command().unwrap().unwrap().body, Body::Behaviour(7));
        assert_eq!(parcel.next_command().unwrap().unwrap().body, Body::Nothing);
        assert_eq!(parcel.next_command(), Ok(None));
        // Cut behind a command, it is a parcel with fewer.
        let mut cut = Parcel::decode(100, &out[..first.end]).unwrap();
        assert!(cut.next_command().unwrap().is_some() && cut.next_command() == Ok(None));
    }
}

#[test]
fn what_is_too_far_back_is_left_out() {
    let mut out = Vec::new();
    let far = Head { free_before: Some(1), checked: Some((1, 2)), ..HEAD };
    far.encode(1 << 40, &mut out);
    let head = Parcel::decode(1 << 40, &out).unwrap().head;
    assert_eq!((head.free_before, head.checked), (Some(0), None));
}

#[test]
fn what_this_program_does_not_know_is_refused() {
    let text = |bytes: &[u8]| match Parcel::decode(100, bytes) {
        Ok(mut parcel) => parcel.next_command().unwrap_err(),
        Err(text) => text,
    };
    let mut head = Vec::new();
    HEAD.encode(100, &mut head);
    let with = |at: usize, byte: u8| {
        let mut bytes = head.clone();
        bytes[at] = byte;
        text(&bytes)
    };
    assert!(with(0, 2).contains("version 2; this program reads version 1"));
    assert!(with(1, 8).contains("flags"));
    assert!(with(2, 101).contains("before the first"));
    let command =
        |kind: u8, flags: u8, zero: u8| text(&[&head[..], &[kind, flags, zero, 0, 0, 0, 0, 0]].concat());
    assert!(command(13, 0, 0).contains("times is cut short"));
    assert!(command(14, 0, 0).contains("not four bytes"));
    for reserved in [0, 3, 4, 5, 6, 8, 9, 15] {
        assert!(command(reserved, 0, 0).contains(&format!("kind {reserved},")));
    }
    assert!(command(11, 0, 0).contains("fence"));
    assert!(
        command(10, 16, 0).contains("flags")
            && command(10, 8, 0).contains("no update")
            && command(10, 0, 1).contains("flags")
    );
    let mut ids = head.clone();
    let messages = deletes(1);
    let too_many = Command { ids: Cow::Borrowed(&[9]), ..super::tests::command(&messages, false) };
    push_updates(&too_many, &Envelope::default(), &mut ids);
    assert!(text(&ids).contains("as many ids as adds"));
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), known: bool) {
        if known && bytes.len() > 2 {
            (bytes[0], bytes[1]) = (VERSION, bytes[1] & 1);
        }
        if let Ok(mut parcel) = Parcel::decode(1 << 20, &bytes) {
            while let Ok(Some(item)) = parcel.next_command() {
                Condition::all(item.envelope.conditions).for_each(drop);
            }
        }
    }

    #[test]
    fn a_parcel_that_is_cut_anywhere_is_refused_or_has_fewer_commands(count in 1usize..5, cut in 0usize..400) {
        let (messages, mut out) = (deletes(2), Vec::new());
        HEAD.encode(100, &mut out);
        let mut ends = vec![out.len()];
        for _ in 0..count {
            push_updates(&command(&messages, false), &Envelope::default(), &mut out);
            ends.push(out.len());
        }
        let cut = cut % out.len();
        let read = Parcel::decode(100, &out[..cut]).and_then(|mut parcel| {
            while parcel.next_command()?.is_some() {}
            Ok(())
        });
        prop_assert_eq!(read.is_ok(), ends.contains(&cut));
    }
}
