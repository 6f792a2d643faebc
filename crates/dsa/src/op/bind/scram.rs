//! The two steps of SCRAM (RFC 5802), as RFC 7677 has them for SHA-256.
//!
//! A client learns nothing of whether its name is there: a name without keys gets a salt that follows from it, the same at every try, and keys that
//! nobody proves. All that is wrong with a proof has one answer. What a policy says counts as in a simple bind.

use super::account::identified;
use super::lookup::{Identified, Known, dn_of};
use super::sasl::{Begun, Who};
use crate::access::Requester;
use crate::context::Reading;
use crate::faults::holes;
use crate::offer::Offer;
use crate::outcome::FixedRefusal;
use crate::own_entry::OwnEntry;
use crate::password;
use ::password::scram::{self, Keys};
use ::password::{base64, same};
use env::planted;
use model::ResultCode;
use proto::sasl::scram::{ClientFinal, ClientFirst, Flag, auth_message, server_final, server_first};

/// Octets of a nonce that are drawn.
const NONCE_BYTES: usize = 24;

/// Said of the message and not of the name in it, so it tells nothing.
const MALFORMED: FixedRefusal =
    (ResultCode::InvalidCredentials, "the message is not of the form that SCRAM has");
/// RFC 5802 section 6: the client supports channel binding, but thinks that the server does not.
const DOWNGRADED: FixedRefusal = (
    ResultCode::InvalidCredentials,
    "the client takes the server for one without channel binding, which it is not: somebody has changed the list of mechanisms",
);
/// The name of the mechanism and the flag of the message must say the same.
const UNBOUND: FixedRefusal = (
    ResultCode::InvalidCredentials,
    "SCRAM-SHA-256-PLUS is bound to the channel, and SCRAM-SHA-256 is not: the message says otherwise",
);
/// What the final message of a server says of every failure (RFC 5802 section 7).
pub(super) const INVALID_PROOF: &[u8] = b"e=invalid-proof";
/// OpenLDAP's library has one name for all types of bindings, and says in front of the data which it is. The SASL library below it sends the name of the
/// mechanism without -PLUS, whichever was chosen. A binding that is required and compared is as good under either name.
const OF_LIBLDAP: &[u8] = b"ldap";
const UNKNOWN_BINDING: &[u8] = b"e=unsupported-channel-binding-type";

