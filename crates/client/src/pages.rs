//! A search that is answered in pages (RFC 2696), or in one piece by a server that knows no pages.

use crate::error::ClientError;
use crate::link::{Link, refusal};
use model::filter::Filter;
use model::{ResultCode, Scope};
use proto::control::Control;
use proto::control::manage_dsa_it;
use proto::control::paged_results::{self, PagedResults};
use proto::list::{Octets, octet_list};
use proto::message::{Reply, Request, Response};
use proto::op::Search;
use proto::op::search::SearchEntry;

/// Entries of one page.
const PAGE: i32 = 1000;

/// What came of one page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Page {
    /// Another one follows.
    More,
    /// It was the last.
    Last,
    /// There is no such base, or the client may not know of it: the refusal in words.
    NoBase(String),
}

/// A search in progress. Referral objects are entries to it (ManageDsaIT).
pub struct Pages<'a> {
    base: &'a [u8],
    scope: Scope,
    filter: Filter<'a>,
    selection: Vec<u8>,
    cookie: Vec<u8>,
    /// False once the server has refused the control.
    is_paged: bool,
}

impl<'a> Pages<'a> {
    /// A search that has not begun, for these attributes.
    pub fn new(base: &'a [u8], scope: Scope, filter: Filter<'a>, attributes: &[&[u8]]) -> Pages<'a> {
        let selection = octet_list(attributes.iter().copied());
        Pages { base, scope, filter, selection, cookie: Vec::new(), is_paged: true }
    }

    /// Asks for the next page and hands out its entries. After [`Page::More`] it is to be called again.
    ///
    /// # Errors
    /// When the connection fails, the server refuses, or an entry is not taken. Then the connection is of no further use.
    pub fn next<E: From<ClientError>>(
        &mut self,
        link: &mut Link,
        take: &mut dyn FnMut(&SearchEntry<'_>) -> Result<(), E>,
    ) -> Result<Page, E> {
        self.ask(link)?;
        loop {
            let end = link.receive(|reply| {
                if let Response::SearchEntry(entry) = &reply.response {
                    take(entry)?;
                    return Ok(None);
                }
                self.end(reply).map_err(E::from)
            })??;
            match end {
                Some(End::Page(page)) => return Ok(page),
                Some(End::Unpaged) => {
                    self.is_paged = false;
                    self.ask(link)?;
                }
                None => {}
            }
        }
    }

    fn ask(&self, link: &mut Link) -> Result<(), ClientError> {
        let selection = Octets::parse(&self.selection).map_err(|_| ClientError::Malformed("nothing"))?;
        let mut value = Vec::new();
        PagedResults { size: PAGE, cookie: &self.cookie }.encode(&mut value);
        let paged = Control { oid: paged_results::OID, critical: true, value: Some(&value) };
        let controls = [manage_dsa_it::control(false), paged];
        let controls = if self.is_paged { &controls[..] } else { &controls[..1] };
        let search = Search::unlimited(self.base, self.scope, self.filter.clone(), selection);
        link.push(|out, id| Request::Search(search).encode(out, id, controls));
        Ok(())
    }

    /// What a reply that is no entry ends, if it ends something; the cookie is kept.
    fn end(&mut self, reply: &Reply<'_>) -> Result<Option<End>, ClientError> {
        let Some(result) = reply.result() else { return Ok(None) };
        // Only a first page is refused for the control: a server that has sent a cookie knows it.
        let knows_no_pages = result.code == ResultCode::UnavailableCriticalExtension as u32;
        if knows_no_pages && self.is_paged && self.cookie.is_empty() {
            return Ok(Some(End::Unpaged));
        }
        match refusal(&result) {
            Some(why) if result.code == ResultCode::NoSuchObject as u32 => {
                return Ok(Some(End::Page(Page::NoBase(why))));
            }
            Some(why) => return Err(ClientError::Refused(why)),
            None => {}
        }
        self.cookie.clear();
        if let Some(control) = reply.controls.find(paged_results::OID) {
            let paged = PagedResults::decode(control.value.unwrap_or_default());
            let paged = paged.map_err(|_| ClientError::Malformed("a page without a cookie"))?;
            self.cookie.extend_from_slice(paged.cookie);
        }
        Ok(Some(End::Page(if self.cookie.is_empty() { Page::Last } else { Page::More })))
    }
}

/// What a result means.
enum End {
    Page(Page),
    /// The server knows no pages.
    Unpaged,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::EVERYTHING;
    use env::poll::Connection;
    use std::io::{Read as _, Write as _};

    /// A server that knows no pages, and gives other requests an entry and its result.
    fn without_pages(listener: &std::net::TcpListener, answers: &[&[u8]]) {
        let (mut client, _) = listener.accept().unwrap();
        for answer in answers {
            let mut head = [0; 2];
            client.read_exact(&mut head).unwrap();
            client.read_exact(&mut vec![0; usize::from(head[1])]).unwrap();
            client.write_all(answer).unwrap();
        }
    }

    #[test]
    fn a_server_without_pages_is_searched_in_one_piece() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut names = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                without_pages(
                    &listener,
                    &[
                        b"\x30\x0c\x02\x01\x01\x65\x07\x0a\x01\x0c\x04\x00\x04\x00",
                        b"\x30\x0d\x02\x01\x02\x64\x08\x04\x04cn=a\x30\x00\
                          \x30\x0c\x02\x01\x02\x65\x07\x0a\x01\x00\x04\x00\x04\x00",
                    ],
                );
            });
            let mut link = Link::over(Connection::connect("127.0.0.1", port).unwrap(), 10).unwrap();
            let mut pages = Pages::new(b"cn=a", Scope::Base, EVERYTHING, &[b"*"]);
            let page = pages.next(&mut link, &mut |entry| {
                names.push(entry.dn.to_vec());
                Ok::<_, ClientError>(())
            });
            assert_eq!(page.unwrap(), Page::Last);
        });
        assert_eq!(names, [b"cn=a"]);
    }
}
