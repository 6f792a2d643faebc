//! bcrypt: `{CRYPT}$2b$COST$...`, and `{BCRYPT}` of OpenDJ. Only the first 72 octets of a password count.

use crate::compare::same;
use crate::refused::Fault;
use base64::Engine;
use base64::alphabet::BCRYPT;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use model::limits::BCRYPT_COST_MAX;
use zeroize::Zeroize;

/// Nanoseconds of one of its 2^cost rounds.
const ROUND_NS: u64 = 50_000;
const COST_MIN: u32 = 4;
/// Cost of new values.
const NEW_COST: u32 = 10;
/// Octets of a password that count.
const PASSWORD_BYTES: usize = 72;
const SALT_CHARS: usize = 22;
/// Octets of the result that are stored.
const KEY_BYTES: usize = 23;

const ALPHABET: GeneralPurpose = GeneralPurpose::new(
    &BCRYPT,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

/// A value that was read.
pub(crate) struct Hash {
    cost: u32,
    salt: [u8; 16],
    key: [u8; KEY_BYTES],
    /// The first version took characters beyond ASCII for others than they are.
    is_first_version: bool,
}

impl Hash {
    pub(crate) fn read(rest: &[u8]) -> Result<Hash, Fault> {
        const FORM: Fault = Fault::Malformed("$2b$COST$ with 53 characters of salt and hash");
        let [b'$', b'2', version @ (b'a' | b'b' | b'x' | b'y'), b'$', tens, ones, b'$', text @ ..] = rest
        else {
            return Err(FORM);
        };
        let digit = |byte: &u8| byte.is_ascii_digit().then(|| u32::from(byte - b'0')).ok_or(FORM);
        let cost = digit(tens)? * 10 + digit(ones)?;
        let (salt, key) = text.split_at_checked(SALT_CHARS).ok_or(FORM)?;
        let whole = |text: &[u8]| ALPHABET.decode(text).map_err(|_| FORM);
        let salt = whole(salt)?.try_into().map_err(|_| FORM)?;
        let key = whole(key)?.try_into().map_err(|_| FORM)?;
        match cost {
            ..COST_MIN => Err(FORM),
            COST_MIN..=BCRYPT_COST_MAX => Ok(Hash { cost, salt, key, is_first_version: *version == b'x' }),
            _ => Err(Fault::Beyond("a cost of 16 at most")),
        }
    }

    pub(crate) fn cost_ns(&self) -> u64 {
        ROUND_NS << self.cost
    }

    pub(crate) fn verify(&self, password: &[u8]) -> bool {
        let is_right = same(&self.key, &hash(self.cost, self.salt, password));
        // The algorithm takes a password in turns, with a NUL behind each: a NUL within would make it the same as a shorter one.
        is_right && !password.contains(&0) && (password.is_ascii() || !self.is_first_version)
    }
}

fn hash(cost: u32, salt: [u8; 16], password: &[u8]) -> [u8; KEY_BYTES] {
    let used = &password[..password.len().min(PASSWORD_BYTES)];
    let mut key = [0; PASSWORD_BYTES];
    key[..used.len()].copy_from_slice(used);
    let hash = bcrypt::bcrypt(cost, salt, &key[..(used.len() + 1).min(PASSWORD_BYTES)]);
    key.zeroize();
    std::array::from_fn(|at| hash[at])
}

/// What is stored of a password, behind `{CRYPT}`. `None` if not all of the password would count.
pub(crate) fn make(password: &[u8], salt: [u8; 16]) -> Option<String> {
    if password.len() > PASSWORD_BYTES || password.contains(&0) {
        return None;
    }
    let key = hash(NEW_COST, salt, password);
    Some(format!("$2b${NEW_COST:02}${}{}", ALPHABET.encode(salt), ALPHABET.encode(key)))
}

/// What new values begin with.
pub(crate) fn new_prefix() -> String {
    format!("$2b${NEW_COST:02}$")
}

/// Has a value the parameters of new ones?
pub(crate) fn is_new(rest: &[u8]) -> bool {
    rest.starts_with(new_prefix().as_bytes())
}
