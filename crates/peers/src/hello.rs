//! The first frame of a connection, and its answer: who is at the other end, and what the connection is for.

use crate::codec::{Malformed, Reader};
use crate::id::{ClusterId, RunId};
use crate::runs::Runs;
use consensus::Extent;
use consensus::links::Channel;
use std::fmt;

/// The latest version that is spoken. Two ends speak the lesser of what both say ([`Hello::agreed`]). A later version says first what this one says, and
/// then more, which is not read here.
pub const VERSION: u32 = 5;
/// The earliest that is spoken.
pub const OLDEST: u32 = 3;
/// From this version on a node that joins knows [`crate::frame::Kind::NotNow`].
pub(crate) const WITH_NOT_NOW: u32 = 4;
/// From this version on a hello names the runs before.
const WITH_RUNS: u32 = 5;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Messages of the core, and updates: the one that opened it sends them.
    Messages = 1,
    /// Parts of files, likewise: nothing else waits behind them.
    Files = 2,
    /// Commands and their answers.
    Requests = 3,
}

impl Class {
    /// The connection that carries a channel.
    pub(crate) fn of(channel: Channel) -> Class {
        match channel {
            Channel::Consensus | Channel::Updates => Class::Messages,
            Channel::Files => Class::Files,
        }
    }

    /// The channels of it.
    pub(crate) fn channels(self) -> &'static [Channel] {
        match self {
            Class::Messages => &[Channel::Consensus, Channel::Updates],
            Class::Files => &[Channel::Files],
            Class::Requests => &[],
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Messages => "messages",
            Class::Files => "files",
            Class::Requests => "requests",
        })
    }
}

/// Who a node says that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The latest version that it speaks.
    pub version: u32,
    /// What the connection is for.
    pub class: Class,
    /// Its cluster.
    pub cluster: ClusterId,
    /// The node; not 0.
    pub node: u64,
    /// Its starts so far.
    pub boots: u64,
    /// Its run.
    pub run: RunId,
    /// How far its disk goes; nothing, of commands.
    pub extent: Extent,
    /// Its runs before this one, as far as it says.
    pub earlier: Runs,
}

impl Hello {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.version.to_le_bytes().to_vec();
        out.extend_from_slice(&[self.class as u8, 0, 0, 0]);
        out.extend_from_slice(&self.cluster.0);
        out.extend_from_slice(&self.node.to_le_bytes());
        out.extend_from_slice(&self.boots.to_le_bytes());
        out.extend_from_slice(&self.run.0);
        out.extend_from_slice(&self.extent.term.to_le_bytes());
        out.extend_from_slice(&self.extent.index.to_le_bytes());
        if self.version >= WITH_RUNS {
            out.extend_from_slice(&[self.earlier.names().len() as u8, 0, 0, 0]);
            self.earlier.names().iter().for_each(|run| out.extend_from_slice(&run.0));
        }
        out
    }

    /// From its bytes.
    ///
    /// # Errors
    /// What is wrong with them; first, whether they are of another version.
    pub fn decode(bytes: &[u8]) -> Result<Hello, Malformed> {
        let mut reader = Reader(bytes);
        let version = version(&mut reader)?;
        let code = reader.u8()?;
        let classes = [Class::Messages, Class::Files, Class::Requests];
        let class = classes.into_iter().find(|class| *class as u8 == code).ok_or(Malformed::Value)?;
        reader.zeros::<3>()?;
        let hello = Hello {
            version,
            class,
            cluster: ClusterId(reader.array()?),
            node: reader.u64()?,
            boots: reader.u64()?,
            run: RunId(reader.array()?),
            extent: Extent { term: reader.u64()?, index: reader.u64()? },
            earlier: if version >= WITH_RUNS { runs(&mut reader)? } else { Runs::default() },
        };
        end(reader, version)?;
        if hello.node == 0 { Err(Malformed::Value) } else { Ok(hello) }
    }

    /// The version that both ends speak.
    pub fn agreed(&self) -> u32 {
        self.version.min(VERSION)
    }
}

fn runs(reader: &mut Reader<'_>) -> Result<Runs, Malformed> {
    let count = reader.u8()?;
    reader.zeros::<3>()?;
    let names: Vec<RunId> =
        (0..count).map(|_| reader.array().map(RunId)).collect::<Result<_, Malformed>>()?;
    Runs::of(&names).ok_or(Malformed::Value)
}

/// The version with which a frame begins.
///
/// # Errors
/// It is not spoken any more.
pub(crate) fn version(reader: &mut Reader<'_>) -> Result<u32, Malformed> {
    let version = reader.u32()?;
    if version < OLDEST { Err(Malformed::Version) } else { Ok(version) }
}

/// All of a frame was read, as far as this version knows it.
///
/// # Errors
/// There is more, and the frame is of no later version.
pub(crate) fn end(reader: Reader<'_>, version: u32) -> Result<(), Malformed> {
    if version > VERSION { Ok(()) } else { reader.end() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_version_is_spoken_with_and_an_earlier_one_is_not() {
        let (cluster, run) = (ClusterId([1; 16]), RunId([2; 16]));
        let hello = |version| {
            let extent = Extent { term: 5, index: 6 };
            let earlier = Runs::of(&[RunId([8; 16]), RunId([9; 16])]).expect("they are few");
            Hello { version, class: Class::Files, cluster, node: 3, boots: 4, run, extent, earlier }
        };
        for version in [VERSION, VERSION + 1] {
            assert_eq!(Hello::decode(&hello(version).encode()), Ok(hello(version)));
            assert_eq!(hello(version).agreed(), VERSION);
        }
        let longer = |version| [hello(version).encode(), b"more".to_vec()].concat();
        assert_eq!(Hello::decode(&longer(VERSION + 1)), Ok(hello(VERSION + 1)));
        assert_eq!(Hello::decode(&longer(VERSION)), Err(Malformed::Length));
        assert_eq!(Hello::decode(&hello(OLDEST - 1).encode()), Err(Malformed::Version));
        // One that does not name the runs before, and is as long as it was.
        let without = Hello { earlier: Runs::default(), ..hello(WITH_RUNS - 1) };
        assert_eq!(Hello::decode(&hello(WITH_RUNS - 1).encode()), Ok(without));
        let mut too_many = hello(VERSION).encode();
        let at = too_many.len() - 36;
        too_many[at] = crate::runs::RUNS_MAX as u8 + 1;
        too_many.resize(at + 4 + 16 * (crate::runs::RUNS_MAX + 1), 0);
        assert_eq!(Hello::decode(&too_many), Err(Malformed::Value));
    }
}
