//! Change sequence numbers: when a change was made, and where. 64 bits: 42 of milliseconds since
//! 2020-01-01T00:00:00Z (139 years), 14 of a counter inside the millisecond, 8 of the site.

use crate::calendar::{DAY_S, date, days, time_of_day};
use std::fmt;
use std::io::Write as _;

/// Milliseconds from the Unix epoch to 2020-01-01T00:00:00Z, where CSN time begins.
pub const EPOCH_UNIX_MS: u64 = 1_577_836_800_000;

/// A change sequence number. Unique together with the shard; ordered by time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Csn(pub u64);

impl Csn {
    /// The first CSN of a millisecond (Unix time; earlier than 2020 counts as 2020).
    pub fn from_unix_ms(unix_ms: u64, site: u8) -> Csn {
        Csn((unix_ms.saturating_sub(EPOCH_UNIX_MS) & ((1 << 42) - 1)) << 22 | site as u64)
    }

    /// Unix time of the change in milliseconds.
    pub fn unix_ms(self) -> u64 {
        (self.0 >> 22) + EPOCH_UNIX_MS
    }

    /// Position among the changes of the same millisecond.
    pub fn counter(self) -> u16 {
        (self.0 >> 8 & 0x3fff) as u16
    }

    /// The site that made the change.
    pub fn site(self) -> u8 {
        self.0 as u8
    }

    /// As an update sequence number: the CSN without its site, so that it has no more than 56 bits. Numbers of one directory have the order of
    /// its CSNs, and like these they are the same at all of its replicas.
    pub fn usn(self) -> u64 {
        self.0 >> 8
    }

    /// The CSN after this one at the same site; runs into the next millisecond when the counter is full.
    pub fn next(self) -> Csn {
        assert!(self.0 < u64::MAX - (1 << 8), "time has not come to its end: it would begin again");
        Csn(self.0 + (1 << 8))
    }

    /// The next CSN at `unix_ms` that is greater than `self`: a hybrid clock's tick, never going back.
    pub fn tick(self, unix_ms: u64) -> Csn {
        Csn::from_unix_ms(unix_ms, self.site()).max(self.next())
    }
}

impl Csn {
    /// Reads what [`fmt::Display`] writes, and nothing else.
    pub fn parse(text: &str) -> Option<Csn> {
        let number = |from: usize, to: usize, radix| i64::from_str_radix(text.get(from..to)?, radix).ok();
        let date = (number(0, 4, 10)?, number(4, 6, 10)?, number(6, 8, 10)?);
        let seconds = number(8, 10, 10)? * 3600 + number(10, 12, 10)? * 60 + number(12, 14, 10)?;
        let ms = (days(date)? * DAY_S + seconds) * 1000 + number(15, 18, 10)?;
        let (counter, site) = (number(23, 29, 16)?, number(30, 33, 16)?);
        let csn = Csn::from_unix_ms(u64::try_from(ms).ok()?, u8::try_from(site).ok()?);
        let csn =
            Csn(csn.0 | u64::from(u16::try_from(counter).ok().filter(|counter| *counter < 1 << 14)?) << 8);
        (csn.to_string() == text).then_some(csn)
    }
}

/// The form of OpenLDAP's entryCSN: `20260102030405.123456Z#00000a#001#000000`. The last three digits of the
/// fraction are 0, the counter is in hexadecimal.
impl fmt::Display for Csn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.unix_ms() % 1000;
        let (year, month, day, hour, minute, second) = civil(self.unix_ms());
        write!(
            f,
            "{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}.{ms:03}000Z#{:06x}#{:03x}#000000",
            self.counter(),
            self.site()
        )
    }
}

/// Appends `20260102030405Z` for a Unix time in milliseconds.
pub fn write_generalized_time(unix_ms: u64, out: &mut Vec<u8>) {
    let (year, month, day, hour, minute, second) = civil(unix_ms);
    write!(out, "{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}Z").expect("a Vec takes all");
}

/// Year, month, day, hour, minute, second of a Unix time.
pub fn civil(unix_ms: u64) -> (i64, i64, i64, i64, i64, i64) {
    let seconds = (unix_ms / 1000) as i64;
    let ((year, month, day), (hour, minute, second)) = (date(seconds / DAY_S), time_of_day(seconds));
    (year, month, day, hour, minute, second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_text() {
        let csn = Csn::from_unix_ms(1_767_323_045_123, 1);
        assert_eq!(csn.to_string(), "20260102030405.123000Z#000000#001#000000");
        assert_eq!(Csn::parse(&csn.to_string()), Some(csn));
        for wrong in [
            "",
            "20260102030405.123000Z#000000#001#00000",
            "20260102030405.123456Z#000000#001#000000",
            "2026",
        ] {
            assert_eq!(Csn::parse(wrong), None);
        }
        let mut time = Vec::new();
        write_generalized_time(csn.unix_ms(), &mut time);
        assert_eq!(time, b"20260102030405Z");
        assert_eq!(csn.unix_ms(), 1_767_323_045_123);
    }

    #[test]
    fn ticks_never_go_back() {
        let csn = Csn::from_unix_ms(1_767_323_045_123, 3);
        let again = csn.tick(1_767_323_045_000);
        assert!(again > csn && again.site() == 3 && again.counter() == 1);
        assert!(
            again.usn() > csn.usn() && again.usn() < 1 << 56,
            "a number for each change, and in their order"
        );
        assert_eq!(csn.tick(1_767_323_045_124).counter(), 0);
        let full = Csn(csn.0 | 0x3fff << 8);
        assert_eq!(full.next().unix_ms(), csn.unix_ms() + 1);
    }

    #[test]
    fn leap_days() {
        let mut time = Vec::new();
        write_generalized_time(1_709_164_800_000, &mut time);
        assert_eq!(time, b"20240229000000Z");
    }
}
