mod locks;

use super::*;
use crate::report::Progress;
use proptest::prelude::*;
use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::{DnCache, Settings, Values};

const TIME_MS: u64 = 1_800_000_000_000;

fn shard_with(operational_attributes: bool) -> Arc<Shard> {
    shard_of(operational_attributes, "")
}

/// One with definitions besides the standard ones.
fn shard_of(operational_attributes: bool, definitions: &str) -> Arc<Shard> {
    let schema = schema::Builder::new().standard().file("more", definitions).build();
    let schema = schema.expect("the schema is sound");
    let settings = Settings {
        suffixes: vec!["dc=com".to_owned()],
        indexes: Vec::new(),
        memory_bytes_max: 512 << 20,
        removals_max: store::REMOVALS_MAX,
        operational_attributes,
        schema_check: true,
        initial_owner: String::new(),
        key: [1, 2, 3, 4],
        site: 0,
    };
    Shard::create(settings, Arc::new(schema)).expect("address space is plenty")
}

fn import(shard: &Shard) -> Import<'_> {
    Import {
        shard,
        stamp_ms: TIME_MS,
        operational: Operational::Keep,
        passwords: Passwords::Keep,
        threads: 2,
        streams: 1,
    }
}

/// Loads one input; nothing is handed out.
fn load(
    import: Import<'_>,
    input: Input<'_>,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Summary, ImportError> {
    let callbacks = Callbacks {
        on_progress: &mut |reported| on_progress(reported.total),
        on_reject: None,
        is_over: &AtomicBool::new(false),
    };
    super::import(import, &mut [input], callbacks)
}

fn run(text: &str) -> (Arc<Shard>, Result<Summary, ImportError>) {
    let shard = shard_with(true);
    let done = load(import(&shard), Input::Seekable(&mut Cursor::new(text)), &mut |_| {});
    (shard, done)
}

fn faults(text: &str) -> Vec<String> {
    run(text).1.unwrap_err().faults.iter().map(ToString::to_string).collect()
}

/// All values of an attribute of an entry, sorted; `None` if there is no such entry.
fn values(shard: &Arc<Shard>, dn: &str, attribute: &str) -> Option<Vec<Vec<u8>>> {
    let mut reader = store::Reader::register(shard).unwrap();
    let pin = reader.pin();
    let point = pin.read_point();
    let entry = point.entry(point.resolve(dn.as_bytes(), &mut DnCache::default()).ok()?)?;
    let description = shard.schema().find_description(attribute.as_bytes()).unwrap();
    let mut found = Vec::new();
    for (slot, values) in entry.shape.slots.iter().zip(entry.slots()) {
        if slot.description == description {
            match values {
                Values::Inline(values) => found.extend(values.map(<[u8]>::to_vec)),
                Values::Set(set) => found.push(format!("{} values", set.count).into_bytes()),
            }
        }
    }
    found.sort();
    Some(found)
}

fn texts(shard: &Arc<Shard>, dn: &str, attribute: &str) -> Vec<String> {
    let values = values(shard, dn, attribute).unwrap_or_else(|| panic!("no entry {dn}"));
    values.into_iter().map(|v| String::from_utf8(v).unwrap()).collect()
}

const TOP: &str = "dn: dc=com\nobjectClass: domain\ndc: com\n\n";

fn unit(name: &str, superior: &str) -> String {
    format!("dn: ou={name},{superior}\nobjectClass: organizationalUnit\nou: {name}\n\n")
}

fn person(name: &str, superior: &str) -> String {
    format!("dn: cn={name},{superior}\nobjectClass: person\ncn: {name}\nsn: s\n\n")
}

#[test]
fn entries_in_many_pieces_are_stored() {
    let people: String = (0..20_000).map(|n| person(&format!("p{n}"), "dc=com")).collect();
    let text = TOP.to_owned() + &people;
    let shard = shard_with(true);
    let mut reported = Vec::new();
    let done = load(import(&shard), Input::Seekable(&mut Cursor::new(&text)), &mut |p| reported.push(p));
    assert_eq!(
        done,
        Ok(Summary { entries: 20_001, bytes: text.len() as u64, deferred_count: 0, rejected: 0 })
    );
    assert!(reported.len() > 3 && reported.is_sorted_by_key(|p| p.bytes));
    assert_eq!(reported.last(), Some(&Progress { entries: 20_001, bytes: text.len() as u64 }));
    assert_eq!(shard.entries(), 20_001);
    assert_eq!(texts(&shard, "cn=p19999,dc=com", "sn"), ["s"]);
}

