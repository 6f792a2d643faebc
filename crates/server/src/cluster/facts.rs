//! What the members of a cluster know of a node: it stands in the log with the members.

use consensus::upkeep::Wishes;
use consensus::{Change, Members, ReplicaId};
use peers::{Address, Fingerprint, Holder, Member};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The names that are known here.
const NAMES: [&str; 12] = [
    "peer",
    "ldap",
    "certificate",
    "earlier",
    "until",
    "key",
    "token",
    "version",
    "newest",
    "drained",
    "replaces",
    "replacement",
];

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Where other nodes reach it.
    pub peer: Vec<Address>,
    /// Where clients reach it.
    pub ldap: Vec<Address>,
    /// Its certificate, and the one before, which it uses until it has heard that it may use this one.
    pub certificate: Option<Fingerprint>,
    /// See `certificate`.
    pub earlier: Option<Fingerprint>,
    /// Seconds since 1970 until which its certificate is valid; 0 if that is not known.
    pub until_s: u64,
    /// Its key, and the token with which it came: a token is used once, for one key.
    pub key: String,
    /// See `key`.
    pub token: String,
    /// The version that it last started with.
    pub version: String,
    /// The latest version of the behaviour that this program applies; `None` if it has not said so.
    pub newest: Option<u32>,
    /// It is not to lead, and clients are to go elsewhere: an operator is about to stop it.
    pub drained: bool,
    /// The node whose place it takes, if it joined for that.
    pub replaces: Option<ReplicaId>,
    /// What an operator has ordered in its place.
    pub replacement: Option<Replacement>,
    /// What a later program has written and this one does not know. It is kept.
    pub more: Map<String, Value>,
}

/// That another node is to take the place of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// Names the token with which the other one joins.
    pub token: String,
    /// Seconds since 1970 from which the token cannot be used.
    pub until_s: u64,
}

impl Facts {
    /// Their bytes.
    pub fn encode(&self) -> Vec<u8> {
        let texts = |addresses: &[Address]| addresses.iter().map(ToString::to_string).collect::<Vec<_>>();
        let [certificate, earlier] =
            [self.certificate, self.earlier].map(|one| one.map(|one| one.to_string()));
        let mut object = Value::Object(self.more.clone());
        let known = json!({
            "peer": texts(&self.peer), "ldap": texts(&self.ldap), "certificate": certificate,
            "earlier": earlier, "until": self.until_s, "key": self.key, "token": self.token, "version": self.version,
        });
        known.as_object().into_iter().flatten().for_each(|(name, value)| object[name] = value.clone());
        if let Some(newest) = self.newest {
            object["newest"] = json!(newest);
        }
        if self.drained {
            object["drained"] = json!(true);
        }
        if let Some(old) = self.replaces {
            object["replaces"] = json!(old.0);
        }
        if let Some(Replacement { token, until_s }) = &self.replacement {
            object["replacement"] = json!({ "token": token, "until": until_s });
        }
        object.to_string().into_bytes()
    }

    /// Reads them. What is not there, or not understood, is empty.
    pub fn decode(bytes: &[u8]) -> Facts {
        let object: Value = serde_json::from_slice(bytes).unwrap_or_default();
        let is_unknown = |(name, _): &(&String, &Value)| !NAMES.contains(&name.as_str());
        let more = object.as_object().into_iter().flatten().filter(is_unknown);
        let more = more.map(|(name, value)| (name.clone(), value.clone())).collect();
        let text = |name: &str| object[name].as_str().unwrap_or_default().to_owned();
        let addresses = |name: &str| {
            let texts = object[name].as_array().map(Vec::as_slice).unwrap_or_default();
            texts.iter().filter_map(|text| Address::parse(text.as_str()?)).collect()
        };
        Facts {
            peer: addresses("peer"),
            ldap: addresses("ldap"),
            certificate: fingerprint(&text("certificate")),
            earlier: fingerprint(&text("earlier")),
            until_s: object["until"].as_u64().unwrap_or(0),
            key: text("key"),
            token: text("token"),
            version: text("version"),
            newest: object["newest"].as_u64().and_then(|number| u32::try_from(number).ok()),
            drained: object["drained"] == true,
            replaces: object["replaces"].as_u64().map(ReplicaId),
            replacement: replacement(&object["replacement"]),
            more,
        }
    }

    /// With this certificate from now on, and the present one.
    #[must_use]
    pub(super) fn renewed(self, certificate: Fingerprint, until_s: u64) -> Facts {
        match self.certificate == Some(certificate) {
            true => self,
            false => Facts { certificate: Some(certificate), earlier: self.certificate, until_s, ..self },
        }
    }

