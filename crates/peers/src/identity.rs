//! What a node knows of itself: `node.key`, `node.pem` and `node` in the folder `cluster` of its data directory. The last of them is a short
//! text with a checksum (`docs/formats/peers.md`).

use crate::address::{ADDRESSES_MAX, Address};
use crate::authority::{Authority, CERTIFICATE_FILE as AUTHORITY_FILE};
use crate::certificate::{self, Holder};
use crate::files::{self, FileError};
use crate::id::{ClusterId, RunId};
use crate::runs::Runs;
use env::disk::Disk;
use env::entropy::Entropy;
use rcgen::{CertificateParams, DistinguishedName, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use std::fmt::{self, Write as _};
use std::path::Path;
use zeroize::Zeroizing;

const KEY_FILE: &str = "node.key";
const CERTIFICATE_FILE: &str = "node.pem";
/// The certificate by which that is to be replaced.
const NEXT_FILE: &str = "node.next.pem";
const FACTS_FILE: &str = "node";
/// Addresses at which a node listens for clients, at most.
const LISTENS_MAX: usize = 64;
/// The first line of the file of facts.
const FIRST_LINE: &str = "pando node 1";

/// The key of a node. It stays when the certificate is renewed.
pub struct NodeKey(Zeroizing<Vec<u8>>);

impl fmt::Debug for NodeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NodeKey")
    }
}

impl NodeKey {
    /// Reads it, or makes one and writes it: a join that is tried again is of the same key.
    ///
    /// # Errors
    /// The file cannot be read, or not be written.
    pub fn load_or_make(disk: &dyn Disk, dir: &Path) -> Result<NodeKey, FileError> {
        disk.create_dir(dir)?;
        if disk.list(dir)?.iter().any(|name| name == KEY_FILE) {
            return NodeKey::load(disk, dir);
        }
        let pair = KeyPair::generate().map_err(|error| FileError::content(dir, KEY_FILE, error))?;
        let key = NodeKey(Zeroizing::new(pair.serialized_der().to_vec()));
        let text = Zeroizing::new(files::text_of("PRIVATE KEY", &key.0));
        files::write(disk, dir, KEY_FILE, text.as_bytes())?;
        Ok(key)
    }

    fn load(disk: &dyn Disk, dir: &Path) -> Result<NodeKey, FileError> {
        let text = files::read(disk, dir, KEY_FILE)?;
        let wrong = || FileError::content(dir, KEY_FILE, "it is no key of PKCS#8 in PEM");
        let key = PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes()).map_err(|_| wrong())?;
        let key = NodeKey(Zeroizing::new(key.secret_pkcs8_der().to_vec()));
        KeyPair::try_from(&key.pkcs8()).map_err(|_| wrong())?;
        Ok(key)
    }

    /// A request for a certificate (PKCS#10), signed by the key.
    ///
    /// # Panics
    /// When the system has no random numbers for a signature.
    pub fn request(&self) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        let request =
            params.serialize_request(&self.pair()).expect("a request of nothing but the key is signed");
        request.der().to_vec()
    }

    pub(crate) fn pkcs8(&self) -> PrivatePkcs8KeyDer<'_> {
        PrivatePkcs8KeyDer::from(self.0.as_slice())
    }

    fn pair(&self) -> KeyPair {
        KeyPair::try_from(&self.pkcs8()).expect("the key was looked at when it was read or made")
    }

    fn is_of(&self, certificate: &[u8]) -> bool {
        certificate::public_key_of(certificate).is_some_and(|public| self.pair().public_key_raw() == public)
    }
}

/// What the file `node` says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Facts {
    cluster: ClusterId,
    node: u64,
    peer_addresses: Vec<Address>,
    ldap_addresses: Vec<Address>,
    listens: Listens,
    boots: u64,
    /// The last start, once there was one, and those before; nothing of those that an earlier program counted.
    runs: Runs,
}

/// Where a node listened when it was started last: a start that names no addresses takes these. Where it is reached may be elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listens {
    /// For other nodes.
    pub peer: Vec<Address>,
    /// For clients: what is said of each listener.
    pub clients: Vec<String>,
}

