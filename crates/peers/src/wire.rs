//! Frames over a connection that is secured, and how one ends.

use crate::codec::Malformed;
use crate::frame::{HEAD_BYTES, Kind, decode_head, head};
use crate::seen::NotAdmitted;
use crate::socket::Heard;
use bytes::{Bytes, BytesMut};
use env::task;
use std::fmt;
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Milliseconds that handshake and hellos may take.
pub(crate) const HANDSHAKE_MS: u64 = 5_000;
/// Milliseconds after which an end that has nothing to say says that.
pub(crate) const ALIVE_MS: u64 = 500;
/// Milliseconds of silence after which the other end is taken to be dead.
pub(crate) const SILENT_MS: u64 = 2_500;
/// Milliseconds between two looks at that.
const LOOK_MS: u64 = 250;
/// Bytes of a body for which there is room before any of it has come: of one that has not said who it is, and of a member.
const ROOM_BYTES: usize = 64 << 10;
pub(crate) const MEMBER_ROOM_BYTES: usize = 2 << 20;

/// Why a connection ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The other end closed it between two frames.
    Closed,
    /// What the socket or TLS says; the other end closed it inside of a frame.
    Io(io::Error),
    /// A frame is wrong.
    Frame(Malformed),
    /// A frame of a kind that has no place there.
    Unexpected(Kind),
    /// Handshake and hellos took too long.
    Slow,
    /// It had not said who is there when too many others came.
    Crowded,
    /// Nothing came for too long.
    Silent,
    /// The certificate, the hello and what is known of the members do not agree.
    Stranger(&'static str),
    /// More was to be sent than may wait; what waited is lost.
    Full,
    /// The other end has opened another one.
    Replaced,
    /// The node is no member any more, or this server ends.
    Dismissed,
    /// The service refuses the node.
    Refused(String),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                f.write_str("the other end has gone")
            }
            Ended::Closed => f.write_str("the other end closed it"),
            Ended::Io(error) => error.fmt(f),
            Ended::Frame(fault) => write!(f, "a frame is wrong: {fault}"),
            Ended::Unexpected(kind) => write!(f, "a frame {kind:?} has no place there"),
            Ended::Slow => f.write_str("handshake and hello took too long"),
            Ended::Crowded => f.write_str("it had not said who is there when too many others came"),
            Ended::Silent => f.write_str("nothing came for too long"),
            Ended::Stranger(what) => f.write_str(what),
            Ended::Full => f.write_str("too much waits to be sent; what waited is lost"),
            Ended::Replaced => f.write_str("the other end has opened another one"),
            Ended::Dismissed => f.write_str("the node is no member any more"),
            Ended::Refused(why) => write!(f, "refused: {why}"),
        }
    }
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Ended {
        Ended::Io(error)
    }
}

impl From<NotAdmitted> for Ended {
    fn from(why: NotAdmitted) -> Ended {
        match why {
            NotAdmitted::Stranger(what) => Ended::Stranger(what),
            NotAdmitted::NotRecorded(error) => Ended::Refused(format!("it cannot be recorded: {error}")),
        }
    }
}

impl From<Malformed> for Ended {
    fn from(fault: Malformed) -> Ended {
        Ended::Frame(fault)
    }
}

/// Reads a frame, of a kind that `allowed` says has a place there: a longer one is not waited for.
pub(crate) async fn read<R: AsyncRead + Unpin>(
    reader: &mut R,
    allowed: impl Fn(Kind) -> bool,
) -> Result<(Kind, Bytes), Ended> {
    read_with_room(reader, ROOM_BYTES, allowed).await
}

/// The same, with room for so many bytes of the body before any of it has come.
pub(crate) async fn read_with_room<R: AsyncRead + Unpin>(
    reader: &mut R,
    room_bytes: usize,
    allowed: impl Fn(Kind) -> bool,
) -> Result<(Kind, Bytes), Ended> {
    let mut bytes = [0; HEAD_BYTES];
    let first = reader.read(&mut bytes).await?;
    if first == 0 {
        return Err(Ended::Closed);
    }
    reader.read_exact(&mut bytes[first..]).await?;
    let (kind, len) = decode_head(bytes)?;
    if !allowed(kind) {
        return Err(Ended::Unexpected(kind));
    }
    let mut body = BytesMut::with_capacity(len.min(room_bytes));
    while body.len() < len {
        if body.capacity() == body.len() {
            body.reserve((len - body.len()).min(body.len().max(room_bytes)));
        }
        let missing = (len - body.len()) as u64;
        if (&mut *reader).take(missing).read_buf(&mut body).await? == 0 {
            return Err(Ended::Io(io::ErrorKind::UnexpectedEof.into()));
        }
    }
    Ok((kind, body.freeze()))
}

/// Writes a frame. It may wait in a buffer until it is flushed.
pub(crate) async fn write<W: AsyncWrite + Unpin>(
    writer: &mut W,
    kind: Kind,
    body: &[u8],
) -> Result<(), Ended> {
    writer.write_all(&head(kind, body.len())).await?;
    Ok(writer.write_all(body).await?)
}

/// Writes a frame, and waits until it has left.
pub(crate) async fn send<W: AsyncWrite + Unpin>(
    writer: &mut W,
    kind: Kind,
    body: &[u8],
) -> Result<(), Ended> {
    write(writer, kind, body).await?;
    Ok(writer.flush().await?)
}

/// Says that this end is there, again and again, until that fails.
pub(crate) async fn keep_alive<W: AsyncWrite + Unpin>(writer: &mut W) -> Ended {
    loop {
        if let Err(ended) = send(writer, Kind::Alive, &[]).await {
            return ended;
        }
        task::sleep_ms(ALIVE_MS).await;
    }
}

/// Ends when the other end has been silent for too long. What it said while this thread did something else, a sync say, was not heard yet: so looks
/// are counted, and not the time between them.
pub(crate) async fn watch(heard: &Heard) -> Ended {
    let (mut last_ns, mut silent_looks) = (heard.at_ns(), 0);
    while silent_looks * LOOK_MS < SILENT_MS {
        task::sleep_ms(LOOK_MS).await;
        let at_ns = heard.at_ns();
        silent_looks = if at_ns == last_ns { silent_looks + 1 } else { 0 };
        last_ns = at_ns;
    }
    Ended::Silent
}

/// Handshake and hellos in the time that they may take.
pub(crate) async fn in_time<T>(shake: impl Future<Output = Result<T, Ended>>) -> Result<T, Ended> {
    task::timeout_ms(HANDSHAKE_MS, shake).await.unwrap_or(Err(Ended::Slow))
}
