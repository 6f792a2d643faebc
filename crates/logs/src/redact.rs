//! Records without secrets. An IO thread copies names and filters as they came; the thread that writes takes out of them what no log may have.

use crate::hide::{self, Hider, Names, Values};
use crate::record::Record;
use model::ResultCode;
use proto::message::{Message, Request};
use proto::op::Search;
use proto::tag;
use schema::Schema;
use std::borrow::Cow;
use std::sync::Arc;

/// The code of a name that is none. The text of such an answer may quote it.
const INVALID_DN_SYNTAX: u16 = ResultCode::InvalidDnSyntax as u16;

/// What takes secrets out of records.
#[derive(Debug)]
pub struct Redactor {
    schema: Arc<Schema>,
    hider: Hider,
    names: Names,
    target: Vec<u8>,
    detail: Vec<u8>,
    acting: Vec<u8>,
}

impl Redactor {
    /// One that knows secrets by this schema.
    pub fn new(schema: Arc<Schema>, hider: Hider) -> Redactor {
        let names = Names::default();
        Redactor { schema, hider, names, target: Vec::new(), detail: Vec::new(), acting: Vec::new() }
    }

    /// These values may be in lines from now on.
    pub fn choose(&mut self, values: Values) {
        self.hider.choose(values);
    }

    /// The record without secrets.
    pub fn redact<'a>(&'a mut self, record: Record<'a>) -> Record<'a> {
        let Redactor { schema, hider, names, target: targets, detail: details, acting: ids } = self;
        match record {
            Record::Answer { id, code, text: said, entries, bytes, annotation } => {
                Record::Answer { id, code, text: text(code, said), entries, bytes, annotation }
            }
            Record::Request { number, id, op, target, detail, controls, acting, extra } => {
                let target = kept(names.name(schema, target), targets);
                let detail = match op {
                    tag::SEARCH => search((schema, hider, names), detail, details),
                    tag::MODIFY_DN => kept(new_name(schema, detail), details),
                    _ => detail,
                };
                let acting = match acting {
                    b"" => acting,
                    acting => kept(hide::authorization_id(schema, acting), ids),
                };
                Record::Request { number, id, op, target, detail, controls, acting, extra }
            }
            other => other,
        }
    }
}

/// What may be logged of the text of an answer.
pub(crate) fn text(code: u16, text: &[u8]) -> &[u8] {
    if code == INVALID_DN_SYNTAX { b"" } else { text }
}

/// What may be logged, in `place` if it is not what came.
fn kept<'a>(text: Cow<'a, [u8]>, place: &'a mut Vec<u8>) -> &'a [u8] {
    match text {
        Cow::Borrowed(text) => text,
        Cow::Owned(text) => {
            *place = text;
            place
        }
    }
}

/// New RDN and new superior, with a NUL between them.
fn new_name<'a>(schema: &Schema, detail: &'a [u8]) -> Cow<'a, [u8]> {
    let parts: Vec<_> = detail.splitn(2, |&octet| octet == 0).map(|part| hide::name(schema, part)).collect();
    if parts.iter().all(|part| matches!(part, Cow::Borrowed(_))) {
        return Cow::Borrowed(detail);
    }
    Cow::Owned(parts.join(&0))
}

/// The message of a search. Nothing is left of one that cannot be read: nobody can look for secrets in it.
fn search<'a>(
    (schema, hider, names): (&Schema, &Hider, &mut Names),
    message: &'a [u8],
    place: &'a mut Vec<u8>,
) -> &'a [u8] {
    let Ok(Message { id, request: Request::Search(search), .. }) = Message::decode(message) else {
        return b"";
    };
    let base = names.name(schema, search.base);
    let filter = hide::filter(schema, &search.filter);
    if matches!(base, Cow::Borrowed(_)) && filter.is_none() && !hider.hides() {
        return message;
    }
    let mut filter = filter.unwrap_or(search.filter.clone());
    let values = hider.of_filter(&filter);
    if hider.hides() {
        filter = hide::with_values(&filter, &mut values.iter().map(String::as_bytes));
    }
    place.clear();
    Request::Search(Search { base: &base, filter, ..search }).encode(place, id, &[]);
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Annotation, Extra};
    use proto::filter_string;

    fn redactor() -> Redactor {
        Redactor::new(
            Arc::new(schema::Builder::new().standard().build().expect("it is good")),
            Hider::default(),
        )
    }

    fn request<'a>(op: u8, target: &'a [u8], detail: &'a [u8], acting: &'a [u8]) -> Record<'a> {
        Record::Request {
            number: 1,
            id: 2,
            op,
            target,
            detail,
            controls: b"",
            acting,
            extra: Extra::default(),
        }
    }

    fn search_of<'a>(base: &'a [u8], filter: &'a str, out: &mut Vec<u8>) {
        let filter = filter_string::parse(filter.as_bytes()).expect("it is a filter");
        let none = proto::list::octet_list([]);
        let all = proto::Octets::parse(&none).expect("it is a list");
        let search = Search::unlimited(base, model::Scope::Subtree, filter.filter(), all);
        Request::Search(search).encode(out, 2, &[]);
    }

    /// G3: a search that asks for a secret, and names that are none.
    #[test]
    fn test_g3_records_without_secrets() {
        let mut redactor = redactor();
        for (base, filter, is_kept) in [
            (&b"dc=x"[..], "(cn=hunter2)", true),
            (b"dc=x", "(&(cn=a)(userPassword=hunter2))", false),
            (b"hunter2", "(cn=a)", false),
        ] {
            let mut message = Vec::new();
            search_of(base, filter, &mut message);
            let record = redactor.redact(request(tag::SEARCH, base, &message, b"hunter2"));
            let Record::Request { target, detail, acting, .. } = record else { panic!("it is a request") };
            let all = [target, detail, acting].concat();
            assert_eq!(all.windows(7).any(|part| part == b"hunter2"), is_kept, "{filter}");
            assert!(matches!(
                Message::decode(detail),
                Ok(Message { id: 2, request: Request::Search(_), .. })
            ));
        }
        for (op, detail) in [(tag::MODIFY_DN, &b"userPassword=hunter2\0dc=x"[..]), (tag::SEARCH, b"hunter2")]
        {
            let Record::Request { detail, .. } = redactor.redact(request(op, b"dc=x", detail, b"")) else {
                panic!("it is a request")
            };
            assert!(!detail.windows(7).any(|part| part == b"hunter2"));
        }
        let answer = |text| {
            let annotation = Annotation::default();
            Record::Answer { id: 1, code: INVALID_DN_SYNTAX, text, entries: 0, bytes: 9, annotation }
        };
        let (text, without) = (answer(b"hunter2"), answer(b""));
        assert_eq!(redactor.redact(text), without);
    }
}
