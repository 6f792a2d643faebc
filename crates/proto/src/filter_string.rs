//! Filters as text (RFC 4515), to and from BER. Besides the RFC's grammar, an item may stand without
//! parentheses, as `ldapsearch` allows, and spaces may stand around filters.

use crate::ber;
use crate::filter::{
    self, AND, APPROX, EQUALITY, EXTENSIBLE, GREATER_OR_EQUAL, LESS_OR_EQUAL, NOT, OR, PRESENT,
};
use crate::tag::{self, context};
use model::limits::FILTER_DEPTH_MAX;
use model::{Filter, hex};
use std::fmt;

/// Why a string is not a filter, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// Offset of the offending byte.
    pub at: usize,
    /// What is wrong there.
    pub reason: &'static str,
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {} of the filter", self.reason, self.at)
    }
}

impl std::error::Error for FilterError {}

/// A filter that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterBuf(Vec<u8>);

impl FilterBuf {
    /// The filter in BER, ready for a request.
    pub fn ber(&self) -> &[u8] {
        &self.0
    }

    /// The filter, borrowed from this buffer.
    pub fn filter(&self) -> Filter<'_> {
        filter::decode(&self.0).expect("checked when it was made")
    }
}

/// Parses a filter such as `(&(objectClass=person)(cn=Babs J*))`.
pub fn parse(text: &[u8]) -> Result<FilterBuf, FilterError> {
    let mut parser = Parser { text, at: 0, out: Vec::with_capacity(text.len() + 16) };
    parser.skip_spaces();
    if parser.peek() == Some(b'(') {
        parser.filter(1)?
    } else {
        parser.item()?
    }
    parser.skip_spaces();
    if parser.at < text.len() {
        return parser.fail("unexpected text after the filter");
    }
    match filter::decode(&parser.out) {
        Ok(_) => Ok(FilterBuf(parser.out)),
        Err(error) => Err(FilterError { at: 0, reason: error.reason }),
    }
}

struct Parser<'t> {
    text: &'t [u8],
    at: usize,
    out: Vec<u8>,
}

impl<'t> Parser<'t> {
    fn fail<T>(&self, reason: &'static str) -> Result<T, FilterError> {
        Err(FilterError { at: self.at, reason })
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8, reason: &'static str) -> Result<(), FilterError> {
        if self.peek() != Some(byte) {
            return self.fail(reason);
        }
        self.at += 1;
        Ok(())
    }

    /// `( ... )`
    fn filter(&mut self, depth: usize) -> Result<(), FilterError> {
        self.expect(b'(', "expected (")?;
        self.skip_spaces();
        match self.peek() {
            Some(b'&' | b'|' | b'!') if depth >= FILTER_DEPTH_MAX => {
                return self.fail("the filter is nested too deeply");
            }
            Some(b'&') => self.set(AND, depth)?,
            Some(b'|') => self.set(OR, depth)?,
            Some(b'!') => {
                self.at += 1;
                let mark = ber::begin(&mut self.out, NOT);
                self.skip_spaces();
                self.filter(depth + 1)?;
                self.skip_spaces();
                ber::end(&mut self.out, mark);
            }
            _ => self.item()?,
        }
        self.expect(b')', "expected )")
    }

    fn set(&mut self, tag: u8, depth: usize) -> Result<(), FilterError> {
        self.at += 1;
        let mark = ber::begin(&mut self.out, tag);
        self.skip_spaces();
        while self.peek() == Some(b'(') {
            self.filter(depth + 1)?;
            self.skip_spaces();
        }
        ber::end(&mut self.out, mark);
        Ok(())
    }

