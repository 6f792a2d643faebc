//! The keys of the issuer of access tokens (RFC 7517), from a file that is read anew when it changes, and the signatures of tokens (RFC 7515,
//! RFC 7519) that they verify.
//!
//! The server opens no connection to fetch keys: what writes the file does. What a token says is judged by the agent.

mod key;
mod provider;

pub use self::key::Algorithm;
use self::key::Key;
use arc_swap::ArcSwap;
use dsa::tokens::{Claims, Tokens};
use env::stamp::{Stamp, stamp};
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Validation, decode, decode_header};
use model::limits::TOKEN_KEYS_BYTES_MAX;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What is to be known to verify tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The file with the keys.
    pub keys: PathBuf,
    /// How they may have signed.
    pub algorithms: Vec<Algorithm>,
    /// The claim that names the owner.
    pub claim: String,
}

/// The keys that are in force, by their ids, and where they come from.
pub struct TokenKeys {
    settings: Settings,
    current: ArcSwap<BTreeMap<String, Key>>,
    /// Of the file that was read last, whether it was taken or not.
    seen: Mutex<Stamp>,
}

impl fmt::Debug for TokenKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenKeys").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl TokenKeys {
    /// Reads the file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn load(settings: Settings) -> Result<TokenKeys, String> {
        provider::install();
        let seen = stamp(&settings.keys);
        let keys = read(&settings)?;
        Ok(TokenKeys { settings, current: ArcSwap::from_pointee(keys), seen: Mutex::new(seen) })
    }

    /// Takes the file if it is another than that which was read last, or `always`. True if it was taken.
    ///
    /// # Errors
    /// What is wrong with it. The keys that were in force stay, and the same file is not looked at again unless `always`.
    pub fn reload(&self, always: bool) -> Result<bool, String> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // Before it is read: what is changed meanwhile is noticed the next time.
        let now = stamp(&self.settings.keys);
        if *seen == now && !always {
            return Ok(false);
        }
        *seen = now;
        self.current.store(Arc::new(read(&self.settings)?));
        Ok(true)
    }
}

impl Tokens for TokenKeys {
    fn claims(&self, token: &[u8]) -> Option<Claims> {
        let header = decode_header(token).ok()?;
        // RFC 7515 section 4.1.11: a token with an extension that must be understood is not valid where it is not.
        if header.crit.is_some() {
            return None;
        }
        let keys = self.current.load();
        let key = keys.get(header.kid.as_deref()?)?;
        // The key says how it signs, and not the token: else a public key could be taken for the secret of an HMAC.
        let mut how = Validation::new(key.algorithm.of_tokens());
        (how.validate_exp, how.validate_nbf, how.validate_aud) = (false, false, false);
        how.required_spec_claims.clear();
        let said = decode::<Map<String, Value>>(token, &key.verifying, &how).ok()?.claims;
        Some(claims(&said, &self.settings.claim))
    }
}

/// What a token says. What is of another kind than it should be is not there.
fn claims(said: &Map<String, Value>, user: &str) -> Claims {
    let text = |name: &str| said.get(name).and_then(Value::as_str).map(str::to_owned);
    // Both may have fractions (RFC 7519 section 2), which are cut off.
    let time = |value: &Value| value.as_i64().or_else(|| value.as_f64().map(|seconds| seconds as i64));
    let audiences = match said.get("aud") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    Claims {
        issuer: text("iss"),
        audiences,
        expires_s: said.get("exp").and_then(time),
        // What cannot be read is never reached.
        not_before_s: said.get("nbf").map(|from| time(from).unwrap_or(i64::MAX)),
        user: text(user),
    }
}

/// The keys of a file that tokens may be signed with. Others are passed over: issuers have keys for other purposes, too.
fn read(settings: &Settings) -> Result<BTreeMap<String, Key>, String> {
    let (path, at) = (&settings.keys, settings.keys.display());
    let set = set_of(path).map_err(|reason| format!("{at}: {reason}"))?;
    let mut keys = BTreeMap::new();
    for jwk in &set.keys {
        let Some(key) = Key::of(jwk).map_err(|reason| format!("{at}: {reason}"))? else { continue };
        if !settings.algorithms.contains(&key.algorithm) {
            continue;
        }
        let Some(id) = jwk.common.key_id.clone() else {
            return Err(format!("{at}: a key has no `kid`, which tokens name it by"));
        };
        if keys.insert(id.clone(), key).is_some() {
            return Err(format!("{at}: two keys have the `kid` \"{id}\""));
        }
    }
    if keys.is_empty() {
        return Err(format!("{at}: no key is in it that signs by `oauth.algorithms`"));
    }
    Ok(keys)
}

fn set_of(path: &Path) -> Result<JwkSet, String> {
    let about = std::fs::metadata(path).map_err(|error| format!("cannot be read: {error}"))?;
    if about.len() > TOKEN_KEYS_BYTES_MAX {
        return Err(format!("a file of keys has {TOKEN_KEYS_BYTES_MAX} octets at most"));
    }
    let text = std::fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    serde_json::from_slice(&text).map_err(|error| format!("is no JSON Web Key Set: {error}"))
}

#[cfg(test)]
mod tests;
