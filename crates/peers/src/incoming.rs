//! Connections that this node accepts: it receives over those of members, answers their commands, and takes the join of a node that has no
//! certificate yet. All else ends a connection, with one line in the log; with one a minute, of a node that is refused and comes again.

use crate::acknowledged;
use crate::frame::{ANSWER_BYTES_MAX, Kind, REASON_BYTES_MAX};
use crate::hello::{Class, Hello, WITH_NOT_NOW};
use crate::join;
use crate::service::{Caller, NotDone};
use crate::shared::{Shared, holder};
use crate::socket::{Heard, Socket};
use crate::table::Link;
use crate::wire::{self, Ended};
use bytes::Bytes;
use env::clock::Clock as _;
use env::net::{Listener as _, PeerAddress, Pending as _, TcpListener, TcpPending};
use env::task;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use tokio::io::{AsyncWriteExt as _, ReadHalf, WriteHalf, split};
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Connections at the same time that have not said who they are, at most.
const STRANGERS_MAX: usize = 64;
/// Milliseconds before a listener that failed is asked again.
const AGAIN_MS: u64 = 50;
/// Milliseconds in which a command is sent, and in which an answer is taken.
const REQUEST_MS: u64 = 60_000;

/// The places of connections that have not said who they are. If there is none left, the newcomer takes that of the one that had its place for the
/// longest: who is a member needs a few milliseconds, so others that say nothing cannot keep it out.
#[derive(Clone, Default)]
pub(crate) struct Places(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    /// Those that have places, the oldest first.
    taken: VecDeque<(u64, Rc<Notify>)>,
    count: u64,
}

/// A place of one connection.
struct Place {
    places: Places,
    number: u64,
    is_lost: Rc<Notify>,
}

impl Places {
    fn take(&self) -> Place {
        let mut state = self.0.borrow_mut();
        if state.taken.len() == STRANGERS_MAX
            && let Some((_, oldest)) = state.taken.pop_front()
        {
            oldest.notify_one();
        }
        state.count += 1;
        let (number, is_lost) = (state.count, Rc::new(Notify::new()));
        state.taken.push_back((number, Rc::clone(&is_lost)));
        assert!(state.taken.len() <= STRANGERS_MAX, "places have a bound");
        Place { places: self.clone(), number, is_lost }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.0.borrow_mut().taken.retain(|(number, _)| *number != self.number);
    }
}

impl Place {
    /// What comes of the connection, while it has its place.
    async fn during<T>(&self, serving: impl Future<Output = Result<T, Ended>>) -> Result<T, Ended> {
        tokio::select! {
            outcome = serving => outcome,
            () = self.is_lost.notified() => Err(Ended::Crowded),
        }
    }
}

/// Accepts connections for ever. All listeners have the same places.
pub(crate) async fn listen(shared: Arc<Shared>, listener: TcpListener, places: Places) {
    loop {
        match listener.accept().await {
            Ok((pending, from)) => {
                task::spawn_local(serve(Arc::clone(&shared), pending, from, places.take()));
            }
            Err(error) => {
                tracing::warn!("a connection of a peer cannot be accepted: {error}");
                task::sleep_ms(AGAIN_MS).await;
            }
        }
    }
}

fn name(from: PeerAddress) -> String {
    match from {
        PeerAddress::Tcp(address) => address.to_string(),
        PeerAddress::Unix(_) => "a process of this machine".to_owned(),
    }
}