    /// `attribute=value` and its relatives, up to the closing parenthesis or the end.
    fn item(&mut self) -> Result<(), FilterError> {
        let start = self.at;
        let attribute = self.word();
        if self.peek() == Some(b':') {
            return self.extensible(attribute);
        }
        if !model::attribute::is_well_formed(attribute) {
            return Err(FilterError { at: start, reason: "not an attribute description" });
        }
        let next = self.text.get(self.at + 1).copied();
        let tag = match (self.peek(), next) {
            (Some(b'='), _) => EQUALITY,
            (Some(b'~'), Some(b'=')) => APPROX,
            (Some(b'>'), Some(b'=')) => GREATER_OR_EQUAL,
            (Some(b'<'), Some(b'=')) => LESS_OR_EQUAL,
            _ => return self.fail("expected =, ~=, >=, <= or :="),
        };
        self.at += if tag == EQUALITY { 1 } else { 2 };
        let value = self.raw_value()?;
        if tag == EQUALITY && value == b"*" {
            ber::put_tlv(&mut self.out, PRESENT, attribute);
            return Ok(());
        }
        if tag == EQUALITY && value.contains(&b'*') {
            return self.substrings(attribute, value);
        }
        let mark = ber::begin(&mut self.out, tag);
        ber::put_octets(&mut self.out, attribute);
        self.value(tag::OCTET_STRING, value)?;
        ber::end(&mut self.out, mark);
        Ok(())
    }

    /// Bytes of an attribute description or matching rule.
    fn word(&mut self) -> &'t [u8] {
        let rest = &self.text[self.at..];
        let is_word = |b: &u8| b.is_ascii_alphanumeric() || b"-.;".contains(b);
        let len = rest.iter().take_while(|b| is_word(b)).count();
        self.at += len;
        &rest[..len]
    }

    /// The value as written, up to the closing parenthesis; `at` is stale it.
    fn raw_value(&mut self) -> Result<&'t [u8], FilterError> {
        let rest = &self.text[self.at..];
        let len = rest.iter().position(|&b| b == b')').unwrap_or(rest.len());
        if let Some(n) = rest[..len].iter().position(|&b| b == b'(' || b == 0) {
            self.at += n;
            return self.fail("write this character as \\28 or \\00 in a value");
        }
        self.at += len;
        Ok(&rest[..len])
    }

    /// Appends a value, its escapes resolved. It lies before `at` in the text.
    fn value(&mut self, tag: u8, raw: &[u8]) -> Result<(), FilterError> {
        let at = raw.as_ptr() as usize - self.text.as_ptr() as usize;
        let mark = ber::begin(&mut self.out, tag);
        let mut rest = raw;
        while let Some((&byte, tail)) = rest.split_first() {
            let at = at + raw.len() - rest.len();
            rest = tail;
            match byte {
                b'*' => return Err(FilterError { at, reason: "write * as \\2a in this value" }),
                b'\\' => {
                    let Some(byte) = hex::octet(tail) else {
                        return Err(FilterError { at, reason: "expected two hexadecimal digits after \\" });
                    };
                    self.out.push(byte);
                    rest = &tail[2..];
                }
                _ => self.out.push(byte),
            }
        }
        ber::end(&mut self.out, mark);
        Ok(())
    }

    fn substrings(&mut self, attribute: &[u8], value: &[u8]) -> Result<(), FilterError> {
        let mark = ber::begin(&mut self.out, filter::SUBSTRINGS);
        ber::put_octets(&mut self.out, attribute);
        let parts = ber::begin(&mut self.out, tag::SEQUENCE);
        let last = value.iter().filter(|&&b| b == b'*').count();
        let mut some = false;
        for (n, part) in value.split(|&b| b == b'*').enumerate() {
            // `a**b` is `a*b`.
            if !part.is_empty() {
                let choice = match n {
                    0 => 0,
                    _ if n == last => 2,
                    _ => 1,
                };
                self.value(context(choice), part)?;
                some = true;
            }
        }
        if !some {
            return self.fail("substrings are all empty");
        }
        ber::end(&mut self.out, parts);
        ber::end(&mut self.out, mark);
        Ok(())
    }

    /// `[attribute][:dn][:rule]:=value`
    fn extensible(&mut self, attribute: &[u8]) -> Result<(), FilterError> {
        if !attribute.is_empty() && !model::attribute::is_well_formed(attribute) {
            return self.fail("not an attribute description before :");
        }
        let (mut dn_attributes, mut rule) = (false, None);
        loop {
            self.expect(b':', "expected :")?;
            if self.peek() == Some(b'=') {
                self.at += 1;
                break;
            }
            let word = self.word();
            match word {
                [] => return self.fail("expected a matching rule"),
                _ if rule.is_some() => return self.fail("expected :="),
                [b'd' | b'D', b'n' | b'N'] if !dn_attributes => dn_attributes = true,
                _ => rule = Some(word),
            }
        }
        if attribute.is_empty() && rule.is_none() {
            return self.fail("an extensible match needs a matching rule or an attribute");
        }
        let raw = self.raw_value()?;
        let mark = ber::begin(&mut self.out, EXTENSIBLE);
        rule.iter().for_each(|rule| ber::put_tlv(&mut self.out, context(1), rule));
        if !attribute.is_empty() {
            ber::put_tlv(&mut self.out, context(2), attribute);
        }
        self.value(context(3), raw)?;
        if dn_attributes {
            ber::put_boolean(&mut self.out, context(4), true);
        }
        ber::end(&mut self.out, mark);
        Ok(())
    }
}

