//! Reading the bodies of frames: little-endian numbers, strings behind their lengths.

use std::fmt;

/// What is wrong with a frame. The connection that it came on ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Its kind is none.
    Kind,
    /// It is longer than one of its kind may be.
    TooLong,
    /// It ends before what it says is in it, or goes on behind that.
    Length,
    /// Bytes that are zero are not.
    Reserved,
    /// It is of another version.
    Version,
    /// Something in it has a value that it cannot have.
    Value,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::Kind => "it is of no kind that is known",
            Malformed::TooLong => "it is longer than its kind may be",
            Malformed::Length => "its lengths do not add up",
            Malformed::Reserved => "bytes that are zero are not",
            Malformed::Version => "it is of another version",
            Malformed::Value => "it says something that cannot be",
        })
    }
}

/// Takes a body apart.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Malformed::Length)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn zeros<const N: usize>(&mut self) -> Result<(), Malformed> {
        if self.array::<N>()? == [0; N] { Ok(()) } else { Err(Malformed::Reserved) }
    }

    /// Bytes behind their number.
    pub(crate) fn bytes(&mut self, most: usize) -> Result<&'a [u8], Malformed> {
        let len = self.u32()? as usize;
        if len > most { Err(Malformed::TooLong) } else { self.take(len) }
    }

    pub(crate) fn text(&mut self, most: usize) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.bytes(most)?).map_err(|_| Malformed::Value)
    }

    pub(crate) fn end(self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed::Length) }
    }
}

/// Appends bytes behind their number.
pub(crate) fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = u32::try_from(bytes.len()).expect("what is put into a frame has a bound");
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(bytes);
}
