//! Requests ready to be copied: for each number of digits one template, in which message id, key and value are
//! patched in place.

use super::transaction::Bound;
use super::{Selection, Settings, Workload};
use crate::random::Random;
use crate::wire::put_header;
use model::filter::{Assertion, Filter};
use model::scope::Scope;
use proto::ber::Reader;
use proto::control::{Control, queue_length};
use proto::list::{Octets, octet_list};
use proto::message::Request;
use proto::op::bind::Authentication;
use proto::op::modify::{Changes, ModifyKind, change_list};
use proto::op::{Bind, Modify, Search};
use proto::tag;

/// How a key becomes text: `user.{}` or, with leading zeros, `user{:012}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyFormat {
    /// What stands before the digits.
    pub before: String,
    /// What stands behind them.
    pub after: String,
    /// Their least number.
    pub width: usize,
}

impl KeyFormat {
    /// Understands the text form; `None` unless it has `{}` or `{:0WIDTH}` exactly once.
    pub fn parse(text: &str) -> Option<KeyFormat> {
        let (before, rest) = text.split_once('{')?;
        let (format, after) = rest.split_once('}')?;
        let width = match format {
            "" => 0,
            _ => format.strip_prefix(":0")?.parse().ok().filter(|width| (1..=10).contains(width))?,
        };
        let plain = |text: &str| {
            text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'@'))
        };
        (plain(before) && plain(after)).then(|| KeyFormat {
            before: before.to_owned(),
            after: after.to_owned(),
            width,
        })
    }

    pub(super) fn digits(&self, key: u64) -> usize {
        (key.checked_ilog10().unwrap_or(0) as usize + 1).max(self.width)
    }
}

/// An operation as a slot remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Search,
    Modify,
    Bind,
    /// The start or the end of a transaction.
    Transaction(Bound),
}

/// The first message id. Ids have three bytes, so that all requests of a template have the same length.
pub(super) const ID_FIRST: u32 = 0x01_0000;
/// How many ids of three bytes there are.
pub(super) const IDS: u32 = 0x80_0000 - ID_FIRST;

#[derive(Clone, Debug)]
struct Template {
    /// The message less its header.
    body: Vec<u8>,
    id_at: usize,
    key_at: usize,
    value_at: usize,
}

/// Random letters that values are cut from.
const POOL_BYTES: usize = 64 << 10;
/// Digits of the largest key.
const DIGITS_MAX: usize = 10;

/// All templates of a run, shared by its threads.
pub(super) struct Templates {
    workload: Workload,
    key: KeyFormat,
    /// By number of digits.
    plain: Vec<Template>,
    /// By length of the value less the least one, then by number of digits.
    modify: Vec<Template>,
    value_bytes: (usize, usize),
    pool: Vec<u8>,
    first: u64,
    entries: u64,
}

impl Templates {
    pub(super) fn new(settings: &Settings) -> Templates {
        let all_digits = 0..=DIGITS_MAX;
        let mut templates = Templates {
            workload: settings.workload,
            key: settings.key.clone(),
            plain: Vec::new(),
            modify: Vec::new(),
            value_bytes: settings.value_bytes,
            pool: Vec::new(),
            first: settings.first,
            entries: settings.entries,
        };
        let only_modifies = matches!(settings.workload, Workload::Modify | Workload::Transaction { .. });
        if !only_modifies {
            templates.plain =
                all_digits.clone().map(|digits| Template::new(settings, digits, None)).collect();
        }
        if only_modifies || matches!(settings.workload, Workload::Mixed { .. }) {
            for len in settings.value_bytes.0..=settings.value_bytes.1 {
                templates
                    .modify
                    .extend(all_digits.clone().map(|digits| Template::new(settings, digits, Some(len))));
            }
            let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
            Random::new(settings.seed).characters(alphabet, POOL_BYTES, &mut templates.pool);
        }
        templates
    }

    /// Appends a random request with this id; returns what it asks for.
    #[inline(always)]
    pub(super) fn write(&self, id: u32, random: &mut Random, out: &mut Vec<u8>) -> (Operation, u64) {
        let key = self.first + random.below(self.entries);
        let modify = match self.workload {
            Workload::Modify | Workload::Transaction { .. } => true,
            Workload::Mixed { modify_share } => random.below(100) < u64::from(modify_share),
            _ => false,
        };
        if !modify {
            let digits = self.key.digits(key);
            self.plain[digits].write(id, key, digits, &[], out);
            let bind = self.workload == Workload::Bind;
            return (if bind { Operation::Bind } else { Operation::Search }, key);
        }
        self.put_modify(id, key, random, &[], out);
        (Operation::Modify, key)
    }

    /// Appends a random modify with these controls; returns its key.
    #[inline(always)]
    pub(super) fn write_member(
        &self,
        id: u32,
        random: &mut Random,
        controls: &[u8],
        out: &mut Vec<u8>,
    ) -> u64 {
        let key = self.first + random.below(self.entries);
        self.put_modify(id, key, random, controls, out);
        key
    }