async fn serve(shared: Arc<Shared>, pending: TcpPending, from: PeerAddress, place: Place) {
    match place.during(begin(&shared, pending)).await {
        Ok(First::Link(link, stream, heard)) => {
            drop(place);
            let (node, class) = (link.node(), link.class());
            let ended = match class {
                Class::Requests => answer(&shared, &link, stream).await,
                Class::Messages | Class::Files => receive(&shared, &link, stream, &heard).await,
            };
            shared.table.close(&link);
            match ended {
                // A program has its answer, or the node has gone on.
                Ended::Closed | Ended::Replaced => {
                    tracing::debug!("the link from node {node} for {class} ended: {ended}")
                }
                // A program ends with its answer, without a word.
                Ended::Io(error)
                    if class == Class::Requests && error.kind() == io::ErrorKind::UnexpectedEof =>
                {
                    tracing::debug!("the link from node {node} for {class} ended: {error}");
                }
                ended => tracing::warn!("the link from node {node} for {class} ended: {ended}"),
            }
        }
        Ok(First::Refused(node, ended)) => {
            let (from, why) = (name(from), ended.to_string());
            match shared.refusals.is_news(node, &why, shared.clock.monotonic_ns() / 1_000_000) {
                true => tracing::warn!("node {node} at {from} is refused: {why}"),
                false => tracing::debug!("node {node} at {from} is refused: {why}"),
            }
        }
        Ok(First::Join(body, stream)) => match place.during(admit(&shared, &body, stream)).await {
            Ok(node) => tracing::info!("node {node} joins from {}", name(from)),
            Err(ended) => tracing::warn!("a join from {} failed: {ended}", name(from)),
        },
        Err(ended) => tracing::warn!("the connection of {} to the port of peers ended: {ended}", name(from)),
    }
}

/// What a connection turned out to be.
enum First {
    Link(Arc<Link>, TlsStream<Socket>, Heard),
    Join(Bytes, TlsStream<Socket>),
    /// Of a node with a certificate of the CA, and why it is not linked.
    Refused(u64, Ended),
}

async fn begin(shared: &Shared, pending: TcpPending) -> Result<First, Ended> {
    let heard = Heard::now(shared.clock);
    let socket = Socket::accepted(pending.open()?, heard.clone());
    wire::in_time(async {
        let mut stream = TlsAcceptor::from(shared.configs().server).accept(socket).await?;
        let Some(holder) = holder(stream.get_ref().1.peer_certificates())? else {
            let (_, body) = wire::read(&mut stream, |kind| kind == Kind::Join).await?;
            return Ok(First::Join(body, stream));
        };
        let (_, body) = wire::read(&mut stream, |kind| kind == Kind::Hello).await?;
        let hello = Hello::decode(&body)?;
        if let Err(ended) = shared.admit(&hello, &holder).await {
            return Ok(First::Refused(holder.node, ended));
        }
        wire::send(&mut stream, Kind::Hello, &shared.own(hello.class).await.encode()).await?;
        // Only now: a connection that has gone meanwhile replaces none.
        let link = shared.table.accept(&hello, holder.fingerprint)?;
        Ok(First::Link(link, stream, heard))
    })
    .await
}

async fn receive(shared: &Shared, link: &Link, stream: TlsStream<Socket>, heard: &Heard) -> Ended {
    heard.mark();
    let (reader, mut writer) = split(stream);
    tokio::select! {
        ended = take(shared, link, reader, heard) => ended,
        ended = wire::keep_alive(&mut writer) => ended,
        ended = wire::watch(heard) => ended,
        ended = link.stopped() => ended,
    }
}

async fn take(shared: &Shared, link: &Link, mut reader: ReadHalf<TlsStream<Socket>>, heard: &Heard) -> Ended {
    let channels = link.class().channels();
    loop {
        while !shared.table.has_room(link) {
            // What is not read is not silent.
            heard.mark();
            let _ = task::timeout_ms(wire::ALIVE_MS, link.work.notified()).await;
            heard.mark();
        }
        let allowed = |kind| match kind {
            Kind::Alive => true,
            Kind::Message(channel) => channels.contains(&channel),
            Kind::Acknowledged => link.class() == Class::Messages,
            _ => false,
        };
        let delivered = match wire::read_with_room(&mut reader, wire::MEMBER_ROOM_BYTES, allowed).await {
            Ok((Kind::Message(channel), body)) => shared.table.deliver(link, channel, body),
            Ok((Kind::Acknowledged, body)) => match acknowledged::decode(&body) {
                Ok((term, indexes)) => {
                    shared.seen.acknowledge(term, &indexes);
                    Ok(())
                }
                Err(malformed) => Err(malformed.into()),
            },
            Ok(_) => Ok(()),
            Err(ended) => Err(ended),
        };
        if let Err(ended) = delivered {
            return ended;
        }
    }
}

