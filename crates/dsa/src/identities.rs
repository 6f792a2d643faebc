//! How entries are found for those who are known by a certificate, or by what people call them: as chosen, and as it is in force. Who a process of the
//! same machine is depends on the machine, and is no choice of the directory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// How the entry of somebody is found who has a certificate.
/// One that leads to no entry, or to several, leads to nobody, and the next one is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateMapping {
    /// By what of it.
    pub by: FoundBy,
    /// Where the entry lies, if not anywhere.
    pub base: Option<String>,
}

/// What of a certificate leads to an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// Its fingerprint, which is a value of this attribute.
    Fingerprint(String),
    /// Its subject, which is the DN of the entry.
    SubjectDn,
    /// What it says of its owner, in a filter where names of it stand in braces.
    Filter(String),
}

/// How the entry of somebody is found by what people call him.
/// There is one of them: two names of a user must not be two users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserMapping {
    /// Where the entry lies, if not anywhere.
    pub base: Option<String>,
    /// Directly below the base, and no deeper?
    pub is_one_level: bool,
    /// A filter that is true of it alone, in which `{}` stands for the name; without one it is the value of `uid`.
    pub filter: Option<String>,
}

/// All of them, as chosen. By default nobody is known by a certificate, and a name of a user is a value of `uid`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// Who the owners of certificates are. The first that leads to one entry counts.
    pub certificates: Vec<CertificateMapping>,
    /// Who is called by a name.
    pub user: UserMapping,
}

impl Choices {
    /// DNs in them, each with the key that has it.
    pub fn names(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let certificates = self.certificates.iter().filter_map(|mapping| mapping.base.as_deref());
        let user = self.user.base.iter().map(|dn| ("identity.user", &dn[..]));
        user.chain(certificates.map(|dn| ("identity.certificate", dn)))
    }

    /// Attributes in which fingerprints of certificates are looked for.
    /// Those of filters may be unknown: such a filter is true of nothing.
    pub fn fingerprints(&self) -> impl Iterator<Item = &str> {
        self.certificates.iter().filter_map(|mapping| match &mapping.by {
            FoundBy::Fingerprint(attribute) => Some(&attribute[..]),
            FoundBy::SubjectDn | FoundBy::Filter(_) => None,
        })
    }
}

/// The same, in force. Who is looked for by a mapping takes it as it is then; the lock is held for a count of it.
#[derive(Debug, Default)]
pub(crate) struct Identities {
    choices: RwLock<Arc<Choices>>,
    /// Is there a mapping of users? Where there is none nothing is locked: names of users come with requests.
    has_user: AtomicBool,
}

impl Identities {
    /// In force as they were chosen.
    pub(crate) fn new(choices: &Choices) -> Identities {
        let identities = Identities::default();
        identities.put(choices);
        identities
    }

    /// Puts others in force.
    pub(crate) fn put(&self, choices: &Choices) {
        // First the mappings: who sees that there is one finds it.
        *self.choices.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(choices.clone());
        self.has_user.store(choices.user != UserMapping::default(), Ordering::Release);
    }

    /// All of them, as they are now. Who holds them keeps them though others are put in force.
    pub(crate) fn now(&self) -> Arc<Choices> {
        // It is replaced whole.
        Arc::clone(&self.choices.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The mapping of users, by value: what it finds is looked for without the lock.
    /// Each name of a user in a request asks, so the most frequent case, that there is none, costs one load.
    pub(crate) fn user(&self) -> UserMapping {
        match self.has_user.load(Ordering::Acquire) {
            true => self.now().user.clone(),
            false => UserMapping::default(),
        }
    }
}
