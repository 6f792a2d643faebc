//! `{TOTP1ANDPW}`, `{TOTP256ANDPW}` and `{TOTP512ANDPW}`: a password with six digits behind it that hold for half a minute (RFC 6238), by SHA-1, SHA-256
//! and SHA-512. Stored is the key in base32, a bar, and what is stored of the password, in any scheme.
//!
//! What is right depends on the time and on which digits were taken before, so a verification without these is never true of such a value: a bind takes
//! it apart, and keeps what was used.

use crate::compare::same;
use crate::pbkdf2::Prf;
use crate::refused::Fault;
use crate::split::split_scheme;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Sha256, Sha512};
use zeroize::Zeroizing;

/// Seconds for which a code is the one of now (RFC 6238 section 4).
pub const STEP_SECONDS: u64 = 30;
/// Steps by which the clock of a client may be early or late.
pub const STEPS_APART: u64 = 1;
const DIGITS: usize = 6;
/// Octets of a key: RFC 4226 section 4 asks for 16, and there are devices with 10.
const KEY_BYTES_MIN: usize = 10;
const KEY_BYTES_MAX: usize = 128;

/// What such a value must be.
pub(crate) const FORM: Fault =
    Fault::Malformed("a key of 10 to 128 octets in base32, a bar, and a password that is hashed");

/// A stored value of these schemes. It cannot be printed.
pub struct OneTime<'a> {
    key: Zeroizing<Vec<u8>>,
    prf: Prf,
    /// What is stored of the password.
    pub stored: &'a [u8],
}

/// The password in front of a code, and the code. All of it is the password if there is none.
pub fn split_code(password: &[u8]) -> (&[u8], Option<&[u8]>) {
    match password.split_last_chunk::<DIGITS>() {
        Some((word, code)) if code.iter().all(u8::is_ascii_digit) => (word, Some(code)),
        _ => (password, None),
    }
}

/// Which of these schemes has this name, in capital letters?
pub(crate) fn named(scheme: &str) -> Option<Prf> {
    match scheme {
        "TOTP1ANDPW" => Some(Prf::Sha1),
        "TOTP256ANDPW" => Some(Prf::Sha256),
        "TOTP512ANDPW" => Some(Prf::Sha512),
        _ => None,
    }
}

