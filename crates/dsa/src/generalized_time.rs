//! Points in time as the state of passwords has them: generalized times (RFC 4517 section 3.3.13) in UTC.

use model::csn::write_generalized_time;
use model::parse_timestamp;

/// A point in time to the millisecond: two grace logins of one second are two values.
pub(crate) fn write(ms: u64) -> Vec<u8> {
    let mut text = seconds(ms);
    let z = text.pop().expect("it ends with a Z");
    text.extend_from_slice(format!(".{:03}", ms % 1000).as_bytes());
    text.push(z);
    text
}

/// The same, cut to the second.
pub(crate) fn seconds(ms: u64) -> Vec<u8> {
    let mut text = Vec::new();
    write_generalized_time(ms, &mut text);
    text
}

/// Octets of a fraction and the zone behind it, at most.
const REST_BYTES_MAX: usize = 32;

/// The Unix time in milliseconds of a generalized time with seconds or minutes, with a fraction or without, in UTC. `None` of others.
pub(crate) fn read(value: &[u8]) -> Option<u64> {
    let digits = value.iter().take_while(|octet| octet.is_ascii_digit()).count();
    let (digits, rest) = value.split_at(digits);
    // As RFC 3339 has it, without an allocation: each bind reads some of them.
    if !matches!(digits.len(), 12 | 14) || rest.len() > REST_BYTES_MAX {
        return None;
    }
    let form = b"YYYY-MM-DDThh:mm:00";
    let mut text = [0; 19 + REST_BYTES_MAX];
    let (time, behind) = text.split_at_mut(form.len());
    time.copy_from_slice(form);
    let (year, pairs) = digits.split_at(4);
    time[..4].copy_from_slice(year);
    for (at, pair) in [5, 8, 11, 14, 17].into_iter().zip(pairs.chunks_exact(2)) {
        time[at..at + 2].copy_from_slice(pair);
    }
    behind[..rest.len()].copy_from_slice(rest);
    parse_timestamp(std::str::from_utf8(&text[..form.len() + rest.len()]).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let ms = |text: &str| read(text.as_bytes());
        assert_eq!(ms("19700101000001Z"), Some(1000));
        assert_eq!(ms("19700101000001.5Z"), Some(1500));
        assert_eq!(ms("197001010001Z"), Some(60_000));
        assert_eq!(ms(&format!("19700101000001.{}Z", "5".repeat(30))), Some(1555));
        assert_eq!(ms(&format!("19700101000001.{}Z", "5".repeat(31))), None);
        for text in ["", "1970", "000001010000Z", "19700101000001", "19701301000001Z", "x", "19700101000001é"]
        {
            assert_eq!(ms(text), None, "{text}");
        }
        assert_eq!((read(&write(1_234_567)), read(&seconds(1_234_567))), (Some(1_234_567), Some(1_234_000)));
    }
}