#[test]
fn values_come_folded_scattered_and_in_base64() {
    let text = TOP.to_owned()
        + "# a person\ndn: cn=a,dc=com\nchangetype: add\nobjectClass: person\ncn: a\ndescription: one\nsn: lo\n ng\n\
           description:: dHdv\ncn;lang-de: b\n\n";
    let (shard, done) = run(&text.replace('\n', "\r\n"));
    assert_eq!(done.unwrap().entries, 2);
    assert_eq!(texts(&shard, "cn=a,dc=com", "description"), ["one", "two"]);
    assert_eq!(texts(&shard, "cn=a,dc=com", "sn"), ["long"]);
    assert_eq!(texts(&shard, "cn=a,dc=com", "cn;lang-de"), ["b"]);
}

/// Earlier versions wrote an entry's certificates with `;binary` and without it.
#[test]
fn certificates_of_both_names_are_one_attribute() {
    let text = TOP.to_owned()
        + "dn: cn=a,dc=com\nobjectClass: inetOrgPerson\ncn: a\nsn: s\nuserCertificate;binary:: MAMCAQU=\n\
           userCertificate:: MAMCAQY=\nuserCertificate:: MAMCAQU=\n\n";
    let (shard, done) = run(&text);
    assert_eq!(done.map(|done| done.entries), Ok(2));
    assert_eq!(texts(&shard, "cn=a,dc=com", "userCertificate"), ["0\x03\x02\x01\x05", "0\x03\x02\x01\x06"]);
}

#[test]
fn superiors_may_come_later() {
    let text = person("a", "ou=c,ou=b,dc=com")
        + &unit("c", "ou=b,dc=com")
        + &(0..5000).map(|n| person(&format!("p{n}"), "ou=b,dc=com")).collect::<String>()
        + TOP
        + &unit("b", "dc=com");
    let (shard, done) = run(&text);
    let done = done.unwrap();
    assert_eq!((done.entries, done.deferred_count, done.bytes), (5004, 5002, text.len() as u64));
    assert_eq!(texts(&shard, "cn=a,ou=c,ou=b,dc=com", "cn"), ["a"]);
    let shard = shard_with(true);
    let done = load(import(&shard), Input::Stream(&mut text.as_bytes()), &mut |_| {}).unwrap();
    assert_eq!((done.entries, done.deferred_count), (5004, 5002));
}

#[test]
fn a_superior_that_never_comes_is_named() {
    let text = TOP.to_owned() + &person("a", "ou=x,dc=com") + "\n# y\n" + &person("b", "ou=y,dc=com");
    let wanted = [
        "5: cn=a,ou=x,dc=com: its superior ou=x,dc=com is neither in the directory nor in the input",
        "12: cn=b,ou=y,dc=com: its superior ou=y,dc=com is neither in the directory nor in the input",
    ];
    assert_eq!(faults(&text), wanted);
}

#[test]
fn faults_have_their_lines_and_names() {
    let text = TOP.to_owned()
        + "dn: cn=a,dc=com\nobjectClass: person\ncn: a\n\n"
        + "dn: cn=b,dc=com\nobjectClass: person\ncn: b\nsn: b\nflavour: sweet\n\n"
        + "dn: cn=c,dc=org\nobjectClass: person\ncn: c\nsn: c\n\n"
        + "dn: cn=d,dc=com\nchangetype: delete\n\n"
        + "dn: cn=e,dc=com\njpegPhoto:< file:///e\n\n"
        + "dn: cn=f\nno line\n\n"
        + &person("g", "dc=com")
        + &person("G", "DC=com");
    let (shard, done) = run(&text);
    let error = done.unwrap_err();
    assert_eq!((error.done.entries, shard.entries()), (2, 2));
    let lines: Vec<u64> = error.faults.iter().map(|f| f.line).collect();
    assert_eq!(lines, [5, 13, 15, 20, 24, 27, 34]);
    let shown: Vec<String> = error.faults.iter().map(ToString::to_string).collect();
    assert!(shown[0].starts_with("5: cn=a,dc=com: ") && shown[0].contains("sn"), "{shown:#?}");
    assert!(shown[1].contains("cn=b,dc=com: flavour: no such attribute type"), "{shown:#?}");
    assert_eq!(shown[6], "34: cn=G,DC=com: an entry with this DN exists");
}

