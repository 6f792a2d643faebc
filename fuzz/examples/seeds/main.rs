//! Writes the seed corpus: `cargo run --example seeds`. Files that fuzzing found are left alone.

mod controls;

use logs::Origin;
use logs::form::Form;
use logs::journal::{Access, Journal};
use logs::record::{Annotation, Extra, Record, Stamp};
use model::filter::Assertion;
use model::{DerefAliases, ResultCode, Scope};
use proto::control::paged_results::{self, PagedResults};
use proto::control::{
    self, Control, manage_dsa_it, non_transaction, proxied_authorization, queue_length, read_entry,
    transaction_specification,
};
use proto::ext::end_transaction::{self, EndTransaction, encode_culprit};
use proto::ext::{aborted_transaction, start_transaction};
use proto::list::{Attributes, Octets, attribute_list, octet_list};
use proto::op::modify::change_list;
use proto::op::search::{SearchEntry, encode_reference};
use proto::op::{
    Add, Authentication, Bind, BindResponse, Changes, Compare, Extended, ExtendedResponse, Intermediate,
    Modify, ModifyDn, ModifyKind, Search,
};
use proto::{LdapResult, Request, ext, filter_string, ldif, result, tag};
use std::fs;
use std::path::Path;

fn save(target: &str, name: &str, bytes: &[u8]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    fs::create_dir_all(&folder).expect("the folder can be made");
    fs::write(folder.join(format!("seed-{name}")), bytes).expect("the file can be written");
}

fn request(name: &str, request: Request<'_>, controls: &[Control<'_>]) {
    let mut out = Vec::new();
    request.encode(&mut out, 5, controls);
    save("message", name, &out);
    save("access_log", name, &out);
}

fn response(name: &str, write: impl FnOnce(&mut Vec<u8>)) {
    let mut out = Vec::new();
    write(&mut out);
    save("message", name, &out);
    save("access_log", name, &out);
}

const DN: &[u8] = b"uid=user.1,ou=People,dc=example,dc=com";

/// A file of the binary access log: a bind, a search, and an end.
fn access_log_file() {
    let origin = Origin { started_ms: 1, process: 2, host: "host".to_owned(), version: "1.0".to_owned() };
    let (mut journal, mut out) = (Journal::new(Access::All, Form::Binary, origin), Vec::new());
    journal.header(&mut out);
    let mut put =
        |record| journal.take(Stamp { connection: 1, wall_ms: 3, monotonic_ns: 4 }, record, &mut out);
    let mut search = Vec::new();
    let filter = filter_string::parse(b"(cn=a)").expect("it is a filter");
    let asked = octet_list([&b"cn"[..]]);
    let asked = Octets::parse(&asked).expect("it is a list");
    let request = Search::unlimited(DN, Scope::Subtree, filter.filter(), asked);
    Request::Search(request).encode(&mut search, 2, &[]);
    let request = |number, id, op, detail| Record::Request {
        number,
        id,
        op,
        target: DN,
        detail,
        controls: b"",
        acting: b"",
        extra: Extra::default(),
    };
    let answer = |id, code, text, entries, bytes| {
        let annotation = Annotation::default();
        Record::Answer { id, code, text, entries, bytes, annotation }
    };
    put(Record::Open { peer: b"10.0.0.1:5", listener: b"ldap://0.0.0.0:389", via: b"" });
    put(Record::Secured { strength: 128, version: b"", suite: b"" });
    put(request(1, 1, tag::BIND, b"simple"));
    put(Record::Bound { id: 1, dn: DN });
    put(answer(1, 0, b"", 0, 14));
    put(request(2, 2, tag::SEARCH, &search));
    put(answer(2, 4, b"too many", 7, 900));
    put(Record::Counted { op: tag::COMPARE, count: 9 });
    put(Record::Close { operations: 11 });
    put(Record::Lost { count: 3 });
    save("access_log_file", "session", &out);
    save("access_log_file", "record", &out[8..40]);
    seldom();
}

