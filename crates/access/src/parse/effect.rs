//! The third part of a rule: what it allows or denies, and how much it counts.

use super::error::Error;
use super::keys::Part;
use super::word::{self, Value, Words};
use crate::near::unknown;
use crate::right::{Right, Rights};
use model::limits::ACCESS_RANK_MAX;

/// What a rule does.
pub(super) struct Effect {
    pub allow: Rights,
    pub deny: Rights,
    pub rank: u32,
}

pub(super) fn parse(words: &mut Words<'_>) -> Result<Effect, Error> {
    let start = words.at();
    let (mut allow, mut deny, mut rank) = (None, None, None);
    while let Some(word) = words.next()? {
        let (key, at) = (word.key, word.at);
        let is_second = match key {
            "allow" => allow.replace(rights(&word.value()?.plain(key)?, key)?).is_some(),
            "deny" => deny.replace(rights(&word.value()?.plain(key)?, key)?).is_some(),
            "rank" => {
                rank.replace(word::number(&word.value()?.plain(key)?, key, 0, ACCESS_RANK_MAX)?).is_some()
            }
            other => return Err(Error::new(at, Part::Effect.unknown(other))),
        };
        if is_second {
            return Err(Error::new(
                at,
                format!("`{key}` stands twice; its value is a list: {key}=read,compare"),
            ));
        }
    }
    if allow.is_none() && deny.is_none() {
        return Err(Error::new(start, "what does the rule do? allow=RIGHTS, deny=RIGHTS or both"));
    }
    let (allow, deny) = (allow.unwrap_or_default(), deny.unwrap_or_default());
    Ok(Effect { allow, deny, rank: rank.unwrap_or_default() })
}

fn rights(value: &Value, key: &str) -> Result<Rights, Error> {
    let short = Rights::SHORT.map(|(word, _)| word);
    let words = Right::ALL.iter().map(|right| right.word()).chain(short);
    let mut rights = Rights::NONE;
    for (at, name) in word::list(value, key, 64)? {
        let one = Right::ALL.iter().find(|right| right.word() == name).map(|right| Rights::of(&[*right]));
        let several = Rights::SHORT.iter().find(|(word, _)| *word == name).map(|(_, rights)| *rights);
        rights |= one.or(several).ok_or_else(|| value.error_at(at, unknown("right", name, words.clone())))?;
    }
    Ok(rights)
}
