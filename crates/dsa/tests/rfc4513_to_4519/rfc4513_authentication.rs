//! RFC 4513: authentication methods and security.
//!
//! | section | the server | test |
//! |---|---|---|
//! | 2 | offers anonymous authentication | `s5_1_1_anonymous` |
//! | 2 | offers authentication by name and password, and protects it by StartTLS | `s5_1_3_name_and_password`, `black-box: test_t1_ldap_utils` |
//! | 3.1.1, RFC 4511 section 4.14.1 | answers operationsError to a StartTLS where TLS is there, a SASL negotiation goes on or responses are outstanding | `black-box: test_t2_start_tls_is_refused_where_it_must_be`, `dsa: s9_between_steps` |
//! | 3.1.1 | interprets nothing that came with a StartTLS before TLS is there | `black-box: test_t3_nothing_behind_start_tls_is_interpreted` |
//! | 4 | treats what comes before a bind as after an anonymous one | `s4_before_a_bind` |
//! | 4 | is anonymous from the arrival of a bind on until it succeeds | `dsa: s4_2_1_earlier_binds_are_forgotten`, `dsa: s9_nobody_is_bound_between_steps` |
//! | 4 | is anonymous behind a StartTLS | `black-box: test_t2_a_session_is_anonymous_after_it_and_the_root_dse_differs` |
//! | 5 | checks that a client may assume the authorization identity, else invalidCredentials | `dsa: s1_plain`, `dsa: s6_one_verdict_for_all_ways_to_ask_for_another_identity` |
//! | 5.1.2 | does not take a name without a password for authenticated: unwillingToPerform | `s5_1_2_unauthenticated` |
//! | 5.1.3 | takes a password that matches any of the values | `s5_1_3_name_and_password` |
//! | 5.1.3 | invalidDNSyntax to a name that is none, invalidCredentials to every other failure | `s5_1_3_name_and_password` |
//! | 5.2.1.2 | ignores the name of a SASL bind | `s5_2_1_2_the_name_of_a_sasl_bind` |
//! | 5.2.1.2 | drops a negotiation when another mechanism or method comes | `dsa: s9_between_steps` |
//! | 5.2.1.2 | answers authMethodNotSupported to an empty mechanism | `dsa: s4_2_1_empty_sasl_mechanism` |
//! | 5.2.1.3 | distinguishes credentials that are absent from empty ones | `dsa: s5_external_needs_a_client_that_is_known` |
//! | 5.2.1.3 | omits serverSaslCreds where there is nothing to say | `s5_2_1_3_no_server_credentials` |
//! | 5.2.1.5 | lists its mechanisms in the root DSE to all clients, before and after a bind | `s5_2_1_5_mechanisms_are_listed` |
//! | 5.2.1.8 | compares names of identities as DNs | `s5_2_1_8_forms_of_identities` |
//! | 5.2.1.8 | compares users by their attribute uid, whose rule prepares both strings | `s5_2_1_8_forms_of_identities` |
//! | 5.2.3 | answers inappropriateAuthentication to EXTERNAL where no lower layer knows the client | `dsa: s5_external_needs_a_client_that_is_known` |
//! | 5.2.3.1, 5.2.3.2 | takes the identity from the lower layer, or one that is asked for and allowed | `dsa: t10_who_the_clients_of_sockets_are`, `dsa: s5_mappings_of_certificates_one_by_one` |
//! | 6.3.3 | refuses passwords without confidentiality by a policy: confidentialityRequired | `dsa: each_strength_is_needed_for_its_requests`, `black-box: test_t7_no_password_passes_in_the_clear_from_another_host` |
//!
//! Deviations:
//!
//! | section | sentence | what the server does | test |
//! |---|---|---|---|
//! | 2 | TLS_RSA_WITH_3DES_EDE_CBC_SHA is supported | it is broken (RFC 7525 section 4.2.1): nine suites of TLS 1.2 and 1.3 are offered, and no others | `black-box: test_t6_sslscan_finds_the_nine_suites_only` |
//! | 5.2.1.8 | each uAuthzId is prepared by SASLprep | prepared by RFC 4518, as values of uid are: so upper and lower case are the same, and a user has one identity however the client writes it | `s5_2_1_8_forms_of_identities` |
//!
//! Not here, and why:
//!
//! | section | sentence | reason |
//! |---|---|---|
//! | 3.1.3 | clients verify the identity of the server | binds clients; the commands of this server do, with --ca-file |
//! | 5.2.1.3 | clients omit credentials that they do not send | binds clients |
//! | 5.2.1.4, 5.2.1.6 | where SASL security layers take effect, and what they lie upon | no mechanism installs a layer: GSSAPI is offered without, in s8_no_layer_is_given |
//! | 6.2 | clients warn the user | binds clients |