/// The same, of records that have what is seldom there.
fn seldom() {
    let (mut journal, mut out) = (Journal::new(Access::All, Form::Binary, Origin::default()), Vec::new());
    let mut put =
        |record| journal.take(Stamp { connection: 1, wall_ms: 3, monotonic_ns: 4 }, record, &mut out);
    put(Record::Open { peer: b"192.0.2.7:5", listener: b"ldap", via: b"10.0.0.1:5" });
    put(Record::Secured { strength: 256, version: b"TLSv1.3", suite: b"TLS_AES_256_GCM_SHA384" });
    let session = b"\x30\x0e\x04\x039::\x04\x00\x04\x00\x04\x03ada";
    put(Record::Request {
        number: 1,
        id: 1,
        op: tag::DELETE,
        target: DN,
        detail: b"",
        controls: b"1.3.6.1.1.21.2",
        acting: b"",
        extra: Extra { wait_us: 7, transaction: b"1", session },
    });
    let annotation = Annotation { looked: Some(9), is_unindexed: true, rule: b"near" };
    put(Record::Answer { id: 1, code: 50, text: b"no", entries: 0, bytes: 14, annotation });
    put(Record::Close { operations: 1 });
    save("access_log_file", "seldom", &out);
}

fn main() {
    access_log_file();
    dns();
    filters();
    files();
    definitions();
    rules();
    scram();
    oauth_bearer();
    effective_rights();
    binds();
    tls_records();
    requests();
    responses();
    sessions();
    transactions();
    controls::write();
}

fn scram() {
    let messages = [
        "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
        "y,a=dn:cn=3Dx,n=a=2Cb=3Dc,r=x,e=1",
        "p=tls-server-end-point,,n=user,r=x",
        "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
    ];
    for (number, message) in messages.iter().enumerate() {
        save("scram", &number.to_string(), message.as_bytes());
    }
}

fn oauth_bearer() {
    let messages = [
        "n,a=user@example.com,\x01host=server.example.com\x01port=143\x01auth=Bearer vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==\x01\x01",
        "y,a=dn:cn=3Dx=2Cdc=3Dy,\x01auth=bearer eyJhbGciOiJFUzI1NiJ9.e30.AAAA\x01\x01",
        "n,,\x01\x01",
        "\x01",
    ];
    for (number, message) in messages.iter().enumerate() {
        save("oauth_bearer", &number.to_string(), message.as_bytes());
    }
}

/// How a client is connected, and its steps, two bytes each (src/binds/steps.rs).
/// Steps of `tls_records`: what is done, and two octets that say how much of it.
fn tls_records() {
    const SETTLE: [u8; 3] = [7, 0, 0];
    let all: [(&str, &[[u8; 3]]); 5] = [
        ("plain", &[SETTLE, [0, 200, 3], [1, 100, 8], SETTLE]),
        // One octet each time.
        ("octets", &[[2, 1, 0], [3, 9, 0], [4, 1, 0], [0, 90, 0], [1, 90, 0], SETTLE]),
        // Something is changed in a record, and in the handshake.
        ("changed", &[SETTLE, [0, 100, 0], [6, 40, 1], SETTLE, [0, 5, 0]]),
        ("handshake", &[[6, 120, 255]]),
        (
            "keys",
            &[
                SETTLE,
                [5, 0, 0],
                [0, 255, 8],
                [5, 0, 0],
                [2, 200, 6],
                [4, 100, 2],
                [1, 255, 8],
                [1, 255, 8],
                [3, 255, 4],
            ],
        ),
    ];
    for (version, (name, steps)) in (0..2).cycle().zip(all) {
        save("tls_records", name, &[&[version], steps.as_flattened()].concat());
    }
}

