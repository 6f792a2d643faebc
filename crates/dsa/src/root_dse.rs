//! The root DSE (RFC 4512 section 5.1): what this server is and what it can do. It says nothing that is not so.
//!
//! Made once at the start; what depends on settings is replaced when they change. Clients read it before anything else, so it must say exactly what the
//! server does (RFC 4512 section 5.1).

use crate::config::Config;
use crate::control::CONTROLS;
use crate::engine::Dsa;
use crate::extension::{Extension, Role};
use crate::offer::Offer;
use crate::op::bind::MECHANISMS;
use crate::op::extended::EXTENSIONS;
use crate::settings::Choices;
use crate::system::{CONFIG_DN, MONITOR_DN, ROOT_DSES, put, put_all};
use env::clock::Now;
use model::Entry;
use proto::feature;
use schema::Schema;
use std::sync::atomic::Ordering;
use store::derived::SUBSCHEMA_DN;

/// Elective features (RFC 3674) that are there.
/// Each is held by tests; one that only some requests have is not listed.
const FEATURES: [&str; 6] = [
    "1.3.6.1.1.14",           // increment in modify, RFC 4525
    "1.3.6.1.4.1.4203.1.5.1", // "+" for all operational attributes, RFC 3673
    "1.3.6.1.4.1.4203.1.5.2", // "@class" for all attributes of a class, RFC 4529
    "1.3.6.1.4.1.4203.1.5.3", // absolute true and false filters, RFC 4526
    "1.3.6.1.4.1.4203.1.5.4", // language tags as attribute options, RFC 3866
    "1.3.6.1.4.1.4203.1.5.5", // language ranges, RFC 3866
];

/// The attribute that lists them.
const SUPPORTED_FEATURES: &str = "supportedFeatures";
/// The attribute that lists mechanisms of SASL.
const SUPPORTED_MECHANISMS: &str = "supportedSASLMechanisms";
/// The attribute that has the number of the last change.
const LAST_USN: &str = "lastUSN";

/// Those that are there under these settings.
/// Two of them have OIDs of this project: clients find out by them whether they may name a transaction themselves.
fn features(choices: &Choices) -> Vec<&'static str> {
    let transactions = &choices.transactions;
    let switched = [
        (transactions.implicit_begin, feature::IMPLICIT_BEGIN),
        (transactions.implicit_membership, feature::IMPLICIT_MEMBERSHIP),
    ];
    let on = switched.into_iter().filter(|(is_on, _)| *is_on).map(|(_, oid)| oid);
    FEATURES.into_iter().chain(on).collect()
}

/// Mechanisms that a session may use which is offered this.
/// Proofs of SCRAM need a stored form of their own, so that mechanism comes and goes with the scheme.
fn mechanisms(config: &Config, choices: &Choices, offer: Offer) -> impl Iterator<Item = &'static str> {
    let schemes = &choices.passwords.schemes;
    let offered = MECHANISMS.iter().filter(move |mechanism| mechanism.is_offered(config, schemes, offer));
    offered.map(|mechanism| mechanism.name)
}

/// Lists the features and mechanisms that are there under the settings of now.
/// The value is worked out under the role of that shard's writer, so of two changes the later one is shown.
pub(crate) fn show_features(dsa: &Dsa, now: Now) {
    dsa.system.update(now, |update| {
        let choices = dsa.chosen.now();
        let features: Vec<String> = features(&choices).into_iter().map(str::to_owned).collect();
        // A client is shown what it may use, so there is an entry for each offer.
        for offer in Offer::all() {
            let mechanisms = mechanisms(&dsa.config, &choices, offer).map(str::to_owned).collect();
            let both = [(SUPPORTED_FEATURES, features.clone()), (SUPPORTED_MECHANISMS, mechanisms)];
            update.replace(ROOT_DSES[offer.number()], both);
        }
    });
}

/// Shows the last changes, as a session sees the root DSE that is offered this. To be called before a read point of the server's own entries is taken.
/// It is a change that the searches of now find. A later one might not be published yet, and a client would pass it over for ever.
pub(crate) fn refresh(dsa: &Dsa, offer: Offer, now: Now) {
    if dsa.change_log.is_on() {
        dsa.change_log.refresh(&dsa.system, offer, now);
    }
    let shown = &dsa.system.last_usns[offer.number()];
    let last = || dsa.shard.reached().csn.usn();
    if !dsa.config.store.operational_attributes || shown.load(Ordering::Acquire) == last() {
        return;
    }
    dsa.system.update(now, |update| {
        // Under the writer's role, so that the number never goes back.
        let last = last();
        update.replace(ROOT_DSES[offer.number()], [(LAST_USN, vec![last.to_string()])]);
        shown.store(last, Ordering::Release);
    });
}

impl Dsa {
    /// The root DSE names these servers from now on, as URLs that clients may use when this one is not there (RFC 4512 section 5.1.2).
    pub fn show_alternatives(&self, urls: &[String], now: Now) {
        self.system.update(now, |update| {
            for dn in ROOT_DSES {
                update.replace(dn, [("altServer", urls.to_vec())]);
            }
        });
    }
}

/// Puts the attributes of the root DSE into an entry, as a session sees it that is offered this.
pub(crate) fn fill(entry: &mut Entry, schema: &Schema, config: &Config, choices: &Choices, offer: Offer) {
    let contexts = &config.store.suffixes;
    put_all(entry, schema, "objectClass", ["top", "extensibleObject"]);
    put_all(entry, schema, "namingContexts", contexts.iter().map(String::as_str));
    // RFC 2589 section 5: all of them.
    put_all(entry, schema, "dynamicSubtrees", contexts.iter().map(String::as_str));
    // Of several none is the default; tools then ask which.
    if let [only] = &contexts[..] {
        put(entry, schema, "defaultNamingContext", only);
    }
    put(entry, schema, "subschemaSubentry", SUBSCHEMA_DN);
    put(entry, schema, "monitorContext", MONITOR_DN);
    put(entry, schema, "configContext", CONFIG_DN);
    put(entry, schema, "supportedLDAPVersion", "3");
    // The list of the code that reads controls, so the two cannot differ.
    let controls = CONTROLS.into_iter().chain(config.queue_length_oid.as_deref());
    put_all(entry, schema, "supportedControl", controls);
    let is_offered =
        |extension: &&&Extension| offer.has(Offer::START_TLS) || !matches!(extension.role, Role::Secures(_));
    let extensions = EXTENSIONS.iter().filter(is_offered).map(|extension| extension.oid);
    put_all(entry, schema, "supportedExtension", extensions);
    put_all(entry, schema, SUPPORTED_MECHANISMS, mechanisms(config, choices, offer));
    put_all(entry, schema, SUPPORTED_FEATURES, features(choices));
    put(entry, schema, "vendorName", "Pando");
    put(entry, schema, "vendorVersion", &config.version);
}
