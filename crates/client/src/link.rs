//! One connection to a server: requests out, replies in.

use crate::channel::Channel;
use crate::error::ClientError;
use crate::server::{Security, Server};
use env::clock::{Clock, SystemClock};
use env::poll::{Connection, Events, Interest, Poller, Progress};
use model::ResultCode;
use proto::ext::{notice_of_disconnection, start_tls};
use proto::message::{Reply, Request, Response};
use proto::op::bind::Authentication;
use proto::op::{Bind, Extended};
use proto::result::LdapResult;
use std::io;
use std::time::Duration;

/// Bytes read at once.
const READ_BYTES: usize = 64 << 10;
/// Bytes of one reply: an entry with millions of values fits.
const REPLY_BYTES_MAX: usize = 1 << 30;
/// Seconds after which a server that says nothing is given up.
const SILENCE_S: u64 = 120;

/// The time at which a server is given up that still answers.
struct End {
    clock: SystemClock,
    end_ns: u64,
    seconds: u64,
}

impl End {
    fn after(seconds: u64) -> End {
        let clock = SystemClock::start();
        let end_ns = clock.monotonic_ns().saturating_add(seconds.saturating_mul(1_000_000_000));
        End { clock, end_ns, seconds }
    }

    /// What is left of the time.
    ///
    /// # Errors
    /// When there is none.
    fn left(&self) -> Result<Duration, ClientError> {
        match self.end_ns.saturating_sub(self.clock.monotonic_ns()) {
            0 => Err(ClientError::Late(self.seconds)),
            left => Ok(Duration::from_nanos(left)),
        }
    }
}

/// A connection that is bound.
pub struct Link {
    channel: Channel,
    poller: Poller,
    silence_s: u64,
    /// When it is given up whatever it says, and the seconds that it had until then.
    end: Option<End>,
    reply_bytes_max: usize,
    /// It was silent for so long: what it still answers would be taken for answers to later requests.
    is_given_up: bool,
    /// Requests that are not sent yet, from `sent` on.
    out: Vec<u8>,
    sent: usize,
    /// Bytes received, those before `taken` done with.
    input: Vec<u8>,
    taken: usize,
    last_id: i32,
}

impl Link {
    /// Connects, with TLS if the server is to be asked so, and binds.
    ///
    /// # Errors
    /// When the server cannot be reached, is not who it should be, or refuses the bind.
    pub fn open(server: &Server) -> Result<Link, ClientError> {
        Link::open_for(server, SILENCE_S)
    }

    /// As [`Link::open`], but a server that says nothing for `silence_s` seconds is given up, also when it is asked to bind.
    ///
    /// # Errors
    /// As [`Link::open`].
    pub fn open_for(server: &Server, silence_s: u64) -> Result<Link, ClientError> {
        Link::open_until(server, silence_s, None, REPLY_BYTES_MAX)
    }

    /// As [`Link::open`], to a server that is not trusted to end: it has so many seconds for all that it says from now on ([`Link::give`]), and no reply
    /// may have more than `reply_bytes_max` bytes. How long the name of a host is looked for is up to the system.
    ///
    /// # Errors
    /// As [`Link::open`].
    pub fn open_within(server: &Server, seconds: u64, reply_bytes_max: usize) -> Result<Link, ClientError> {
        Link::open_until(server, seconds, Some(End::after(seconds)), reply_bytes_max)
    }

    fn open_until(
        server: &Server,
        silence_s: u64,
        end: Option<End>,
        reply_bytes_max: usize,
    ) -> Result<Link, ClientError> {
        let patience = Duration::from_secs(silence_s.max(1));
        let connection =
            Connection::connect_within(&server.host, server.port, patience).map_err(|error| {
                io::Error::new(error.kind(), format!("{}, port {}: {error}", server.host, server.port))
            })?;
        let mut link = Link { end, reply_bytes_max, ..Link::over(connection, silence_s)? };
        if let Some(security) = &server.security {
            link = link.secured(security, &server.host)?;
        }
        if let Some((name, password)) = &server.credentials {
            let authentication = Authentication::Simple(password);
            let bind = Bind { version: 3, name: name.as_bytes(), authentication };
            link.push(|out, id| Request::Bind(bind).encode(out, id, &[]));
            link.outcome("no answer to a bind").map_err(|error| match error {
                ClientError::Refused(why) => ClientError::Refused(format!("bind as {name}: {why}")),
                error => error,
            })?;
        }
        Ok(link)
    }