fn binds() {
    let all: [(&str, &[u8]); 6] = [
        // By a Unix socket: each mechanism once, and who that makes the session.
        ("each", &[2, 0x30, 0x10, 0x32, 0, 0x34, 0, 5, 0, 7, 4, 0x39, 0x12, 0x30, 0x13, 0x3f, 0]),
        // Under TLS with a certificate: the same by the channel, with other identities between.
        (
            "secured",
            &[0x2d, 5, 7, 7, 5, 0x34, 0x11, 0x33, 0x21, 0x34, 3, 0x39, 0x24, 0x30, 0x12, 0x3f, 1, 0x30, 0x18],
        ),
        // In the clear, from elsewhere: what may not pass, then StartTLS in the middle of an exchange and behind it.
        ("clear", &[0x1d, 0x32, 0, 0x30, 0x10, 5, 0, 12, 0, 7, 4, 12, 0, 0x32, 0, 12, 1, 0x30, 0x10, 12, 1]),
        // Exchanges that are dropped, late, too long, or have too many steps.
        (
            "aborted",
            &[
                4, 10, 0, 0x3a, 2, 5, 0, 0x32, 9, 7, 4, 5, 0, 13, 31, 7, 4, 10, 0, 13, 40, 0x32, 0, 11, 0,
                0x39, 7, 0x39, 0, 0x31, 2,
            ],
        ),
        // In one piece, with an end in the middle.
        (
            "piece",
            &[
                1, 0x74, 0, 0x70, 0x10, 0x72, 8, 0x79, 0x12, 0x7a, 4, 0x7f, 0, 0x71, 3, 0x7e, 20, 0x70, 0x12,
                14, 0,
            ],
        ),
        // A token that expires, another bind before it does, and one behind it.
        (
            "expired",
            &[4, 0x39, 0x0a, 0x30, 0x10, 13, 50, 0x3f, 0, 0x39, 0x0a, 13, 9, 0x3f, 0, 13, 63, 0x3f, 0],
        ),
    ];
    for (name, bytes) in all {
        save("binds", name, bytes);
    }
}

fn effective_rights() {
    let values = [
        &b"dn:cn=a,dc=x"[..],
        b"\x04\x07dn:cn=a",
        b"\x30\x09\x04\x07dn:cn=a",
        b"\x30\x13\x04\x05u:ada\x30\x0a\x04\x02cn\x04\x04mail",
    ];
    for (number, value) in values.iter().enumerate() {
        save("effective_rights", &number.to_string(), value);
    }
}

fn dns() {
    let dns = [
        "",
        "dc=com",
        "UID=jsmith,DC=example,DC=net",
        "OU=Sales+CN=J.  Smith,DC=example,DC=net",
        "CN=James \\\"Jim\\\" Smith\\, III,DC=example",
        "CN=Before\\0dAfter,DC=example",
        "1.3.6.1.4.1.1466.0=#04024869",
        "CN=Lu\\C4\\8Di\\C4\\87",
        "cn=\"a, b\";dc=c",
        "OID.2.5.4.3 = a , dc=b",
        "cn=\\ a\\ ,dc=x",
        "cn=a\\#b,o=\\#c",
        "cn=,dc=x",
    ];
    dns.iter().enumerate().for_each(|(n, dn)| save("dn", &n.to_string(), dn.as_bytes()));
}

fn filters() {
    let filters = [
        "(objectClass=*)",
        "(cn=Babs Jensen)",
        "(!(cn=Tim Howes))",
        "(&(objectClass=Person)(|(sn=Jensen)(cn=Babs J*)))",
        "(o=univ*of*mich*)",
        "(seeAlso=)",
        "(cn:caseExactMatch:=Fred)",
        "(sn:dn:2.4.6.8.10:=Barney)",
        "(o:dn:=Ace)",
        "(:1.2.3:=Wilma)",
        "(o=Parens \\28for all\\29)",
        "(cn=*\\2a*)",
        "(bin=\\00\\00\\00\\04)",
        "(&)",
        "(|)",
        "(n>=5)",
        "(n<=5)",
        "(n~=5)",
        "cn=a",
        " ( & (a=b) (c=d) ) ",
    ];
    for (n, text) in filters.iter().enumerate() {
        save("filter_string", &n.to_string(), text.as_bytes());
        let filter = filter_string::parse(text.as_bytes()).expect("a seed parses");
        save("filter_ber", &n.to_string(), filter.ber());
    }
}

