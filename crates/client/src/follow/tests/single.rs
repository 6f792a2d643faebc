use super::{Served, ask, done, is_probe, known, nobody, referral, server};
use model::ResultCode;
use model::filter::Assertion;
use proto::message::Message;
use proto::message::Request;
use proto::op::{Compare, ModifyDn};
use std::net::TcpListener;
use std::sync::Mutex;
use std::thread::scope;

fn compare() -> Request<'static> {
    Request::Compare(Compare { dn: b"dc=y", assertion: Assertion { attribute: b"cn", value: b"x" } })
}

const DELETE: Request<'static> = Request::Delete(b"dc=y");

/// Answers all requests on a connection, and notes those that are no probes.
fn noting<'n>(
    noted: &'n Mutex<Vec<Vec<u8>>>,
    code: ResultCode,
) -> impl FnMut(&mut Served) -> bool + Send + 'n {
    move |served| {
        while let Some(request) = served.request() {
            let is_probe = is_probe(&request);
            served.say(&done(&request, if is_probe { ResultCode::Success } else { code }));
            if !is_probe {
                noted.lock().unwrap().push(request);
            }
        }
        false
    }
}

#[test]
fn a_request_has_the_name_that_its_entry_has_there() {
    let noted = Mutex::new(Vec::new());
    scope(|threads| {
        let one = server(threads, true, noting(&noted, ResultCode::NoSuchObject));
        let rename = Request::ModifyDn(ModifyDn {
            dn: b"dc=y",
            new_rdn: b"dc=z",
            delete_old_rdn: true,
            new_superior: Some(b"dc=above"),
        });
        for request in [DELETE, rename] {
            let found = ask(&request, &[&one]);
            assert_eq!((found.code, found.unmatched), (ResultCode::NoSuchObject as u32, Some(1)));
        }
        assert_eq!(one.1.counts().links.opened, 1);
        drop(one);
    });
    let noted = noted.into_inner().unwrap();
    let requests: Vec<Message<'_>> = noted.iter().map(|bytes| Message::decode(bytes).unwrap()).collect();
    assert_eq!(requests[0].request, Request::Delete(b"dc=x"));
    let Request::ModifyDn(rename) = requests[1].request else { panic!("it is a rename") };
    assert_eq!((rename.dn, rename.new_superior), (&b"dc=x"[..], Some(&b"dc=x"[..])));
    let controls: Vec<&[u8]> = requests[0].controls.iter().map(|control| control.oid).collect();
    assert!(controls.contains(&proto::control::proxied_authorization::OID), "{controls:?}");
}

#[test]
fn an_update_that_was_sent_is_sent_to_no_other_server() {
    let noted = Mutex::new(Vec::new());
    scope(|threads| {
        let dies = server(threads, false, |served| {
            let probe = served.request().unwrap();
            assert!(is_probe(&probe));
            served.say(&done(&probe, ResultCode::Success));
            assert!(!is_probe(&served.request().unwrap()));
            false
        });
        let unasked = TcpListener::bind("127.0.0.1:0").unwrap();
        let second = known(unasked.local_addr().unwrap().port(), false);
        let found = ask(&DELETE, &[&dies, &second]);
        assert_eq!(found.code, ResultCode::Unavailable as u32);
        assert!(found.text.ends_with("the outcome is unknown"), "{}", found.text);
        assert_eq!((dies.1.counts().failed, second.1.counts().asked), (1, 0));
        // A server that cannot be reached was sent nothing, and a compare changes nothing.
        let gone = nobody();
        let answers = server(threads, false, noting(&noted, ResultCode::Success));
        assert_eq!(ask(&DELETE, &[&gone, &answers]).code, ResultCode::Success as u32);
        drop(answers);
    });
    assert_eq!(noted.into_inner().unwrap().len(), 1);
    scope(|threads| {
        let dies = server(threads, false, |served| {
            served.request().unwrap();
            false
        });
        let answers = server(threads, false, |served| {
            let request = served.request().unwrap();
            served.say(&done(&request, ResultCode::CompareTrue));
            false
        });
        assert_eq!(ask(&compare(), &[&dies, &answers]).code, ResultCode::CompareTrue as u32);
    });
}