#[test]
fn only_what_is_critical_of_controls_is_refused() {
    let text = |critical| {
        format!(
            "{TOP}dn: ou=a,dc=com\ncontrol: 1.3.6.1.1.12 {critical}:: hwJjbg==\nchangetype: add\nobjectClass: organizationalUnit\nou: a\n"
        )
    };
    let (shard, done) = run(&text(false));
    assert!(done.is_ok() && texts(&shard, "ou=a,dc=com", "ou") == ["a"]);
    assert_eq!(faults(&text(true)), ["5: ou=a,dc=com: a critical control, which a load cannot heed"]);
}

#[test]
fn an_import_gives_up_after_many_faults() {
    let bad = "dn: cn=x,dc=org\nobjectClass: person\ncn: x\nsn: x\n\n".repeat(20_000);
    assert_eq!(faults(&bad).len(), FAULTS_MAX);
}

const EXPORTED: &str = "dn: dc=com\nobjectClass: domain\ndc: com\nstructuralObjectClass: domain\n\
    entryUUID: 89fe9a5c-0000-4000-8000-000000000001\ncreateTimestamp: 20200102030405Z\ncreatorsName: cn=x\n\
    contextCSN: 20200102030405.000000Z#000000#000#000000\nhasSubordinates: TRUE\nentryDN: dc=com\n\
    subschemaSubentry: cn=Subschema\n";

#[test]
fn operational_attributes_are_kept_or_stripped() {
    for (has, operational, kept) in [
        (true, Operational::Keep, true),
        (true, Operational::Strip, false),
        (false, Operational::Keep, false),
    ] {
        let shard = shard_with(has);
        let import = Import { operational, ..import(&shard) };
        load(import, Input::Stream(&mut EXPORTED.as_bytes()), &mut |_| {}).unwrap();
        for (name, kept) in [
            ("entryUUID", kept),
            ("createTimestamp", kept),
            ("creatorsName", kept),
            ("structuralObjectClass", false),
            ("hasSubordinates", false),
            ("entryDN", false),
            ("subschemaSubentry", false),
        ] {
            assert_eq!(values(&shard, "dc=com", name).unwrap().len(), usize::from(kept), "{name}");
        }
    }
}

/// What slapcat writes, and what db2ldif -r writes of a 389 Directory Server with replication.
const FOREIGN: &str = "dn: dc=com\nobjectClass: domain\ndc: com\nstructuralObjectClass: domain\n\
    entryUUID: 89fe9a5c-0000-4000-8000-000000000001\ncreatorsName: cn=x\ncreateTimestamp: 20200102030405Z\n\
    entryCSN: 20200102030405.123456Z#000000#001#000000\nmodifiersName: cn=x\nmodifyTimestamp: 20200102030405Z\n\
    contextCSN: 20200102030405.000000Z#000000#000#000000\n\n\
    # entry-id: 2\ndn: cn=a,dc=com\nnsUniqueId: 4f6d7b01-1dd211b2-8000e2c9-00000000\n\
    objectClass;vucsn-5f00aa00000000010000: person\ncn;vucsn-5f00aa00000000010000;mdcsn-5f00aa00000000010000: a\n\
    sn: a\ndescription;adcsn-5f00aa00000100010000;deletedattribute;deleted:\nparentid: 1\nentryid: 2\nentryusn: 7\n\
    entrydn: cn=a,dc=com\nnumSubordinates: 0\naci: (targetattr=*)(version 3.0; acl \"x\"; allow (read) userdn=\"ldap:///all\";)\n\
    creatorsName: cn=directory manager\ncreateTimestamp: 20190102030405Z\n\n\
    dn: cn=b,dc=com\nobjectClass: person\nsn: b\nnsUniqueId: 4f6d7b02-1dd211b2-8000e2c9-00000000\n\
    entryUUID: 89fe9a5c-0000-4000-8000-000000000002\nsn: c\n\n";

