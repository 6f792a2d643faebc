//! A search that goes on at other servers: by the URLs of a referral, and of those that these answer.

use crate::error::ClientError;
use crate::link::Link;
use crate::server::Server;
use env::clock::{Clock, SystemClock};
use model::limits::{CHAIN_BYTES_MAX, CHAIN_SEARCHES_MAX, CHAIN_SECONDS_MAX};
use model::{ResultCode, Scope};
use proto::control::chaining_behavior::{self, Behavior};
use proto::control::proxied_authorization;
use proto::message::{Message, Reply, Request, Response};
use proto::op::Search;
use proto::op::search::encode_reference;
use std::collections::{BTreeSet, VecDeque};

/// A server that may be asked, and how.
#[derive(Clone, Debug)]
pub struct Target {
    /// The server, and who asks.
    pub server: Server,
    /// Does it ask in the name of its client (RFC 4370)?
    pub is_proxied: bool,
}

/// What a search came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// Messages of entries, and of references that were not followed.
    pub messages: Vec<u8>,
    /// Bases of the searches that were made.
    pub bases: Vec<Vec<u8>>,
    /// Number of the result code.
    pub code: u32,
    /// The text of the result.
    pub text: String,
    /// URLs of a referral that was not followed.
    pub urls: Vec<Vec<u8>>,
}

/// Searches on, from the URLs of a referral, at the servers that `target` knows. `message` is the search, `who` asks: a DN, empty for nobody.
///
/// Other servers are asked to refer to others and not to ask them, so all that happens is decided here: each place is searched once, and only so many.
pub fn follow(
    message: &[u8],
    who: &[u8],
    urls: &[Vec<u8>],
    target: &dyn Fn(&[u8]) -> Option<Target>,
) -> Followed {
    let Ok(Message { request: Request::Search(search), .. }) = Message::decode(message) else {
        return Followed { code: ResultCode::OperationsError as u32, ..Followed::default() };
    };
    let clock = SystemClock::start();
    let seconds = match search.time_limit_s.unsigned_abs().into() {
        0 => CHAIN_SECONDS_MAX,
        asked => CHAIN_SECONDS_MAX.min(asked),
    };
    let mut following = Following {
        search,
        who,
        target,
        end_ns: clock.monotonic_ns().saturating_add(seconds * 1_000_000_000),
        clock,
        entries: 0,
        places: BTreeSet::new(),
        waiting: VecDeque::from([urls.to_vec()]),
        followed: Followed::default(),
    };
    following.run();
    following.followed
}

struct Following<'a> {
    search: Search<'a>,
    who: &'a [u8],
    target: &'a dyn Fn(&[u8]) -> Option<Target>,
    clock: SystemClock,
    end_ns: u64,
    entries: u32,
    /// Where it was searched.
    places: BTreeSet<Vec<u8>>,
    /// Where it is still to be searched: URLs of which one is enough.
    waiting: VecDeque<Vec<Vec<u8>>>,
    followed: Followed,
}

/// How a search at one server ended.
enum End {
    /// All is said.
    Done,
    /// With this code and text, which end everything.
    Result(u32, String),
    /// It cannot be asked now; nothing came of it.
    Unavailable(String),
}

