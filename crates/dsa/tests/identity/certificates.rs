//! EXTERNAL by a certificate (S5): the mappings one by one, and what is nobody.

use crate::common::*;
use dsa::Session;
use dsa::config::{CertificateMapping, ClientCertificate, FoundBy};
use model::ResultCode::*;
use proto::Request;
use proto::op::{Authentication, Bind};

fn external(client: &mut Client) -> Outcome {
    let authentication = Authentication::Sasl { mechanism: b"EXTERNAL", credentials: Some(b"") };
    client.end(&Request::Bind(Bind { version: 3, name: b"", authentication }))
}

fn certificate(subject: &str, values: &[(&str, &str)]) -> ClientCertificate {
    let now_s = (START.wall_ms / 1000) as i64;
    ClientCertificate {
        fingerprint: "00ff".repeat(16),
        subject: Some(subject.to_owned()),
        valid_s: (now_s - 10, now_s + 10),
        values: values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
    }
}

fn mapping(by: FoundBy, base: Option<&str>) -> CertificateMapping {
    CertificateMapping { by, base: base.map(str::to_owned) }
}

/// Who binds by a certificate where there are these mappings.
fn who(mappings: &[CertificateMapping], shown: &ClientCertificate) -> Option<String> {
    let mut client = Client::with(chosen(config(), |c| c.identities.certificates = mappings.to_vec()));
    client.must_add(
        "uid=ff,ou=groups,dc=example",
        &[("objectClass", &["account"]), ("uid", &[&"00ff".repeat(16)])],
    );
    client.must_add("uid=grace,ou=groups,dc=example", &[("objectClass", &["account"])]);
    client.session = Session::new(&mut client.worker);
    client.session.secured(128, Some(shown.clone()), Default::default());
    let listed = client.read("", &["supportedSASLMechanisms"]).values("supportedSASLMechanisms");
    assert_eq!(listed, Some(vec!["EXTERNAL".to_owned(), "PLAIN".to_owned()]));
    let end = external(&mut client);
    assert!(matches!(end.code, Success | InvalidCredentials), "{end:?}");
    (end.code == Success).then(|| client.who_am_i())
}

#[test]
fn s5_mappings_of_certificates_one_by_one() {
    let filter = |text: &str| FoundBy::Filter(text.to_owned());
    let by_uid = || filter("(&(uid={subject.CN})(objectClass=*))");
    let is = |dn: &str| Some(format!("dn:{dn}"));
    let ada = certificate("2.5.4.3=x", &[("subject.CN", "ada")]);
    assert_eq!(who(&[mapping(by_uid(), None)], &ada), is(ADA));
    assert_eq!(who(&[mapping(by_uid(), Some("ou=People,dc=example"))], &ada), is(ADA));
    assert_eq!(who(&[mapping(by_uid(), Some("ou=groups,dc=example"))], &ada), None);
    let fingerprint = FoundBy::Fingerprint("uid".to_owned());
    assert_eq!(who(&[mapping(fingerprint, None)], &ada), is("uid=ff,ou=groups,dc=example"));
    let by_subject = [mapping(FoundBy::SubjectDn, None)];
    let subject = "0.9.2342.19200300.100.1.1=ADA,2.5.4.11=people,0.9.2342.19200300.100.1.25=example";
    assert_eq!(who(&by_subject, &certificate(subject, &[])), is(ADA));
    assert_eq!(who(&by_subject, &certificate("2.5.4.3=x\\2cy", &[])), None);
    assert_eq!(who(&by_subject, &ClientCertificate { subject: None, ..ada.clone() }), None);
    // The first that leads to one entry counts.
    let both = [mapping(FoundBy::SubjectDn, None), mapping(by_uid(), None)];
    assert_eq!(who(&both, &ada), is(ADA));
    assert_eq!(who(&[], &ada), None);
}

#[test]
fn s5_what_is_nobody() {
    let by_uid = [mapping(FoundBy::Filter("(uid={subject.CN})".to_owned()), None)];
    // Two entries, none, values that would be another filter, which Ada alone would match or which is none, Ada's name with an escape,
    // a NUL, and two values.
    for values in [
        &[("subject.CN", "grace")][..],
        &[("subject.CN", "nobody")],
        &[("subject.CN", "ad*")],
        &[("subject.CN", "*)(uid=*")],
        &[("subject.CN", "\\61da")],
        &[("subject.CN", "ada\0")],
        &[("subject.CN", "")],
        &[("subject.CN", "ada"), ("subject.CN", "ada")],
        &[],
    ] {
        assert_eq!(who(&by_uid, &certificate("2.5.4.3=x", values)), None, "{values:?}");
    }
    // A value that would end the assertion, and begin another.
    let both = [mapping(FoundBy::Filter("(&(uid={subject.CN})(objectClass=*))".to_owned()), None)];
    assert_eq!(who(&both, &certificate("2.5.4.3=x", &[("subject.CN", "ada)(uid=*")])), None);
    // One that has expired since the handshake, or is not valid yet.
    let ada = certificate("2.5.4.3=x", &[("subject.CN", "ada")]);
    let now_s = (START.wall_ms / 1000) as i64;
    assert!(who(&by_uid, &ClientCertificate { valid_s: (now_s, now_s), ..ada.clone() }).is_some());
    for valid_s in [(now_s - 10, now_s - 1), (now_s + 1, now_s + 10)] {
        assert_eq!(who(&by_uid, &ClientCertificate { valid_s, ..ada.clone() }), None);
    }
}
