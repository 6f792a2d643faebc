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

/// The Unix time in milliseconds of a generalized time with seconds or minutes, with a fraction or without, in UTC. `None` of others.
pub(crate) fn read(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?;
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(digits);
    let part = |from: usize| digits.get(from..from + 2);
    let second = match digits.len() {
        12 => "00",
        14 => part(12)?,
        _ => return None,
    };
    let (year, month, day, hour, minute) = (digits.get(..4)?, part(4)?, part(6)?, part(8)?, part(10)?);
    parse_timestamp(&format!("{year}-{month}-{day}T{hour}:{minute}:{second}{rest}"))
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
        for text in ["", "1970", "000001010000Z", "19700101000001", "19701301000001Z", "x"] {
            assert_eq!(ms(text), None, "{text}");
        }
        assert_eq!((read(&write(1_234_567)), read(&seconds(1_234_567))), (Some(1_234_567), Some(1_234_000)));
    }
}