#[test]
fn what_other_servers_export_is_mapped() {
    let shard = shard_with(true);
    let mapped = Import { operational: Operational::Map, ..import(&shard) };
    load(mapped, Input::Stream(&mut FOREIGN.as_bytes()), &mut |_| {}).unwrap();
    assert_eq!(texts(&shard, "dc=com", "entryUUID"), ["89fe9a5c-0000-4000-8000-000000000001"]);
    assert_eq!(texts(&shard, "dc=com", "entryCSN"), ["20200102030405.123456Z#000000#001#000000"]);
    assert_eq!(texts(&shard, "cn=a,dc=com", "entryUUID"), ["4f6d7b01-1dd2-11b2-8000-e2c900000000"]);
    assert_eq!(texts(&shard, "cn=a,dc=com", "createTimestamp"), ["20190102030405Z"]);
    assert!(texts(&shard, "cn=a,dc=com", "description").is_empty());
    assert_eq!(texts(&shard, "cn=b,dc=com", "entryUUID"), ["89fe9a5c-0000-4000-8000-000000000002"]);
    assert_eq!(texts(&shard, "cn=b,dc=com", "sn"), ["b", "c"]);
    let shard = shard_with(true);
    let stripped = Import { operational: Operational::Strip, ..import(&shard) };
    load(stripped, Input::Stream(&mut FOREIGN.as_bytes()), &mut |_| {}).unwrap();
    assert!(texts(&shard, "cn=a,dc=com", "entryUUID").is_empty());
    let own = FOREIGN.replace(";vucsn-5f00aa00000000010000", "");
    let hint = "nsUniqueId: no such attribute type; it is another server's own, which is left out or translated when those are mapped";
    assert_eq!(faults(&own)[0], format!("15: cn=a,dc=com: {hint}"));
    let shard = shard_with(true);
    let text = FOREIGN.replace("-8000e2c9-00000000", "");
    let mapped = Import { operational: Operational::Map, ..import(&shard) };
    let refused = load(mapped, Input::Stream(&mut text.as_bytes()), &mut |_| {});
    assert!(refused.unwrap_err().faults[0].reason.contains("8-8-8-8"));
}

/// Place and reason of a record that was handed out, and its text.
type Rejected = (String, String);

/// Loads these with what cannot be stored handed out: input, line and reason of each, and its text.
fn rejecting(texts: &[&str]) -> (Arc<Shard>, Result<Summary, ImportError>, Vec<Rejected>) {
    let (shard, mut rejected) = (shard_with(true), Vec::new());
    let mut cursors: Vec<Cursor<&str>> = texts.iter().map(|text| Cursor::new(*text)).collect();
    let mut inputs: Vec<Input<'_>> = cursors.iter_mut().map(|cursor| Input::Seekable(cursor)).collect();
    let mut on_reject = |fault: &Fault, text: &[u8]| {
        rejected.push((format!("{}:{fault}", fault.input), String::from_utf8_lossy(text).into_owned()));
        Ok(())
    };
    let is_over = AtomicBool::new(false);
    let callbacks =
        Callbacks { on_progress: &mut |_| {}, on_reject: Some(&mut on_reject), is_over: &is_over };
    let done = super::import(import(&shard), &mut inputs, callbacks);
    (shard, done, rejected)
}

