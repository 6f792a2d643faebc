//! Frames: what goes over a connection, each behind its length and kind. To the byte: `docs/formats/peers.md`.

use crate::acknowledged;
use crate::codec::{Malformed, Reader};
use consensus::links::Channel;

/// Bytes before the body.
pub const HEAD_BYTES: usize = 8;
/// Bytes of an update, or its answer, at most.
pub const UPDATE_BYTES_MAX: usize = (20 << 20) + (64 << 10);
/// Bytes of a part of a file at most, with the head that says of which file it is.
pub const FILE_BYTES_MAX: usize = (1 << 20) + 64;
/// Bytes of the body of a command at most.
pub const COMMAND_BYTES_MAX: usize = 1 << 20;
/// Bytes of the answer to a command at most.
pub const ANSWER_BYTES_MAX: usize = 4 << 20;
/// Bytes of the body that a join is answered with at most.
pub const JOIN_BODY_BYTES_MAX: usize = 1 << 20;
/// Bytes of a reason why a join was refused at most.
pub(crate) const REASON_BYTES_MAX: usize = 1 << 10;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Who the sender is ([`crate::hello`]): the first of a connection, and its answer.
    Hello,
    /// The sender is there; without a body.
    Alive,
    /// A message of a channel.
    Message(Channel),
    /// A command.
    Request,
    /// What a command is answered.
    Answer,
    /// A node wants to become a member ([`crate::join`]): the first of a connection.
    Join,
    /// What a join is answered.
    Joined,
    /// Why a join is refused: text.
    Refused,
    /// Why a join is refused that may be taken within seconds: text. Only for a node that speaks version 4.
    NotNow,
    /// What the disks of nodes have, as the one that leads knows ([`crate::acknowledged`]).
    Acknowledged,
}

/// All kinds, with their numbers.
const KINDS: [(u8, Kind); 12] = [
    (1, Kind::Hello),
    (2, Kind::Alive),
    (3, Kind::Message(Channel::Consensus)),
    (4, Kind::Message(Channel::Updates)),
    (5, Kind::Message(Channel::Files)),
    (6, Kind::Request),
    (7, Kind::Answer),
    (8, Kind::Join),
    (9, Kind::Joined),
    (10, Kind::Refused),
    (11, Kind::Acknowledged),
    (12, Kind::NotNow),
];

impl Kind {
    /// Bytes of a body at most.
    pub fn bytes_max(self) -> usize {
        match self {
            // Those of later versions may be longer, so that they are known to be that.
            Kind::Hello => 1 << 10,
            Kind::Alive => 0,
            Kind::Message(Channel::Consensus) => consensus::message::BYTES_MAX,
            Kind::Message(Channel::Updates) => UPDATE_BYTES_MAX,
            Kind::Message(Channel::Files) => FILE_BYTES_MAX,
            Kind::Request => COMMAND_BYTES_MAX,
            Kind::Answer => ANSWER_BYTES_MAX,
            Kind::Join => 32 << 10,
            Kind::Joined => JOIN_BODY_BYTES_MAX + (32 << 10),
            Kind::Refused | Kind::NotNow => REASON_BYTES_MAX,
            Kind::Acknowledged => acknowledged::BYTES_MAX,
        }
    }
}

/// The head of a frame.
///
/// # Panics
/// The body is longer than one of its kind may be.
pub fn head(kind: Kind, len: usize) -> [u8; HEAD_BYTES] {
    assert!(len <= kind.bytes_max(), "a frame is as long as its kind may be");
    let (code, _) = KINDS.into_iter().find(|(_, other)| *other == kind).expect("each kind has a number");
    let [a, b, c, d] = (len as u32).to_le_bytes();
    [a, b, c, d, code, 0, 0, 0]
}

/// Kind and length of the body that follows this head.
///
/// # Errors
/// It is none, or too long.
pub fn decode_head(head: [u8; HEAD_BYTES]) -> Result<(Kind, usize), Malformed> {
    let mut reader = Reader(&head);
    let (len, code) = (reader.u32()? as usize, reader.u8()?);
    reader.zeros::<3>()?;
    let (_, kind) = KINDS.into_iter().find(|(other, _)| *other == code).ok_or(Malformed::Kind)?;
    if len > kind.bytes_max() { Err(Malformed::TooLong) } else { Ok((kind, len)) }
}
