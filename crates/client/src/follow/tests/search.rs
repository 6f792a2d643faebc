use super::{Served, ask, ask_places, done, entry, known, nobody, referral, search, server};
use model::ResultCode;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread::scope;
use std::time::{Duration, Instant};

/// Answers searches with this entry and this code.
fn saying(dn: &'static str, code: ResultCode) -> impl FnMut(&mut Served) -> bool {
    move |served| {
        while let Some(request) = served.request() {
            let id = proto::message::Message::decode(&request).unwrap().id;
            served.say(&[entry(id, dn), done(&request, code)].concat());
        }
        false
    }
}

#[test]
fn what_one_server_has_said_no_other_says_again() {
    for code in [ResultCode::Busy, ResultCode::Unavailable] {
        scope(|threads| {
            let first = server(threads, false, saying("dc=x", code));
            let unasked = TcpListener::bind("127.0.0.1:0").unwrap();
            let second = known(unasked.local_addr().unwrap().port(), false);
            let found = ask(&search(1), &[&first, &second]);
            assert_eq!(found.code, ResultCode::Unavailable as u32);
            assert_eq!(found.parts[0].messages, entry(1, "dc=x"));
            assert!(found.text.ends_with("a part of the answer"), "{}", found.text);
            // It gave no clear result, and the operator gets the reason once.
            assert_eq!((first.1.counts().failed, second.1.counts().asked), (1, 0));
            assert_eq!(found.failures.len(), 1);
            drop(first);
        });
    }
}

#[test]
fn a_server_that_drips_is_given_up_when_its_time_is_over() {
    let began = Instant::now();
    scope(|threads| {
        let slow = server(threads, false, |served| {
            served.request().unwrap();
            served.stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            // The head of a long reply, and then a byte whenever there was time to hang up.
            let mut rest = b"\x30\x82\x40\x00".iter().copied().chain(std::iter::repeat(0));
            while served.stream.write_all(&[rest.next().unwrap()]).is_ok()
                && !matches!(served.stream.read(&mut [0; 1]), Ok(0))
            {}
            false
        });
        let found = ask(&search(1), &[&slow]);
        assert_eq!(found.code, ResultCode::Unavailable as u32, "{}", found.text);
        assert_eq!(slow.1.counts().failed, 1);
    });
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_reply_that_is_longer_than_an_answer_may_be_is_not_read() {
    scope(|threads| {
        let long = server(threads, false, |served| {
            served.request().unwrap();
            served.say(b"\x30\x84\x20\x00\x00\x00");
            let mut taken = 0;
            while taken < 64 << 20 {
                match served.stream.write(&[0; 65536]) {
                    Ok(bytes) => taken += bytes,
                    Err(_) => return false,
                }
            }
            panic!("it was read on");
        });
        let found = ask(&search(5), &[&long]);
        // Why is for the operator, and may name what is for him alone.
        assert_eq!(found.text, "another server cannot be asked");
        assert!(found.failures[0].contains("longer than may be"), "{:?}", found.failures);
    });
}

#[test]
fn connections_are_used_again_and_broken_ones_are_not() {
    scope(|threads| {
        let mut connections = 0;
        let one = server(threads, false, move |served| {
            connections += 1;
            // The first ends behind two answers, without a word.
            for _ in 0..2 {
                let Some(request) = served.request() else { return false };
                served.say(&done(&request, ResultCode::Success));
            }
            connections < 2
        });
        for _ in 0..4 {
            assert_eq!(ask(&search(5), &[&one]).code, ResultCode::Success as u32);
        }
        let links = one.1.counts().links;
        assert_eq!((links.opened, links.reused >= 2), (2, true), "{links:?}");
    });
}

#[test]
fn one_place_that_fails_leaves_the_others() {
    scope(|threads| {
        let mut served = 0;
        let good = server(threads, false, move |connection| {
            let mut say = saying("dc=x", ResultCode::Success);
            served += 1;
            say(connection);
            served < 1
        });
        let bad = server(threads, false, saying("dc=x", ResultCode::AdminLimitExceeded));
        let gone = nobody();
        let places: Vec<Vec<Vec<u8>>> =
            [&bad, &good, &gone].iter().map(|(url, _)| vec![url.clone().into_bytes()]).collect();
        let found = ask_places(&search(5), &places, true, &[&bad, &good, &gone]);
        let parts: Vec<(bool, usize)> =
            found.parts.iter().map(|part| (part.is_whole, part.messages.len())).collect();
        assert_eq!(parts, [(false, 0), (true, entry(1, "dc=x").len()), (false, 0)]);
        assert_eq!((found.code, &found.text[..]), (0, ""));
        drop((good, bad));
    });
}

#[test]
fn a_url_without_a_name_is_about_the_same_name() {
    scope(|threads| {
        let last = server(threads, false, saying("dc=x", ResultCode::Success));
        let url = last.0.trim_end_matches("/dc=x").to_owned();
        let first = server(threads, false, move |served| {
            let request = served.request().unwrap();
            served.say(&referral(&request, &url));
            false
        });
        let found = ask(&search(5), &[&first, &last]);
        assert_eq!((found.code, &found.parts[0].bases[..]), (0, &[b"dc=x".to_vec(), b"dc=x".to_vec()][..]));
        drop((first, last));
    });
}

/// Of the references of a server that says more than a search may follow those are kept that can be followed, and no more.
#[test]
fn a_long_reference_takes_little_memory() {
    scope(|threads| {
        let many = server(threads, false, |served| {
            let request = served.request().unwrap();
            let id = proto::message::Message::decode(&request).unwrap().id;
            let mut said = Vec::new();
            let urls = (0..50_000).map(|_| &b"x"[..]).chain([&b"ldap://127.0.0.1:1/dc=x"[..]]);
            proto::op::search::encode_reference(&mut said, id, urls, &[]);
            said.extend(done(&request, ResultCode::Success));
            served.say(&said);
            false
        });
        let gone = known(1, false);
        let found = ask(&search(5), &[&many, &gone]);
        assert_eq!(found.code, ResultCode::Unavailable as u32, "{}", found.text);
        assert!(found.parts[0].messages.is_empty(), "it was followed, and is not passed on");
        drop((many, gone));
    });
}

/// Another server chooses no name that this one may not be asked about, and its text is not for the client of a server that asks as itself.
#[test]
fn a_server_is_asked_about_names_at_or_below_its_base() {
    scope(|threads| {
        let (url, target) = known(1, false);
        let closed = (url, target.below("ou=a, DC=X"));
        for (name, is_covered) in [
            ("ou=A,dc=x", true),
            ("cn=\\62,ou=a,dc=x", true),
            ("dc=x", false),
            ("ou=b,dc=x", false),
            ("ou=a+l=b,dc=x", false),
            ("ou=a", false),
            ("", false),
            ("no name", false),
        ] {
            assert_eq!(closed.1.covers(name.as_bytes()), is_covered, "{name}");
        }
        let url = closed.0.clone();
        let refers = server(threads, false, move |served| {
            while let Some(request) = served.request() {
                served.say(&referral(&request, &url));
            }
            false
        });
        let found = ask(&search(5), &[&refers, &closed]);
        assert_eq!((found.code, closed.1.counts().asked), (ResultCode::Unavailable as u32, 0));
        drop(refers);
    });
}