impl Following<'_> {
    fn run(&mut self) {
        let mut is_first = true;
        while let Some(urls) = self.waiting.pop_front() {
            if let Some((code, text)) = self.alternatives(&urls, is_first) {
                (self.followed.code, self.followed.text) = (code, text);
                return;
            }
            is_first = false;
        }
    }

    /// Searches at the first of some servers that can be asked. Code and text if that ends everything.
    fn alternatives(&mut self, urls: &[Vec<u8>], is_first: bool) -> Option<(u32, String)> {
        let mut why = (ResultCode::Unavailable, "no server can be asked".to_owned());
        for url in urls {
            let Some(target) = (self.target)(url) else { continue };
            let Some((base, scope)) = place(url) else { continue };
            if !self.places.insert(url.to_ascii_lowercase()) {
                why = (ResultCode::LoopDetect, "the referrals lead in a circle".to_owned());
                continue;
            }
            if self.places.len() > CHAIN_SEARCHES_MAX {
                return Some((ResultCode::AdminLimitExceeded as u32, partial("too many referrals")));
            }
            self.followed.bases.push(base.clone());
            match self.at(&target, &base, scope) {
                End::Done => return None,
                End::Result(code, text) => return Some((code, text)),
                End::Unavailable(reason) => why.1 = reason,
            }
        }
        let text = if is_first { why.1 } else { partial(&why.1) };
        Some((why.0 as u32, text))
    }

    fn seconds_left(&self) -> u64 {
        self.end_ns.saturating_sub(self.clock.monotonic_ns()).div_ceil(1_000_000_000)
    }

    /// Searches at one server.
    fn at(&mut self, target: &Target, base: &[u8], scope: Option<Scope>) -> End {
        let Target { server, is_proxied } = target;
        let unavailable =
            |error: &ClientError| End::Unavailable(format!("{}, port {}: {error}", server.host, server.port));
        let mut link = match Link::open_within(server, self.seconds_left().max(1), CHAIN_BYTES_MAX) {
            Ok(link) => link,
            Err(error) => return unavailable(&error),
        };
        let mut search = Search { base, scope: scope.unwrap_or(self.search.scope), ..self.search.clone() };
        search.time_limit_s = i32::try_from(self.seconds_left().max(1)).unwrap_or(i32::MAX);
        let behavior = chaining_behavior::encode([Behavior::ReferralsRequired; 2]);
        let authorization_id = [b"dn:", self.who].concat();
        let mut controls = vec![chaining_behavior::control(&behavior, false)];
        controls.extend(is_proxied.then(|| proxied_authorization::control(&authorization_id)));
        link.push(|out, id| Request::Search(search).encode(out, id, &controls));
        let before = self.followed.messages.len();
        loop {
            if self.clock.monotonic_ns() >= self.end_ns {
                return End::Result(ResultCode::TimeLimitExceeded as u32, partial("the time is over"));
            }
            let taken = link.receive(|reply| self.take(reply));
            match taken {
                Ok(None) => {}
                // Another server would say again what this one has said.
                Ok(Some(End::Unavailable(said))) if self.followed.messages.len() > before => {
                    return End::Result(ResultCode::Unavailable as u32, partial(&said));
                }
                Ok(Some(end)) => return end,
                Err(error) if self.followed.messages.len() == before => return unavailable(&error),
                Err(error) => {
                    return End::Result(ResultCode::Unavailable as u32, partial(&error.to_string()));
                }
            }
        }
    }

    /// Takes a reply; how the search ended, if it is the last.
    fn take(&mut self, reply: &Reply<'_>) -> Option<End> {
        if self.followed.messages.len() > CHAIN_BYTES_MAX {
            let text = partial("the answer is too long to be kept");
            return Some(End::Result(ResultCode::AdminLimitExceeded as u32, text));
        }
        match reply.response {
            Response::SearchEntry(entry) => {
                if self.entries == self.search.size_limit.unsigned_abs() && self.entries > 0 {
                    return Some(End::Result(ResultCode::SizeLimitExceeded as u32, String::new()));
                }
                self.entries += 1;
                entry.encode(&mut self.followed.messages, 1, &[]);
                None
            }
            Response::SearchReference(urls) => {
                let urls: Vec<Vec<u8>> = urls.iter().map(<[u8]>::to_vec).collect();
                match urls.iter().any(|url| (self.target)(url).is_some()) {
                    true => self.waiting.push_back(urls),
                    false => {
                        let urls = urls.iter().map(Vec::as_slice);
                        encode_reference(&mut self.followed.messages, 1, urls, &[]);
                    }
                }
                None
            }
            _ => reply.result().map(|result| {
                let urls: Vec<Vec<u8>> = result.referral.iter().map(<[u8]>::to_vec).collect();
                let said = String::from_utf8_lossy(result.diagnostic).into_owned();
                match result.result_code() {
                    Some(ResultCode::Success) => End::Done,
                    Some(ResultCode::Busy | ResultCode::Unavailable) => End::Unavailable(said),
                    Some(ResultCode::Referral) if urls.iter().any(|url| (self.target)(url).is_some()) => {
                        self.waiting.push_back(urls);
                        End::Done
                    }
                    _ => {
                        self.followed.urls = urls;
                        End::Result(result.code, said)
                    }
                }
            }),
        }
    }
}

/// What an answer says that is not all of it.
fn partial(why: &str) -> String {
    format!("{why}; this is a part of the answer")
}

/// Base and scope of an LDAP URL (RFC 4516). One with a critical extension is not followed (section 2), for none is known here.
fn place(url: &[u8]) -> Option<(Vec<u8>, Option<Scope>)> {
    let at = url.windows(3).position(|three| three == b"://")? + 3;
    let path = url[at..].splitn(2, |byte| *byte == b'/').nth(1).unwrap_or_default();
    let mut parts = path.split(|byte| *byte == b'?');
    let base = decoded(parts.next().unwrap_or_default())?;
    let scope = match parts.nth(1) {
        Some(b"base") => Some(Scope::Base),
        Some(b"one") => Some(Scope::One),
        Some(b"sub") => Some(Scope::Subtree),
        _ => None,
    };
    let mut extensions = parts.nth(1).unwrap_or_default().split(|byte| *byte == b',');
    if extensions.any(|extension| decoded(extension).is_none_or(|text| text.starts_with(b"!"))) {
        return None;
    }
    Some((base, scope))
}

