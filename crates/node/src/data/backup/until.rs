//! Up to where a backup is restored.

use model::parse_timestamp;
use wal::Index;

/// Up to where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// All that there is.
    End,
    /// The record of this number, and none after it. Records of a node of a cluster are the entries of its log.
    Sequence(Index),
    /// The command of this number, from 1 on, in the record of that number, and none after it.
    Command(Index, u32),
    /// What was given at this Unix time in milliseconds or before, up to the first that was given later.
    Time(u64),
}

impl Until {
    /// Reads the name of a record or of a command, as `pando dump` prints it: `INDEX`, `INDEX.COMMAND` or `0:INDEX.COMMAND`, or that of a
    /// node, `1:INDEX.COMMAND`.
    ///
    /// # Errors
    /// In words, what it should look like.
    pub fn sequence(text: &str) -> Result<Until, String> {
        let of_group = |text: &str| match text.split_once(':') {
            Some((group, position)) => ["0", "1"].contains(&group).then(|| position.to_owned()),
            None => Some(text.to_owned()),
        };
        let parse = |position: String| match position.split_once('.') {
            None => Some(Until::Sequence(Index(position.parse().ok()?))),
            Some((index, command)) => {
                let (index, command): (u64, u32) = (index.parse().ok()?, command.parse().ok()?);
                (command > 0).then_some(Until::Command(Index(index), command))
            }
        };
        of_group(text).and_then(parse).ok_or_else(|| {
            format!("`{text}` names no record or command, such as 5, 5.2 or 0:5.2; `pando dump` names them")
        })
    }

    /// Reads a time.
    ///
    /// # Errors
    /// In words, what it should look like.
    pub fn time(text: &str) -> Result<u64, String> {
        let form =
            || format!("`{text}` is no time such as 2026-11-21T10:00:00Z or 2026-11-21T11:00:00.250+01:00");
        parse_timestamp(text).ok_or_else(form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_or_refused_with_an_example() {
        assert_eq!(Until::time("1970-01-01T00:00:01Z"), Ok(1000));
        assert_eq!(Until::sequence("5"), Ok(Until::Sequence(Index(5))));
        for text in ["5.2", "0:5.2", "1:5.2"] {
            assert_eq!(Until::sequence(text), Ok(Until::Command(Index(5), 2)));
        }
        for text in ["", "5.", "5.0", "2:5.2", "five", "5.2.1", "-5"] {
            assert!(Until::sequence(text).unwrap_err().contains("such as 5, 5.2 or 0:5.2"), "{text}");
        }
        assert!(Until::time("yesterday").unwrap_err().contains("2026-11-21T10:00:00Z"));
    }
}