    /// Appends a modify that gives the entry of this key a random value.
    #[inline(always)]
    fn put_modify(&self, id: u32, key: u64, random: &mut Random, controls: &[u8], out: &mut Vec<u8>) {
        let digits = self.key.digits(key);
        let (min, max) = self.value_bytes;
        let bits = random.bits();
        let len = min + (((bits & 0xffff) as usize * (max - min + 1)) >> 16);
        assert!(len <= max, "there are templates for each length up to the greatest");
        let from = (bits >> 16) as usize % (POOL_BYTES - len);
        let template = &self.modify[(len - min) * (DIGITS_MAX + 1) + digits];
        let written = template.write(id, key, digits, controls, out);
        written[template.value_at..template.value_at + len].copy_from_slice(&self.pool[from..from + len]);
    }
}

impl Template {
    /// Builds the message several times and sees which bytes depend on what.
    fn new(settings: &Settings, digits: usize, value: Option<usize>) -> Template {
        let bytes = build(settings, digits, value, ID_FIRST, b'0', b'a');
        assert!(digits <= DIGITS_MAX, "there is a template for each number of digits");
        let differs = |other: Vec<u8>| {
            assert!(other.len() == bytes.len(), "all requests of a template have the same length");
            bytes.iter().zip(other).position(|(a, b)| *a != b).unwrap_or(0)
        };
        Template {
            id_at: differs(build(settings, digits, value, ID_FIRST | 0x7e_0000, b'0', b'a')),
            key_at: differs(build(settings, digits, value, ID_FIRST, b'1', b'a')),
            value_at: differs(build(settings, digits, value, ID_FIRST, b'0', b'b')),
            body: bytes,
        }
    }

    /// Appends the request with controls behind the operation. Returns both, less the header.
    #[inline(always)]
    fn write<'a>(
        &self,
        id: u32,
        key: u64,
        digits: usize,
        controls: &[u8],
        out: &'a mut Vec<u8>,
    ) -> &'a mut [u8] {
        assert!(id < ID_FIRST + IDS, "a message id has the three bytes that the template has");
        put_header(out, tag::SEQUENCE, self.body.len() + controls.len());
        let start = out.len();
        out.extend_from_slice(&self.body);
        out.extend_from_slice(controls);
        let written = &mut out[start..];
        let [_, a, b, c] = id.to_be_bytes();
        written[self.id_at..self.id_at + 3].copy_from_slice(&[a, b, c]);
        let mut rest = key;
        for byte in written[self.key_at..self.key_at + digits].iter_mut().rev() {
            *byte = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        written
    }
}

/// A message less its header, with zeros for digits and one letter for the value.
fn build(
    settings: &Settings,
    digits: usize,
    value: Option<usize>,
    id: u32,
    digit: u8,
    letter: u8,
) -> Vec<u8> {
    let KeyFormat { before, after, .. } = &settings.key;
    let key = [before.as_bytes(), &vec![digit; digits], after.as_bytes()].concat();
    let parent = if settings.base.is_empty() { String::new() } else { format!(",{}", settings.base) };
    let dn = [settings.rdn.as_bytes(), b"=", &key, parent.as_bytes()].concat();
    let mut out = Vec::new();
    let mut encode = |request: Request<'_>| request.encode(&mut out, id as i32, &[]);
    match (settings.workload, value) {
        (_, Some(len)) => {
            let value = vec![letter; len];
            let attribute = settings.modify_attribute.as_bytes();
            let list = change_list([(ModifyKind::Replace, attribute, [&value[..]])]);
            let changes = Changes::parse(&list).expect("they were encoded as such");
            encode(Request::Modify(Modify { dn: &dn, changes }));
        }
        (Workload::Bind, None) => encode(simple_bind(&dn, settings.user_password.as_bytes())),
        (_, None) => {
            let list = match &settings.attributes {
                Selection::None => octet_list([&b"1.1"[..]]),
                Selection::All => Vec::new(),
                Selection::List(names) => octet_list(names.iter().map(String::as_bytes)),
            };
            let selection = Octets::parse(&list).expect("it was encoded as such");
            let (base, scope, filter) = match settings.workload {
                Workload::SearchEquality => {
                    let assertion = Assertion { attribute: settings.rdn.as_bytes(), value: &key };
                    (settings.base.as_bytes(), Scope::Subtree, Filter::Equality(assertion))
                }
                _ => (&dn[..], Scope::Base, Filter::Present(b"objectClass")),
            };
            encode(Request::Search(Search::unlimited(base, scope, filter, selection)));
        }
    }
    // The header is written with each copy, for controls may follow.
    let mut reader = Reader::new(&out);
    let (_, body) = reader.element().expect("a message is an element");
    assert!(reader.is_empty(), "one message is built at a time");
    body.to_vec()
}

