//! Days of the proleptic Gregorian calendar, counted from 1970-01-01.

/// Seconds of a day.
pub const DAY_S: i64 = 86_400;

/// Days since 1970-01-01 of a date, year, month and day of the month; `None` if there is no such day.
pub fn days((year, month, day): (i64, i64, i64)) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let in_month = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=in_month).contains(&day) {
        return None;
    }
    // Years begin in March, so that the leap day is the last of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    assert!((0..366).contains(&of_year), "a year has 366 days at most");
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// Year, month and day of the month of a day since 1970-01-01.
pub fn date(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    assert!((0..12).contains(&month), "a year that begins in March has twelve months");
    assert!((1..=31).contains(&date), "a month has 31 days at most");
    let (year, month) = (year + era * 400, if month < 10 { month + 3 } else { month - 9 });
    (year + i64::from(month <= 2), month, date)
}

/// Hour, minute and second of a number of seconds, of any day.
pub fn time_of_day(seconds: i64) -> (i64, i64, i64) {
    let seconds = seconds.rem_euclid(DAY_S);
    (seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_day_comes_back(day in -1_000_000i64..3_000_000) {
            prop_assert_eq!(days(date(day)), Some(day));
        }
    }

    #[test]
    fn leap_days() {
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(11_016), (2000, 2, 29));
        assert!(
            days((1900, 2, 29)).is_none() && days((2024, 2, 29)).is_some() && days((2024, 2, 30)).is_none()
        );
    }
}