#[test]
fn what_cannot_be_stored_is_handed_out_and_the_rest_is_stored() {
    let bad = "dn: cn=bad,dc=com\nobjectClass: person\ncn: bad\n\n";
    let broken = "dn: cn=f\nno line\nmore\n\n";
    let text = TOP.to_owned()
        + &bad.repeat(50)
        + broken
        + &person("o", "ou=x,dc=com")
        + &person("a", "dc=com")
        + &person("a", "dc=com");
    let (shard, done, rejected) = rejecting(&[&text]);
    let done = done.unwrap();
    assert_eq!((done.entries, done.rejected, done.bytes, shard.entries()), (2, 53, text.len() as u64, 2));
    assert!(rejected[0].0.starts_with("0:5: cn=bad,dc=com: ") && rejected[0].1 == bad, "{:?}", rejected[0]);
    assert_eq!((&rejected[50].0[..], &rejected[50].1[..]), ("0:206: expected `attribute: value`", broken));
    assert!(rejected[51].0.ends_with("an entry with this DN exists"), "{:?}", rejected[51]);
    assert!(rejected[52].0.contains("neither in the directory nor in the input"), "{:?}", rejected[52]);
}

#[test]
fn entries_may_wait_for_superiors_in_other_inputs() {
    let first = person("a", "ou=c,ou=b,dc=com") + &unit("c", "ou=b,dc=com");
    let (second, third) = (unit("b", "dc=com") + &person("o", "ou=x,dc=com"), TOP.to_owned());
    let (shard, done, rejected) = rejecting(&[&first, &second, &third]);
    let done = done.unwrap();
    assert_eq!((done.entries, done.deferred_count, shard.entries()), (4, 4, 4));
    assert_eq!(rejected.len(), 1);
    assert!(rejected[0].0.starts_with("1:5: cn=o,ou=x,dc=com: "), "{rejected:?}");
}

/// A short input is ready long before the long one in front of it.
#[test]
fn one_stream_stores_inputs_in_their_order() {
    let mut many = String::from(TOP);
    (0..4000).for_each(|n| many += &person(&format!("p{n}"), "dc=com"));
    for _ in 0..20 {
        let (shard, done, rejected) = rejecting(&[&many, &unit("b", "dc=com"), &person("a", "ou=b,dc=com")]);
        let done = done.unwrap();
        assert_eq!((done.entries, done.deferred_count, shard.entries()), (4003, 0, 4003));
        assert_eq!(rejected, []);
    }
}

#[test]
fn rejects_that_cannot_be_written_end_the_import() {
    let shard = shard_with(true);
    let text = "dn: cn=x,dc=org\nobjectClass: person\ncn: x\nsn: x\n\n".repeat(3);
    let mut on_reject = |_: &Fault, _: &[u8]| Err(io::ErrorKind::StorageFull.into());
    let is_over = AtomicBool::new(false);
    let callbacks =
        Callbacks { on_progress: &mut |_| {}, on_reject: Some(&mut on_reject), is_over: &is_over };
    let done = super::import(import(&shard), &mut [Input::Stream(&mut text.as_bytes())], callbacks);
    assert!(done.unwrap_err().faults[0].reason.starts_with("what was rejected cannot be written: "));
}

#[test]
fn a_big_group_is_one_record() {
    let members: String = (0..50_000).map(|n| format!("member: cn=p{n},dc=com\n")).collect();
    let text = TOP.to_owned()
        + "dn: cn=g,dc=com\nobjectClass: groupOfNames\ncn: g\n"
        + &members
        + "\n"
        + &person("p", "dc=com");
    let (shard, done) = run(&text);
    assert_eq!(done.unwrap().entries, 3);
    assert_eq!(texts(&shard, "cn=g,dc=com", "member"), ["50000 values"]);
}

#[test]
fn a_huge_value_is_refused_with_its_line() {
    let huge = "x".repeat(16 << 20);
    let text = format!("{TOP}dn: cn=a,dc=com\nobjectClass: person\ncn: a\nsn: s\ndescription: {huge}\n");
    assert_eq!(faults(&text), ["9: cn=a,dc=com: the value has 16 MiB or more"]);
}

#[test]
fn a_source_that_fails_is_a_fault() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("no more tape"))
        }
    }
    let shard = shard_with(true);
    let error = load(import(&shard), Input::Stream(&mut Broken), &mut |_| {}).unwrap_err();
    assert_eq!(error.faults[0].to_string(), "cannot be read: no more tape");
}

