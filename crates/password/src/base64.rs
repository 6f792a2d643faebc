//! Base64 as it is found in stored passwords: with or without padding, with spare bits that are not zero, in two alphabets.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const TOLERANT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

const UNPADDED: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_encode_padding(false));

/// The characters of crypt(3), in the order of their values.
const CRYPT: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Decodes the usual alphabet. `None` if it is not base64.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    TOLERANT.decode(text).ok()
}

/// Decodes the alphabet that has `.` in the place of `+`, and the usual one.
pub(crate) fn decode_dotted(text: &[u8]) -> Option<Vec<u8>> {
    let plain: Vec<u8> = text.iter().map(|byte| if *byte == b'.' { b'+' } else { *byte }).collect();
    decode(&plain)
}

/// Encodes with padding.
pub fn encode(bytes: &[u8]) -> String {
    TOLERANT.encode(bytes)
}

/// Encodes without padding.
pub(crate) fn encode_unpadded(bytes: &[u8]) -> String {
    UNPADDED.encode(bytes)
}

/// Encodes without padding, with `.` in the place of `+`.
pub(crate) fn encode_dotted(bytes: &[u8]) -> String {
    encode_unpadded(bytes).replace('+', ".")
}

/// Value of a character of crypt(3).
pub(crate) fn crypt_value(character: u8) -> Option<u8> {
    CRYPT.iter().position(|c| *c == character).map(|value| value as u8)
}

/// Characters of crypt(3) for 24 bits and fewer, the lowest six first.
pub(crate) fn push_crypt(bits: u32, characters: usize, out: &mut Vec<u8>) {
    out.extend((0..characters).map(|at| CRYPT[(bits >> (6 * at)) as usize & 63]));
}

/// Encodes as yescrypt does: three bytes, the first lowest, become four characters.
pub(crate) fn encode_crypt(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().rev().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
        push_crypt(bits, chunk.len() + 1, &mut out);
    }
    out
}

/// Decodes what [`encode_crypt`] writes. `None` if anything else stands there.
pub(crate) fn decode_crypt(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    for chunk in text.chunks(4) {
        let bytes = chunk.len().checked_sub(1).filter(|bytes| *bytes > 0)?;
        let values = chunk.iter().rev().map(|character| crypt_value(*character));
        let bits = values.into_iter().try_fold(0u32, |bits, value| Some(bits << 6 | u32::from(value?)))?;
        // Bits that belong to no byte are zero, or two texts would mean the same.
        if bits >> (8 * bytes) != 0 {
            return None;
        }
        out.extend_from_slice(&bits.to_le_bytes()[..bytes]);
    }
    Some(out)
}