/// Appends a BindRequest, with the queue length control if there is a length.
pub(super) fn bind(out: &mut Vec<u8>, id: i32, name: &[u8], password: &[u8], queue_length: Option<u32>) {
    let mut value = Vec::new();
    queue_length.iter().for_each(|length| queue_length::encode(*length, &mut value));
    let control = Control { oid: queue_length::OID, critical: false, value: Some(&value) };
    let controls = if queue_length.is_some() { &[control][..] } else { &[] };
    simple_bind(name, password).encode(out, id, controls);
}

fn simple_bind<'a>(name: &'a [u8], password: &'a [u8]) -> Request<'a> {
    Request::Bind(Bind { version: 3, name, authentication: Authentication::Simple(password) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_formats() {
        let format = |text| KeyFormat::parse(text).map(|f| (f.before, f.after, f.width));
        assert_eq!(format("{}"), Some((String::new(), String::new(), 0)));
        assert_eq!(format("user{:08}x"), Some(("user".to_owned(), "x".to_owned(), 8)));
        assert_eq!(
            (format("user"), format("{:8}"), format("a,{}"), format("{:099}")),
            (None, None, None, None)
        );
        let format = KeyFormat { width: 3, ..KeyFormat::default() };
        assert_eq!((format.digits(0), format.digits(999), format.digits(1000)), (3, 3, 4));
    }

    #[test]
    fn a_base_search_to_the_byte() {
        let settings = Settings { entries: 1, ..Settings::default() };
        let mut out = Vec::new();
        let asked = Templates::new(&settings).write(0x010203, &mut Random::new(1), &mut out);
        assert_eq!(asked, (Operation::Search, 0));
        let expected = b"\x30\x35\x02\x03\x01\x02\x03\x63\x2e\x04\x0cuid=0,dc=com\x0a\x01\0\x0a\x01\0\x02\x01\0\x02\x01\0\
            \x01\x01\0\x87\x0bobjectClass\x30\x05\x04\x031.1";
        let mut expected = expected.to_vec();
        expected[1] = (expected.len() - 2) as u8;
        expected[8] = (expected.len() - 9) as u8;
        assert_eq!(out, expected);
    }

    #[test]
    fn a_modify_has_its_value() {
        let settings = Settings {
            workload: Workload::Modify,
            entries: 123_456,
            value_bytes: (100, 120),
            key: KeyFormat { before: "user.".to_owned(), ..KeyFormat::default() },
            ..Settings::default()
        };
        let templates = Templates::new(&settings);
        let mut random = Random::new(3);
        for _ in 0..100 {
            let mut out = Vec::new();
            let (operation, key) = templates.write(0x7fffff, &mut random, &mut out);
            assert_eq!(operation, Operation::Modify);
            let bytes = &out[..];
            let len = bytes.len() - bytes.iter().rposition(|b| !b.is_ascii_alphanumeric()).unwrap() - 1;
            assert!(bytes[1] == 0x81 && usize::from(bytes[2]) == bytes.len() - 3 && len >= 99);
            let dn = format!("uid=user.{key},dc=com");
            assert!(bytes.windows(dn.len()).any(|window| window == dn.as_bytes()));
        }
    }

    #[test]
    fn a_bind_says_how_long_the_queue_is() {
        for length in [2, 127, 128, 1000, 65536] {
            let mut bytes = Vec::new();
            bind(&mut bytes, 1, b"cn=a", b"b", Some(length));
            let message = proto::Message::decode(&bytes).unwrap();
            let control = message.controls.find(queue_length::OID).unwrap();
            assert_eq!((control.critical, queue_length::decode(control.value.unwrap())), (false, Ok(length)));
        }
        let mut bytes = Vec::new();
        bind(&mut bytes, 1, b"", b"", None);
        assert!(proto::Message::decode(&bytes).unwrap().controls.is_empty());
    }

    #[test]
    fn the_general_codec_reads_every_request() {
        use proto::Message;
        for workload in [
            Workload::SearchBase,
            Workload::SearchEquality,
            Workload::Mixed { modify_share: 50 },
            Workload::Modify,
            Workload::Bind,
        ] {
            let settings = Settings { workload, entries: 1 << 32, ..Settings::default() };
            let (templates, mut random) = (Templates::new(&settings), Random::new(9));
            for round in 0..500 {
                let mut out = Vec::new();
                let (operation, key) = templates.write(ID_FIRST + round, &mut random, &mut out);
                let message = Message::decode(&out).unwrap();
                let dn = format!("uid={key},dc=com").into_bytes();
                assert_eq!(message.id as u32, ID_FIRST + round);
                match (message.request, operation) {
                    (Request::Search(search), Operation::Search) if workload == Workload::SearchEquality => {
                        assert_eq!(search.base, b"dc=com");
                    }
                    (Request::Search(search), Operation::Search) => assert_eq!(search.base, dn),
                    (Request::Modify(modify), Operation::Modify) => assert_eq!(modify.dn, dn),
                    (Request::Bind(bind), Operation::Bind) => assert_eq!(bind.name, dn),
                    (request, _) => panic!("{request:?}"),
                }
            }
        }
    }
}