fn files() {
    let mut content = b"\x10version: 1\n# a comment\n".to_vec();
    ldif::write_dn(&mut content, DN);
    for value in [&b"inetOrgPerson"[..], b" leading", b"", &[0xff; 70], &[b'x'; 100]] {
        ldif::write_attribute(&mut content, b"cn;x-a", value);
    }
    content.extend_from_slice(b"jpegPhoto:< file:///photo.jpg\n# folded\n  comment\n\n\ndn:: Y249YQ\ncn: a");
    save("ldif", "content", &content);
    let dos: Vec<u8> = String::from_utf8(content).expect("ASCII").replace('\n', "\r\n").into_bytes();
    save("ldif", "content-crlf", &dos);
    let changes = "\x03dn: cn=a\ncontrol: 1.2.840.113556.1.4.805 true\ncontrol: 1.3 false: x\ncontrol: 1.4:: QQ==\n\
        changetype: delete\n\ndn: cn=a\nchangetype: add\ncn: a\n\ndn: cn=a\nchangetype: modify\nadd: mail\nmail: a\n\
        mail: b\n-\nreplace: l\n-\ndelete: sn\n-\nincrement: n\nn: 1\n\ndn: cn=a\nchangetype: modrdn\nnewrdn: cn=b\n\
        deleteoldrdn: 0\n\ndn: cn=a\nchangetype: moddn\nnewrdn: cn=b\ndeleteoldrdn: 1\nnewsuperior: ou=x\n";
    save("ldif", "changes", changes.as_bytes());
    save("ldif", "errors", b"\x07dn: a=b\nbad\ncn: x\n\n continued\n\nversion: 2\n\ndn: c=d\ncn: y\n-\n");
}

fn definitions() {
    let definitions = [
        "( 2.5.4.3 NAME ( 'cn' 'commonName' ) DESC 'it\\27s \\5c' SUP name )",
        "( 1.2.3 NAME 'n' OBSOLETE EQUALITY integerMatch ORDERING integerOrderingMatch SYNTAX \
         1.3.6.1.4.1.1466.115.121.1.27{64} SINGLE-VALUE NO-USER-MODIFICATION USAGE directoryOperation X-ORIGIN ( 'a' 'b' ) )",
        "( 2.5.6.6 NAME 'person' SUP top STRUCTURAL MUST ( sn $ cn ) MAY ( userPassword $ description ) )",
        "( 1.2.4 NAME 'a' SUP ( top $ person ) AUXILIARY X-FILE 'x' )",
        "( 1.3.6.1.4.1.1466.115.121.1.15 DESC 'Directory String' )",
    ];
    definitions
        .iter()
        .enumerate()
        .for_each(|(n, text)| save("schema_definition", &n.to_string(), text.as_bytes()));
}

fn rules() {
    let rules = [
        "a: all; users; allow=see",
        "helpdesk: subtree=\"ou=People,dc=x\" filter=\"(|(a=b)(!(c=*)))\" attrs=userPassword,!@person,\"cn;lang-de\"; \
         group=\"cn=helpdesk,dc=x\" nested=false tls=128 | dn=\"!uid=boss,dc=x\"; allow=write,manage deny=auth rank=5",
        "b: one=\"*,ou=Tenants,dc=x\" attrs=member values=self op=add,modify; group=\"cn=a,$1,ou=Tenants,dc=x\"; allow=add",
        "c: base=\"\" attrs=cn values=\"(cn=a \"\"b\"\")\"; self=false parent=!2 | peer=!10.0.0.0/8,::1/128,ldapi; deny=all",
        "d: control=1.2.840.113556.1.4.319,*; auth=none,EXTERNAL ssf=71 listener=x; allow=use",
        "e: extended=*; real-group=\"dc=x\" real-nested=false real-dn-one=\"dc=y\" same=ou dn-attr=owner; allow=use",
        "f: children=dc=x attrs=+,**,entry; user-filter=\"(ou=a)\" group-attr=owner anonymous=true; allow=proxy",
        "g: all; users; allow=raed",
    ];
    rules.iter().enumerate().for_each(|(n, text)| save("access_rule", &n.to_string(), text.as_bytes()));
    let limit = "apps: dn-subtree=\"ou=Services,dc=x\" peer=10.0.0.0/8,ldapi tls=128 | group=\"!cn=a,dc=x\" nested=false; \
                 size=0 time=30 look-through=5000 page=500 searches=2 unindexed=refuse";
    save("access_rule", "limit", limit.as_bytes());
    // Rules of other servers.
    let openldap = "database mdb\nsuffix \"dc=x\"\naccess to dn.regex=\"^(uid=[^,]+),ou=p,dc=x$\" attrs=entry,@person filter=(cn=a)\n  \
                    by dn.exact,expand=\"$1,ou=q,dc=x\" selfwrite continue by group/posixGroup/memberUid=\"cn=g,dc=x\" =rscd break \
                    by * none\n";
    save("access_rule", "openldap", openldap.as_bytes());
    let aci = "dn: dc=x\naci: (target!=\"ldap:///uid=*,($dn),dc=x\")(targetattr=\"cn || *\")(targattrfilters=\"add=ou:(ou=a), \
               del=ou:(ou=b)\")(version 3.0; acl \"n\"; allow (read,write) not (userdn=\"ldap:///self\" and ip=\"10.*\") or \
               groupdn=\"ldap:///cn=g,dc=x\"; deny (all) userattr=\"a#USERDN\";)\n";
    save("access_rule", "aci", aci.as_bytes());
}