/// Appends a filter as text. What is no UTF-8 is escaped, so the text always is.
pub fn write(filter: &Filter<'_>, out: &mut Vec<u8>) {
    out.push(b'(');
    match filter {
        Filter::And(set) => write_set(b'&', set, out),
        Filter::Or(set) => write_set(b'|', set, out),
        Filter::Not(inner) => write_set(b'!', std::slice::from_ref(&**inner), out),
        Filter::Equality(a) => write_item(a.attribute, b"=", a.value, out),
        Filter::GreaterOrEqual(a) => write_item(a.attribute, b">=", a.value, out),
        Filter::LessOrEqual(a) => write_item(a.attribute, b"<=", a.value, out),
        Filter::Approx(a) => write_item(a.attribute, b"~=", a.value, out),
        Filter::Present(attribute) => {
            write_value(attribute, out);
            out.extend_from_slice(b"=*");
        }
        Filter::Substrings(s) => {
            write_item(s.attribute, b"=", s.initial.unwrap_or_default(), out);
            for part in &s.any {
                out.push(b'*');
                write_value(part, out);
            }
            out.push(b'*');
            write_value(s.last.unwrap_or_default(), out);
        }
        Filter::Extensible(e) => {
            write_value(e.attribute.unwrap_or_default(), out);
            if e.dn_attributes {
                out.extend_from_slice(b":dn");
            }
            if let Some(rule) = e.rule {
                out.push(b':');
                write_value(rule, out);
            }
            write_item(b"", b":=", e.value, out);
        }
    }
    out.push(b')');
}