    /// Over a connection on which nothing is in progress. A server that says nothing for `silence_s` seconds is given up.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn over(connection: Connection, silence_s: u64) -> io::Result<Link> {
        let poller = Poller::new()?;
        poller.add(&connection, 0, Interest::Read)?;
        Ok(Link {
            channel: Channel::Plain(connection),
            poller,
            silence_s,
            end: None,
            reply_bytes_max: REPLY_BYTES_MAX,
            is_given_up: false,
            out: Vec::new(),
            sent: 0,
            input: Vec::new(),
            taken: 0,
            last_id: 0,
        })
    }

    /// The link over TLS. The handshake comes with the next request, and nothing of that is sent before the server is known.
    fn secured(mut self, security: &Security, host: &str) -> Result<Link, ClientError> {
        if security.is_start_tls {
            let start = Extended { oid: start_tls::OID, value: None };
            self.push(|out, id| Request::Extended(start).encode(out, id, &[]));
            self.outcome("no answer to StartTLS").map_err(|error| match error {
                ClientError::Refused(why) => ClientError::Refused(format!("StartTLS: {why}")),
                error => error,
            })?;
            // Somebody on the way could have put it there.
            if self.taken < self.input.len() {
                return Err(ClientError::Malformed("more than an answer to StartTLS"));
            }
        }
        assert!(self.waiting() == 0, "nothing is sent in the clear that is meant to be secret");
        let session = security.trust.session(host).map_err(ClientError::Tls)?;
        let channel = Channel::secure(self.channel.into_connection(), session);
        Ok(Link { channel, ..self })
    }

    /// Gives the server so many seconds from now on for all that it still says.
    pub fn give(&mut self, seconds: u64) {
        self.silence_s = seconds;
        self.end = Some(End::after(seconds));
    }

    /// Is nothing in progress, and has the server neither closed the connection nor said anything that nobody has taken?
    pub(crate) fn is_quiet(&mut self) -> bool {
        let is_done = !self.is_given_up && self.taken == self.input.len() && self.waiting() == 0;
        is_done && matches!(self.channel.read(&mut [0; 1]), Progress::Later)
    }

    /// Gives back memory that a long request or answer took, while nothing is in progress.
    pub(crate) fn shrink(&mut self) {
        self.out.shrink_to(READ_BYTES);
        self.input.shrink_to(READ_BYTES);
    }

    /// The connection, for another use. What it said beyond the replies that were received is lost, and so is TLS.
    pub fn into_connection(self) -> Connection {
        self.channel.into_connection()
    }

    /// Puts a request behind those that wait to be sent; `encode` appends it with the id. Returns the id.
    pub fn push(&mut self, encode: impl FnOnce(&mut Vec<u8>, i32)) -> i32 {
        self.last_id = self.last_id.checked_add(1).unwrap_or(1);
        assert!(self.last_id > 0, "0 is the id of what the server sends of itself");
        let before = self.out.len();
        encode(&mut self.out, self.last_id);
        assert!(self.out.len() > before, "a request is appended behind those that wait");
        self.last_id
    }

    /// Bytes that wait to be sent.
    pub fn waiting(&self) -> usize {
        assert!(self.sent <= self.out.len(), "only what was put there is sent");
        self.out.len() - self.sent
    }

    /// Waits for the next reply and hands it to `take`; what waits is sent meanwhile.
    ///
    /// # Errors
    /// When the connection has ended, the server says that it will, or it was silent for too long, now or before.
    pub fn receive<T>(&mut self, take: impl FnOnce(&Reply<'_>) -> T) -> Result<T, ClientError> {
        if self.is_given_up {
            return Err(ClientError::Silent(self.silence_s));
        }
        let len = loop {
            if let Some(len) = self.whole()? {
                break len;
            }
            self.exchange()?;
        };
        let bytes = &self.input[self.taken..self.taken + len];
        let reply =
            Reply::decode(bytes).map_err(|_| ClientError::Malformed("a reply that is not understood"))?;
        self.taken += len;
        if let Response::Extended(notice) = &reply.response
            && notice.oid == Some(notice_of_disconnection::OID)
        {
            let why = reply.result().and_then(|result| refusal(&result)).unwrap_or_default();
            return Err(ClientError::Closed(format!(": {why}")));
        }
        Ok(take(&reply))
    }

    /// Waits for the result of the only request in progress; `missing` says that another reply came.
    pub(crate) fn outcome(&mut self, missing: &'static str) -> Result<(), ClientError> {
        let refused = self.receive(|reply| reply.result().map(|result| refusal(&result)))?;
        refused.ok_or(ClientError::Malformed(missing))?.map_or(Ok(()), |why| Err(ClientError::Refused(why)))
    }

    /// Sends what the socket takes, without waiting.
    pub fn send(&mut self) {
        self.channel.flush();
        while self.waiting() > 0 {
            match self.channel.write(&self.out[self.sent..]) {
                Progress::Bytes(bytes) => {
                    assert!(bytes <= self.waiting(), "a socket takes no more than it was given");
                    self.sent += bytes;
                }
                // The next read tells of an end.
                Progress::Later | Progress::Closed => break,
            }
        }
        if self.waiting() == 0 {
            self.out.clear();
            self.sent = 0;
        }
    }

    /// Length of the reply that is next, if all of it is there.
    fn whole(&self) -> Result<Option<usize>, ClientError> {
        let bytes = &self.input[self.taken..];
        let (Some(tag), Some(first)) = (bytes.first(), bytes.get(1)) else { return Ok(None) };
        let width = if *first < 0x80 { 0 } else { usize::from(first & 0x7f) };
        if *tag != proto::tag::SEQUENCE || *first == 0x80 || width > 4 {
            return Err(ClientError::Malformed("something that is no LDAP"));
        }
        let Some(digits) = bytes.get(2..2 + width) else { return Ok(None) };
        let contents = match width {
            0 => usize::from(*first),
            _ => digits.iter().fold(0, |len, digit| len << 8 | usize::from(*digit)),
        };
        let len = 2 + width + contents;
        if len > self.reply_bytes_max {
            return Err(ClientError::Malformed("a reply that is longer than may be"));
        }
        Ok((bytes.len() >= len).then_some(len))
    }

    /// Sends and reads something, waiting if need be.
    fn exchange(&mut self) -> Result<(), ClientError> {
        loop {
            let silence = Duration::from_secs(self.silence_s);
            let patience = match self.end.as_ref().map_or(Ok(silence), End::left) {
                Ok(left) => left.min(silence),
                Err(late) => {
                    self.is_given_up = true;
                    return Err(late);
                }
            };
            self.send();
            assert!(self.taken <= self.input.len(), "only what was received is taken");
            self.input.drain(..self.taken);
            self.taken = 0;
            let end = self.input.len();
            self.input.resize(end + READ_BYTES, 0);
            let read = self.channel.read(&mut self.input[end..]);
            let bytes = if let Progress::Bytes(bytes) = read { bytes } else { 0 };
            assert!(bytes <= READ_BYTES, "a socket gives no more than there is room for");
            self.input.truncate(end + bytes);
            match read {
                Progress::Bytes(_) => return Ok(()),
                Progress::Closed => {
                    let closed = ClientError::Closed(String::new());
                    return Err(self.channel.failure().map_or(closed, ClientError::Tls));
                }
                Progress::Later => {}
            }
            let interest = self.channel.interest(self.waiting() > 0);
            self.poller.modify(self.channel.connection(), 0, interest)?;
            let mut events = Events::with_capacity(1);
            self.poller.wait(&mut events, Some(patience))?;
            if events.iter().next().is_none() {
                self.is_given_up = true;
                return Err(ClientError::Silent(self.silence_s));
            }
        }
    }
}