impl Facts {
    fn text(&self) -> String {
        let mut text = format!("{FIRST_LINE}\ncluster {}\nnode {}\n", self.cluster, self.node);
        for (word, addresses) in [("peer", &self.peer_addresses), ("ldap", &self.ldap_addresses)] {
            assert!(addresses.len() <= ADDRESSES_MAX, "a node has few addresses");
            addresses.iter().for_each(|address| _ = writeln!(text, "{word} {address}"));
        }
        self.listens.peer.iter().for_each(|address| _ = writeln!(text, "listen-peer {address}"));
        self.listens.clients.iter().for_each(|url| _ = writeln!(text, "listen {url}"));
        let _ = writeln!(text, "boots {}", self.boots);
        self.runs.names().iter().for_each(|run| _ = writeln!(text, "run {run}"));
        let _ = writeln!(text, "crc32c {:08x}", crc32c::crc32c(text.as_bytes()));
        text
    }

    /// From its text, which is as [`Facts::text`] writes it to the byte.
    fn parse(text: &str) -> Result<Facts, &'static str> {
        let mut facts = Facts {
            cluster: ClusterId([0; 16]),
            node: 0,
            peer_addresses: Vec::new(),
            ldap_addresses: Vec::new(),
            listens: Listens::default(),
            boots: 0,
            runs: Runs::default(),
        };
        let mut runs = Vec::new();
        if text.lines().next() != Some(FIRST_LINE) {
            return Err("it is of another version, or no such file");
        }
        for line in text.lines().skip(1) {
            let (word, value) = line.split_once(' ').ok_or("it has a line without a value")?;
            let addresses = match word {
                "peer" => &mut facts.peer_addresses,
                "ldap" => &mut facts.ldap_addresses,
                "listen-peer" => &mut facts.listens.peer,
                "listen" => {
                    facts.listens.clients.push(value.to_owned());
                    continue;
                }
                "cluster" => {
                    facts.cluster = ClusterId::parse(value).ok_or("its cluster is none")?;
                    continue;
                }
                "node" => {
                    facts.node = value.parse().map_err(|_| "its node is none")?;
                    continue;
                }
                "boots" => {
                    facts.boots = value.parse().map_err(|_| "its number of starts is none")?;
                    continue;
                }
                "run" => {
                    runs.push(RunId::parse(value).ok_or("one of its runs is none")?);
                    continue;
                }
                "crc32c" => continue,
                _ => return Err("it has an unknown line"),
            };
            if addresses.len() == ADDRESSES_MAX {
                return Err("it has too many addresses");
            }
            addresses.push(Address::parse(value).ok_or("one of its addresses is none")?);
        }
        facts.runs = Runs::of(&runs).ok_or("it has too many runs")?;
        // Lines that are missing, twice, or elsewhere, and a wrong checksum, all make another text.
        match facts.text() == text && facts.node != 0 {
            true => Ok(facts),
            false => Err("it is damaged: its checksum is not that of its lines"),
        }
    }
}

/// A node as its files have it.
#[derive(Debug)]
pub struct Identity {
    facts: Facts,
    key: NodeKey,
    certificate: CertificateDer<'static>,
    authority: CertificateDer<'static>,
}

/// A node whose start was counted, durably: only that may speak to peers.
#[derive(Debug)]
pub struct Boot {
    /// The node.
    pub identity: Identity,
    /// Names this run.
    pub run: RunId,
    /// Those before it.
    pub earlier: Runs,
}

impl Identity {
    /// Writes the files of a new node and of the CA, the one that says which node it is last. The counter of starts is 0.
    ///
    /// # Errors
    /// The certificate is not for this key, cluster and such a node; there are more than [`ADDRESSES_MAX`] addresses; or what the disk says.
    pub fn create(
        disk: &dyn Disk,
        dir: &Path,
        authority: &Authority,
        key: NodeKey,
        certificate: CertificateDer<'static>,
        [peer_addresses, ldap_addresses]: [Vec<Address>; 2],
    ) -> Result<Identity, FileError> {
        let wrong = |what: &str| FileError::content(dir, CERTIFICATE_FILE, what);
        let holder = Holder::read(&certificate).ok_or_else(|| wrong("it is of no node"))?;
        if holder.cluster != authority.cluster() {
            return Err(wrong("it is of another cluster"));
        }
        let (cluster, node, listens) = (holder.cluster, holder.node, Listens::default());
        let facts =
            Facts { cluster, node, peer_addresses, ldap_addresses, listens, boots: 0, runs: Runs::default() };
        let identity = Identity { facts, key, certificate, authority: authority.certificate().clone() };
        identity.check(dir)?;
        authority.save(disk, dir)?;
        let key = Zeroizing::new(files::text_of("PRIVATE KEY", &identity.key.0));
        files::write(disk, dir, KEY_FILE, key.as_bytes())?;
        identity.save_certificate(disk, dir)?;
        identity.save_facts(disk, dir)?;
        Ok(identity)
    }

