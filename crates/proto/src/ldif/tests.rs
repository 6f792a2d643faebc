use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// Records as text that a test can compare.
fn show(record: &Record<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let value = |value: Value<'_>| match value {
        Value::Bytes(bytes) => text(bytes),
        Value::Url(url) => format!("<{}>", text(url)),
    };
    let lines = |lines: Lines<'_>| {
        lines.iter().map(|l| format!("{}={} ", text(l.description), value(l.value))).collect::<String>()
    };
    let controls: String = record
        .controls
        .iter()
        .map(|c| format!("[{} {} {:?}] ", text(c.oid), c.critical, c.value.map(value)))
        .collect();
    let body = match record.body {
        Body::Content(l) => format!("is {}", lines(l)),
        Body::Add(l) => format!("add {}", lines(l)),
        Body::Delete => "delete".into(),
        Body::Modify(modifications) => {
            let each =
                |m: Modification<'_>| format!("{:?} {}: {}; ", m.kind, text(m.description), lines(m.values));
            modifications.iter().map(each).collect()
        }
        Body::ModifyDn { new_rdn, delete_old_rdn, new_superior } => {
            format!("move {} {delete_old_rdn} {:?}", text(new_rdn), new_superior.map(text))
        }
    };
    format!("{}: {} {controls}{}", record.line, text(record.dn), body.trim_end())
}

/// All records, or the first error.
fn read(input: &str) -> Result<Vec<String>, LdifError> {
    let (records, errors) = read_pieces(input.as_bytes(), usize::MAX);
    errors.first().map_or(Ok(records), |error| Err(*error))
}

/// All records and all errors; a new parser goes on behind each `count` of them, once there was a record: before it, a
/// version line may still come.
fn read_pieces(input: &[u8], count: usize) -> (Vec<String>, Vec<LdifError>) {
    let (mut parser, mut at) = (Parser::new(), 0);
    let (mut records, mut errors) = (Vec::new(), Vec::new());
    while let Some((record, consumed)) = parser.next_record(&input[at..]) {
        match record {
            Ok(record) => records.push(show(&record)),
            Err(error) => errors.push(error),
        }
        at += consumed;
        if !records.is_empty() && (records.len() + errors.len()).is_multiple_of(count) {
            parser = Parser::in_the_middle(parser.line());
        }
    }
    (records, errors)
}

/// The first record of a file.
fn first<'a>(parser: &'a mut Parser, input: &'a [u8]) -> Record<'a> {
    parser.next_record(input).expect("there is one").0.expect("it is LDIF")
}

const CONTENT: &str = "version: 1
# a comment
#  that is
 folded
dn: cn=Barbara Jensen, ou=Product Development, dc=airius, dc=com
objectclass: top
cn;lang-de:Barbara
sn:: SmVuc2Vu
description:Babs is a big sailing fan, and travels exten
 sively in sea
 rch of perfect sailing conditions.
jpeg:: S
 m
# between
jpegphoto:< file:///usr/local/directory/photos/fiona.jpg
empty:


dn:: Y249YQ==
cn:   a 
";

#[test]
fn content_records() {
    let expected = [
        "5: cn=Barbara Jensen, ou=Product Development, dc=airius, dc=com is objectclass=top cn;lang-de=Barbara \
         sn=Jensen description=Babs is a big sailing fan, and travels extensively in search of perfect sailing \
         conditions. jpeg=J jpegphoto=<file:///usr/local/directory/photos/fiona.jpg> empty=",
        "19: cn=a is cn=a",
    ];
    assert_eq!(read(CONTENT).unwrap(), expected);
    assert_eq!(read(&CONTENT.replace('\n', "\r\n")).unwrap(), expected);
    assert_eq!(read(CONTENT.trim_end_matches('\n')).unwrap(), expected);
    for count in [1, 2, 3] {
        assert_eq!(read_pieces(CONTENT.as_bytes(), count), (expected.map(String::from).to_vec(), vec![]));
        let dos = CONTENT.replace('\n', "\r\n");
        assert_eq!(read_pieces(dos.as_bytes(), count), (expected.map(String::from).to_vec(), vec![]));
    }
}