/// Text without percent encoding.
fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, others @ ..] = rest {
        rest = others;
        if *first != b'%' {
            out.push(*first);
            continue;
        }
        let (digits, others) = others.split_at_checked(2)?;
        out.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = others;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Server;
    use model::{DerefAliases, Filter};
    use proto::list::{Attributes, Octets};
    use proto::op::search::SearchEntry;
    use proto::result::encode_done;
    use proto::tag;
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    /// A server that takes a connection and a request, and then says something of its own.
    fn server<'s>(
        scope: &'s std::thread::Scope<'s, '_>,
        say: impl FnOnce(&mut TcpStream) + Send + 's,
    ) -> (Vec<u8>, Target) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        scope.spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
            say(&mut stream);
        });
        let server = Server { host: "127.0.0.1".to_owned(), port, credentials: None, security: None };
        (format!("ldap://127.0.0.1:{port}/dc=x??sub").into_bytes(), Target { server, is_proxied: false })
    }

    fn search(servers: &[(Vec<u8>, Target)], seconds: i32) -> Followed {
        let search = Search {
            base: b"dc=y",
            scope: Scope::Subtree,
            deref_aliases: DerefAliases::Never,
            size_limit: 0,
            time_limit_s: seconds,
            types_only: false,
            filter: Filter::Present(b"objectClass"),
            selection: Octets::EMPTY,
        };
        let mut message = Vec::new();
        Request::Search(search).encode(&mut message, 1, &[]);
        let urls: Vec<Vec<u8>> = servers.iter().map(|(url, _)| url.clone()).collect();
        let target =
            |url: &[u8]| servers.iter().find(|(known, _)| known == url).map(|(_, target)| target.clone());
        follow(&message, b"", &urls, &target)
    }

    fn entry(dn: &str) -> Vec<u8> {
        let mut out = Vec::new();
        SearchEntry { dn: dn.as_bytes(), attributes: Attributes::parse(&[]).unwrap() }.encode(
            &mut out,
            1,
            &[],
        );
        out
    }

    fn done(code: ResultCode) -> Vec<u8> {
        let mut out = Vec::new();
        encode_done(&mut out, 1, tag::SEARCH_DONE, code);
        out
    }

    #[test]
    fn what_one_server_has_said_no_other_says_again() {
        for code in [ResultCode::Busy, ResultCode::Unavailable] {
            std::thread::scope(|scope| {
                let said = [entry("dc=x"), done(code)].concat();
                let first = server(scope, move |stream| stream.write_all(&said).unwrap());
                let unasked = TcpListener::bind("127.0.0.1:0").unwrap();
                let port = unasked.local_addr().unwrap().port();
                let mut second = first.clone();
                second.0 = format!("ldap://127.0.0.1:{port}/dc=x??sub").into_bytes();
                second.1.server.port = port;
                let found = search(&[first, second], 1);
                assert_eq!((found.messages, found.code), (entry("dc=x"), ResultCode::Unavailable as u32));
                assert!(found.text.ends_with("a part of the answer"), "{}", found.text);
            });
        }
    }

    #[test]
    fn a_server_that_drips_is_given_up_when_its_time_is_over() {
        let began = std::time::Instant::now();
        std::thread::scope(|scope| {
            let slow = server(scope, |stream| {
                stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
                // The head of a long reply, and then a byte whenever there was time to hang up.
                let mut rest = b"\x30\x82\x40\x00".iter().copied().chain(std::iter::repeat(0));
                while stream.write_all(&[rest.next().unwrap()]).is_ok()
                    && !matches!(stream.read(&mut [0; 1]), Ok(0))
                {}
            });
            let found = search(&[slow], 1);
            assert_eq!(found.code, ResultCode::Unavailable as u32, "{}", found.text);
        });
        assert!(began.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn a_reply_that_is_longer_than_an_answer_may_be_is_not_read() {
        std::thread::scope(|scope| {
            let long = server(scope, |stream| {
                stream.write_all(b"\x30\x84\x20\x00\x00\x00").unwrap();
                let mut taken = 0;
                while taken < 64 << 20 {
                    match stream.write(&[0; 65536]) {
                        Ok(bytes) => taken += bytes,
                        Err(_) => return,
                    }
                }
                panic!("it was read on");
            });
            let found = search(&[long], 5);
            assert!(found.text.contains("longer than may be"), "{}", found.text);
        });
    }

    #[test]
    fn urls_say_where_it_goes_on() {
        let of =
            |url: &str| place(url.as_bytes()).map(|(base, scope)| (String::from_utf8(base).unwrap(), scope));
        assert_eq!(
            of("ldap://h:389/ou=a%20b,dc=x??sub"),
            Some(("ou=a b,dc=x".to_owned(), Some(Scope::Subtree)))
        );
        assert_eq!(of("ldaps://h"), Some((String::new(), None)));
        assert_eq!(of("ldap://h/dc=x?cn?one?(a=b)"), Some(("dc=x".to_owned(), Some(Scope::One))));
        assert_eq!(of("ldap://h/dc=x??sub??x-other=!a,1.2"), Some(("dc=x".to_owned(), Some(Scope::Subtree))));
        assert_eq!((of("ldap://h/dc=x????!1.2"), of("ldap://h/dc=x??sub??x,%21y=1")), (None, None));
        assert_eq!((of("ldap://h/%4"), of("ldap://h/%zz"), of("nonsense")), (None, None, None));
    }
}
