//! What programs ask of a node: to become a member, and commands. These functions wait; they are not to be called on a thread that has an event
//! loop.

use crate::address::Address;
use crate::certificate::{Fingerprint, Holder};
use crate::codec::Malformed;
use crate::frame::{COMMAND_BYTES_MAX, Kind};
use crate::hello::{Class, Hello, VERSION};
use crate::id::RunId;
use crate::identity::Identity;
use crate::join::{self, JoinAnswer, JoinRequest};
use crate::runs::Runs;
use crate::secure::{self, Configs, no_name};
use crate::service::NotDone;
use crate::shared::holder;
use crate::socket::{Dialer, Heard, Socket};
use crate::token::Token;
use crate::wire::{self, Ended};
use bytes::Bytes;
use consensus::Extent;
use env::clock::{Clock as _, SystemClock};
use env::entropy::SystemEntropy;
use env::task;
use rustls::ClientConfig;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Milliseconds in which an address must answer.
const CONNECT_MS: u64 = 5_000;
/// A join that is refused for a reason that passes is tried again for so long: as a node waits for a leader. Several elections of 1 to 2 s each fit
/// into it, and so does the start of a leader with a directory that is not big.
const PASSES_WITHIN: Duration = Duration::from_secs(10);
/// Until it is tried again: each refusal is a line in the log of a node.
const AGAIN: Duration = Duration::from_millis(500);

