//! Points in time as the state of passwords has them: generalized times (RFC 4517 section 3.3.13) in UTC.

use model::csn::write_generalized_time;
pub(crate) use model::read_generalized_time as read;

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