/// What a result says, unless it is success: name and number of its code, and the server's words.
pub fn refusal(result: &LdapResult<'_>) -> Option<String> {
    if result.code == ResultCode::Success as u32 {
        return None;
    }
    let name = result.result_code().map_or("unknown code", ResultCode::name);
    let said = String::from_utf8_lossy(result.diagnostic);
    let said = if said.is_empty() { String::new() } else { format!(": {said}") };
    Some(format!("{name} ({}){said}", result.code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::message::Request;
    use std::io::{Read as _, Write as _};

    #[test]
    fn what_a_server_answers_that_was_given_up_is_no_answer_to_later_requests() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut link = Link::over(Connection::connect("127.0.0.1", port).unwrap(), 0).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        link.push(|out, id| Request::Delete(b"cn=a").encode(out, id, &[]));
        assert!(matches!(link.receive(|_| ()), Err(ClientError::Silent(0))));
        server.read_exact(&mut [0; 11]).unwrap();
        // A success for the first request.
        server.write_all(b"\x30\x0c\x02\x01\x01\x6b\x07\x0a\x01\x00\x04\x00\x04\x00").unwrap();
        drop(server);
        link.push(|out, id| Request::Delete(b"cn=b").encode(out, id, &[]));
        assert!(matches!(link.receive(|_| ()), Err(ClientError::Silent(0))));
    }
}