    /// Does the data directory belong to a cluster?
    ///
    /// # Errors
    /// What the disk says.
    pub fn exists(disk: &dyn Disk, data: &Path) -> Result<bool, FileError> {
        let dir = files::folder(data);
        let is_there = disk.list_dirs(data)?.iter().any(|name| dir.ends_with(name));
        Ok(is_there && disk.list(&dir)?.iter().any(|name| name == FACTS_FILE))
    }

    /// Reads it, for a program that is no server.
    ///
    /// # Errors
    /// The files are not there, are damaged, or do not fit together.
    pub fn load(disk: &dyn Disk, dir: &Path) -> Result<Identity, FileError> {
        let text = files::read(disk, dir, FACTS_FILE)?;
        let facts = Facts::parse(&text).map_err(|what| FileError::content(dir, FACTS_FILE, what))?;
        let identity = Identity {
            facts,
            key: NodeKey::load(disk, dir)?,
            certificate: files::read_certificate(disk, dir, CERTIFICATE_FILE)?,
            authority: files::read_certificate(disk, dir, AUTHORITY_FILE)?,
        };
        identity.check(dir)?;
        Ok(identity)
    }

    /// Reads it for a server that starts, counts the start and names it: durable when this returns.
    ///
    /// # Errors
    /// As [`Identity::load`], or what the disk says.
    pub fn boot(disk: &dyn Disk, dir: &Path, entropy: &mut dyn Entropy) -> Result<Boot, FileError> {
        let mut identity = Identity::load(disk, dir)?;
        let boots = identity.facts.boots.checked_add(1);
        identity.facts.boots =
            boots.ok_or_else(|| FileError::content(dir, FACTS_FILE, "it cannot count more starts"))?;
        let (run, earlier) = (RunId::random(entropy), identity.facts.runs);
        identity.facts.runs = earlier.with(run);
        identity.save_facts(disk, dir)?;
        Ok(Boot { identity, run, earlier })
    }