#[test]
fn change_records() {
    let input = "dn: cn=a
control: 1.2.840.113556.1.4.805 true
control: 1.3 false: x
control: 1.4:: QQ==
changetype: delete

dn: cn=a
changetype: add
cn: a

dn: cn=a
changetype: MODIFY
add: mail
mail: a
Mail: b
-
replace: l
-
delete: sn
-
increment: n
n: 1

dn: cn=a
changetype: modrdn
newrdn: cn=b
deleteoldrdn: 0

dn: cn=a
changetype: moddn
newrdn: cn=b
deleteoldrdn: 1
newsuperior: ou=x
";
    let expected = [
        "1: cn=a [1.2.840.113556.1.4.805 true None] [1.3 false Some(\"x\")] [1.4 false Some(\"A\")] delete",
        "7: cn=a add cn=a",
        "11: cn=a Add mail: mail=a Mail=b ; Replace l: ; Delete sn: ; Increment n: n=1 ;",
        "24: cn=a move cn=b false None",
        "29: cn=a move cn=b true Some(\"ou=x\")",
    ];
    assert_eq!(read(input).unwrap(), expected);
    assert_eq!(read("\n\ndn:\nobjectClass: top").unwrap(), ["3:  is objectClass=top"]);
    assert_eq!(read("# nothing\n\n").unwrap(), [""; 0]);
    assert_eq!(read("version: 1\n\ndn: a=b\n").unwrap(), ["3: a=b is"]);
}

#[test]
fn errors_name_the_line() {
    for (input, line) in [
        ("cn: a\n", 1),
        ("\n\n a\n", 3),
        ("version: 2\n", 1),
        ("dn: a=b\nversion: 1\n\nx", 4),
        ("dn: a=b\ncn\n", 2),
        ("dn: a=b\n: x\n", 2),
        ("dn: a=b\nc n: x\n", 2),
        ("dn: a=b\ncn:: *\n", 2),
        ("dn:< file:///x\n", 1),
        ("dn: a=b\nchangetype: x\n", 2),
        ("dn: a=b\nchangetype: delete\ncn: a\n", 3),
        ("dn: a=b\nchangetype: add\n", 1),
        ("dn: a=b\ncn: a\n-\n", 3),
        ("dn: a=b\nchangetype: modify\ncn: a\n", 3),
        ("dn: a=b\nchangetype: modify\nadd: cn\n-\n", 3),
        ("dn: a=b\nchangetype: modify\nadd: cn\nsn: a\n", 4),
        ("dn: a=b\nchangetype: modify\n\n-\n", 4),
        ("dn: a=b\nchangetype: modrdn\nnewrdn: a=c\n", 3),
        ("dn: a=b\nchangetype: modrdn\nnewrdn: a=c\ndeleteoldrdn: 2\n", 4),
        ("dn: a=b\nchangetype: modrdn\nnewrdn: a=c\ndeleteoldrdn: 1\nx: y\n", 5),
        ("dn: a=b\ncontrol: x\nchangetype: delete\n", 2),
        ("dn: a=b\ncontrol: 1.2 maybe\nchangetype: delete\n", 2),
    ] {
        assert_eq!(read(input).map_err(|e| e.line), Err(line), "{input:?}");
        for count in [1, 2] {
            let (_, errors) = read_pieces(input.as_bytes(), count);
            assert_eq!(errors.first().map(|e| e.line), Some(line), "{input:?} in pieces of {count}");
        }
    }
}

#[test]
fn reading_goes_on_after_an_error() {
    let input = "dn: a=b\nbad\ncn: x\n\ndn: c=d\ncn: y\n\n\ncn: z\n\ndn: e=f\ncn: z\n";
    for count in [1, 2, 100] {
        let (records, errors) = read_pieces(input.replace('\n', "\r\n").as_bytes(), count);
        assert_eq!(records.len() + errors.len(), 4);
        let (records, errors) = read_pieces(input.as_bytes(), count);
        assert_eq!(records, ["5: c=d is cn=y", "11: e=f is cn=z"]);
        assert_eq!(errors.iter().map(|e| e.line).collect::<Vec<_>>(), [2, 9]);
    }
}

