//! How good a new password is: what a policy asks for by pandoPwdQuality. Every refusal says what is wrong with it, and none has anything of the
//! password or of a name.
//!
//! What is cheap is asked first. A client that has chosen badly learns of it at once, and the threads for passwords do nothing for it.

use crate::access::each_value;
use crate::context::Reading;
use crate::outcome::FixedRefusal;
use crate::password::LATER;
use crate::password::policies::Policy;
use ::password::quality;
use model::ResultCode;
use model::limits::{PASSWORD_NAME_BYTES_MAX, PASSWORD_NAMES_MAX};
use proto::control::password_policy::PolicyError;
use store::EntryRef;

/// Code and text of a refusal, and what the control says of it.
/// Texts say what is asked for, and never anything of the password.
pub(super) type Fault = (ResultCode, &'static str, Option<PolicyError>);

/// Whose names are not to be in a password.
#[derive(Clone, Copy)]
pub(super) enum Names<'e, 'r> {
    /// Those of an entry.
    Of(&'e EntryRef<'r>),
    /// They come with an entry that is to be added.
    Given(&'e [&'e [u8]]),
}

/// Attributes with names of a user, as people make passwords of.
pub(crate) const NAMES: [&str; 5] = ["uid", "cn", "sn", "givenName", "mail"];

/// A password that is refused for what it is: constraintViolation, with the error of password policies besides.
const fn poor(text: &'static str) -> Fault {
    (ResultCode::ConstraintViolation, text, Some(PolicyError::Quality))
}

const FEW_CLASSES: Fault = poor(
    "the new password has too few kinds of characters: there are lower case letters, upper case letters, digits, and others",
);
const HAS_NAME: Fault = poor("the new password has a name of its user in it, or is a part of one");
const IS_WORD: Fault = poor("the new password is a word that many people have as theirs");
/// Nobody can say whether it is one: what cannot be judged is refused.
const NO_DICTIONARY: Fault = poor(
    "the password policy asks for a dictionary, and the server has none: name a file by password-dictionary",
);
const EASY: Fault = poor("the new password is too easy to guess; a longer one of unrelated words is not");

/// What is wrong with words that are to be passwords, by their quality. Hashes are none of them: all policies refuse these. Nor is what the server makes,
/// which is as good as any policy asks for.
///
/// # Errors
/// [`LATER`] if it is not known yet how hard one is to guess. The caller goes on to name what it needs besides.
pub(super) fn fault(
    reading: &mut Reading<'_>,
    policy: &Policy,
    whose: Names<'_, '_>,
    words: &[&[u8]],
) -> Result<Option<Fault>, FixedRefusal> {
    let asked = &policy.quality;
    // Most policies ask for none of it, and then nothing is looked up.
    let names = if asked.needs_names() { names(reading, whose) } else { Vec::new() };
    let mut is_later = false;
    for &word in words {
        let fault = if quality::classes(word) < asked.min_classes {
            Some(FEW_CLASSES)
        } else if asked.not_names && quality::has_name(word, &names) {
            Some(HAS_NAME)
        } else if asked.dictionary {
            in_dictionary(reading, word)
        } else {
            None
        };
        if fault.is_some() {
            return Ok(fault);
        }
        if asked.min_score > 0 {
            match reading.scratch.passwords.score(word, &names) {
                Ok(score) if score < asked.min_score => return Ok(Some(EASY)),
                Ok(_) => {}
                Err(_) => is_later = true,
            }
        }
    }
    if is_later { Err(LATER) } else { Ok(None) }
}

/// The fault of a word that is in the dictionary, or that cannot be looked up there yet.
fn in_dictionary(reading: &Reading<'_>, word: &[u8]) -> Option<Fault> {
    let hash = |word: &[u8]| reading.dsa.shard.value_hash(word);
    match reading.dsa.policies.dictionary.get() {
        None => Some(NO_DICTIONARY),
        Some(dictionary) => dictionary.has(word, hash).then_some(IS_WORD),
    }
}

/// The part of a name that is looked at. A value may have megabytes, and each word in it is compared with the password.
fn cut(name: &[u8]) -> Vec<u8> {
    name[..name.len().min(PASSWORD_NAME_BYTES_MAX)].to_vec()
}

/// Names of the user whose password it is. Their copies wait with the request, for the estimate counts for these very names.
fn names(reading: &Reading<'_>, whose: Names<'_, '_>) -> Vec<Vec<u8>> {
    let entry = match whose {
        Names::Given(names) => return names.iter().map(|name| cut(name)).collect(),
        Names::Of(entry) => entry,
    };
    let (at, mut names) = (reading.read_point, Vec::new());
    for id in NAMES.iter().filter_map(|name| at.shard().schema().find_type(name.as_bytes())) {
        // An entry may have a million of them. Those that are looked at are bounded; so many are no names that somebody is called by.
        each_value(entry, id, at, &mut |value| {
            if names.len() < PASSWORD_NAMES_MAX {
                names.push(cut(value));
            }
        });
    }
    names
}
