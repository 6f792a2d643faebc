//! Points in time as operators write them: RFC 3339, to the millisecond.

use crate::calendar::{DAY_S, days};
use crate::csn::civil;
use crate::decimal;

/// `2026-01-02T03:04:05.678Z` for a Unix time in milliseconds.
pub fn timestamp(unix_ms: u64) -> String {
    let mut out = Vec::with_capacity(24);
    put_timestamp(unix_ms, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Appends the same.
pub fn put_timestamp(unix_ms: u64, out: &mut Vec<u8>) {
    let (year, month, day, hour, minute, second) = civil(unix_ms);
    let parts = [
        (year, 4, b'-'),
        (month, 2, b'-'),
        (day, 2, b'T'),
        (hour, 2, b':'),
        (minute, 2, b':'),
        (second, 2, b'.'),
    ];
    for (number, width, mark) in parts {
        // Behind 1970 none is negative.
        decimal(number.unsigned_abs(), width, out);
        out.push(mark);
    }
    decimal(unix_ms % 1000, 3, out);
    out.push(b'Z');
}

/// The Unix time in milliseconds of `2026-01-02T03:04:05Z`: with or without a fraction of a second, of which three digits
/// count, and with `Z` or an offset such as `+01:00`. `None` if it is nothing like that, no day of the calendar, or before
/// 1970.
pub fn parse_timestamp(text: &str) -> Option<u64> {
    let (date, rest) = text.split_at_checked(10)?;
    let time = rest.strip_prefix(['T', 't', ' '])?;
    let (time, rest) = time.split_at_checked(8)?;
    let (year, month, day) = (digits(date.get(..4)?)?, part(date, 4, b'-')?, part(date, 7, b'-')?);
    let (hour, minute, second) = (digits(time.get(..2)?)?, part(time, 2, b':')?, part(time, 5, b':')?);
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (ms, zone) = fraction(rest)?;
    let seconds = days((year, month, day))? * DAY_S + hour * 3600 + minute * 60 + second - offset(zone)?;
    u64::try_from(seconds).ok().map(|seconds| seconds * 1000 + ms)
}

/// Two digits behind a mark.
fn part(text: &str, at: usize, mark: u8) -> Option<i64> {
    (text.as_bytes().get(at) == Some(&mark)).then(|| text.get(at + 1..at + 3))?.and_then(digits)
}

fn digits(text: &str) -> Option<i64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Milliseconds, and what follows them.
fn fraction(text: &str) -> Option<(u64, &str)> {
    let Some(rest) = text.strip_prefix(['.', ',']) else { return Some((0, text)) };
    let count = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (fraction, zone) = rest.split_at(count);
    let ms = fraction.bytes().chain(*b"000").take(3).fold(0, |ms, digit| ms * 10 + u64::from(digit - b'0'));
    (count > 0).then_some((ms, zone))
}

/// Seconds that local time is ahead.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.as_bytes() {
        b"Z" | b"z" => return Some(0),
        [b'+', ..] => 1,
        [b'-', ..] => -1,
        _ => return None,
    };
    let (hour, minute) = (digits(zone.get(1..3)?)?, part(zone, 3, b':')?);
    (zone.len() == 6 && hour < 24 && minute < 60).then_some(sign * (hour * 3600 + minute * 60))
}

/// Octets of a fraction and the zone behind it, at most.
const REST_BYTES_MAX: usize = 32;

/// The Unix time in milliseconds of a generalized time with seconds or minutes, with a fraction or without, in UTC. `None` of others.
pub fn read_generalized_time(value: &[u8]) -> Option<u64> {
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
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_comes_back(ms in 0u64..253_402_300_800_000) {
            prop_assert_eq!(parse_timestamp(&timestamp(ms)), Some(ms));
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in any::<String>()) {
            let _ = parse_timestamp(&text);
        }
    }

    #[test]
    fn forms() {
        let noon = parse_timestamp("2024-02-29T12:00:00Z");
        assert_eq!(noon, Some(1_709_208_000_000));
        for same in ["2024-02-29T13:30:00+01:30", "2024-02-29 12:00:00.000Z", "2024-02-29t07:00:00-05:00"] {
            assert_eq!(parse_timestamp(same), noon, "{same}");
        }
        assert_eq!(parse_timestamp("2024-02-29T12:00:00.0019Z"), noon.map(|ms| ms + 1));
        for bad in [
            "2023-02-29T12:00:00Z",
            "2024-13-01T12:00:00Z",
            "2024-02-29T24:00:00Z",
            "2024-02-29T12:00:00",
            "2024-02-29",
            "2024-02-29T12:00:00.Z",
            "1969-12-31T23:59:59Z",
            "20240229120000Z",
            "2024-02-29T12:00:00+1:00",
        ] {
            assert_eq!(parse_timestamp(bad), None, "{bad}");
        }
    }
}
