//! Files of a log that are begun anew, by size or by time, and how many of them are kept.
//!
//! A file that is done with gets the time of that behind its name: `access.log.20261125T214705.123Z`. Such names sort by time, no other file has
//! to be renamed, and a name is never given twice. Only names of this form are ever deleted.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// When a file is begun anew, and which of those before it are kept. 0 is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// Octets of a file.
    pub bytes: u64,
    /// Seconds of UTC that a file stands for: 86,400 is a day, from midnight to midnight.
    pub seconds: u64,
    /// Files that are kept besides the one that is written.
    pub keep: u64,
    /// Seconds that a file is kept after its last line.
    pub keep_seconds: u64,
}

/// The form of what is behind the name: digits stand for digits.
const FORM: &[u8] = b"00000000T000000.000Z";

/// Is it the end of a name that this module has given?
fn is_ending(text: &[u8]) -> bool {
    let same = |(octet, form): (&u8, &u8)| if *form == b'0' { octet.is_ascii_digit() } else { octet == form };
    text.len() == FORM.len() && text.iter().zip(FORM).all(same)
}

impl Rotation {
    /// Is a file to be begun anew that has so many octets, with lines of the time `of_ms`?
    pub fn is_due(self, bytes: u64, of_ms: u64, now_ms: u64) -> bool {
        let period = |ms: u64| ms / 1000 / self.seconds.max(1);
        bytes > 0
            && ((self.bytes > 0 && bytes >= self.bytes)
                || (self.seconds > 0 && period(of_ms) < period(now_ms)))
    }

    /// Moves a file away; the next line begins another one at its path.
    ///
    /// # Errors
    /// What the system says.
    pub fn move_away(path: &Path, now_ms: u64) -> io::Result<()> {
        let mut at_ms = now_ms;
        loop {
            let ending = ending_of(at_ms);
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".{ending}"));
            let to = PathBuf::from(name);
            if fs::symlink_metadata(&to).is_err() {
                return fs::rename(path, to);
            }
            at_ms += 1;
        }
    }

    /// Deletes those of its files that are not kept any more. What cannot be deleted is tried again the next time.
    ///
    /// # Errors
    /// When the folder cannot be read, or a file not be deleted.
    pub fn clean(self, path: &Path, now_ms: u64) -> io::Result<()> {
        if self.keep == 0 && self.keep_seconds == 0 {
            return Ok(());
        }
        let mut files = rotated(path)?;
        // The youngest first.
        files.sort_unstable_by(|one, other| other.cmp(one));
        for (at, file) in files.iter().enumerate() {
            let is_beyond = self.keep > 0 && at as u64 >= self.keep;
            if is_beyond || (self.keep_seconds > 0 && is_older(file, now_ms, self.keep_seconds)) {
                fs::remove_file(file)?;
            }
        }
        Ok(())
    }
}

/// Was a file written for the last time before so many seconds?
fn is_older(file: &Path, now_ms: u64, seconds: u64) -> bool {
    last_ms(file).is_some_and(|last| now_ms.saturating_sub(last) / 1000 >= seconds)
}

/// When a file was written for the last time, in milliseconds since 1970.
pub fn last_ms(file: &Path) -> Option<u64> {
    let modified = fs::metadata(file).ok()?.modified().ok()?;
    let since = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

/// The files that were moved away from a path.
fn rotated(path: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(name) = path.file_name() else { return Ok(Vec::new()) };
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let is_one = |found: &OsStr| {
        let rest = found.as_encoded_bytes().strip_prefix(name.as_encoded_bytes());
        rest.and_then(|rest| rest.strip_prefix(b".")).is_some_and(is_ending)
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if is_one(&entry.file_name()) {
            files.push(entry.path());
        }
    }
    Ok(files)
}

/// A time as names have it.
fn ending_of(ms: u64) -> String {
    let (year, month, day) = civil(ms / 86_400_000);
    let of_day = ms / 1000 % 86_400;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}.{:03}Z", ms % 1000)
}

/// Year, month and day of a number of days since 1970, by the calendar of 400 years.
fn civil(days: u64) -> (u64, u64, u64) {
    // From the first of March of the year 0 on: a leap day is the last of a year then.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_names() {
        assert_eq!(ending_of(1_700_000_000_123), "20231114T221320.123Z");
        assert_eq!(ending_of(951_782_400_000), "20000229T000000.000Z");
        assert_eq!(ending_of(4_107_542_399_999), "21000228T235959.999Z");
        assert!(
            is_ending(ending_of(0).as_bytes()) && !is_ending(b"1") && !is_ending(b"0000000xT000000.000Z")
        );
    }

    #[test]
    fn a_file_is_due_by_size_and_by_time() {
        const DAY: u64 = 86_400;
        let by_size = Rotation { bytes: 100, ..Rotation::default() };
        assert!(!by_size.is_due(99, 0, u64::MAX) && by_size.is_due(100, 0, 0));
        let by_day = Rotation { seconds: DAY, ..Rotation::default() };
        assert!(!by_day.is_due(5, 1, DAY * 1000 - 1) && by_day.is_due(5, DAY * 1000 - 1, DAY * 1000));
        assert!(!by_day.is_due(0, 0, DAY * 9000), "an empty file stays");
        assert!(!Rotation::default().is_due(u64::MAX, 0, u64::MAX));
    }

    #[test]
    fn files_are_kept_by_number_and_by_age() {
        let dir = std::env::temp_dir().join(format!("pando-rotation-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join("access.log");
        for other in ["access.log.1", "access.log.20231114T221320.123Z.gz", "other.log.20231114T221320.123Z"]
        {
            fs::write(dir.join(other), b"x").unwrap();
        }
        for number in 0..5u64 {
            fs::write(&path, number.to_string()).unwrap();
            // Several in a millisecond have names of their own.
            Rotation::move_away(&path, 1_700_000_000_000 + number / 2).unwrap();
        }
        let found = |path: &Path| {
            let mut files = rotated(path).unwrap();
            files.sort_unstable();
            files.iter().map(|file| fs::read_to_string(file).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(found(&path), ["0", "1", "2", "3", "4"]);
        Rotation::default().clean(&path, u64::MAX).unwrap();
        assert_eq!(found(&path).len(), 5);
        Rotation { keep: 3, ..Rotation::default() }.clean(&path, 0).unwrap();
        assert_eq!(found(&path), ["2", "3", "4"]);
        let now_ms = last_ms(&rotated(&path).unwrap()[0]).unwrap();
        let aged = Rotation { keep_seconds: 60, ..Rotation::default() };
        aged.clean(&path, now_ms + 30_000).unwrap();
        assert_eq!(found(&path).len(), 3);
        aged.clean(&path, now_ms + 90_000).unwrap();
        assert_eq!(found(&path).len(), 0);
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 3, "others are left alone");
        fs::remove_dir_all(&dir).unwrap();
    }
}