/// Why a node was not reached, or does not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// No node answered; why, for each address.
    Unreachable(Vec<(Address, String)>),
    /// The node says why not.
    Refused(String),
    /// What the node sent is not what was asked for.
    Answer(&'static str),
    /// What is to be sent is too long, or has too many addresses.
    TooLong,
    /// This process cannot connect at all.
    Process(String),
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestError::Unreachable(tried) => {
                f.write_str("no node answers")?;
                tried.iter().try_for_each(|(address, why)| write!(f, "; {address}: {why}"))
            }
            RequestError::Refused(why) => write!(f, "the node refuses: {why}"),
            RequestError::Answer(what) => write!(f, "the node's answer is wrong: {what}"),
            RequestError::TooLong => f.write_str("what is to be sent is too long"),
            RequestError::Process(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for RequestError {}

/// Becomes a member: asks the nodes of the token, in its order, until one takes it. If none does for a reason that passes, it asks all of them again,
/// for ten seconds: no node leads, or the one that does is not reached. Only a node of the cluster whose CA the token names is sent anything. With
/// the same key it may be called again.
///
/// # Errors
/// See [`RequestError`].
pub fn join(token: &Token, request: &JoinRequest) -> Result<JoinAnswer, RequestError> {
    if !join::is_within_bounds(request) {
        return Err(RequestError::TooLong);
    }
    let config = secure::joining(token.authority()).map_err(process)?;
    let body = join::encode(token, request);
    let clock = SystemClock::start();
    let until_ns = clock.monotonic_ns() + PASSES_WITHIN.as_nanos() as u64;
    let mut may_pass = false;
    loop {
        let refused = match round(token, request, &config, &body)? {
            Round::Joined(answer) => return Ok(answer),
            Round::Refused(NotDone::Final(why)) => return Err(RequestError::Refused(why)),
            Round::Refused(NotDone::Passing(why)) => {
                if !may_pass {
                    tracing::info!("no node takes this one yet: it asks again. {why}");
                }
                may_pass = true;
                RequestError::Refused(why)
            }
            Round::Unreachable(tried) => RequestError::Unreachable(tried),
        };
        if !may_pass || clock.monotonic_ns() >= until_ns {
            return Err(refused);
        }
        env::poll::pause(AGAIN);
    }
}

/// What the nodes of a token have said.
enum Round {
    Joined(JoinAnswer),
    /// The last refusal; or the last one that stays.
    Refused(NotDone),
    /// No node answered; why, for each address.
    Unreachable(Vec<(Address, String)>),
}

/// Asks each node of the token once, until one takes this one.
fn round(
    token: &Token,
    request: &JoinRequest,
    config: &Arc<ClientConfig>,
    body: &[u8],
) -> Result<Round, RequestError> {
    let (mut tried, mut refused) = (Vec::new(), None);
    for address in token.addresses() {
        match waiting(ask(address, config, |holder| holder.cluster == token.cluster(), Question::Join(body)))?
        {
            Ok((Kind::Joined, bytes)) => {
                let answer = joined(token, request, &zeroize::Zeroizing::new(bytes.to_vec()))?;
                return Ok(Round::Joined(answer));
            }
            // The one that leads by now may be another one of them.
            Ok((kind, why)) => {
                let why = String::from_utf8_lossy(&why).into_owned();
                if kind == Kind::Refused {
                    refused = Some(NotDone::Final(why));
                } else if !matches!(refused, Some(NotDone::Final(_))) {
                    refused = Some(NotDone::Passing(why));
                }
            }
            Err(ended) => tried.push((address.clone(), ended.to_string())),
        }
    }
    Ok(refused.map_or(Round::Unreachable(tried), Round::Refused))
}

/// Sends a command to a node, with the certificate of the node whose data directory this is, and waits for the answer for as long as the node
/// says that it is there.
///
/// # Errors
/// See [`RequestError`]. Unless it is [`RequestError::TooLong`], the command may have been executed.
pub fn command(identity: &Identity, address: &Address, body: &[u8]) -> Result<Bytes, RequestError> {
    if body.len() > COMMAND_BYTES_MAX {
        return Err(RequestError::TooLong);
    }
    let config = Configs::of(identity).map_err(process)?.client;
    let hello = Hello {
        version: VERSION,
        class: Class::Requests,
        cluster: identity.cluster(),
        node: identity.node(),
        boots: identity.boots(),
        run: RunId::random(&mut SystemEntropy),
        extent: Extent::default(),
        earlier: Runs::default(),
    };
    let is_ours = |holder: &Holder| holder.cluster == identity.cluster();
    match waiting(ask(address, &config, is_ours, Question::Command(&hello, body)))? {
        Ok((_, answer)) => Ok(answer),
        Err(ended) => Err(RequestError::Unreachable(vec![(address.clone(), ended.to_string())])),
    }
}

fn process(error: impl ToString) -> RequestError {
    RequestError::Process(error.to_string())
}

fn waiting<T>(asking: impl Future<Output = T>) -> Result<T, RequestError> {
    task::block_on(asking).map_err(process)
}

/// Looks at what a new member was given.
fn joined(token: &Token, request: &JoinRequest, bytes: &[u8]) -> Result<JoinAnswer, RequestError> {
    let wrong = RequestError::Answer;
    let answer = JoinAnswer::decode(bytes).map_err(|_: Malformed| wrong("its parts do not add up"))?;
    let is_of_token =
        answer.cluster == token.cluster() && Fingerprint::of(&answer.authority) == token.authority();
    if !is_of_token {
        return Err(wrong("it is of another cluster"));
    }
    answer.to_authority().map_err(|_| wrong("the key is not that of the CA"))?;
    let is_own = |holder: Holder| (holder.cluster, holder.node) == (answer.cluster, answer.node);
    if !Holder::read(&answer.certificate).is_some_and(is_own) {
        return Err(wrong("the certificate is of another node"));
    }
    if !join::is_for(request, &answer.certificate) {
        return Err(wrong("the certificate is for another key"));
    }
    Ok(answer)
}

enum Question<'q> {
    Join(&'q [u8]),
    Command(&'q Hello, &'q [u8]),
}

/// The answer of the node at an address, if its certificate is one that `is_right`.
async fn ask(
    address: &Address,
    config: &Arc<ClientConfig>,
    is_right: impl Fn(&Holder) -> bool,
    question: Question<'_>,
) -> Result<(Kind, Bytes), Ended> {
    let (mut dialer, addresses) = (Dialer::new(), [address.clone()]);
    let dialled = task::timeout_ms(CONNECT_MS, dialer.connect(&addresses)).await;
    let connection = dialled.unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))?;
    let heard = Heard::now(SystemClock::start());
    let socket = Socket::opened(connection, heard.clone())?;
    let mut stream = wire::in_time(async {
        let mut stream = TlsConnector::from(Arc::clone(config)).connect(no_name(), socket).await?;
        match holder(stream.get_ref().1.peer_certificates())? {
            Some(holder) if is_right(&holder) => {}
            _ => return Err(Ended::Stranger("its certificate is of no node of the cluster")),
        }
        if let Question::Command(hello, _) = &question {
            wire::send(&mut stream, Kind::Hello, &hello.encode()).await?;
            let (_, body) = wire::read(&mut stream, |kind| kind == Kind::Hello).await?;
            Hello::decode(&body)?;
        }
        Ok(stream)
    })
    .await?;
    heard.mark();
    tokio::select! {
        answer = converse(&mut stream, question) => answer,
        ended = wire::watch(&heard) => Err(ended),
    }
}

async fn converse(stream: &mut TlsStream<Socket>, question: Question<'_>) -> Result<(Kind, Bytes), Ended> {
    let answers: &[Kind] = match question {
        Question::Join(body) => {
            wire::send(stream, Kind::Join, body).await?;
            &[Kind::Joined, Kind::Refused, Kind::NotNow, Kind::Alive]
        }
        Question::Command(_, body) => {
            wire::send(stream, Kind::Request, body).await?;
            &[Kind::Answer, Kind::Alive]
        }
    };
    loop {
        match wire::read(stream, |kind| answers.contains(&kind)).await? {
            (Kind::Alive, _) => {}
            answer => return Ok(answer),
        }
    }
}