fn write_set(kind: u8, set: &[Filter<'_>], out: &mut Vec<u8>) {
    out.push(kind);
    set.iter().for_each(|filter| write(filter, out));
}

fn write_item(attribute: &[u8], operator: &[u8], value: &[u8], out: &mut Vec<u8>) {
    write_value(attribute, out);
    out.extend_from_slice(operator);
    write_value(value, out);
}

/// Appends a value with the escapes of RFC 4515 section 3.
pub fn write_value(value: &[u8], out: &mut Vec<u8>) {
    let is_utf8 = std::str::from_utf8(value).is_ok();
    for &byte in value {
        match byte {
            0..b' ' | b'*' | b'(' | b')' | b'\\' | 0x7f => out.extend_from_slice(&hex::escape(byte)),
            0x80.. if !is_utf8 => out.extend_from_slice(&hex::escape(byte)),
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn again(text: &str) -> String {
        let buf = parse(text.as_bytes()).unwrap_or_else(|e| panic!("{text}: {e}"));
        let mut out = Vec::new();
        write(&buf.filter(), &mut out);
        let mut encoded = Vec::new();
        filter::encode(&buf.filter(), &mut encoded);
        assert_eq!(encoded, buf.ber(), "{text}");
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn examples_of_rfc_4515_section_4() {
        for same in [
            "(cn=Babs Jensen)",
            "(!(cn=Tim Howes))",
            "(&(objectClass=Person)(|(sn=Jensen)(cn=Babs J*)))",
            "(o=univ*of*mich*)",
            "(seeAlso=)",
            "(cn:caseExactMatch:=Fred Flintstone)",
            "(cn:=Betty Rubble)",
            "(sn:dn:2.4.6.8.10:=Barney Rubble)",
            "(o:dn:=Ace Industry)",
            "(:1.2.3:=Wilma Flintstone)",
            "(:dn:2.4.6.8.10:=Dino)",
            "(o=Parens R Us \\28for all your parenthetical needs\\29)",
            "(cn=*\\2a*)",
            "(filename=C:\\5cMyFile)",
            "(bin=\\00\\00\\00\\04)",
            "(sn=Lučić)",
            "(&)",
            "(|)",
            "(n>=5)",
            "(n<=5)",
            "(n~=5)",
            "(cn;lang-de=*)",
        ] {
            assert_eq!(again(same), same);
        }
        assert_eq!(again("(sn=Lu\\c4\\8di\\c4\\87)"), "(sn=Lučić)");
        assert_eq!(again("(1.3.6.1.4.1.1466.0=\\04\\02\\48\\69)"), "(1.3.6.1.4.1.1466.0=\\04\\02Hi)");
        assert_eq!(again("cn=a"), "(cn=a)");
        assert_eq!(again(" ( & (a=b) (c=d) ) "), "(&(a=b)(c=d))");
        assert_eq!(again("(cn=a**b)"), "(cn=a*b)");
    }

    #[test]
    fn what_is_no_filter() {
        for bad in [
            "",
            "(",
            ")",
            "()",
            "(cn)",
            "(cn=a",
            "(cn=a))",
            "cn=a)",
            "(&(cn=a)",
            "(!)",
            "(!(a=b)(c=d))",
            "(cn=a(b)",
            "(cn=\\2)",
            "(cn=\\zz)",
            "(c n=a)",
            "(=a)",
            "(cn>a)",
            "(cn>=a*b)",
            "(:=a)",
            "(:dn:=a)",
            "(cn:a:b:=c)",
            "(cn=**)",
            "(cn::=a)",
            "(&a=b)",
            "(cn=\0)",
        ] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
        }
        assert_eq!(parse(b"(cn=a\\2x)").unwrap_err().at, 5);
        let nested = |n| format!("{}(a=b){}", "(!".repeat(n), ")".repeat(n));
        assert!(parse(nested(FILTER_DEPTH_MAX - 1).as_bytes()).is_ok());
        assert!(parse(nested(FILTER_DEPTH_MAX).as_bytes()).is_err());
        assert!(parse(nested(100_000).as_bytes()).is_err());
        assert!(parse(format!("(&{})", "(a=b)".repeat(20_000)).as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn values_come_back(value in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut text = b"(cn=".to_vec();
            write_value(&value, &mut text);
            text.push(b')');
            prop_assert!(std::str::from_utf8(&text).is_ok());
            let buf = parse(&text).unwrap();
            let Filter::Equality(assertion) = buf.filter() else { panic!("an equality") };
            prop_assert_eq!(assertion.value, &value[..]);
        }

        #[test]
        fn what_parses_comes_back(text in "[(][()&|!=*:a-c<>~\\\\ 0-9]{0,30}[)]") {
            if let Ok(buf) = parse(text.as_bytes()) {
                let mut out = Vec::new();
                write(&buf.filter(), &mut out);
                prop_assert_eq!(parse(&out).unwrap(), buf);
            }
        }
    }
}