/// Why a step fails: with a text for people, or with the message that the mechanism has for it.
pub(super) enum Failed {
    Refused(FixedRefusal),
    Said(&'static [u8]),
}

/// Answers the first message: the exchange, and the challenge.
///
/// # Errors
/// What is wrong with the message.
pub(super) fn begin(
    reading: &mut Reading<'_>,
    known: Known<'_>,
    is_plus: bool,
    message: &[u8],
) -> Result<(Begun, Vec<u8>), Failed> {
    let first = ClientFirst::decode(message).ok_or(Failed::Refused(MALFORMED))?;
    let user = scram::prepare(&first.user).ok_or(Failed::Refused(MALFORMED))?;
    let data = match (first.flag, is_plus) {
        (Flag::None, false) => vec![Vec::new()],
        (Flag::Unused, false) if is_downgraded(reading) => {
            return Err(Failed::Refused(DOWNGRADED));
        }
        (Flag::Unused, false) => vec![Vec::new()],
        (Flag::Bound(kind), plus) if plus || kind == OF_LIBLDAP => {
            bound_to(known, kind).ok_or(Failed::Said(UNKNOWN_BINDING))?
        }
        _ => return Err(Failed::Refused(UNBOUND)),
    };
    // A name that leads to nothing goes on like any other.
    let dsa = reading.dsa;
    let name = dn_of(reading, &user).unwrap_or(user);
    let (who, keys) = keys_of(reading, &name);
    // Of nobody: the same at every try, and after a restart.
    let keys = keys.unwrap_or_else(|| Keys::of_nobody(salt_of_nobody(reading, &name)));
    let mut drawn = [0; NONCE_BYTES];
    dsa.entropy().fill(&mut drawn);
    let nonce = [first.nonce, base64::encode(&drawn).as_bytes()].concat();
    let server_first = server_first(&nonce, &base64::encode(&keys.salt), keys.iterations);
    // What the last message must bring in base64: the header as it came, and what the channel is known by.
    let bindings = data.iter().map(|data| [first.header, data].concat()).collect();
    let (authorization_id, first_bare) = (first.authorization_id, first.bare.to_vec());
    let challenge = server_first.clone();
    Ok((Begun { name, who, authorization_id, bindings, nonce, first_bare, server_first }, challenge))
}

/// Judges the final message: who the client is, as whom it wants to act, and the proof of the server.
/// `None` if it is not proven, whatever is wrong.
pub(super) fn finish(
    reading: &mut Reading<'_>,
    anonymous: Requester,
    begun: &Begun,
    message: &[u8],
) -> Option<Identified> {
    let (dsa, now_ns) = (reading.dsa, reading.now.monotonic_ns);
    let (failures, account) = (&dsa.failed_binds, dsa.account(&begun.name));
    let is_throttled = failures.are_recent(now_ns) && failures.is_throttled(account, now_ns);
    // Worked out in any case: a throttled client learns nothing by the time that it takes.
    let proven = proven(reading, begun, message);
    let found = match (is_throttled, begun.who) {
        (true, _) | (false, Who::Nobody) => None,
        (false, Who::Root) => proven.is_some().then(|| dsa.root()),
        (false, Who::Entry(own)) => own.find(reading.read_point).and_then(|entry| {
            let dn = reading.read_point.dn(&entry, &mut reading.scratch.evaluator.cache);
            identified(reading, anonymous, &entry, dsa.is_root(&dn), |_, _| Ok(proven.is_some()))
        }),
    };
    // As in a simple bind: failures of an account count, whatever the mechanism.
    match &found {
        Some(_) => failures.succeeded(account),
        None if is_throttled => {}
        None => failures.failed(account, now_ns),
    }
    let signature = server_final(&base64::encode(&proven?));
    Some(Identified { who: found?, authorization_id: begun.authorization_id.clone(), said: signature })
}

/// The signature of the server, if the client's proof is right, of this exchange and of this channel.
fn proven(reading: &mut Reading<'_>, begun: &Begun, message: &[u8]) -> Option<Vec<u8>> {
    let last = ClientFinal::decode(message)?;
    let (_, keys) = keys_of(reading, &begun.name);
    // The keys may be others by now: then the proof, which is by the salt of the first step, is wrong.
    let keys = keys.unwrap_or_else(|| Keys::of_nobody(Vec::new()));
    let signed = auth_message(&begun.first_bare, &begun.server_first, last.without_proof);
    let is_right = keys.proves(&signed, &base64::decode(last.proof)?);
    let binding = base64::decode(last.binding)?;
    let is_bound = planted::is(holes::BINDING_NOT_COMPARED)
        || begun.bindings.iter().any(|expected| same(&binding, expected));
    (is_right && is_bound && same(last.nonce, &begun.nonce)).then(|| keys.signature(&signed))
}

/// Whose keys a name leads to, and the keys, if there are some.
/// The root DN has some if the password of the configuration is stored in this form. Of several values of an entry the first counts.
fn keys_of(reading: &mut Reading<'_>, name: &[u8]) -> (Who, Option<Keys>) {
    let dsa = reading.dsa;
    if dsa.is_root(name)
        && let Some(stored) = &dsa.config.root_password
    {
        return (Who::Root, Keys::of_sha256(stored));
    }
    let (read_point, cache) = (reading.read_point, &mut reading.scratch.evaluator.cache);
    let entry = read_point.resolve(name, cache).ok().and_then(|id| read_point.entry(id));
    let Some(entry) = entry else { return (Who::Nobody, None) };
    // An entry without such a value is somebody who cannot prove anything here.
    let stored = password::first(read_point, &entry, |value| Keys::of_sha256(value).is_some());
    (Who::Entry(OwnEntry::of(&entry)), stored.and_then(|value| Keys::of_sha256(&value)))
}

/// Is the server one with channel binding on this connection?
fn is_downgraded(reading: &Reading<'_>) -> bool {
    reading.security.offer().has(Offer::BINDING) && !planted::is(holes::DOWNGRADE_TAKEN)
}

/// A salt that follows from the name, and that nobody can work out who does not know the keys of the directory.
fn salt_of_nobody(reading: &Reading<'_>, name: &[u8]) -> Vec<u8> {
    // All spellings of a name have one salt, as they have if it is there.
    let mut key = Vec::new();
    if reading.dsa.shard.schema().normalise_dn(name, &mut key).is_err() {
        key = String::from_utf8_lossy(name).to_lowercase().into_bytes();
    }
    if planted::is(holes::SALT_DRAWN) {
        let mut drawn = vec![0; 16];
        reading.dsa.entropy().fill(&mut drawn);
        return drawn;
    }
    let half = |which: &[u8]| reading.dsa.shard.value_hash(&[&key, which].concat()).to_le_bytes();
    [half(b"\0scram salt 1"), half(b"\0scram salt 2")].concat()
}

/// What a client that binds to the channel by this type must have seen of it: one of these.
fn bound_to(known: Known<'_>, kind: &[u8]) -> Option<Vec<Vec<u8>>> {
    let bindings = known.bindings?;
    match kind {
        b"tls-server-end-point" => Some(vec![bindings.end_point.clone()?]),
        b"tls-exporter" => Some(bindings.exporter.as_ref()?.bindings()).filter(|some| !some.is_empty()),
        OF_LIBLDAP => Some(vec![[b"tls-server-end-point:", &bindings.end_point.as_ref()?[..]].concat()]),
        _ => None,
    }
}