    /// Those of its certificates that are good.
    pub(super) fn certificates(&self) -> impl Iterator<Item = Fingerprint> {
        self.certificate.into_iter().chain(self.earlier)
    }

    /// Where clients reach it, as URLs.
    pub fn urls(&self) -> impl Iterator<Item = String> {
        self.ldap.iter().map(|address| format!("ldap://{address}"))
    }

    /// Of a member.
    pub fn of(members: &Members, id: ReplicaId) -> Facts {
        members.facts.get(&id).map(|bytes| Facts::decode(bytes)).unwrap_or_default()
    }
}

/// What is known of nodes, also of those that are gone.
pub(super) fn known(members: &Members) -> impl Iterator<Item = (ReplicaId, Facts)> {
    members.facts.iter().map(|(id, bytes)| (*id, Facts::decode(bytes)))
}

/// The member whose place is to be taken by the node of which this is known.
pub(super) fn replaces(members: &Members, facts: &Facts) -> Option<ReplicaId> {
    facts.replaces.filter(|old| members.has(*old))
}

/// The member whose place is to be taken by a node that joins with this token.
pub(super) fn replaced_by(members: &Members, token: &str) -> Option<ReplicaId> {
    let is_of = |id: &ReplicaId| {
        Facts::of(members, *id).replacement.is_some_and(|replacement| replacement.token == token)
    };
    members.all().find(is_of)
}

/// What an operator wants of members.
pub(super) fn wishes(members: &Members) -> Wishes {
    let mut wishes = Wishes::default();
    for id in members.all() {
        let facts = Facts::of(members, id);
        wishes.drained.extend(Some(id).filter(|_| facts.drained));
        wishes.replaces.extend(facts.replaces.map(|old| (id, old)));
    }
    wishes
}

/// A change of nothing but what is known of one member.
pub(super) fn change(members: &Members, id: ReplicaId, facts: &Facts) -> Change {
    Change { facts: BTreeMap::from([(id, facts.encode())]), ..Change::of(members) }
}

/// A change of what is known of one member, if `edit` makes something else of that.
pub(super) fn edited(members: &Members, id: ReplicaId, edit: impl FnOnce(Facts) -> Facts) -> Option<Change> {
    let before = Facts::of(members, id);
    let after = edit(before.clone());
    (after != before).then(|| change(members, id, &after))
}

fn replacement(value: &Value) -> Option<Replacement> {
    Some(Replacement { token: value["token"].as_str()?.to_owned(), until_s: value["until"].as_u64()? })
}

/// A member, as links know it.
pub(super) fn linked(members: &Members, id: ReplicaId) -> Member {
    let facts = Facts::of(members, id);
    let certificates = facts.certificates().collect();
    Member { id: id.0, addresses: facts.peer, certificates }
}

/// Seconds since 1970 until which a certificate of a node is valid.
pub fn until_s(certificate: &[u8]) -> u64 {
    Holder::read(certificate).and_then(|holder| u64::try_from(holder.valid_s.1).ok()).unwrap_or(0)
}

fn fingerprint(text: &str) -> Option<Fingerprint> {
    let byte = |at: usize| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok();
    let bytes: Vec<u8> = (0..32).map_while(byte).collect();
    bytes.try_into().ok().filter(|_| text.len() == 64).map(Fingerprint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_back_and_others_are_empty() {
        let facts = Facts {
            peer: vec![Address::parse("127.0.0.1:4891").unwrap()],
            ldap: vec![Address::parse("[::1]:389").unwrap()],
            certificate: Some(Fingerprint([7; 32])),
            earlier: Some(Fingerprint([8; 32])),
            until_s: 9,
            key: "k".to_owned(),
            token: "t".to_owned(),
            version: "1".to_owned(),
            newest: Some(3),
            drained: true,
            replaces: Some(ReplicaId(3)),
            replacement: Some(Replacement { token: "u".to_owned(), until_s: 9 }),
            more: Map::from_iter([("later".to_owned(), json!([1]))]),
        };
        assert_eq!(Facts::decode(&facts.encode()), facts);
        // A second time it is the same, and the one before it is not forgotten.
        let renewed = facts.clone().renewed(Fingerprint([9; 32]), 10);
        assert!(renewed.certificates().eq([9, 7].map(|byte| Fingerprint([byte; 32]))));
        assert_eq!(renewed.clone().renewed(Fingerprint([9; 32]), 11), renewed);
        let facts = Facts { drained: false, replaces: None, replacement: None, ..facts };
        assert_eq!(Facts::decode(&facts.encode()), facts);
        assert_eq!(Facts::decode(b"no facts"), Facts::default());
        assert_eq!(Facts::decode(b"{\"certificate\": \"\\u00e9\", \"peer\": 3}"), Facts::default());
    }
}