impl<'a> OneTime<'a> {
    /// A stored value, if it is of one of these schemes.
    pub fn of(stored: &'a [u8]) -> Option<OneTime<'a>> {
        let (scheme, rest) = split_scheme(stored)?;
        // Most values are of others.
        if !scheme.get(..4).is_some_and(|begin| begin.eq_ignore_ascii_case(b"TOTP")) {
            return None;
        }
        let prf = named(&String::from_utf8_lossy(scheme).to_ascii_uppercase())?;
        OneTime::read(prf, rest).ok()
    }

    pub(crate) fn read(prf: Prf, rest: &'a [u8]) -> Result<OneTime<'a>, Fault> {
        let bar = rest.iter().position(|byte| *byte == b'|').ok_or(FORM)?;
        let (key, stored) = (base32(&rest[..bar]).ok_or(FORM)?, &rest[bar + 1..]);
        // A second code behind the first means nothing.
        let is_scheme =
            |(scheme, _): (&[u8], _)| named(&String::from_utf8_lossy(scheme).to_ascii_uppercase());
        let is_sound = (KEY_BYTES_MIN..=KEY_BYTES_MAX).contains(&key.len())
            && split_scheme(stored).and_then(is_scheme).is_none();
        is_sound.then_some(OneTime { key, prf, stored }).ok_or(FORM)
    }

    /// The step whose code this is, of those that may be taken at this time. All of them are worked out.
    pub fn step(&self, code: &[u8], now_ms: u64) -> Option<u64> {
        let now = step_at(now_ms);
        let mut found = None;
        for step in now.saturating_sub(STEPS_APART)..=now + STEPS_APART {
            if same(&self.code(step), code) {
                found = Some(step);
            }
        }
        found
    }

    /// RFC 4226 section 5.3.
    fn code(&self, step: u64) -> [u8; DIGITS] {
        let text = step.to_be_bytes();
        let hash = match self.prf {
            Prf::Sha1 => mac::<Hmac<Sha1>>(&self.key, &text),
            Prf::Sha256 => mac::<Hmac<Sha256>>(&self.key, &text),
            Prf::Sha512 => mac::<Hmac<Sha512>>(&self.key, &text),
        };
        let at = usize::from(hash[hash.len() - 1] & 0xf);
        let cut = u32::from_be_bytes([hash[at], hash[at + 1], hash[at + 2], hash[at + 3]]) & 0x7fff_ffff;
        let mut digits = [b'0'; DIGITS];
        let mut rest = cut;
        for digit in digits.iter_mut().rev() {
            *digit += (rest % 10) as u8;
            rest /= 10;
        }
        digits
    }
}

/// The number of the half minute of a time.
pub fn step_at(now_ms: u64) -> u64 {
    now_ms / 1000 / STEP_SECONDS
}

fn mac<M: Mac + KeyInit>(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut mac = <M as KeyInit>::new_from_slice(key).expect("any length");
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

/// Decodes base32 (RFC 4648 section 6), with padding or without, in any case.
fn base32(text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let digits = text.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
    let mut out = Zeroizing::new(Vec::with_capacity(text.len() * 5 / 8));
    let (mut held, mut bits) = (0_u32, 0);
    for byte in &text[..digits] {
        let value = match byte.to_ascii_uppercase() {
            letter @ b'A'..=b'Z' => letter - b'A',
            digit @ b'2'..=b'7' => digit - b'2' + 26,
            _ => return None,
        };
        held = (held << 5 | u32::from(value)) & 0xfff;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            out.push((held >> bits) as u8);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Memory, Stored};

    const SSHA: &str = "{SSHA}gZ/iQ5sZpFQvGWGRTlLnxzhnXacwMTIz";

    fn value(scheme: &str, key: &str) -> Vec<u8> {
        format!("{{{scheme}}}{key}|{SSHA}").into_bytes()
    }

    /// P9: RFC 6238 appendix B, of whose eight digits these are the last six.
    #[test]
    fn test_p9_vectors() {
        let all = [
            (
                "TOTP1ANDPW",
                "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
                ["287082", "081804", "050471", "005924", "279037"],
            ),
            (
                "TOTP256ANDPW",
                "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZA====",
                ["119246", "084774", "062674", "819424", "698825"],
            ),
            (
                "totp512andpw",
                "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNA",
                ["693936", "091201", "943326", "441116", "618901"],
            ),
        ];
        let times = [59, 1_111_111_109, 1_111_111_111, 1_234_567_890, 2_000_000_000];
        for (scheme, key, codes) in all {
            let value = value(scheme, key);
            let one_time = OneTime::of(&value).expect("it is sound");
            assert_eq!(one_time.stored, SSHA.as_bytes());
            for (time_s, code) in times.into_iter().zip(codes) {
                let step = time_s / STEP_SECONDS;
                assert_eq!(one_time.step(code.as_bytes(), time_s * 1000), Some(step), "{scheme} {time_s}");
                // A step early and late, and no more.
                for (apart, is_taken) in [(-60_i64, false), (-30, true), (30, true), (60, false)] {
                    let now_s = time_s.saturating_add_signed(apart);
                    let found = one_time.step(code.as_bytes(), now_s * 1000);
                    assert!(found == is_taken.then_some(step) || now_s == 0, "{scheme} {time_s} {apart}");
                }
            }
            for code in ["000000", "28708", ""] {
                assert_eq!(one_time.step(code.as_bytes(), 59_000), None);
            }
        }
    }

    #[test]
    fn what_is_no_such_value() {
        let key = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
        let sound = String::from_utf8(value("TOTP1ANDPW", key)).unwrap();
        for wrong in [
            SSHA.to_owned(),
            sound.replace('|', ""),
            sound.replace(key, "GEZDGNA"),
            sound.replace(key, "GEZDGNBVGY3TQOJ1GEZDGNBVGY3TQOJQ"),
            sound.replace(key, &"A".repeat(210)),
            sound.replace(SSHA, ""),
            sound.replace(SSHA, "word"),
            sound.replace(SSHA, "{SSHA}x"),
            sound.replace(SSHA, &sound),
            sound.replace("TOTP1ANDPW", "TOTP1"),
        ] {
            assert!(!Stored::read(wrong.as_bytes()).is_ok_and(|stored| stored.is_one_time()), "{wrong}");
        }
        assert!(Stored::read(sound.as_bytes()).is_ok_and(|stored| !stored.is_clear() && stored.is_fast()));
        assert!(Stored::read(sound.replace('|', "").as_bytes()).is_err());
    }

    #[test]
    fn without_the_time_nothing_is_right() {
        let value = value("TOTP1ANDPW", "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        let stored = Stored::read(&value).expect("it is sound");
        for password in ["word", "word287082", "287082"] {
            assert!(!stored.verify(password.as_bytes(), &mut Memory::default()));
        }
        assert_eq!(split_code(b"word287082"), (&b"word"[..], Some(&b"287082"[..])));
        assert_eq!(split_code(b"28708"), (&b"28708"[..], None));
        assert_eq!(split_code(b"word28708x"), (&b"word28708x"[..], None));
    }
}