use super::GRACE;
use crate::common::*;
use dsa::Anonymous;
use model::ResultCode::*;
use model::Scope;
use proto::Request;
use proto::control::proxied_authorization;
use proto::op::{Authentication, Bind, Extended, ModifyKind};
use proto::sasl::plain::Plain;

#[test]
fn the_table_is_complete() {
    check_table(include_str!("rfc4513_authentication.rs"));
}

fn sasl(client: &mut Client, name: &str, mechanism: &str, credentials: Option<&[u8]>) -> Outcome {
    let authentication = Authentication::Sasl { mechanism: mechanism.as_bytes(), credentials };
    client.end(&Request::Bind(Bind { version: 3, name: name.as_bytes(), authentication }))
}

fn plain(password: &str) -> Vec<u8> {
    let mut message = Vec::new();
    Plain { authorization_id: b"", authentication_id: b"ada", password: password.as_bytes() }
        .encode(&mut message);
    message
}

/// "The client may send any operation request prior to performing a Bind operation, and the server MUST treat it as if it had been performed after
/// an anonymous Bind operation".
#[test]
fn s4_before_a_bind() {
    for anonymous in [Anonymous::None, Anonymous::Read] {
        let planted = Client::with(chosen(config(), |c| c.standing.anonymous = anonymous));
        let mut answers = Vec::new();
        for binds in [false, true] {
            let mut client = Client::of(&planted.dsa);
            if binds {
                assert_eq!(client.bind("", "").code, Success);
            }
            assert_eq!(client.who_am_i(), "");
            let found = client.search("dc=example", Scope::Subtree, "(uid=*)", &["*"]);
            let ends = [
                found.end.clone(),
                client.compare(ADA, "sn", "Lovelace"),
                client.modify(ADA, &[(ModifyKind::Replace, "sn", &["x"])]),
                client.delete(GRACE),
                client.rename(GRACE, "uid=x", true, None),
                client.add("uid=x,dc=example", &[("objectClass", &["account"])]),
            ];
            assert_eq!(found.entries.is_empty(), anonymous == Anonymous::None);
            answers.push((found.entries, ends));
        }
        assert_eq!(answers[0], answers[1]);
        assert!(answers[0].1[2..].iter().all(|end| end.code != Success));
    }
}

/// "by sending a Bind request with a name value of zero length and specifying the simple authentication choice containing a password value of zero
/// length", also by a client that was somebody before.
#[test]
fn s5_1_1_anonymous() {
    let mut client = Client::new();
    for (name, password) in [(ADA, "lace"), (ROOT_DN, PASSWORD)] {
        assert_eq!(client.bind(name, password).code, Success);
        assert_eq!(client.bind("", "").code, Success);
        assert_eq!(client.who_am_i(), "");
    }
}

/// "Servers SHOULD by default fail Unauthenticated Bind requests with a resultCode of unwillingToPerform."
#[test]
fn s5_1_2_unauthenticated() {
    let mut client = Client::new();
    for name in [ADA, GRACE, ROOT_DN, "uid=nobody,dc=example", "dc=elsewhere"] {
        client.bind_root();
        assert_eq!(client.bind(name, "").code, UnwillingToPerform, "{name}");
        assert_eq!(client.who_am_i(), "");
    }
}

#[test]
fn s5_1_3_name_and_password() {
    let mut client = Client::new();
    let many: &[&str] = &["first", "second", "third"];
    assert_eq!(client.modify(GRACE, &[(ModifyKind::Replace, "userPassword", many)]).code, Success);
    for (name, password, code) in [
        (GRACE, "first", Success),
        (GRACE, "second", Success),
        ("UID=Grace, OU=people,dc=example", "third", Success),
        (GRACE, "fourth", InvalidCredentials),
        (GRACE, "First", InvalidCredentials),
        (ADA, "first", InvalidCredentials),
        // An entry without a password, no entry, and one that is not here.
        ("ou=people,dc=example", "x", InvalidCredentials),
        ("uid=nobody,ou=people,dc=example", "x", InvalidCredentials),
        ("dc=elsewhere", "x", InvalidCredentials),
        ("grace", "first", InvalidDnSyntax),
        ("uid=grace,", "first", InvalidDnSyntax),
        ("uid=grace,ou=\\zz", "first", InvalidDnSyntax),
    ] {
        let end = client.bind(name, password);
        assert_eq!(end.code, code, "{name} {password}");
        assert_eq!(client.who_am_i().is_empty(), code != Success);
    }
}

