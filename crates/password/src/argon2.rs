//! `{ARGON2}` (RFC 9106): a PHC string of argon2i, argon2d or argon2id. OpenLDAP with libargon2 stores it with a NUL at its end.

use crate::base64;
use crate::compare::same;
use crate::memory::Memory;
use crate::refused::Fault;
use argon2::{Algorithm, Argon2, Params, Version};
use model::limits::{
    ARGON2_LANES_MAX, ARGON2_MEMORY_KIB_MAX, ARGON2_PASSES_MAX, ARGON2_WORK_KIB_MAX, PASSWORD_KEY_BYTES_MAX,
    PASSWORD_SALT_BYTES_MAX,
};
use zeroize::Zeroize;

/// Nanoseconds for a pass over one block of 1 KiB.
const BLOCK_NS: u64 = 700;
const KEY_BYTES_MIN: usize = 16;
/// The parameters of new values: the second choice of RFC 9106 section 4 with less memory, as OWASP recommends it.
const NEW: (u32, u32, u32) = (19_456, 2, 1);
const NEW_KEY_BYTES: usize = 32;

/// A value that was read.
pub(crate) struct Hash {
    algorithm: Algorithm,
    version: Version,
    params: Params,
    salt: Vec<u8>,
    key: Vec<u8>,
}

impl Hash {
    pub(crate) fn read(rest: &[u8]) -> Result<Hash, Fault> {
        const FORM: Fault = Fault::Malformed(
            "$argon2id$v=19$m=MEMORY,t=PASSES,p=LANES$SALT$KEY, with 16 octets of key or more,",
        );
        let text = std::str::from_utf8(rest.strip_suffix(b"\0").unwrap_or(rest)).map_err(|_| FORM)?;
        let mut fields = text.strip_prefix('$').ok_or(FORM)?.split('$').peekable();
        let algorithm = match fields.next() {
            Some("argon2i") => Algorithm::Argon2i,
            Some("argon2d") => Algorithm::Argon2d,
            Some("argon2id") => Algorithm::Argon2id,
            _ => return Err(FORM),
        };
        // Strings of the first version do not name it.
        let version = match fields.next_if(|field| field.starts_with("v=")) {
            None | Some("v=16") => Version::V0x10,
            Some("v=19") => Version::V0x13,
            Some(_) => return Err(FORM),
        };
        let (params, salt, key) = (fields.next(), fields.next(), fields.next());
        let (Some(params), Some(salt), Some(key), None) = (params, salt, key, fields.next()) else {
            return Err(FORM);
        };
        let (memory, passes, lanes) = numbers(params).ok_or(FORM)?;
        let salt = base64::decode(salt.as_bytes()).ok_or(FORM)?;
        let key = base64::decode(key.as_bytes()).ok_or(FORM)?;
        let is_whole = (argon2::MIN_SALT_LEN..=PASSWORD_SALT_BYTES_MAX).contains(&salt.len())
            && (KEY_BYTES_MIN..=PASSWORD_KEY_BYTES_MAX).contains(&key.len());
        if memory > ARGON2_MEMORY_KIB_MAX || passes > ARGON2_PASSES_MAX || lanes > ARGON2_LANES_MAX {
            return Err(Fault::Beyond("m=262144, t=64 and p=16 at most"));
        }
        if u64::from(memory) * u64::from(passes) > ARGON2_WORK_KIB_MAX {
            return Err(Fault::Beyond("2097152 KiB of work (m times t) at most"));
        }
        let params = Params::new(memory, passes, lanes, Some(key.len())).map_err(|_| FORM)?;
        is_whole.then_some(Hash { algorithm, version, params, salt, key }).ok_or(FORM)
    }

    pub(crate) fn cost_ns(&self) -> u64 {
        self.params.block_count() as u64 * u64::from(self.params.t_cost()) * BLOCK_NS
    }

    pub(crate) fn verify(&self, password: &[u8], memory: &mut Memory) -> bool {
        let mut key = vec![0; self.key.len()];
        let argon2 = Argon2::new(self.algorithm, self.version, self.params.clone());
        let done = memory.with(self.params.block_count(), |blocks| {
            argon2.hash_password_into_with_memory(password, &self.salt, &mut key, blocks)
        });
        let is_right = matches!(done, Some(Ok(()))) && same(&self.key, &key);
        key.zeroize();
        is_right
    }
}

/// Memory, passes and lanes, in the order in which every library writes them.
fn numbers(params: &str) -> Option<(u32, u32, u32)> {
    let mut params = params.split(',');
    let mut number = |name: &str| {
        let digits = params.next()?.strip_prefix(name)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(digits)?.parse::<u32>().ok()
    };
    let (memory, passes, lanes) = (number("m=")?, number("t=")?, number("p=")?);
    params.next().is_none().then_some((memory, passes, lanes))
}

/// What is stored of a password, behind the name of the scheme. `None` if there is no memory for it.
pub(crate) fn make(password: &[u8], salt: &[u8], memory: &mut Memory) -> Option<String> {
    let (m, t, p) = NEW;
    let params = Params::new(m, t, p, Some(NEW_KEY_BYTES)).ok()?;
    let blocks = params.block_count();
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let mut key = [0; NEW_KEY_BYTES];
    let work = |blocks: &mut [_]| argon2.hash_password_into_with_memory(password, salt, &mut key, blocks);
    memory.with(blocks, work)?.ok()?;
    let (salt, key) = (base64::encode_unpadded(salt), base64::encode_unpadded(&key));
    Some(format!("{}{salt}${key}", new_prefix()))
}

/// A value of zeros with the parameters of new ones.
pub(crate) fn dummy() -> String {
    let (salt, key) = ([0; 16], [0; NEW_KEY_BYTES]);
    format!("{}{}${}", new_prefix(), base64::encode_unpadded(&salt), base64::encode_unpadded(&key))
}

fn new_prefix() -> String {
    let (m, t, p) = NEW;
    format!("$argon2id$v=19$m={m},t={t},p={p}$")
}

/// Has a value the parameters of new ones?
pub(crate) fn is_new(rest: &[u8]) -> bool {
    rest.starts_with(new_prefix().as_bytes())
}