fn requests() {
    let filter = filter_string::parse(b"(&(objectClass=person)(|(uid=user.1)(!(cn~=a*))(mail=*)))");
    let filter =
        filter.or_else(|_| filter_string::parse(b"(&(objectClass=person)(|(uid=user.1)(!(cn~=a))(mail=*)))"));
    let filter = filter.expect("a seed parses");
    let selection = octet_list([&b"cn"[..], b"*", b"+"]);
    let search = Search {
        base: DN,
        scope: Scope::Subtree,
        deref_aliases: DerefAliases::Always,
        size_limit: 1000,
        time_limit_s: 70000,
        types_only: true,
        filter: filter.filter(),
        selection: Octets::parse(&selection).expect("a list"),
    };
    let mut page = Vec::new();
    PagedResults { size: 1000, cookie: b"xy" }.encode(&mut page);
    let paged = Control { oid: paged_results::OID, critical: false, value: Some(&page) };
    request("search", Request::Search(search), &[manage_dsa_it::control(true), paged]);
    let bind = |authentication| Request::Bind(Bind { version: 3, name: DN, authentication });
    request("bind-simple", bind(Authentication::Simple(b"secret")), &[]);
    request(
        "bind-sasl",
        bind(Authentication::Sasl { mechanism: b"PLAIN", credentials: Some(b"\0a\0b") }),
        &[],
    );
    request("unbind", Request::Unbind, &[]);
    let attributes = attribute_list([(&b"cn"[..], vec![&b"a"[..], b"b"]), (b"sn", vec![&b"c"[..]])]);
    let attributes = Attributes::parse(&attributes).expect("a list");
    request("add", Request::Add(Add { dn: DN, attributes }), &[]);
    let changes = change_list([
        (ModifyKind::Add, &b"mail"[..], vec![&b"a"[..], b"b"]),
        (ModifyKind::Delete, b"sn", vec![]),
        (ModifyKind::Replace, b"description", vec![&[b'x'; 200][..]]),
    ]);
    let changes = Changes::parse(&changes).expect("changes");
    request("modify", Request::Modify(Modify { dn: DN, changes }), &[]);
    request("delete", Request::Delete(DN), &[manage_dsa_it::control(false)]);
    let modify_dn =
        ModifyDn { dn: DN, new_rdn: b"uid=b", delete_old_rdn: true, new_superior: Some(b"dc=com") };
    request("modify-dn", Request::ModifyDn(modify_dn), &[]);
    let assertion = Assertion { attribute: b"cn", value: b"a" };
    request("compare", Request::Compare(Compare { dn: DN, assertion }), &[]);
    request("abandon", Request::Abandon(4), &[]);
    request("who-am-i", Request::Extended(Extended { oid: ext::who_am_i::OID, value: None }), &[]);
}

