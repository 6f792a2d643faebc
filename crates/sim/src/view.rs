//! All entries of a directory, as a client sees them.

use crate::answers::{Answer, Attributes};
use crate::requests::{COUNTER, counter_dn};
use model::ResultCode;
use std::collections::BTreeMap;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// By DN.
    pub entries: BTreeMap<String, Attributes>,
}

impl View {
    /// What a search for everything has found.
    ///
    /// # Errors
    /// In words: the same DN came twice, or the search failed. An empty directory has no base.
    pub fn of(answers: Vec<Answer>) -> Result<View, String> {
        let mut view = View::default();
        for answer in answers {
            match answer {
                Answer::Entry(_, dn, attributes) => {
                    if view.entries.insert(dn.clone(), attributes).is_some() {
                        return Err(format!("there are two entries {dn}"));
                    }
                }
                Answer::Done(_, ResultCode::Success | ResultCode::NoSuchObject) => {}
                Answer::Extended(..) | Answer::Aborted(..) | Answer::Age(..) => {}
                Answer::Done(_, code) => return Err(format!("a search for everything ended with {code:?}")),
            }
        }
        Ok(view)
    }

    /// The entries below one.
    pub fn below(&self, base: &str) -> BTreeMap<String, Attributes> {
        let is_below = |dn: &str| dn.strip_suffix(base).is_some_and(|rdns| !rdns.is_empty());
        let below = self.entries.iter().filter(|(dn, _)| is_below(dn));
        below.map(|(dn, entry)| (dn.clone(), entry.clone())).collect()
    }

    /// The counter of a session, 0 if there is none.
    pub fn counter(&self, session: usize) -> u64 {
        let value = self.entries.get(&counter_dn(session)).and_then(|entry| entry.get(COUNTER)?.first());
        value.and_then(|value| value.parse().ok()).unwrap_or(0)
    }
}
