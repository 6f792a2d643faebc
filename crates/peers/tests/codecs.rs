//! Frames, hellos and tokens: they come back, and any bytes are read without a panic.

use consensus::Extent;
use consensus::links::Channel;
use env::entropy::SeededEntropy;
use peers::frame::{Kind, decode_head, head};
use peers::hello::{Class, Hello};
use peers::{Address, Authority, ClusterId, Malformed, RUNS_MAX, RunId, Runs, Token, TokenError};
use proptest::prelude::*;
use std::sync::LazyLock;

const KINDS: [Kind; 12] = [
    Kind::Hello,
    Kind::Alive,
    Kind::Message(Channel::Consensus),
    Kind::Message(Channel::Updates),
    Kind::Message(Channel::Files),
    Kind::Request,
    Kind::Answer,
    Kind::Join,
    Kind::Joined,
    Kind::Refused,
    Kind::NotNow,
    Kind::Acknowledged,
];
const CLASSES: [Class; 3] = [Class::Messages, Class::Files, Class::Requests];
const NOW_S: u64 = 1_800_000_000;

static AUTHORITY: LazyLock<Authority> =
    LazyLock::new(|| Authority::new(NOW_S, &mut SeededEntropy::new(1)).unwrap());

fn token(seed: u64, addresses: usize, now_s: u64) -> Token {
    let address = |at| Address::parse(&format!("node-{at}.example:{}", 7000 + at)).unwrap();
    let addresses: Vec<Address> = (0..addresses).map(address).collect();
    Token::issue(&AUTHORITY, &addresses, now_s, &mut SeededEntropy::new(seed))
}

proptest! {
    #[test]
    fn heads_come_back(kind in 0..KINDS.len(), len: usize) {
        let kind = KINDS[kind];
        let len = len % (kind.bytes_max() + 1);
        prop_assert_eq!(decode_head(head(kind, len)), Ok((kind, len)));
    }

    #[test]
    fn any_head_is_one_or_is_refused(bytes: [u8; 8]) {
        if let Ok((kind, len)) = decode_head(bytes) {
            prop_assert!(len <= kind.bytes_max());
            prop_assert_eq!(head(kind, len), bytes);
        }
    }

    #[test]
    fn hellos_come_back(
        (class, cluster, node, boots, run) in (0..3usize, any::<[u8; 16]>(), 1u64.., any::<u64>(), any::<[u8; 16]>()),
        (term, index, earlier) in (any::<u64>(), any::<u64>(), prop::collection::vec(any::<[u8; 16]>(), 0..=RUNS_MAX)),
    ) {
        let (cluster, run, extent) = (ClusterId(cluster), RunId(run), Extent { term, index });
        let version = peers::hello::VERSION;
        let earlier = Runs::of(&earlier.into_iter().map(RunId).collect::<Vec<_>>()).unwrap();
        let hello = Hello { version, class: CLASSES[class], cluster, node, boots, run, extent, earlier };
        prop_assert!(hello.encode().len() <= Kind::Hello.bytes_max());
        let bytes = hello.encode();
        prop_assert_eq!(Hello::decode(&bytes), Ok(hello));
        prop_assert_eq!(Hello::decode(&bytes[..bytes.len() - 1]), Err(Malformed::Length));
        prop_assert_eq!(Hello::decode(&[&bytes[..], &[0]].concat()), Err(Malformed::Length));
    }

    #[test]
    fn any_bytes_are_a_hello_or_are_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..96), class in 0u8..5) {
        let _ = Hello::decode(&bytes);
        bytes.splice(..0, [peers::hello::VERSION as u8, 0, 0, 0, class, 0, 0, 0]);
        if let Ok(hello) = Hello::decode(&bytes) {
            prop_assert_eq!(hello.encode(), bytes);
        }
    }

    #[test]
    fn tokens_come_back(seed: u64, addresses in 1..=8usize, later in 0..86_400u64) {
        let token = token(seed, addresses, NOW_S);
        let text = token.to_string();
        let read = Token::parse(&text).unwrap();
        prop_assert_eq!(&read, &token);
        prop_assert_eq!(read.addresses().len(), addresses);
        prop_assert_eq!(read.verify(&AUTHORITY, NOW_S + later), Ok(()));
        prop_assert_eq!(Token::parse_given(text.trim()), Ok(token));
    }

    #[test]
    fn a_changed_byte_of_a_token_shows(seed: u64, at: prop::sample::Index, flip in 1u8..) {
        let text = token(seed, 2, NOW_S).to_string();
        let mut bytes = text.clone().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        let Ok(text) = String::from_utf8(bytes) else { return Ok(()) };
        let outcome = Token::parse(&text).and_then(|token| token.verify(&AUTHORITY, NOW_S));
        prop_assert!(outcome.is_err(), "{text}");
    }

    #[test]
    fn any_text_is_a_token_or_is_refused(text: String, lines in prop::collection::vec("[a-z]{2,8} [0-9a-f:.]{0,70}", 0..12)) {
        let _ = Token::parse(&text);
        let text = format!("pando join token 1\n{}\n", lines.join("\n"));
        prop_assert!(Token::parse(&text).and_then(|token| token.verify(&AUTHORITY, NOW_S)).is_err());
    }
}

#[test]
fn hellos_of_other_versions_are_known_as_such() {
    let mut bytes = vec![1, 0, 0, 0];
    bytes.resize(1_000, 7);
    assert_eq!(Hello::decode(&bytes), Err(Malformed::Version));
    assert_eq!(Hello::decode(&[2, 0, 0]), Err(Malformed::Length));
}

#[test]
fn tokens_say_why_they_are_refused() {
    let token = token(7, 1, NOW_S);
    assert_eq!(token.expires_s(), NOW_S + peers::TOKEN_VALID_S);
    assert_eq!(token.verify(&AUTHORITY, NOW_S + peers::TOKEN_VALID_S - 1), Ok(()));
    assert_eq!(token.verify(&AUTHORITY, NOW_S + peers::TOKEN_VALID_S), Err(TokenError::Expired));
    let other = Authority::new(NOW_S, &mut SeededEntropy::new(2)).unwrap();
    assert_eq!(token.verify(&other, NOW_S), Err(TokenError::Cluster));
    let text = token.to_string();
    let later = text.replace(&format!("expires {}", token.expires_s()), "expires 9999999999");
    assert!(matches!(Token::parse(&later).unwrap().verify(&AUTHORITY, NOW_S), Err(TokenError::Damaged(_))));
    assert_eq!(Token::parse(&text.replace("token 1", "token 2")), Err(TokenError::Version));
    for wrong in ["", "hello", &text[..text.len() - 2], &format!("{text}\n"), &"x".repeat(10_000)] {
        assert!(matches!(Token::parse(wrong), Err(TokenError::Damaged(_))), "{wrong}");
    }
    assert!(!format!("{token:?}").contains(text.lines().last().unwrap().trim_start_matches("mac ")));
}
