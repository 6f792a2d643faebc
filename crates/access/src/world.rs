//! What a decision needs to know: entries, and who asks.

use crate::name::Name;
use crate::rule::{AuthMethod, Network, Peer};
use model::attribute::split_options;
use schema::Schema;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// An entry as plain text and octets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its DN.
    pub dn: String,
    /// The same, taken apart.
    pub name: Name,
    /// Attribute descriptions with their values.
    pub attributes: Vec<(String, Vec<Vec<u8>>)>,
}

impl Entry {
    /// An entry. `None` if the DN is none under the schema.
    pub fn new(schema: &Schema, dn: &str, attributes: Vec<(String, Vec<Vec<u8>>)>) -> Option<Entry> {
        Some(Entry { dn: dn.to_owned(), name: Name::parse(schema, dn.as_bytes())?, attributes })
    }

    /// Descriptions and values of the attributes that a description names: of its type and subtypes, with its options at least.
    pub fn values<'e>(&'e self, schema: &'e Schema, wanted: &'e str) -> impl Iterator<Item = &'e [u8]> + 'e {
        let named = self.attributes.iter().filter(move |(have, _)| includes(schema, wanted, have));
        named.flat_map(|(_, values)| values).map(Vec::as_slice)
    }
}

/// Does a description name an attribute: is the attribute of its type or a subtype, with its options at least?
pub(crate) fn includes(schema: &Schema, wanted: &str, have: &str) -> bool {
    let ((wanted, options), (have, of_entry)) =
        (split_options(wanted.as_bytes()), split_options(have.as_bytes()));
    let (Some(wanted), Some(have)) = (schema.find_type(wanted), schema.find_type(have)) else { return false };
    let lower = |options: &[u8]| String::from_utf8_lossy(options).to_ascii_lowercase();
    let (options, of_entry) = (lower(options), lower(of_entry));
    // `binary` is a way to send values (RFC 4522), `lang-de-` a range of languages (RFC 3866, 2.2).
    let is_there = |option: &str| {
        let is_in_range = |other: &str| {
            option.starts_with("lang-") && option.ends_with('-') && format!("{other}-").starts_with(option)
        };
        option.is_empty()
            || option == "binary"
            || of_entry.split(';').any(|other| other == option || is_in_range(other))
    };
    schema.is_subtype(have, wanted) && options.split(';').all(is_there)
}

/// A directory, as far as decisions ask about it.
pub trait World {
    /// The schema.
    fn schema(&self) -> &Schema;

    /// The entry with this name.
    fn entry(&self, name: &Name) -> Option<Arc<Entry>>;
}

/// A directory that is a list of entries.
#[derive(Clone, Debug)]
pub struct Tree {
    schema: Arc<Schema>,
    entries: BTreeMap<Name, Arc<Entry>>,
}

impl Tree {
    /// Without entries.
    pub fn new(schema: Arc<Schema>) -> Tree {
        Tree { schema, entries: BTreeMap::new() }
    }

    /// Adds an entry, or puts it in the place of the one with its name.
    pub fn insert(&mut self, entry: Entry) {
        self.entries.insert(entry.name.clone(), Arc::new(entry));
    }

    /// All entries.
    pub fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.values()
    }
}

impl World for Tree {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn entry(&self, name: &Name) -> Option<Arc<Entry>> {
        self.entries.get(name).cloned()
    }
}

/// Who asks, and over what connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requester {
    /// As whom a request is made: the authorization identity. `None`: anonymous.
    pub dn: Option<String>,
    /// Who proved itself: the authentication identity. The same unless it acts as another.
    pub real: Option<String>,
    /// Is it the root DN that asks?
    pub is_root: bool,
    /// How it proved who it is.
    pub auth: AuthMethod,
    /// Bits that protect the connection.
    pub strength: u16,
    /// Of these, those of TLS.
    pub tls: u16,
    /// Where it comes from.
    pub peer: Address,
    /// The name of the listener.
    pub listener: String,
}

impl Default for Requester {
    fn default() -> Requester {
        Requester {
            dn: None,
            real: None,
            is_root: false,
            auth: AuthMethod::None,
            strength: 0,
            tls: 0,
            peer: Address::Network(IpAddr::from([127, 0, 0, 1])),
            listener: String::new(),
        }
    }
}

/// Where a connection comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix stream socket.
    Ldapi,
    /// A host.
    Network(IpAddr),
}

impl Address {
    /// Is it among those that a rule names?
    pub fn is_one_of(self, peers: &[Peer]) -> bool {
        peers.iter().any(|peer| match (peer, self) {
            (Peer::Ldapi, Address::Ldapi) => true,
            (Peer::Network(network), Address::Network(address)) => Network::contains(network, address),
            _ => false,
        })
    }
}