fn responses() {
    let uris = octet_list([&b"ldap://example.com/"[..]]);
    let referral = Octets::parse(&uris).expect("a list");
    let refers = LdapResult { referral, matched_dn: b"dc=com", ..LdapResult::new(ResultCode::Referral) };
    let bind = BindResponse { result: refers, server_sasl_credentials: Some(b"x") };
    response("bind-response", |out| bind.encode(out, 5, &[]));
    response("done", |out| result::encode_done(out, 5, tag::SEARCH_DONE, ResultCode::Success));
    response("reference", |out| encode_reference(out, 5, referral.iter(), &[]));
    response("notice", |out| ext::notice_of_disconnection::encode(out, ResultCode::Unavailable, "bye"));
    let extended = ExtendedResponse { result: refers, oid: Some(b"1.2"), value: Some(b"dn:") };
    response("extended", |out| extended.encode(out, 5, &[]));
    let intermediate = Intermediate { oid: Some(b"1.2"), value: None };
    response("intermediate", |out| proto::message::encode(out, 5, &[], |out| intermediate.encode(out)));
    response("entry", |out| {
        let list = attribute_list([(&b"cn"[..], vec![&b"a"[..], b"b"]), (b"sn", vec![])]);
        let attributes = Attributes::parse(&list).expect("just made");
        SearchEntry { dn: DN, attributes }.encode(out, 5, &[manage_dsa_it::control(false)]);
    });
}

