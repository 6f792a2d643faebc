//! Generalized time (RFC 4517 section 3.3.13) and UTC time (section 3.3.34), read without a clock.

use crate::Invalid;
use model::calendar::{DAY_S, date, days, time_of_day};

/// Digits of a fraction that are kept; the rest is beyond any clock.
const FRACTION_DIGITS_MAX: usize = 32;

/// A point in time, in UTC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GeneralizedTime {
    /// Seconds since 1970-01-01T00:00:00Z; negative before.
    seconds: i64,
    fraction: [u8; FRACTION_DIGITS_MAX],
    fraction_len: usize,
}

const INVALID: Invalid = Invalid::new("not a generalized time such as 20260102030405Z");

impl GeneralizedTime {
    /// Reads `YYYYMMDDHH[MM[SS]][.fraction](Z|+HH[MM]|-HH[MM])`.
    pub(crate) fn parse(value: &[u8]) -> Result<GeneralizedTime, Invalid> {
        let mut reader = Digits { rest: value };
        let year = reader.number(4)?;
        let date = (year, reader.number(2)?, reader.number(2)?);
        let hour = reader.number(2)?;
        let minute = reader.optional()?;
        let second = if minute.is_some() { reader.optional()? } else { None };
        let unit = match (minute, second) {
            (None, _) => 3600,
            (_, None) => 60,
            _ => 1,
        };
        let fraction = reader.fraction()?;
        let offset = reader.zone()?;
        let (minute, second) = (minute.unwrap_or(0), second.unwrap_or(0));
        // A leap second, 60, counts as the second after it.
        if hour > 23 || minute > 59 || second > 60 {
            return Err(Invalid::new("a time of day that does not exist"));
        }
        let day = days(date).ok_or(Invalid::new("a date that does not exist"))?;
        let seconds = day * DAY_S + hour * 3600 + minute * 60 + second - offset;
        Ok(GeneralizedTime::new(seconds, unit, fraction))
    }

    /// `unit` is what the fraction is a fraction of, in seconds.
    fn new(seconds: i64, unit: i64, fraction: &[u8]) -> GeneralizedTime {
        let mut digits = [0u8; FRACTION_DIGITS_MAX];
        let len = fraction.len().min(FRACTION_DIGITS_MAX);
        digits[..len].copy_from_slice(&fraction[..len]);
        // Multiply the decimal fraction by the unit, from its last digit on; what is applied at the front
        // is whole seconds.
        let mut carry = 0;
        for digit in digits[..len].iter_mut().rev() {
            let product = i64::from(*digit - b'0') * unit + carry;
            *digit = b'0' + (product % 10) as u8;
            carry = product / 10;
        }
        // The fraction is less than 1, so what it comes to is less than its unit.
        assert!(carry < unit, "a fraction of an hour or a minute is less than that");
        let fraction_len = digits[..len].iter().rposition(|d| *d != b'0').map_or(0, |at| at + 1);
        GeneralizedTime { seconds: seconds + carry, fraction: digits, fraction_len }
    }

    /// Appends 14 digits and the fraction's, in memory order of time. Years before 0 and after 9999, which only
    /// an offset from UTC can lead to, are clamped.
    pub(crate) fn write_key(&self, out: &mut Vec<u8>) {
        let seconds = self.seconds.clamp(-62_167_219_200, 253_402_300_799);
        let ((year, month, day), (hour, minute, second)) =
            (date(seconds.div_euclid(DAY_S)), time_of_day(seconds));
        for (number, width) in [(year, 4), (month, 2), (day, 2), (hour, 2), (minute, 2), (second, 2)] {
            for place in (0..width).rev() {
                out.push(b'0' + (number / 10i64.pow(place) % 10) as u8);
            }
        }
        out.extend_from_slice(&self.fraction[..self.fraction_len]);
    }
}