#[test]
fn boundaries_cut_a_file() {
    use super::parser::record_boundary;
    let at = record_boundary(CONTENT.as_bytes(), 5).unwrap();
    assert!(CONTENT[at..].starts_with("\ndn:: Y249YQ=="));
    assert_eq!(record_boundary(b"dn: a\n", 0), None);
    let mut parser = Parser::in_the_middle(18);
    let record = first(&mut parser, &CONTENT.as_bytes()[at..]);
    assert_eq!((record.line, record.dn), (19, &b"cn=a"[..]));
}

#[test]
fn written_lines() {
    let write = |value: &[u8], columns| {
        let mut out = Vec::new();
        write_attribute_folded(&mut out, b"cn", value, columns);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(write(b"a", 76), "cn: a\n");
    assert_eq!(write(b"", 76), "cn:\n");
    for unsafe_start in [&b" a"[..], b":a", b"<a", b"a ", b"a\n", b"\xff"] {
        assert!(write(unsafe_start, 76).starts_with("cn:: "));
    }
    assert_eq!(write(b"abcdefgh", 6), "cn: ab\n cdefg\n h\n");
    assert_eq!(write(&[b'x'; 200], 0).len(), 205);
    assert!(write(&[b'x'; 200], 76).lines().all(|line| line.len() <= 76));
}

#[test]
fn written_controls_come_back() {
    let mut out = Vec::new();
    write_dn(&mut out, b"cn=a");
    let long = vec![0xff; 200];
    let controls: [(bool, Option<&[u8]>); 5] =
        [(true, None), (false, None), (true, Some(b"")), (false, Some(b"text")), (true, Some(&long))];
    for (critical, value) in controls {
        write_control(&mut out, b"1.2.3", critical, value);
    }
    out.extend_from_slice(b"changetype: delete\n");
    assert!(out.starts_with(b"dn: cn=a\ncontrol: 1.2.3 true\ncontrol: 1.2.3 false\ncontrol: 1.2.3 true:\n"));
    assert!(out.split(|byte| *byte == b'\n').all(|line| line.len() <= FOLD_COLUMNS));
    let mut parser = Parser::new();
    let record = first(&mut parser, &out);
    let read = record.controls.iter().map(|control| (control.oid, control.critical, control.value));
    let written = controls.map(|(critical, value)| (&b"1.2.3"[..], critical, value.map(Value::Bytes)));
    assert_eq!(read.collect::<Vec<_>>(), written);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_comes_back(
        values in vec((prop_oneof![vec(any::<u8>(), 0..90), "[ -~]{0,90}".prop_map(String::into_bytes)],
            prop_oneof![Just(0usize), 2..80usize]), 1..6),
    ) {
        let mut out = Vec::new();
        write_dn(&mut out, &values[0].0);
        for (value, columns) in &values {
            write_attribute_folded(&mut out, b"cn;x-a", value, *columns);
        }
        let mut parser = Parser::new();
        let (record, consumed) = parser.next_record(&out).unwrap();
        let record = record.unwrap();
        prop_assert_eq!(consumed, out.len());
        prop_assert_eq!(record.dn, &values[0].0[..]);
        let Body::Content(lines) = record.body else { panic!("content") };
        for (line, (value, _)) in lines.iter().zip(&values) {
            prop_assert_eq!(line.value, Value::Bytes(value));
        }
        prop_assert_eq!(read_pieces(&out, 1).0, vec![show(&record)]);
    }

    /// Wherever a file is cut behind a record, the same records and the same errors come out.
    #[test]
    fn pieces_do_not_matter(input in "(version: 1\n|dn: a\n|cn: b\r\n| c\n|\n|\r\n|#x\n|cn:: QQ==\n|-\n|changetype: modify\n|add: cn\n|z|\r){0,12}",
        count in 1..4usize)
    {
        prop_assert_eq!(read_pieces(input.as_bytes(), count), read_pieces(input.as_bytes(), usize::MAX));
    }

    #[test]
    fn no_bytes_panic(input in vec(any::<u8>(), 0..200), count in 1..5usize) {
        read_pieces(&input, count);
    }
}
