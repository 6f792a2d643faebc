use self::ends::{Ends, content, context};
use super::*;
use env::net::Stream;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::task::Poll;
use tempfile::TempDir;

mod ends;

/// A certificate of its own authority, for these names, valid until `year`.
struct Made {
    pem: String,
    key: String,
    authority: rcgen::CertifiedIssuer<'static, rcgen::KeyPair>,
}

fn make(names: &[&str], year: i32) -> Made {
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = rcgen::CertifiedIssuer::self_signed(params, rcgen::KeyPair::generate().unwrap()).unwrap();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = rcgen::CertificateParams::new(names).unwrap();
    params.not_after = rcgen::date_time_ymd(year, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    Made { pem: certificate.pem(), key: key.serialize_pem(), authority }
}

const NOW_S: i64 = 1_795_000_000;

fn write(dir: &TempDir, name: &str, made: &Made) -> Pair {
    let (certificate, key) = (dir.path().join(format!("{name}.crt")), dir.path().join(format!("{name}.key")));
    // By a new file that takes the place of the old one, as the tools do that renew certificates.
    let put = |path: &PathBuf, text: &str| {
        let new = path.with_extension("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(&new, path).unwrap();
    };
    put(&certificate, &made.pem);
    put(&key, &made.key);
    Pair { certificate, key }
}

/// Both versions, and proofs are bound to sessions.
fn settings(pairs: Vec<Pair>) -> Settings {
    let versions = Versions { with_1_2: true, requires_extended_master: false };
    Settings { pairs, versions, clients: None, binds_proofs: true }
}

fn only_1_3(pairs: Vec<Pair>) -> Settings {
    let versions = Versions { with_1_2: false, requires_extended_master: false };
    Settings { versions, ..settings(pairs) }
}

fn load(pairs: Vec<Pair>) -> Result<(Tls, Vec<String>), String> {
    Tls::load(settings(pairs), NOW_S)
}

fn client(
    trusted: &[&Made],
    name: &'static str,
    versions: &[&'static SupportedProtocolVersion],
) -> ClientConnection {
    client_by(ring::default_provider(), trusted, name, versions)
}

fn client_by(
    provider: CryptoProvider,
    trusted: &[&Made],
    name: &'static str,
    versions: &[&'static SupportedProtocolVersion],
) -> ClientConnection {
    client_of(&Arc::new(client_config(provider, trusted, versions)), name)
}

fn client_of(config: &Arc<ClientConfig>, name: &'static str) -> ClientConnection {
    ClientConnection::new(Arc::clone(config), ServerName::try_from(name).unwrap()).unwrap()
}

fn client_config(
    provider: CryptoProvider,
    trusted: &[&Made],
    versions: &[&'static SupportedProtocolVersion],
) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    trusted.iter().for_each(|made| roots.add(made.authority.as_ref().der().clone()).unwrap());
    let builder = ClientConfig::builder_with_provider(Arc::new(provider));
    builder.with_protocol_versions(versions).unwrap().with_root_certificates(roots).with_no_client_auth()
}

const BOTH: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13, &rustls::version::TLS12];

/// T9: however the records are cut, in reads and in writes, what comes out is what went in.
#[test]
fn t9_records_that_are_cut_anywhere_bring_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let made = make(&["ldap.example.com"], 2030);
    let (tls, _) = load(vec![write(&dir, "a", &made)]).unwrap();
    for versions in [&BOTH[..1], &BOTH[1..]] {
        for (read_max, write_max, room, len) in [
            (1, 1, 1, 700),
            (1, 1 << 20, 1 << 18, 700),
            (7, 13, 4096, 40_000),
            (1 << 20, 100, 100, 40_000),
            (16_000, 1 << 20, 4096, 200_000),
            (1 << 20, 1 << 20, 1 << 18, 700_000),
            (1 << 20, 50_000, 20_000, 700_000),
        ] {
            let mut ends =
                Ends::new(&tls, client(&[&made], "ldap.example.com", versions), read_max, write_max);
            ends.settle(room).unwrap();
            assert!(!ends.client.is_handshaking());
            let facts = ends.stream.take_facts().unwrap();
            assert_eq!(
                facts.version,
                if versions.len() == 1 && std::ptr::eq(versions[0], BOTH[0]) { "TLSv1.3" } else { "TLSv1.2" }
            );
            assert!(matches!(facts.strength, 128 | 256));
            assert!(ends.stream.take_facts().is_none(), "they are given once");
            ends.to_send = content(0, len);
            for part in content(0, len).chunks(15_000) {
                ends.client.writer().write_all(part).unwrap();
                ends.settle(room).unwrap();
            }
            assert!(ends.received == content(0, len), "{read_max} {write_max} {room}");
            assert!(ends.answered == content(0, len), "{read_max} {write_max} {room}");
            assert_eq!(ends.stream.kept_bytes(), 0, "an idle connection keeps nothing");
        }
    }
}

#[test]
fn a_client_that_says_it_sends_no_more_is_answered_in_the_same_way() {
    let dir = tempfile::tempdir().unwrap();
    let made = make(&["a.example.com"], 2030);
    let (tls, _) = load(vec![write(&dir, "a", &made)]).unwrap();
    let mut ends = Ends::new(&tls, client(&[&made], "a.example.com", BOTH), 1 << 20, 1 << 20);
    ends.settle(1 << 18).unwrap();
    ends.client.send_close_notify();
    ends.settle(1 << 18).unwrap();
    let mut buffer = [0; 10];
    assert!(matches!(ends.stream.poll_read(&mut context(), &mut buffer), Poll::Ready(Ok(0))));
    assert!(matches!(ends.stream.poll_finish(&mut context()), Poll::Ready(Ok(()))));
    assert!(ends.socket.0.borrow().is_finished);
    ends.settle(1 << 18).unwrap();
    // Without the alert this would be an error.
    assert_eq!(ends.client.reader().read(&mut buffer).unwrap(), 0);
}

#[test]
fn what_is_no_tls_is_an_error_and_nothing_of_it_comes_out() {
    let dir = tempfile::tempdir().unwrap();
    let made = make(&["a.example.com"], 2030);
    let (tls, _) = load(vec![write(&dir, "a", &made)]).unwrap();
    // A bind in the clear; a record of 65,535 bytes; the beginning of a handshake message of 16 MiB.
    let long = [&[0x16, 3, 1, 0x40, 0][..], &[1, 0xff, 0xff, 0xff], &[0; 16_380]].concat().repeat(6);
    for bytes in
        [&b"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00"[..], &[0x16, 3, 1, 0xff, 0xff], &long]
    {
        let mut ends = Ends::new(&tls, client(&[&made], "a.example.com", BOTH), 1 << 20, 1 << 20);
        ends.socket.0.borrow_mut().to_server = bytes.to_vec();
        let mut buffer = vec![0; 1 << 18];
        let read = loop {
            match ends.stream.poll_read(&mut context(), &mut buffer) {
                Poll::Ready(read) => break Some(read),
                Poll::Pending if ends.socket.0.borrow().to_server.is_empty() => break None,
                Poll::Pending => {}
            }
        };
        assert!(matches!(read, Some(Err(_))), "{read:?}");
        assert!(ends.stream.kept_bytes() < 100 << 10);
    }
}

#[test]
fn a_client_that_names_the_server_is_shown_its_certificate() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) =
        (make(&["a.example.com"], 2030), make(&["b.example.com", "*.wild.example.com"], 2030));
    let (tls, _) = load(vec![write(&dir, "a", &first), write(&dir, "b", &second)]).unwrap();
    let does = |made: &Made, name: &'static str| {
        let mut ends = Ends::new(&tls, client(&[made], name, BOTH), 1 << 20, 1 << 20);
        ends.settle(1 << 18).is_ok() && !ends.client.is_handshaking()
    };
    assert!(does(&first, "a.example.com") && does(&second, "b.example.com"));
    assert!(does(&second, "x.wild.example.com"));
    assert!(!does(&first, "b.example.com"), "it is signed by the other authority");
    // Shown the first, which is not of that name.
    assert!(!does(&second, "x.y.wild.example.com") && !does(&first, "c.example.com"));
}