#[test]
fn a_connection_that_has_ended_is_noticed_before_an_update_is_sent() {
    let updates = Mutex::new(0);
    scope(|threads| {
        let updates = &updates;
        let mut connections = 0;
        let one = server(threads, false, move |served| {
            connections += 1;
            while let Some(request) = served.request() {
                match is_probe(&request) {
                    // By the connection that was kept it dies at once.
                    true if connections == 1 && *updates.lock().unwrap() == 1 => return true,
                    true => {}
                    false => *updates.lock().unwrap() += 1,
                }
                served.say(&done(&request, ResultCode::Success));
            }
            false
        });
        for _ in 0..2 {
            assert_eq!(ask(&DELETE, &[&one]).code, ResultCode::Success as u32);
        }
        assert_eq!(one.1.counts().links.opened, 2);
        drop(one);
    });
    assert_eq!(updates.into_inner().unwrap(), 2);
}

#[test]
fn a_server_that_refers_has_done_nothing() {
    let noted = Mutex::new(Vec::new());
    scope(|threads| {
        let last = server(threads, false, noting(&noted, ResultCode::Success));
        let url = last.0.replace("dc=x", "dc=elsewhere");
        let first = server(threads, false, move |served| {
            while let Some(request) = served.request() {
                match is_probe(&request) {
                    true => served.say(&done(&request, ResultCode::Success)),
                    false => served.say(&referral(&request, &url)),
                }
            }
            false
        });
        assert_eq!(ask(&DELETE, &[&first, &last]).code, ResultCode::Success as u32);
        drop((first, last));
    });
    let noted = noted.into_inner().unwrap();
    assert_eq!(Message::decode(&noted[0]).unwrap().request, Request::Delete(b"dc=elsewhere"));
    // In a circle.
    scope(|threads| {
        let url = std::sync::Arc::new(std::sync::OnceLock::<String>::new());
        let own = std::sync::Arc::clone(&url);
        let one = server(threads, false, move |served| {
            while let Some(request) = served.request() {
                match is_probe(&request) {
                    true => served.say(&done(&request, ResultCode::Success)),
                    false => served.say(&referral(&request, own.get().unwrap())),
                }
            }
            false
        });
        url.set(one.0.clone()).unwrap();
        assert_eq!(ask(&DELETE, &[&one]).code, ResultCode::LoopDetect as u32);
        drop(one);
    });
}

#[test]
fn codes_that_mean_nothing_here_are_other() {
    for code in [ResultCode::SaslBindInProgress, ResultCode::CompareTrue, ResultCode::Referral] {
        let noted = Mutex::new(Vec::new());
        scope(|threads| {
            let one = server(threads, false, noting(&noted, code));
            assert_eq!(ask(&DELETE, &[&one]).code, ResultCode::Other as u32, "{code:?}");
            drop(one);
        });
    }
}

/// The text of a result is for whom the server was asked, and a result other than a referral has no URLs.
#[test]
fn what_is_passed_on_of_a_result() {
    for is_proxied in [true, false] {
        scope(|threads| {
            let says = server(threads, is_proxied, |served| {
                while let Some(request) = served.request() {
                    let message = Message::decode(&request).unwrap();
                    let urls = proto::list::octet_list([&b"ldap://elsewhere.example/"[..]]);
                    let result = proto::result::LdapResult {
                        diagnostic: &[b'x'; 5000],
                        referral: proto::list::Octets::parse(&urls).unwrap(),
                        ..proto::result::LdapResult::new(ResultCode::NoSuchAttribute)
                    };
                    let mut out = Vec::new();
                    let tag = proto::tag::response_to(message.request.tag()).unwrap();
                    proto::result::encode_response(&mut out, message.id, tag, &result, |_| {}, &[]);
                    served.say(&out);
                }
                false
            });
            let found = ask(&compare(), &[&says]);
            assert_eq!(found.code, ResultCode::NoSuchAttribute as u32);
            assert_eq!((found.text.len(), found.urls.len()), (if is_proxied { 1024 } else { 0 }, 0));
            drop(says);
        });
    }
}
