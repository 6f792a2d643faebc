//! Where a record is: its number in the log, and a place in the files.

use std::fmt;

/// The number of a record: 1, 2, 3 ... without gaps over the whole log. 0 stands before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Index(pub u64);

impl Index {
    /// The index `n` records later.
    pub fn plus(self, n: u64) -> Index {
        Index(self.0 + n)
    }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A place in the log: file number and offset in that file. Places only grow; a file number is given once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Number of the file.
    pub file: u32,
    /// Bytes from its beginning.
    pub offset: u32,
}

impl Place {
    /// As one number, in the order of places.
    pub(crate) fn to_u64(self) -> u64 {
        u64::from(self.file) << 32 | u64::from(self.offset)
    }

    pub(crate) fn from_u64(packed: u64) -> Place {
        Place { file: (packed >> 32) as u32, offset: packed as u32 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file {} offset {}", self.file, self.offset)
    }
}
