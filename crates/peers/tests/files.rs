//! The files of a node and of the CA: they come back, are for their owner alone, and fit together or are refused.

use env::disk::{Disk as _, RealDisk};
use env::entropy::{SeededEntropy, SystemEntropy};
use peers::{Address, Authority, CERTIFICATE_VALID_S, Identity, Listens, NodeKey, Token, folder};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

const NOW_S: u64 = 1_800_000_000;

fn addresses() -> [Vec<Address>; 2] {
    ["node.example:7389", "node.example:389"].map(|text| vec![Address::parse(text).unwrap()])
}

fn create(dir: &Path, authority: &Authority, node: u64) -> Identity {
    let key = NodeKey::load_or_make(&RealDisk, dir).unwrap();
    let certificate = authority.issue(&key.request(), node, NOW_S, &mut SystemEntropy).unwrap();
    Identity::create(&RealDisk, dir, authority, key, certificate, addresses()).unwrap()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn files_come_back_and_are_for_their_owner_alone() {
    let data = tempfile::tempdir().unwrap();
    let dir = folder(data.path());
    assert!(!Identity::exists(&RealDisk, data.path()).unwrap());
    let authority = Authority::new(NOW_S, &mut SystemEntropy).unwrap();
    let made = create(&dir, &authority, 3);
    assert!(Identity::exists(&RealDisk, data.path()).unwrap());
    let read = Identity::load(&RealDisk, &dir).unwrap();
    assert_eq!((read.cluster(), read.node(), read.boots()), (authority.cluster(), 3, 0));
    assert_eq!([read.peer_addresses(), read.ldap_addresses()].concat(), addresses().concat());
    assert_eq!(read.certificate(), made.certificate());
    assert_eq!(read.authority(), authority.certificate());
    let again = Authority::load(&RealDisk, &dir).unwrap();
    assert_eq!((again.cluster(), again.fingerprint()), (authority.cluster(), authority.fingerprint()));
    let token = Token::issue(&authority, &addresses()[0], NOW_S, &mut SystemEntropy);
    token.save(&RealDisk, &dir, "token").unwrap();
    assert_eq!(token.verify(&again, NOW_S), Ok(()), "a copy of the CA's key verifies the same tokens");
    let names = RealDisk.list(&dir).unwrap();
    assert_eq!(names, ["ca.key", "ca.pem", "node", "node.key", "node.pem", "token"]);
    assert_eq!(mode(&dir), 0o700);
    for name in names {
        assert_eq!(mode(&dir.join(&name)), 0o600, "{name}");
    }
}

#[test]
fn each_start_is_counted_before_it_goes_on() {
    let data = tempfile::tempdir().unwrap();
    let dir = folder(data.path());
    let authority = Authority::new(NOW_S, &mut SystemEntropy).unwrap();
    create(&dir, &authority, 1);
    let mut entropy = SystemEntropy;
    let one = Identity::boot(&RealDisk, &dir, &mut entropy).unwrap();
    assert_eq!((one.identity.boots(), Identity::load(&RealDisk, &dir).unwrap().boots()), (1, 1));
    let two = Identity::boot(&RealDisk, &dir, &mut entropy).unwrap();
    assert_eq!(two.identity.boots(), 2);
    assert_ne!(one.run, two.run);
}

#[test]
fn a_certificate_is_for_one_node_for_a_year_and_is_renewed_at_half_of_it() {
    let data = tempfile::tempdir().unwrap();
    let dir = folder(data.path());
    let authority = Authority::new(NOW_S, &mut SystemEntropy).unwrap();
    let mut identity = create(&dir, &authority, 7);
    let holder = identity.holder();
    assert_eq!((holder.cluster, holder.node), (authority.cluster(), 7));
    assert_eq!(holder.valid_s.1, (NOW_S + CERTIFICATE_VALID_S) as i64);
    assert!(!holder.should_renew((NOW_S + CERTIFICATE_VALID_S / 2) as i64 - 3_600));
    assert!(holder.should_renew((NOW_S + CERTIFICATE_VALID_S / 2) as i64));
    let request = identity.key().request();
    let later_s = NOW_S + CERTIFICATE_VALID_S / 2;
    let of_other = authority.issue(&request, 8, later_s, &mut SystemEntropy).unwrap();
    assert!(identity.renew(&RealDisk, &dir, of_other).is_err());
    assert_eq!(identity.holder(), holder);
    let renewed = authority.issue(&request, 7, later_s, &mut SystemEntropy).unwrap();
    identity.renew(&RealDisk, &dir, renewed).unwrap();
    assert_ne!(identity.holder().fingerprint, holder.fingerprint);
    assert_eq!(Identity::load(&RealDisk, &dir).unwrap().holder(), identity.holder());
    // What is not a request is not signed, nor what a CA of another cluster has signed taken.
    assert!(authority.issue(b"no request", 9, NOW_S, &mut SystemEntropy).is_err());
    let mut changed = request.clone();
    *changed.last_mut().unwrap() ^= 1;
    assert!(authority.issue(&changed, 9, NOW_S, &mut SystemEntropy).is_err());
    let other = Authority::new(NOW_S, &mut SystemEntropy).unwrap();
    let foreign = other.issue(&request, 7, NOW_S, &mut SystemEntropy).unwrap();
    assert!(identity.renew(&RealDisk, &dir, foreign).is_err());
}

#[test]
fn the_next_certificate_is_the_same_until_it_is_taken() {
    let data = tempfile::tempdir().unwrap();
    let dir = folder(data.path());
    let authority = Authority::new(NOW_S, &mut SystemEntropy).unwrap();
    let mut identity = create(&dir, &authority, 7);
    let next = |identity: &Identity, now_s| {
        identity.next_certificate(&RealDisk, &dir, &authority, now_s, &mut SystemEntropy).unwrap()
    };
    let later_s = NOW_S + CERTIFICATE_VALID_S / 2;
    let first = next(&identity, later_s);
    // As after a crash: others may have been said that it comes.
    assert_eq!(next(&Identity::load(&RealDisk, &dir).unwrap(), later_s + 9), first);
    assert_ne!(identity.certificate(), &first);
    identity.renew(&RealDisk, &dir, first.clone()).unwrap();
    let second = next(&identity, later_s + CERTIFICATE_VALID_S / 2);
    assert_ne!(second, first);
    // One that has ended meanwhile, or cannot be read, is made anew.
    let third = next(&identity, later_s + 2 * CERTIFICATE_VALID_S);
    assert_ne!(third, second);
    std::fs::write(dir.join("node.next.pem"), "nonsense").unwrap();
    assert_ne!(next(&identity, later_s + 2 * CERTIFICATE_VALID_S), third);
}

#[test]
fn addresses_that_are_advertised_may_change() {
    let data = tempfile::tempdir().unwrap();
    let dir = folder(data.path());
    let authority = Authority::new(NOW_S, &mut SystemEntropy).unwrap();
    let mut identity = create(&dir, &authority, 1);
    let address = Address::parse("[::1]:9").unwrap();
    let listens = |urls| Listens {
        peer: vec![Address::parse("0.0.0.0:9").unwrap()],
        clients: vec!["ldaps://h:636".to_owned(); urls],
    };
    identity.advertise(&RealDisk, &dir, [vec![address.clone()], Vec::new()], listens(1)).unwrap();
    let read = Identity::load(&RealDisk, &dir).unwrap();
    assert_eq!(read.listens(), &listens(1));
    assert_eq!((read.peer_addresses(), read.ldap_addresses()), (&[address.clone()][..], &[][..]));
    assert!(identity.advertise(&RealDisk, &dir, [Vec::new(), Vec::new()], listens(65)).is_err());
    assert!(identity.advertise(&RealDisk, &dir, [vec![address; 9], Vec::new()], listens(1)).is_err());
}

#[test]
fn files_that_do_not_fit_together_are_refused() {
    let [one, two] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [one, two] = [folder(one.path()), folder(two.path())];
    let authority = Authority::new(NOW_S, &mut SeededEntropy::new(1)).unwrap();
    create(&one, &authority, 1);
    create(&two, &Authority::new(NOW_S, &mut SeededEntropy::new(2)).unwrap(), 1);
    for name in ["ca.pem", "node.pem", "node.key", "node"] {
        let own = std::fs::read(one.join(name)).unwrap();
        std::fs::copy(two.join(name), one.join(name)).unwrap();
        let error = Identity::load(&RealDisk, &one).unwrap_err().to_string();
        assert!(error.contains("cluster/"), "{error}");
        for damaged in [&b""[..], b"\xff", &own[..own.len() / 2], &vec![b'x'; 70_000]] {
            std::fs::write(one.join(name), damaged).unwrap();
            assert!(Identity::load(&RealDisk, &one).is_err(), "{name}");
        }
        std::fs::write(one.join(name), own).unwrap();
        Identity::load(&RealDisk, &one).unwrap();
    }
    std::fs::copy(two.join("ca.key"), one.join("ca.key")).unwrap();
    assert!(Authority::load(&RealDisk, &one).is_err());
}
