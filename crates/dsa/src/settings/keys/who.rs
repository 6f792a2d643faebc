//! The rows of who has rights besides those of rules, how passwords are stored, and how entries are found for those who are known otherwise.
//!
//! All of it is decided before the log: a replay needs none of it.

mod certificate_mapping;
mod user_mapping;

use super::{Holds, each, meant, put, word};
use crate::password::Scheme;
use crate::settings::row::{Bad, Row, Scope, Values};
use crate::settings::value::dn;
use crate::standing::Anonymous;

/// Names of one list: the built-in rules have a rule for each.
/// What should be true of more people than that is a group, and a rule of its own.
const NAMES_MAX: usize = 1024;
/// Mappings of certificates: each may be a search.
/// A bind by a certificate that nobody has looks through all of them.
const MAPPINGS_MAX: usize = 1024;

impl<T: Holds> Row<T> {
    /// Those in no section.
    /// In the template and in the documentation they stand before the sections, as TOML wants it.
    pub(super) const WHO: &'static [Row<T>] = &[
        Row {
            // Made built-in rules: in force with the rules, also for sessions that are there.
            name: "write-dn",
            form: "DN",
            values: Values::Each,
            scope: Scope::Directory,
            default: "none",
            text: "A name that may change every entry, as `root-dn` may. It reads no passwords, changes no configuration, and cannot \
                   become `root-dn`; but it can give any other entry a password ([secrets](controls.md#secrets)).",
            set: |c, v| {
                each(&mut c.choices_mut().standing.writers, v, (NAMES_MAX, "names have such rights"), dn)
            },
            show: |c| c.choices().standing.writers.clone(),
        },
        Row {
            // The same. Who it may act as is judged by each request with the control.
            name: "proxy-dn",
            form: "DN",
            values: Values::Each,
            scope: Scope::Directory,
            default: "none",
            text: "A name that may act as others with the proxied authorization control, but never as `root-dn` or a name of `write-dn`. `root-dn` always may.",
            set: |c, v| {
                each(&mut c.choices_mut().standing.proxies, v, (NAMES_MAX, "names have such rights"), dn)
            },
            show: |c| c.choices().standing.proxies.clone(),
        },
        Row {
            // Read for each password that is stored, and for each that is compared: one of another scheme may be stored anew.
            name: "password-scheme",
            form: "SCHEME",
            values: Values::Each,
            scope: Scope::Directory,
            default: "argon2id",
            text: "How passwords are stored that come in clear text: argon2id, ssha512, ssha256, ssha, pbkdf2-sha256, pbkdf2-sha512, \
                   scram-sha-256, bcrypt, sha512-crypt or clear. Of several schemes a value of each is stored; all stand for the one \
                   password. In the file it is also called `passwords.schemes` ([passwords](passwords.md)).",
            set: |c, v| schemes(v).map(|schemes| c.choices_mut().passwords.schemes = schemes),
            show: |c| scheme_words(&c.choices().passwords.schemes),
        },
        Row {
            // A built-in rule, too.
            name: "anonymous",
            form: "none|read",
            values: Values::One,
            scope: Scope::Directory,
            default: "none",
            text: "What clients that have not bound may read: the root DSE and the subschema only, or what users may read.",
            set: |c, v| put(&mut c.choices_mut().standing.anonymous, v, |t| meant(t, Anonymous::WORDS)),
            show: |c| vec![word(c.choices().standing.anonymous, Anonymous::WORDS)],
        },
    ];

    /// Those of the section `identity`, which the server's row of that section stands before.
    pub(super) const IDENTITY: &'static [Row<T>] = &[
        Row {
            // Looked at by each bind with EXTERNAL; sessions that have bound stay who they are.
            name: "identity.certificate",
            form: "by=fingerprint attribute=NAME base=DN|by=subject-dn|by=filter filter=FILTER base=DN",
            values: Values::Tables,
            scope: Scope::Directory,
            default: "none: nobody is known by a certificate",
            text: "How the entry of the owner of a certificate is found: by its SHA-256 in hexadecimal digits, by its subject, or by a \
                   filter in which names such as {san.email} stand for what it says. The first that leads to one entry counts.",
            set: |c, v| {
                each(
                    &mut c.choices_mut().identities.certificates,
                    v,
                    (MAPPINGS_MAX, "mappings are looked at"),
                    certificate_mapping::parse,
                )
            },
            show: |c| c.choices().identities.certificates.iter().map(certificate_mapping::show).collect(),
        },
        Row {
            // One line at most, though it is a table: an array of them is refused.
            name: "identity.user",
            form: "base=DN scope=one|sub filter=FILTER",
            values: Values::Tables,
            scope: Scope::Directory,
            default: "none: the value of `uid`, anywhere",
            text: "Whose entry is meant by the name of a user: with SASL, in `u:` forms of an identity, and in a token. In FILTER {} stands for the \
                   name; it must be true of one entry, which an equality index finds. In the file it is a table, `[identity.user]`.",
            set: |c, v| user_mapping::set(&mut c.choices_mut().identities.user, v),
            show: |c| user_mapping::show(&c.choices().identities.user),
        },
    ];
}

/// The schemes of new passwords: one at least, each once, and clear text alone.
fn schemes(texts: &[String]) -> Result<Vec<Scheme>, Bad> {
    let mut schemes = Vec::new();
    // The place of the first that is wrong is in the answer, as of every list of values.
    for (at, text) in texts.iter().enumerate() {
        let bad = |reason: String| Err(vec![(at, reason)]);
        let Some((_, scheme)) = Scheme::ALL.iter().find(|(word, _)| word == text) else {
            let words: Vec<&str> = Scheme::ALL.iter().map(|(word, _)| *word).collect();
            return bad(format!("`{text}` is none of {}", words.join(", ")));
        };
        if schemes.contains(scheme) {
            return bad(format!("`{text}` is there twice"));
        }
        schemes.push(*scheme);
        if schemes.len() > 1 && schemes.contains(&Scheme::Clear) {
            return bad("a password in clear text stands alone: a hash beside it protects nothing".to_owned());
        }
    }
    if schemes.is_empty() { Err(vec![(0, "one scheme at least is needed".to_owned())]) } else { Ok(schemes) }
}

/// The words for schemes, in the order in which they were chosen: the first is what a password of nobody is compared by.
fn scheme_words(schemes: &[Scheme]) -> Vec<String> {
    let word =
        |scheme: &Scheme| Scheme::ALL.iter().find(|(_, of)| of == scheme).map(|(word, _)| (*word).to_owned());
    schemes.iter().filter_map(word).collect()
}