#[test]
fn files_that_change_are_taken_and_faulty_ones_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (make(&["a.example.com"], 2030), make(&["a.example.com"], 2031));
    let pair = write(&dir, "a", &old);
    let (tls, _) = load(vec![pair.clone()]).unwrap();
    let shows = |made: &Made| {
        let mut ends = Ends::new(&tls, client(&[made], "a.example.com", BOTH), 1 << 20, 1 << 20);
        ends.settle(1 << 18).is_ok() && !ends.client.is_handshaking()
    };
    assert_eq!(tls.reload(NOW_S, false), Ok(false), "nothing has changed");
    write(&dir, "a", &new);
    assert!(shows(&old), "nobody has looked yet");
    assert_eq!(tls.reload(NOW_S, false), Ok(true));
    assert!(shows(&new) && !shows(&old));
    // A key of another certificate.
    std::fs::write(&pair.key, &old.key).unwrap();
    assert!(tls.reload(NOW_S, false).unwrap_err().contains("is not that of the certificate"));
    assert_eq!(tls.reload(NOW_S, false), Ok(false), "it was reported");
    assert!(tls.reload(NOW_S, true).is_err(), "SIGHUP looks again");
    std::fs::remove_file(&pair.certificate).unwrap();
    assert!(tls.reload(NOW_S, false).unwrap_err().contains("No such file"));
    assert!(shows(&new), "what was in force stays");
}