/// "Servers receiving a BindRequest message with the sasl choice selected SHALL ignore any value in the name field."
#[test]
fn s5_2_1_2_the_name_of_a_sasl_bind() {
    let mut client = Client::new();
    for name in ["", ADA, GRACE, ROOT_DN, "no DN", "uid=nobody,dc=example"] {
        assert_eq!(sasl(&mut client, name, "PLAIN", Some(&plain("lace"))).code, Success, "{name}");
        assert_eq!(client.who_am_i(), format!("dn:{ADA}"));
        assert_eq!(sasl(&mut client, name, "PLAIN", Some(&plain("wrong"))).code, InvalidCredentials);
        assert_eq!(sasl(&mut client, name, "NONSENSE", None).code, AuthMethodNotSupported);
    }
}

/// "If a server does not intend to send additional data in the BindResponse message indicating outcome of the exchange, the server SHALL omit the
/// serverSaslCreds OCTET STRING".
#[test]
fn s5_2_1_3_no_server_credentials() {
    let mut client = Client::new();
    for (mechanism, credentials) in [
        ("PLAIN", Some(plain("lace"))),
        ("PLAIN", Some(plain("wrong"))),
        ("PLAIN", Some(Vec::new())),
        ("EXTERNAL", Some(Vec::new())),
        ("EXTERNAL", None),
        ("NONSENSE", None),
        ("", None),
    ] {
        let end = sasl(&mut client, "", mechanism, credentials.as_deref());
        assert!(!end.server_credentials, "{mechanism}: {end:?}");
    }
}

/// "LDAP servers SHOULD allow all clients -- even those with an anonymous authorization -- to retrieve the 'supportedSASLMechanisms' attribute of the
/// root DSE both before and after the SASL authentication exchange."
#[test]
fn s5_2_1_5_mechanisms_are_listed() {
    let planted = Client::new();
    let mut client = Client::of(&planted.dsa);
    let listed =
        |client: &mut Client| client.read("", &["supportedSASLMechanisms"]).values("supportedSASLMechanisms");
    let before = listed(&mut client);
    assert!(before.as_ref().is_some_and(|names| names.iter().any(|name| name == "PLAIN")), "{before:?}");
    assert_eq!(sasl(&mut client, "", "PLAIN", Some(&plain("lace"))).code, Success);
    assert_eq!(listed(&mut client), before);
}

/// "to be matched in accordance with the distinguishedNameMatch matching rule"; "To compare uAuthzId values, each uAuthzId value MUST be prepared".
#[test]
fn s5_2_1_8_forms_of_identities() {
    let mut client = Client::new();
    let fine: Given<'_> = &[("objectClass", &["account"]), ("uid", &["fina \u{e5}"])];
    client.must_add("uid=fina \u{e5},ou=people,dc=example", fine);
    let mut who = |identity: &str| {
        let request = Request::Extended(Extended { oid: proto::ext::who_am_i::OID, value: None });
        let controls = [proxied_authorization::control(identity.as_bytes())];
        let end = client.ask(&request, &controls).end;
        (end.code == Success).then(|| String::from_utf8(end.value.expect("there is one")).expect("UTF-8"))
    };
    for (identity, expected) in [
        ("dn:uid=ada,ou=people,dc=example", Some(ADA)),
        ("dn:UID=Ada, ou=People , DC=EXAMPLE", Some(ADA)),
        ("dn:0.9.2342.19200300.100.1.1=\\61da,ou=people,dc=example", Some(ADA)),
        ("u:ada", Some(ADA)),
        ("u:ADA", Some(ADA)),
        // Mapped to nothing, and composed: RFC 4013 and RFC 4518 say the same.
        ("u:a\u{ad}da", Some(ADA)),
        ("u:\u{fb01}na a\u{30a}", Some("uid=fina \u{e5},ou=people,dc=example")),
        ("u:ad", None),
        ("u:\u{e000}ada", None),
        ("uid=ada,ou=people,dc=example", None),
        ("x:ada", None),
    ] {
        assert_eq!(who(identity), expected.map(|dn| format!("dn:{dn}")), "{identity}");
    }
}