    /// The certificate by which the present one is to be replaced: the one that was made before, if it is later than the present one, else
    /// another one. It is durable when this returns, so it can be announced to others. The time is in seconds since 1970.
    ///
    /// # Errors
    /// The CA cannot issue it, or what the disk says.
    pub fn next_certificate(
        &self,
        disk: &dyn Disk,
        dir: &Path,
        authority: &Authority,
        now_s: u64,
        entropy: &mut dyn Entropy,
    ) -> Result<CertificateDer<'static>, FileError> {
        if disk.list(dir)?.iter().any(|name| name == NEXT_FILE)
            && let Ok(next) = files::read_certificate(disk, dir, NEXT_FILE)
            && self.may_follow(&next, now_s)
        {
            return Ok(next);
        }
        let next = authority.issue(&self.key.request(), self.facts.node, now_s, entropy);
        let next = next.map_err(|error| FileError::content(dir, NEXT_FILE, error))?;
        files::write(disk, dir, NEXT_FILE, files::certificate_text(&next).as_bytes())?;
        Ok(next)
    }

    /// Is it for this node and key, and valid for longer than the present one?
    fn may_follow(&self, next: &CertificateDer<'_>, now_s: u64) -> bool {
        let until_s = self.holder().valid_s.1.max(i64::try_from(now_s).unwrap_or(i64::MAX));
        let is_later = |holder: Holder| {
            (holder.cluster, holder.node) == (self.facts.cluster, self.facts.node)
                && holder.valid_s.1 > until_s
        };
        Holder::read(next).is_some_and(is_later) && self.key.is_of(next)
    }

    /// Takes another certificate for the same node and key; durable when this returns.
    ///
    /// # Errors
    /// It is not for this node and key, or what the disk says. Then the earlier one stays.
    pub fn renew(
        &mut self,
        disk: &dyn Disk,
        dir: &Path,
        certificate: CertificateDer<'static>,
    ) -> Result<(), FileError> {
        let earlier = std::mem::replace(&mut self.certificate, certificate);
        let renewed = self.check(dir).and_then(|()| self.save_certificate(disk, dir));
        if renewed.is_err() {
            self.certificate = earlier;
        }
        renewed
    }

    /// Changes the addresses that others are to use, and those at which the node listens; durable when this returns.
    ///
    /// # Errors
    /// There are too many, or what the disk says.
    pub fn advertise(
        &mut self,
        disk: &dyn Disk,
        dir: &Path,
        [peer_addresses, ldap_addresses]: [Vec<Address>; 2],
        listens: Listens,
    ) -> Result<(), FileError> {
        let earlier = self.facts.clone();
        (self.facts.peer_addresses, self.facts.ldap_addresses) = (peer_addresses, ldap_addresses);
        self.facts.listens = listens;
        let changed = self.check(dir).and_then(|()| self.save_facts(disk, dir));
        if changed.is_err() {
            self.facts = earlier;
        }
        changed
    }

    /// The cluster.
    pub fn cluster(&self) -> ClusterId {
        self.facts.cluster
    }

    /// The node; not 0.
    pub fn node(&self) -> u64 {
        self.facts.node
    }

    /// Where other nodes reach it.
    pub fn peer_addresses(&self) -> &[Address] {
        &self.facts.peer_addresses
    }

    /// Where clients reach it.
    pub fn ldap_addresses(&self) -> &[Address] {
        &self.facts.ldap_addresses
    }

    /// Where it listened when it was started last; nothing in a file that an earlier program wrote.
    pub fn listens(&self) -> &Listens {
        &self.facts.listens
    }

    /// Starts so far, this one included.
    pub fn boots(&self) -> u64 {
        self.facts.boots
    }

    /// Its certificate.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// Whose the certificate is, until when it is valid, and when it should be renewed.
    pub fn holder(&self) -> Holder {
        Holder::read(&self.certificate).expect("it was read before")
    }

    /// Its key.
    pub fn key(&self) -> &NodeKey {
        &self.key
    }

    /// The certificate of the CA.
    pub fn authority(&self) -> &CertificateDer<'static> {
        &self.authority
    }

    fn check(&self, dir: &Path) -> Result<(), FileError> {
        let wrong = |name: &str, what: &str| Err(FileError::content(dir, name, what));
        if certificate::authority_of(&self.authority).is_none_or(|(cluster, _)| cluster != self.facts.cluster)
        {
            return wrong(AUTHORITY_FILE, "it is not the CA of this node's cluster");
        }
        let holder = Holder::read(&self.certificate);
        let is_own = |holder: Holder| (holder.cluster, holder.node) == (self.facts.cluster, self.facts.node);
        if !holder.is_some_and(is_own) {
            return wrong(CERTIFICATE_FILE, "it is not the certificate of this node");
        }
        if !self.key.is_of(&self.certificate) {
            return wrong(CERTIFICATE_FILE, "it is not the certificate of this node's key");
        }
        let Facts { peer_addresses, ldap_addresses, listens, .. } = &self.facts;
        let most = peer_addresses.len().max(ldap_addresses.len()).max(listens.peer.len());
        if most > ADDRESSES_MAX {
            return wrong(FACTS_FILE, "a node has at most 8 addresses of each kind");
        }
        if listens.clients.len() > LISTENS_MAX || listens.clients.iter().any(|url| url.contains('\n')) {
            return wrong(FACTS_FILE, "a node listens for clients at 64 addresses at most");
        }
        Ok(())
    }

    fn save_certificate(&self, disk: &dyn Disk, dir: &Path) -> Result<(), FileError> {
        files::write(disk, dir, CERTIFICATE_FILE, files::certificate_text(&self.certificate).as_bytes())
    }

    fn save_facts(&self, disk: &dyn Disk, dir: &Path) -> Result<(), FileError> {
        files::write(disk, dir, FACTS_FILE, self.facts.text().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_back_and_any_changed_byte_shows() {
        let address = |text: &str| Address::parse(text).expect("it is one");
        let facts = Facts {
            cluster: ClusterId([7; 16]),
            node: 3,
            peer_addresses: vec![address("a.example:7389"), address("[::1]:7389")],
            ldap_addresses: vec![address("a.example:389")],
            listens: Listens {
                peer: vec![address("0.0.0.0:7389")],
                clients: vec!["ldaps://0.0.0.0:636".to_owned(), "ldapi://%2Frun%2Fpando".to_owned()],
            },
            boots: 17,
            runs: Runs::of(&[RunId([5; 16]), RunId([4; 16])]).expect("they are few"),
        };
        let text = facts.text();
        assert_eq!(Facts::parse(&text), Ok(facts));
        for at in 0..text.len() {
            let mut other = text.clone().into_bytes();
            other[at] ^= 1;
            let other = String::from_utf8(other).expect("it is ASCII");
            assert!(Facts::parse(&other).is_err(), "{other}");
            assert!(Facts::parse(&text[..at]).is_err());
        }
    }
}