#[test]
fn the_monitor_is_given_what_is_in_force_and_since_when_files_are_faulty() {
    use dsa::certificates::Certificates as _;
    let dir = tempfile::tempdir().unwrap();
    let named = write(&dir, "a", &make(&["A.example.com", "b.example.com"], 2031));
    let unnamed = write(&dir, "b", &make(&[], 2030));
    let (tls, _) = load(vec![named.clone(), unnamed]).unwrap();
    let end_s = |year| rcgen::date_time_ymd(year, 1, 1).unix_timestamp() as u64;
    let metrics = tls.metrics();
    let shown: Vec<(&str, u64)> =
        metrics.in_force.iter().map(|shown| (shown.names.as_str(), shown.not_after_s)).collect();
    assert_eq!(shown[0], ("a.example.com b.example.com", end_s(2031)));
    assert!(shown[1].0.starts_with("CN=") && shown[1].1 == end_s(2030), "{shown:?}");
    assert_eq!((metrics.since_s, metrics.failed_s), (NOW_S as u64, None));
    std::fs::write(&named.key, "nonsense").unwrap();
    assert!(tls.reload(NOW_S + 10, false).is_err() && tls.reload(NOW_S + 20, true).is_err());
    assert_eq!(tls.metrics(), certificates::Metrics { failed_s: Some(NOW_S as u64 + 10), ..metrics });
    let many: Vec<String> = (0..10).map(|n| format!("{n}.example.com")).collect();
    write(&dir, "a", &make(&many.iter().map(String::as_str).collect::<Vec<_>>(), 2031));
    assert_eq!(tls.reload(NOW_S + 30, false), Ok(true));
    tls.renew_tickets(NOW_S + 30 + TICKETS_S);
    let metrics = tls.metrics();
    assert!(metrics.in_force[0].names.ends_with(" 7.example.com and 2 more"), "{metrics:?}");
    assert_eq!((metrics.since_s, metrics.failed_s), (NOW_S as u64 + 30, None));
}

#[test]
fn a_certificate_that_cannot_be_used_is_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let refusal = |pair: &Pair| load(vec![pair.clone()]).unwrap_err();
    let made = make(&["a.example.com"], 2024);
    assert!(refusal(&write(&dir, "old", &made)).contains("expired on"));
    let pair = write(&dir, "a", &make(&["a.example.com"], 2030));
    let with = |certificate: Option<&[u8]>, key: Option<&[u8]>| {
        let (mut other, dir) = (pair.clone(), tempfile::tempdir().unwrap());
        let put = |path: &mut PathBuf, bytes: Option<&[u8]>| {
            if let Some(bytes) = bytes {
                *path = dir.path().join(path.file_name().unwrap());
                std::fs::write(path, bytes).unwrap();
            }
        };
        put(&mut other.certificate, certificate);
        put(&mut other.key, key);
        refusal(&other)
    };
    let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    assert!(with(None, Some(encrypted.as_bytes())).contains("openssl pkey -in"));
    assert!(with(Some(&[0x30, 0x82]), None).contains("openssl pkcs12"));
    assert!(with(Some(b""), None).contains("no certificate is in it"));
    assert!(with(None, Some(b"nothing")).contains("PEM is needed"));
    let (_, warnings) = load(vec![pair.clone()]).unwrap();
    assert!(warnings.iter().any(|warning| warning.contains("chmod 600")), "{warnings:?}");
}

#[test]
fn tls_1_2_is_spoken_unless_it_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let made = make(&["a.example.com"], 2030);
    let pairs = vec![write(&dir, "a", &made)];
    let (tls, _) = Tls::load(only_1_3(pairs), NOW_S).unwrap();
    let does = |versions: &[&'static SupportedProtocolVersion]| {
        let mut ends = Ends::new(&tls, client(&[&made], "a.example.com", versions), 1 << 20, 1 << 20);
        ends.settle(1 << 18).is_ok() && !ends.client.is_handshaking()
    };
    assert!(does(&BOTH[..1]) && !does(&BOTH[1..]));
}

#[test]
fn a_certificate_that_expires_is_reported_once_at_each_stage() {
    let dir = tempfile::tempdir().unwrap();
    let pairs = vec![write(&dir, "a", &make(&["a.example.com"], 2030))];
    let (tls, _) = load(pairs).unwrap();
    let end_s = rcgen::date_time_ymd(2030, 1, 1).unix_timestamp();
    let days = [40, 29, 20, 6, 6, 2, 0, 0, -1, -2].map(|days| tls.days_left(end_s - days * 86_400 - 1));
    assert_eq!(days, [None, Some(29), None, Some(6), None, None, Some(0), None, Some(-1), None]);
}

