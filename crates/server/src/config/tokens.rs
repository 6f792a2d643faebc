//! The section `oauth`: what is known of the issuer of access tokens.

use crate::tokens::{Algorithm, Settings};
use dsa::config::TokenRules;
use std::path::PathBuf;

/// What is said of them. All of it is needed, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfTokens {
    /// The file with the issuer's keys.
    pub keys: Option<PathBuf>,
    /// Who issues them.
    pub issuer: Option<String>,
    /// For whom they must be made.
    pub audience: Option<String>,
    /// How they may be signed.
    pub algorithms: Vec<Algorithm>,
    /// The claim that names the owner.
    pub claim: String,
}

impl Default for OfTokens {
    fn default() -> OfTokens {
        OfTokens {
            keys: None,
            issuer: None,
            audience: None,
            algorithms: Algorithm::ALL.map(|(_, algorithm)| algorithm).to_vec(),
            claim: "sub".to_owned(),
        }
    }
}

impl OfTokens {
    /// What tokens must say; `None` if clients cannot bind with any.
    pub fn rules(&self) -> Option<TokenRules> {
        let (Some(_), Some(issuer), Some(audience)) = (&self.keys, &self.issuer, &self.audience) else {
            return None;
        };
        Some(TokenRules { issuer: issuer.clone(), audience: audience.clone() })
    }

    /// What verifies them, likewise.
    pub fn settings(&self) -> Option<Settings> {
        self.rules()?;
        let (algorithms, claim) = (self.algorithms.clone(), self.claim.clone());
        Some(Settings { keys: self.keys.clone()?, algorithms, claim })
    }

    /// A key that is there and one that it needs.
    pub(super) fn missing(&self) -> Vec<(&'static str, &'static str)> {
        let said = [
            ("oauth.jwks", self.keys.is_some()),
            ("oauth.issuer", self.issuer.is_some()),
            ("oauth.audience", self.audience.is_some()),
        ];
        let Some((there, _)) = said.iter().find(|(_, is_there)| *is_there) else { return Vec::new() };
        said.iter().filter(|(_, is_there)| !is_there).map(|(missing, _)| (*there, *missing)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_or_none() {
        let read = |text: &str| crate::config::read("p.toml", text);
        let all = read(
            "[oauth]\njwks = \"/x\"\nissuer = \"https://a\"\naudience = \"ldap\"\nalgorithms = \"ES256\"\n",
        );
        assert_eq!(all.faults, []);
        assert_eq!(all.config.tokens.missing(), []);
        assert_eq!(all.config.tokens.settings().map(|keys| keys.algorithms), Some(vec![Algorithm::Es256]));
        let some = read("[oauth]\nissuer = \"https://a\"\nalgorithms = []\n").config;
        let missing = [("oauth.issuer", "oauth.jwks"), ("oauth.issuer", "oauth.audience")];
        assert_eq!((some.tokens.missing(), some.tokens.rules()), (missing.to_vec(), None));
        let problems = some.problems();
        assert!(problems.iter().any(|problem| problem.key == "oauth.algorithms"), "{problems:?}");
        assert!(problems.iter().any(|problem| problem.missing == Some("oauth.jwks")), "{problems:?}");
        assert_eq!(OfTokens::default().missing(), []);
        for wrong in ["HS256", "none", "RS512"] {
            let faults = read(&format!("[oauth]\nalgorithms = \"{wrong}\"\n")).faults;
            assert!(faults[0].message.contains("is none of `RS256`"), "{faults:?}");
        }
    }
}