/// Answers commands, one after the other. A node that is removed gets the answer to a command that is executed: it may be that very removal.
async fn answer(shared: &Shared, link: &Link, stream: TlsStream<Socket>) -> Ended {
    let (mut reader, mut writer) = split(stream);
    loop {
        let request = task::timeout_ms(REQUEST_MS, wire::read(&mut reader, |kind| kind == Kind::Request));
        let body = tokio::select! {
            request = request => match request.unwrap_or(Err(Ended::Slow)) {
                Ok((_, body)) => body,
                Err(ended) => return ended,
            },
            ended = link.stopped() => return ended,
        };
        if let Err(ended) = execute(shared, link, body, &mut writer).await {
            return ended;
        }
    }
}

/// Executes a command, and answers it.
async fn execute(
    shared: &Shared,
    link: &Link,
    body: Bytes,
    writer: &mut WriteHalf<TlsStream<Socket>>,
) -> Result<(), Ended> {
    let caller = Caller { node: link.node() };
    let call = shared.call(move |service| service.command(caller, &body));
    let answer = tokio::select! {
        answer = call => answer?,
        ended = wire::keep_alive(writer) => return Err(ended),
    };
    if answer.len() > ANSWER_BYTES_MAX {
        return Err(Ended::Refused("the answer to a command is too long".to_owned()));
    }
    let sent = wire::send(writer, Kind::Answer, &answer);
    task::timeout_ms(REQUEST_MS, sent).await.unwrap_or(Err(Ended::Slow))
}

/// Answers a join. Returns the number of the new member.
async fn admit(shared: &Shared, body: &[u8], stream: TlsStream<Socket>) -> Result<u64, Ended> {
    let (mut reader, mut writer) = split(stream);
    let asked = ask(shared, body);
    let outcome = tokio::select! {
        outcome = asked => outcome?,
        ended = wire::keep_alive(&mut writer) => return Err(ended),
        // It says nothing more before it is answered.
        said = wire::read(&mut reader, |_| false) => return Err(said.err().unwrap_or(Ended::Closed)),
    };
    let sent = async {
        match &outcome {
            Ok((_, bytes)) => wire::send(&mut writer, Kind::Joined, bytes).await?,
            Err((kind, why)) => wire::send(&mut writer, *kind, shortened(why).as_bytes()).await?,
        }
        Ok(writer.shutdown().await?)
    };
    task::timeout_ms(REQUEST_MS, sent).await.unwrap_or(Err(Ended::Slow))?;
    outcome.map(|(node, _)| node).map_err(|(_, why)| Ended::Refused(why))
}

/// The number of the new member and what it is given, or a refusal with its kind.
type Outcome = Result<(u64, zeroize::Zeroizing<Vec<u8>>), (Kind, String)>;

async fn ask(shared: &Shared, body: &[u8]) -> Result<Outcome, Ended> {
    let refused = |why: String| Ok(Err((Kind::Refused, why)));
    let (version, token, request) = match join::decode(body) {
        Ok(parts) => parts,
        Err(fault) => return refused(fault.to_string()),
    };
    let Some(authority) = &shared.authority else {
        return refused("this node cannot take new members: it has no key of the CA".to_owned());
    };
    if let Err(fault) = token.verify(authority, shared.clock.wall_ms() / 1_000) {
        return refused(fault.to_string());
    }
    match shared.call(move |service| service.join(&token, request)).await? {
        Ok(answer) => Ok(Ok((answer.node, answer.encode()))),
        Err(NotDone::Passing(why)) if version >= WITH_NOT_NOW => Ok(Err((Kind::NotNow, why))),
        Err(why) => refused(why.into()),
    }
}

fn shortened(text: &str) -> &str {
    let end = (0..=REASON_BYTES_MAX.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}