#[test]
fn what_brings_no_content_has_one_read_a_turn() {
    let dir = tempfile::tempdir().unwrap();
    let made = make(&["a.example.com"], 2030);
    let (tls, _) = load(vec![write(&dir, "a", &made)]).unwrap();
    let mut ends = Ends::new(&tls, client(&[&made], "a.example.com", &BOTH[..1]), 1 << 20, 1 << 20);
    ends.settle(1 << 18).unwrap();
    for _ in 0..8 {
        ends.client.refresh_traffic_keys().unwrap();
        ends.client.write_tls(&mut ends.socket.0.borrow_mut().to_server).unwrap();
    }
    ends.socket.0.borrow_mut().read_max = 10;
    let before = ends.socket.0.borrow().to_server.len();
    assert!(before > 100);
    assert!(ends.stream.poll_read(&mut context(), &mut [0; 100]).is_pending());
    assert_eq!(ends.socket.0.borrow().to_server.len(), before - 10);
    ends.client.writer().write_all(b"with the last keys").unwrap();
    ends.settle(1 << 18).unwrap();
    assert_eq!(ends.received, b"with the last keys");
}

#[test]
fn a_message_that_does_not_end_is_refused_after_the_handshake_too() {
    let dir = tempfile::tempdir().unwrap();
    let made = make(&["a.example.com"], 2030);
    let (tls, _) = load(vec![write(&dir, "a", &made)]).unwrap();
    let mut ends = Ends::new(&tls, client(&[&made], "a.example.com", BOTH), 1 << 20, 1 << 20);
    ends.settle(1 << 18).unwrap();
    // A record that is longer than any may be, of which no end comes.
    ends.socket.0.borrow_mut().to_server = [&[0x17, 3, 3, 0xff, 0xff][..], &vec![0; 60_000]].concat();
    let mut buffer = vec![0; 1 << 18];
    assert!(matches!(ends.stream.poll_read(&mut context(), &mut buffer), Poll::Ready(Err(_))));
    assert!(ends.stream.kept_bytes() < 100 << 10);
}

/// S3: what a proof is bound to is what the client works out by its own library, for each hash of a suite, and another one for each session,
/// be it resumed. TLS 1.2 has it only if each of its sessions must have an extended master secret.
#[test]
fn test_s3_both_ends_export_the_same() {
    let dir = TempDir::new().unwrap();
    let made = make(&["one"], 2100);
    let pairs = vec![write(&dir, "one", &made)];
    let mut seen = Vec::new();
    // The key of the certificate is one of elliptic curves.
    let fits = |suite: &&rustls::SupportedCipherSuite| !format!("{suite:?}").contains("_RSA_");
    for requires_extended_master in [false, true] {
        let versions = Versions { with_1_2: true, requires_extended_master };
        let settings = Settings { versions, ..settings(pairs.clone()) };
        let (tls, _) = Tls::load(settings, NOW_S).unwrap();
        for suite in ring::ALL_CIPHER_SUITES.iter().filter(fits) {
            let version = suite.version();
            let mut provider = ring::default_provider();
            provider.cipher_suites = vec![*suite];
            let config = Arc::new(client_config(provider, &[&made], &[version]));
            for is_resumed in [false, true] {
                let mut ends = Ends::new(&tls, client_of(&config, "one"), usize::MAX, usize::MAX);
                ends.settle(1 << 16).unwrap();
                let facts = ends.stream.take_facts().expect("it is done");
                assert_eq!(facts.has_resumed, is_resumed, "{suite:?}");
                let export = |context| {
                    let label = b"EXPORTER-Channel-Binding";
                    ends.client.export_keying_material([0; 32], label, context).unwrap().to_vec()
                };
                let mut own = vec![export(Some(&b""[..])), export(None)];
                own.dedup();
                let exported = facts.bindings.exporter.map(|exporter| exporter.bindings());
                let is_new = version.version == rustls::ProtocolVersion::TLSv1_3;
                let expected = (is_new || requires_extended_master).then(|| own.clone());
                assert_eq!(exported, expected, "{suite:?}");
                assert!(!seen.contains(&own));
                seen.push(own);
            }
        }
    }
}

/// Where no proof can be bound to it nothing is kept.
#[test]
fn keys_are_not_exported_for_nobody() {
    let dir = TempDir::new().unwrap();
    let made = make(&["one"], 2100);
    let pairs = vec![write(&dir, "one", &made)];
    let settings = Settings { binds_proofs: false, ..only_1_3(pairs) };
    let (tls, _) = Tls::load(settings, NOW_S).unwrap();
    let client = client(&[&made], "one", &[&rustls::version::TLS13]);
    let mut ends = Ends::new(&tls, client, usize::MAX, usize::MAX);
    ends.settle(1 << 16).unwrap();
    assert!(ends.stream.take_facts().expect("it is done").bindings.exporter.is_none());
}