/// Is this a UTC time, `YYMMDDhhmm[ss](Z|+hhmm|-hhmm)?`
pub(crate) fn check_utc_time(value: &[u8]) -> Result<(), Invalid> {
    let invalid = Invalid::new("not a UTC time such as 2601020304Z");
    let digits = value.iter().take_while(|b| b.is_ascii_digit()).count();
    let number = |at: usize| i64::from(value[at] - b'0') * 10 + i64::from(value[at + 1] - b'0');
    if digits != 10 && digits != 12 {
        return Err(invalid);
    }
    // The century is not known; in a leap year every date of either century exists.
    let has_day = days((2000 + number(0), number(2), number(4))).is_some();
    if !has_day || number(6) > 23 || number(8) > 59 || (digits == 12 && number(10) > 59) {
        return Err(invalid);
    }
    match &value[digits..] {
        b"" | b"Z" => Ok(()),
        [b'+' | b'-', offset @ ..] if offset.len() == 4 && offset.iter().all(u8::is_ascii_digit) => Ok(()),
        _ => Err(invalid),
    }
}

struct Digits<'a> {
    rest: &'a [u8],
}

impl<'a> Digits<'a> {
    fn number(&mut self, width: usize) -> Result<i64, Invalid> {
        let Some((digits, rest)) = self.rest.split_at_checked(width) else { return Err(INVALID) };
        if !digits.iter().all(u8::is_ascii_digit) {
            return Err(INVALID);
        }
        self.rest = rest;
        Ok(digits.iter().fold(0, |n, d| n * 10 + i64::from(d - b'0')))
    }

    fn optional(&mut self) -> Result<Option<i64>, Invalid> {
        match self.rest.first() {
            Some(b) if b.is_ascii_digit() => self.number(2).map(Some),
            _ => Ok(None),
        }
    }

    fn fraction(&mut self) -> Result<&'a [u8], Invalid> {
        let [b'.' | b',', rest @ ..] = self.rest else { return Ok(b"") };
        let len = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        if len == 0 {
            return Err(INVALID);
        }
        self.rest = &rest[len..];
        Ok(&rest[..len])
    }

    /// Offset from UTC in seconds.
    fn zone(&mut self) -> Result<i64, Invalid> {
        let sign = match self.rest {
            b"Z" => return Ok(0),
            [b'+', ..] => 1,
            [b'-', ..] => -1,
            _ => return Err(INVALID),
        };
        self.rest = &self.rest[1..];
        let (hours, minutes) = (self.number(2)?, self.optional()?.unwrap_or(0));
        if !self.rest.is_empty() || hours > 23 || minutes > 59 {
            return Err(INVALID);
        }
        Ok(sign * (hours * 3600 + minutes * 60))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> String {
        let mut out = Vec::new();
        GeneralizedTime::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{text}: {e}")).write_key(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn examples_of_rfc_4517_section_3_3_13() {
        assert_eq!(key("199412161032Z"), "19941216103200");
        assert_eq!(key("199412160532-0500"), "19941216103200");
    }

    #[test]
    fn fractions_of_hours_minutes_and_seconds() {
        assert_eq!(key("2026010203.5Z"), "20260102033000");
        assert_eq!(key("202601020304,25Z"), "20260102030415");
        assert_eq!(key("20260102030405.250Z"), "2026010203040525");
        assert_eq!(key("20260102030405.000Z"), "20260102030405");
    }

    #[test]
    fn offsets_run_over_the_year() {
        assert_eq!(key("202512312330-01"), "20260101003000");
        assert_eq!(key("20240229000000Z"), "20240229000000");
        assert_eq!(key("19000301000000+0100"), "19000228230000");
        assert_eq!(key("20261231235960Z"), "20270101000000");
    }

    #[test]
    fn what_is_not_a_time() {
        for bad in [
            "",
            "2026",
            "20260102030405",
            "20261301000000Z",
            "20230229000000Z",
            "20260102240000Z",
            "20260102030405.Z",
            "20260102030405Z ",
            "20260102030405+2500",
            "2026010203040Z",
            "x0260102030405Z",
        ] {
            assert!(GeneralizedTime::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn utc_times() {
        for good in ["9412161032Z", "941216103205Z", "9412161032-0500", "9412161032"] {
            assert!(check_utc_time(good.as_bytes()).is_ok(), "{good}");
        }
        for bad in ["", "94121610Z", "9413161032Z", "9412161032X", "9412161032+05"] {
            assert!(check_utc_time(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
