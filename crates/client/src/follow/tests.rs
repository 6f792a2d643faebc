//! Servers that say what a test wants.

mod search;
mod single;

use super::{Asking, Followed, Target, follow};
use crate::server::Server;
use model::{DerefAliases, Filter, ResultCode, Scope};
use proto::list::{Attributes, Octets, octet_list};
use proto::message::{Frame, Message, Request, frame};
use proto::op::Search;
use proto::op::search::SearchEntry;
use proto::result::{LdapResult, encode_done, encode_response};
use proto::tag;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread::Scope as Threads;

/// A connection of a server.
pub(super) struct Served {
    pub(super) stream: TcpStream,
    input: Vec<u8>,
}

impl Served {
    /// The next request, whole. `None` when the client has left.
    pub(super) fn request(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Ok(Frame::Complete { len }) = frame(&self.input) {
                return Some(self.input.drain(..len).collect());
            }
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes) {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.input.extend_from_slice(&bytes[..count]),
            }
        }
    }

    pub(super) fn say(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }
}

/// A server that takes connections, one after the other, as long as `serve` wants more. Its URL for `dc=x`, and how it is asked.
pub(super) fn server<'s>(
    threads: &'s Threads<'s, '_>,
    is_proxied: bool,
    serve: impl FnMut(&mut Served) -> bool + Send + 's,
) -> (String, Target) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut serve = serve;
    threads.spawn(move || {
        loop {
            let (stream, _) = listener.accept().unwrap();
            if !serve(&mut Served { stream, input: Vec::new() }) {
                return;
            }
        }
    });
    known(port, is_proxied)
}

/// A server of which nothing is known but that it may be asked.
pub(super) fn known(port: u16, is_proxied: bool) -> (String, Target) {
    let server = Server { host: "127.0.0.1".to_owned(), port, credentials: None, security: None };
    (format!("ldap://127.0.0.1:{port}/dc=x"), Target::new(server, is_proxied))
}

/// A port at which nobody listens.
pub(super) fn nobody() -> (String, Target) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    known(port, false)
}

/// Asks with a request for `dc=y`, which is `dc=x` at the servers.
pub(super) fn ask(request: &Request<'_>, servers: &[&(String, Target)]) -> Followed {
    let urls = servers.iter().map(|(url, _)| url.clone().into_bytes()).collect();
    ask_places(request, &[urls], false, servers)
}

pub(super) fn ask_places(
    request: &Request<'_>,
    places: &[Vec<Vec<u8>>],
    is_each: bool,
    servers: &[&(String, Target)],
) -> Followed {
    let mut message = Vec::new();
    request.encode(&mut message, 1, &[]);
    let is_rename = matches!(request, Request::ModifyDn(_));
    let superiors = if is_rename { places[0].clone() } else { Vec::new() };
    let asking = Asking { message: &message, who: b"cn=me", places, superiors: &superiors, is_each };
    follow(&asking, &|url: &[u8]| {
        let known =
            servers.iter().find(|(known, _)| url.starts_with(known.split("/dc").next().unwrap().as_bytes()));
        known.map(|(_, target)| target)
    })
}

pub(super) fn search(seconds: i32) -> Request<'static> {
    Request::Search(Search {
        base: b"dc=y",
        scope: Scope::Subtree,
        deref_aliases: DerefAliases::Never,
        size_limit: 0,
        time_limit_s: seconds,
        types_only: false,
        filter: Filter::Present(b"objectClass"),
        selection: Octets::EMPTY,
    })
}

pub(super) fn entry(id: i32, dn: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let attributes = Attributes::parse(&[]).unwrap();
    SearchEntry { dn: dn.as_bytes(), attributes }.encode(&mut out, id, &[]);
    out
}

/// A result for a request.
pub(super) fn done(request: &[u8], code: ResultCode) -> Vec<u8> {
    let message = Message::decode(request).unwrap();
    let mut out = Vec::new();
    encode_done(&mut out, message.id, tag::response_to(message.request.tag()).unwrap(), code);
    out
}

/// A referral for a request.
pub(super) fn referral(request: &[u8], url: &str) -> Vec<u8> {
    let message = Message::decode(request).unwrap();
    let list = octet_list([url.as_bytes()]);
    let result =
        LdapResult { referral: Octets::parse(&list).unwrap(), ..LdapResult::new(ResultCode::Referral) };
    let mut out = Vec::new();
    let op_tag = tag::response_to(message.request.tag()).unwrap();
    encode_response(&mut out, message.id, op_tag, &result, |_| {}, &[]);
    out
}

/// Is it what the server is asked before an update is sent?
pub(super) fn is_probe(request: &[u8]) -> bool {
    matches!(Message::decode(request).unwrap().request, Request::Search(search) if search.base.is_empty())
}
