//! OIDs by name, as `objectidentifier` of slapd has them.

use std::collections::BTreeMap;

/// Steps from a macro to the OID it stands for.
const STEPS_MAX: usize = 16;

/// Names that stand for the beginning of OIDs.
#[derive(Debug, Default)]
pub(crate) struct Macros(BTreeMap<String, String>);

impl Macros {
    /// Takes one: `name oid`, where the OID may have a macro itself.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn add(&mut self, text: &str) -> Result<(), String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            [name, oid] => {
                self.0.insert(name.to_ascii_lowercase(), oid.trim_matches('\'').to_owned());
                Ok(())
            }
            _ => Err("expected 'objectidentifier name oid'".to_owned()),
        }
    }

    /// The numeric OID that a word of a definition stands for.
    ///
    /// # Errors
    /// When the word is neither an OID nor a macro, or leads back to itself.
    pub(crate) fn expand(&self, word: &str) -> Result<String, String> {
        let mut oid = word.to_owned();
        for _ in 0..STEPS_MAX {
            if model::oid::is_numeric(oid.as_bytes()) {
                return Ok(oid);
            }
            let (name, suffix) = oid.split_once(':').map_or((oid.as_str(), None), |(n, s)| (n, Some(s)));
            match (self.0.get(&name.to_ascii_lowercase()), suffix) {
                (Some(value), None) => oid = value.clone(),
                (Some(value), Some(suffix)) => oid = format!("{value}.{suffix}"),
                // 389 Directory Server writes `name-oid` where no OID was assigned; it is kept as it is.
                (None, None) if oid.to_ascii_lowercase().ends_with("-oid") => return Ok(oid),
                (None, _) => {
                    return Err(format!(
                        "'{word}' is neither an OID nor a macro that 'objectidentifier' defines"
                    ));
                }
            }
        }
        Err(format!("the macro '{word}' leads back to itself"))
    }
}