/// A dialogue: sizes of the pieces, then requests with ids from 2 on.
fn session(name: &str, sizes: &[u8], requests: &[Request<'_>]) {
    let requests: Vec<_> = requests.iter().map(|request| (request.clone(), Vec::new())).collect();
    session_with(name, sizes, &requests);
}

/// The same with controls.
fn session_with(name: &str, sizes: &[u8], requests: &[(Request<'_>, Vec<Control<'_>>)]) {
    let mut out = vec![sizes.len() as u8];
    out.extend_from_slice(sizes);
    for (n, (request, controls)) in requests.iter().enumerate() {
        request.encode(&mut out, n as i32 + 2, controls);
    }
    save("session", name, &out);
}

/// Transactions, their controls and ends, and the queue length control.
fn transactions() {
    let ada = b"uid=ada,ou=people,dc=example";
    let selection = octet_list([&b"sn"[..], b"+"]);
    let selectors = Octets::parse(&selection).expect("a list");
    let read = read_entry::encode_selection(selectors);
    let filter =
        filter_string::parse(b"(|(sn=Lovelace)(cn=*b*)(numSubordinates>=1))").expect("a seed parses");
    let assertion = control::assertion::encode(&filter.filter());
    let mut eight = Vec::new();
    queue_length::encode(8, &mut eight);
    let with = |oid, value| Control { oid, critical: true, value: Some(value) };
    let outside = Control { oid: non_transaction::OID, critical: true, value: None };
    let proxied = with(proxied_authorization::OID, &b"dn:uid=ada,ou=people,dc=example"[..]);
    let queued = with(queue_length::OID, &eight[..]);
    let inside = transaction_specification::control;
    let reads = [with(read_entry::PRE_OID, &read[..]), with(read_entry::POST_OID, &read[..])];
    let asserted = with(control::assertion::OID, &assertion[..]);
    let extended = |oid, value| Request::Extended(Extended { oid, value });
    let start = || extended(start_transaction::OID, None);
    let changes = change_list([(ModifyKind::Replace, &b"sn"[..], vec![&b"King"[..]])]);
    let changes = Changes::parse(&changes).expect("changes");
    let added = change_list([(ModifyKind::Add, &b"mail"[..], vec![&b"a@l"[..]])]);
    let added = Changes::parse(&added).expect("changes");
    let modify = |changes| Request::Modify(Modify { dn: ada, changes });
    let people = b"ou=people,dc=example";
    let rename = || {
        Request::ModifyDn(ModifyDn {
            dn: people,
            new_rdn: b"ou=men",
            delete_old_rdn: true,
            new_superior: None,
        })
    };
    let search = |scope| {
        let (base, filter) = (b"dc=example", filter.filter());
        Request::Search(Search { size_limit: 9, ..Search::unlimited(base, scope, filter, selectors) })
    };
    let value = Assertion { attribute: b"sn", value: b"king" };
    let compare = || Request::Compare(Compare { dn: ada, assertion: value });
    let commit = EndTransaction { commit: true, identifier: b"1" }.encode();
    let roll_back = EndTransaction { commit: false, identifier: b"mine" }.encode();
    let commit = || extended(end_transaction::OID, Some(&commit[..]));
    let roll_back = || extended(end_transaction::OID, Some(&roll_back[..]));

    request("transaction-start", start(), std::slice::from_ref(&proxied));
    request("transaction-commit", commit(), std::slice::from_ref(&queued));
    request("transaction-roll-back", roll_back(), &[]);
    request("transaction-member", modify(changes), &[inside(b"1"), reads[0], reads[1], asserted]);
    request("transaction-outside", modify(changes), std::slice::from_ref(&outside));
    response("transaction-notice", |out| aborted_transaction::encode(out, b"1", ResultCode::Busy, "another"));
    let culprit = encode_culprit(3);
    let failed = LdapResult::new(ResultCode::NoSuchObject);
    let end = ExtendedResponse { result: failed, oid: None, value: Some(&culprit) };
    response("transaction-culprit", |out| end.encode(out, 5, &[]));

    let root = || {
        let authentication = Authentication::Simple(b"secret");
        Request::Bind(Bind { version: 3, name: b"cn=admin,dc=example", authentication })
    };
    session_with(
        "transaction",
        &[30, 90],
        &[
            (root(), vec![queued]),
            (start(), vec![]),
            (modify(changes), vec![inside(b"1")]),
            (search(Scope::Subtree), vec![inside(b"1")]),
            (modify(added), vec![inside(b"1"), asserted, reads[0], reads[1]]),
            (rename(), vec![inside(b"1")]),
            (search(Scope::Subtree), vec![inside(b"1"), asserted]),
            (search(Scope::Base), vec![]),
            (compare(), vec![inside(b"1")]),
            (commit(), vec![]),
            (search(Scope::Subtree), vec![inside(b"1")]),
        ],
    );
    session_with(
        "transaction-implied",
        &[200],
        &[
            (root(), vec![]),
            (modify(changes), vec![inside(b"mine")]),
            (rename(), vec![]),
            (modify(added), vec![outside]),
            (search(Scope::Subtree), vec![inside(b"mine"), queued]),
            (Request::Delete(ada), vec![proxied]),
            (roll_back(), vec![queued]),
        ],
    );
}

fn sessions() {
    let filter = filter_string::parse(b"(|(uid=ada)(cn=*b*)(!(sn>=x)))").expect("a seed parses");
    let search = |base, scope, filter| {
        Request::Search(Search {
            base,
            scope,
            deref_aliases: DerefAliases::Never,
            size_limit: 3,
            time_limit_s: 0,
            types_only: false,
            filter,
            selection: Octets::EMPTY,
        })
    };
    let present = || model::Filter::Present(b"objectClass");
    let ada = b"uid=ada,ou=people,dc=example";
    let bind = |name, password| {
        Request::Bind(Bind { version: 3, name, authentication: Authentication::Simple(password) })
    };
    let who_am_i = || Request::Extended(Extended { oid: ext::who_am_i::OID, value: None });
    let assertion = Assertion { attribute: b"cn", value: b"ada king" };
    let compare = || Request::Compare(Compare { dn: ada, assertion });
    session(
        "read",
        &[7, 40, 3],
        &[
            search(b"dc=example", Scope::Subtree, filter.filter()),
            bind(ada, b"lace"),
            search(ada, Scope::Base, present()),
            compare(),
            Request::Abandon(2),
            search(b"", Scope::Base, present()),
            who_am_i(),
            Request::Unbind,
        ],
    );
    session(
        "large",
        &[200],
        &[
            search(b"cn=all,dc=example", Scope::Base, present()),
            who_am_i(),
            search(b"dc=example", Scope::Subtree, present()),
            compare(),
        ],
    );
    let attributes = attribute_list([(&b"objectClass"[..], vec![&b"account"[..]])]);
    let attributes = Attributes::parse(&attributes).expect("a list");
    let changes = change_list([(ModifyKind::Add, &b"description"[..], vec![&b"x"[..]])]);
    let changes = Changes::parse(&changes).expect("changes");
    let new = b"uid=new,dc=example";
    session(
        "write",
        &[],
        &[
            bind(b"cn=admin,dc=example", b"secret"),
            Request::Add(Add { dn: new, attributes }),
            Request::Modify(Modify { dn: new, changes }),
            Request::ModifyDn(ModifyDn {
                dn: new,
                new_rdn: b"uid=o",
                delete_old_rdn: true,
                new_superior: Some(ada),
            }),
            Request::Delete(ada),
            search(b"dc=example", Scope::Subtree, filter.filter()),
        ],
    );
}