#[test]
fn nothing_is_imported_from_nothing() {
    assert_eq!(run("version: 1\n").1, Ok(Summary { entries: 0, bytes: 11, deferred_count: 0, rejected: 0 }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// In whatever order entries come, however their lines are written, what is stored is what was given.
    #[test]
    fn the_directory_has_what_the_file_says(
        people in proptest::collection::btree_map("[a-z]{1,6}", ("[ -~]{0,150}[!-~]", 0..3usize, 2..90usize), 1..40),
        shuffled in any::<u64>(),
        threads in 1..4usize,
        is_stream in any::<bool>(),
    ) {
        let superiors = ["dc=com", "ou=u,dc=com", "ou=v,ou=u,dc=com"];
        let mut records = vec![TOP.to_owned(), unit("u", "dc=com"), unit("v", "ou=u,dc=com")];
        for (name, (description, level, columns)) in &people {
            let mut record = person(name, superiors[*level]).trim_end().to_owned().into_bytes();
            record.push(b'\n');
            proto::ldif::write_attribute_folded(&mut record, b"description", description.as_bytes(), *columns);
            records.push(String::from_utf8(record).unwrap() + "\n");
        }
        let mut state = shuffled | 1;
        for at in (1..records.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            records.swap(at, (state >> 33) as usize % (at + 1));
        }
        let text = records.concat();
        let shard = shard_with(true);
        let import = Import { threads, ..import(&shard) };
        let (mut cursor, mut bytes) = (Cursor::new(&text), text.as_bytes());
        let input = if is_stream { Input::Stream(&mut bytes) } else { Input::Seekable(&mut cursor) };
        let done = load(import, input, &mut |_| {}).unwrap();
        prop_assert_eq!(done.entries as usize, people.len() + 3);
        for (name, (description, level, _)) in &people {
            prop_assert_eq!(texts(&shard, &format!("cn={name},{}", superiors[*level]), "description"), [description.as_str()]);
        }
    }
}

/// A record of LDIF as a BER add, whole or bare.
fn ber(record: &str, is_bare: bool) -> Vec<u8> {
    let mut lines = record.lines().filter_map(|line| line.split_once(": "));
    let dn = lines.next().expect("the first line is the DN").1.as_bytes();
    let mut attributes: Vec<(&[u8], Vec<&[u8]>)> = Vec::new();
    for (name, value) in lines {
        match attributes.last_mut().filter(|last| last.0 == name.as_bytes()) {
            Some(last) => last.1.push(value.as_bytes()),
            None => attributes.push((name.as_bytes(), vec![value.as_bytes()])),
        }
    }
    let raw = proto::list::attribute_list(attributes);
    let attributes = proto::Attributes::parse(&raw).expect("it was just made");
    let (mut out, add) = (Vec::new(), proto::op::Add { dn, attributes });
    match is_bare {
        true => add.encode(&mut out),
        false => proto::Request::Add(add).encode(&mut out, 1, &[]),
    }
    out
}

/// Loads byte streams at the same time, with what cannot be stored handed out.
fn streaming(streams: &[&[u8]]) -> (Arc<Shard>, Result<Summary, ImportError>, Vec<Rejected>) {
    let (shard, mut rejected) = (shard_with(true), Vec::new());
    let mut streams: Vec<&[u8]> = streams.to_vec();
    let import = Import { streams: streams.len(), ..import(&shard) };
    let mut inputs: Vec<Input<'_>> = streams.iter_mut().map(|stream| Input::Stream(stream)).collect();
    let mut on_reject = |fault: &Fault, text: &[u8]| {
        let place = format!("{} at {}: {fault}", fault.input, fault.offset);
        rejected.push((place, String::from_utf8_lossy(text).into_owned()));
        Ok(())
    };
    let is_over = AtomicBool::new(false);
    let callbacks =
        Callbacks { on_progress: &mut |_| {}, on_reject: Some(&mut on_reject), is_over: &is_over };
    let done = super::import(import, &mut inputs, callbacks);
    let findings = shard.writer().check(5);
    assert!(findings.is_empty(), "{findings:?}");
    (shard, done, rejected)
}

#[test]
fn streams_of_both_forms_are_one_directory() {
    let of = |numbers: std::ops::Range<u32>| numbers.map(|n| person(&format!("p{n}"), "ou=u,dc=com"));
    let first: Vec<u8> = of(0..9000).enumerate().flat_map(|(at, record)| ber(&record, at % 3 == 0)).collect();
    let second = of(9000..12_000).collect::<String>();
    let third = [ber(&unit("u", "dc=com"), true), ber(TOP, false)].concat();
    let (shard, done, rejected) = streaming(&[&first, second.as_bytes(), b"", &third]);
    let done = done.expect("they are valid");
    assert_eq!((done.entries, shard.entries()), (12_002, 12_002));
    assert_eq!(done.bytes as usize, first.len() + second.len() + third.len());
    assert!(rejected.is_empty());
    assert_eq!(texts(&shard, "cn=p8999,ou=u,dc=com", "sn"), ["s"]);
}

#[test]
fn much_that_waits_is_tried_again_before_the_end() {
    let value = "x".repeat(1 << 20);
    let big = |n: u32| {
        ber(&person(&format!("p{n}"), "ou=u,dc=com").replace("sn: s", &format!("sn: {value}")), true)
    };
    let mut stream = Vec::new();
    (0..20).for_each(|n| stream.extend(big(n)));
    stream.extend(ber(TOP, true));
    stream.extend(ber(&unit("u", "dc=com"), true));
    (20..23).for_each(|n| stream.extend(big(n)));
    let (_, done, rejected) = streaming(&[&stream]);
    let done = done.expect("it fits");
    // At the end of the stream nothing waited any more.
    assert_eq!((done.entries, done.deferred_count, rejected.len()), (25, 0, 0));
}

#[test]
fn entries_of_nearly_the_same_template_are_distinguished() {
    let same =
        |cn: &str, rest: &str| format!("dn: cn={cn},dc=com\nobjectClass: person\ncn: {cn}\nsn: s\n{rest}\n");
    let odd = [
        ("another order", "dn: cn=o1,dc=com\nobjectClass: person\nsn: t\ncn: o1\n\n"),
        ("no name among the attributes", "dn: cn=o2,dc=com\nobjectClass: person\nsn: t\n\n"),
        ("another name", "dn: cn=o3,dc=com\nobjectClass: person\ncn: other\nsn: t\n\n"),
        ("two values", "dn: cn=o4,dc=com\nobjectClass: person\ncn: o4\nsn: t\nsn: u\n\n"),
        ("one more", "dn: cn=o5,dc=com\nobjectClass: person\ncn: o5\nsn: t\ndescription: d\n\n"),
        ("another class", "dn: cn=o6,dc=com\nobjectClass: top\nobjectClass: person\ncn: o6\nsn: t\n\n"),
        ("an escape", "dn: cn=o\\2b7,dc=com\nobjectClass: person\ncn: o+7\nsn: t\n\n"),
        (
            "a long name",
            "dn: cn=o8-89012345678901234567890,dc=com\nobjectClass: person\ncn: o8-89012345678901234567890\nsn: t\n\n",
        ),
        ("another superior", "dn: cn=o9,cn=p0,dc=com\nobjectClass: person\ncn: o9\nsn: t\n\n"),
        ("not ASCII", "dn: cn=o10,dc=com\nobjectClass: person\ncn: o10\nsn: \u{e4}\n\n"),
    ];
    let mut records: Vec<String> = (0..20).map(|n| same(&format!("p{n}"), "")).collect();
    records.extend(odd.iter().flat_map(|(what, record)| [record.to_string(), same(what, "")]));
    // Of the template, but not valid, or there already.
    records.push(same("bad1", "").replace("sn: s", "sn: \n"));
    records.push(same("P3", ""));
    records.push(same("p3", "telephoneNumber: \u{e4}\n"));
    let mut stream = ber(TOP, false);
    records.iter().for_each(|record| stream.extend(ber(record, false)));
    let (shard, done, rejected) = streaming(&[&stream]);
    let done = done.expect("what is wrong is handed out");
    assert_eq!((done.entries, done.rejected, rejected.len()), (1 + 20 + 2 * odd.len() as u64, 3, 3));
    assert_eq!(texts(&shard, "cn=o4,dc=com", "sn"), ["t", "u"]);
    assert_eq!(texts(&shard, "cn=o3,dc=com", "cn"), ["o3", "other"]);
    assert_eq!(texts(&shard, "cn=o\\+7,dc=com", "cn"), ["o+7"]);
    assert_eq!(texts(&shard, "cn=o9,cn=p0,dc=com", "sn"), ["t"]);
    assert!(rejected[0].0.contains("cn=bad1") || rejected[1].0.contains("cn=bad1"), "{rejected:?}");
    let again =
        rejected.iter().find(|(place, _)| place.contains("cn=P3,dc=com: an entry with this DN exists"));
    assert_eq!(again.expect("it is reported").1, "dn: cn=P3,dc=com\nobjectClass: person\ncn: P3\nsn: s\n");
}

#[test]
fn a_stream_without_an_end_or_a_beginning_is_reported_with_its_byte() {
    let good = [ber(TOP, false), ber(&person("a", "dc=com"), true)].concat();
    let cut = [&good[..], &ber(&person("b", "dc=com"), false)[..20]].concat();
    for (stream, reason) in [
        (cut, "the input ends inside this add"),
        (
            [&good[..], b"?"].concat(),
            "expected an LDAPMessage or an AddRequest; nothing can be read from here on",
        ),
    ] {
        let (_, done, _) = streaming(&[&stream]);
        let error = done.expect_err("how much is lost is not known");
        assert_eq!((error.faults.len(), error.faults[0].offset), (1, good.len() as u64));
        assert_eq!(error.faults[0].reason, reason);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// However entries are spread over streams of either form, the directory is the same.
    #[test]
    fn how_entries_come_does_not_matter(
        people in proptest::collection::btree_map("[a-z]{1,5}", ("[!-~]{1,30}", 0..3usize, any::<bool>()), 1..60),
        shuffled in any::<u64>(),
        streams in 1..5usize,
        forms in any::<u32>(),
    ) {
        let superiors = ["dc=com", "ou=u,dc=com", "ou=v,ou=u,dc=com"];
        let mut records = vec![TOP.to_owned(), unit("u", "dc=com"), unit("v", "ou=u,dc=com")];
        for (name, (value, level, is_described)) in &people {
            let more = if *is_described { "description: d\n" } else { "" };
            let record = person(name, superiors[*level]).replace("sn: s", &format!("sn: {value}"));
            records.push(record.trim_end().to_owned() + "\n" + more + "\n");
        }
        let mut texts_of: Vec<Vec<u8>> = vec![Vec::new(); streams];
        let mut state = shuffled | 1;
        for at in (0..records.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            records.swap(at, (state >> 33) as usize % (at + 1));
            let stream = (state >> 40) as usize % streams;
            let record = &records[at];
            match forms >> stream & 1 {
                0 if !record.contains(": :") && !record.contains(": <") && !record.contains("sn: #") => {
                    texts_of[stream].extend(ber(record, forms >> 8 & 1 == 0));
                }
                0 => texts_of[stream].extend(ber(record, true)),
                _ if record.contains("sn: :") || record.contains("sn: <") => {
                    let value = record.lines().find_map(|line| line.strip_prefix("sn: ")).expect("it has one");
                    let mut line = Vec::new();
                    proto::ldif::write_attribute(&mut line, b"sn", value.as_bytes());
                    let line = String::from_utf8(line).expect("it is ASCII");
                    texts_of[stream].extend(record.replace(&format!("sn: {value}\n"), &line).into_bytes());
                }
                _ => texts_of[stream].extend(record.as_bytes()),
            }
        }
        let streams: Vec<&[u8]> = texts_of.iter().map(Vec::as_slice).collect();
        let (shard, done, rejected) = streaming(&streams);
        prop_assert!(rejected.is_empty(), "{:?}", rejected);
        prop_assert_eq!(done.expect("they are valid").entries as usize, people.len() + 3);
        for (name, (value, level, is_described)) in &people {
            let dn = format!("cn={name},{}", superiors[*level]);
            prop_assert_eq!(texts(&shard, &dn, "sn"), [value.as_str()]);
            prop_assert_eq!(texts(&shard, &dn, "description").len(), usize::from(*is_described));
        }
    }
}
