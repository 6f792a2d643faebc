//! Subtree specifications (RFC 3672, section 2.1): which entries below its superior a subentry is about.
//!
//! ```text
//! { base "ou=staff", specificExclusions { chopBefore:"ou=guests" }, minimum 1, maximum 3, specificationFilter item:person }
//! ```
//! It is short, and was looked at when it was written. Where names lead and what classes are is for those who ask: for password policies and collective attributes.

/// The attribute by which a subentry says which entries it is about.
pub(crate) const SPECIFICATION: &str = "subtreeSpecification";

/// Octets of a specification.
const BYTES_MAX: usize = 8192;
/// Refinements in one another.
const DEPTH_MAX: usize = 16;
/// Names that are cut off, and parts of refinements.
const PARTS_MAX: usize = 64;

/// What a specification says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Subtree {
    /// Where it begins, as a name below the superior of the subentry; empty for the superior itself.
    pub(crate) base: String,
    /// Names below the base of what is left out with all below it.
    pub(crate) before: Vec<String>,
    /// The same, of what is left out below a name, which itself stays.
    pub(crate) after: Vec<String>,
    /// Levels below the base from which on entries are meant.
    pub(crate) minimum: u32,
    /// And up to which, if there is an end.
    pub(crate) maximum: Option<u32>,
    /// What else they are.
    pub(crate) filter: Option<Filter>,
}

/// What entries are that are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    /// By their object classes.
    Classes(Refinement),
    /// By a filter of LDAP, as OpenDJ has it.
    Search(String),
}

/// Which object classes an entry has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refinement {
    /// This one, by name or number.
    Item(String),
    And(Vec<Refinement>),
    Or(Vec<Refinement>),
    Not(Box<Refinement>),
}

impl Refinement {
    /// Is it true of an entry? `has`: whether the entry has an object class.
    pub(crate) fn is_true(&self, has: &dyn Fn(&str) -> bool) -> bool {
        match self {
            Refinement::Item(class) => has(class),
            Refinement::And(all) => all.iter().all(|one| one.is_true(has)),
            Refinement::Or(all) => all.iter().any(|one| one.is_true(has)),
            Refinement::Not(one) => !one.is_true(has),
        }
    }
}

/// Reads a specification.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn parse(text: &[u8]) -> Result<Subtree, String> {
    let text = std::str::from_utf8(text).map_err(|_| "it is not UTF-8".to_owned())?;
    if text.len() > BYTES_MAX {
        return Err(format!("it is longer than {BYTES_MAX} octets"));
    }
    let mut reader = Reader { rest: text.trim(), parts: 0 };
    let subtree = reader.subtree()?;
    if reader.rest.is_empty() { Ok(subtree) } else { Err(reader.expected("the end")) }
}

/// A text that is read from its beginning on. Nothing is looked at twice, so the time is that of its length.
struct Reader<'t> {
    rest: &'t str,
    /// Elements of lists so far, of all of them together.
    parts: usize,
}

impl<'t> Reader<'t> {
    fn expected(&self, what: &str) -> String {
        let begin: String = self.rest.chars().take(20).collect();
        format!("{what} is expected at `{begin}`")
    }

    /// Blanks may stand between all parts of a specification (RFC 3672 appendix A).
    fn skip(&mut self) {
        self.rest = self.rest.trim_start_matches(' ');
    }

    /// Takes a sign, with blanks before it.
    fn takes(&mut self, sign: char) -> bool {
        self.skip();
        self.rest.strip_prefix(sign).map(|rest| self.rest = rest).is_some()
    }

    fn must(&mut self, sign: char) -> Result<(), String> {
        if self.takes(sign) { Ok(()) } else { Err(self.expected(&format!("`{sign}`"))) }
    }

    /// Letters, digits, dots and hyphens.
    fn word(&mut self) -> &'t str {
        self.skip();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// In braces, with commas between: each is read by `one`.
    fn list(&mut self, mut one: impl FnMut(&mut Reader<'t>) -> Result<(), String>) -> Result<(), String> {
        self.must('{')?;
        if self.takes('}') {
            return Ok(());
        }
        loop {
            self.parts += 1;
            if self.parts > PARTS_MAX {
                return Err(format!("it has more than {PARTS_MAX} parts"));
            }
            one(self)?;
            if !self.takes(',') {
                return self.must('}');
            }
        }
    }

    /// In double quotes, which are doubled inside.
    fn string(&mut self) -> Result<String, String> {
        self.must('"')?;
        let mut text = String::new();
        loop {
            let end = self.rest.find('"').ok_or("a quote is not closed")?;
            text.push_str(&self.rest[..end]);
            self.rest = &self.rest[end + 1..];
            match self.rest.strip_prefix('"') {
                Some(rest) => self.rest = rest,
                None => return Ok(text),
            }
            text.push('"');
        }
    }

    /// A name below another one.
    fn name(&mut self) -> Result<String, String> {
        let text = self.string()?;
        // Whether an entry has this name is asked when the specification is.
        let is_name = model::dn::parse(text.as_bytes()).is_ok();
        if is_name { Ok(text) } else { Err(format!("`{text}` is no DN")) }
    }

    /// A number of levels, without a sign.
    fn number(&mut self) -> Result<u32, String> {
        self.word().parse().map_err(|_| self.expected("a number of levels"))
    }

    /// The parts in braces, each once and in any order: OpenDJ takes them so, too.
    fn subtree(&mut self) -> Result<Subtree, String> {
        let mut subtree = Subtree::default();
        let mut seen: Vec<&str> = Vec::new();
        self.list(|reader| {
            let word = reader.word();
            if seen.contains(&word) {
                return Err(format!("`{word}` stands twice"));
            }
            seen.push(word);
            match word {
                "base" => subtree.base = reader.name()?,
                "specificExclusions" => reader.list(|reader| {
                    let word = reader.word();
                    reader.must(':')?;
                    match word {
                        "chopBefore" => subtree.before.push(reader.name()?),
                        "chopAfter" => subtree.after.push(reader.name()?),
                        _ => return Err(reader.expected("chopBefore or chopAfter")),
                    }
                    Ok(())
                })?,
                "minimum" => subtree.minimum = reader.number()?,
                "maximum" => subtree.maximum = Some(reader.number()?),
                "specificationFilter" => subtree.filter = Some(reader.filter()?),
                _ => {
                    return Err(format!(
                        "`{word}` is none of base, specificExclusions, minimum, maximum and specificationFilter"
                    ));
                }
            }
            Ok(())
        })?;
        Ok(subtree)
    }

    /// Refinements, or a filter of LDAP in quotes.
    fn filter(&mut self) -> Result<Filter, String> {
        self.skip();
        if !self.rest.starts_with('"') {
            return self.refinement(0).map(Filter::Classes);
        }
        let text = self.string()?;
        let is_filter = proto::filter_string::parse(text.as_bytes()).is_ok();
        if is_filter { Ok(Filter::Search(text)) } else { Err(format!("`{text}` is no filter")) }
    }

    /// One refinement with all that stands in it. The depth is bounded, for each level is a call.
    fn refinement(&mut self, depth: usize) -> Result<Refinement, String> {
        if depth >= DEPTH_MAX {
            return Err(format!("more than {DEPTH_MAX} refinements stand in one another"));
        }
        let word = self.word();
        self.must(':')?;
        let mut all = Vec::new();
        match word {
            "item" => {
                let class = self.word();
                if class.is_empty() {
                    return Err(self.expected("an object class"));
                }
                return Ok(Refinement::Item(class.to_owned()));
            }
            "not" => return self.refinement(depth + 1).map(|one| Refinement::Not(Box::new(one))),
            "and" | "or" => self.list(|reader| reader.refinement(depth + 1).map(|one| all.push(one)))?,
            _ => return Err(self.expected("item, and, or, not")),
        }
        Ok(if word == "and" { Refinement::And(all) } else { Refinement::Or(all) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn specifications_are_read() {
        assert_eq!(parse(b"{}"), Ok(Subtree::default()));
        let text = br#" { base "ou=a \""b,ou=c", specificExclusions { chopBefore:"ou=x", chopAfter:"ou=y" }, minimum 1, maximum 3,
            specificationFilter and:{ item:person, or:{item:2.5.6.7,item:device}, not:item:country } }"#;
        let text: Vec<u8> = text.iter().copied().filter(|byte| *byte != b'\n').collect();
        let item = |name: &str| Refinement::Item(name.to_owned());
        let filter = Refinement::And(vec![
            item("person"),
            Refinement::Or(vec![item("2.5.6.7"), item("device")]),
            Refinement::Not(Box::new(item("country"))),
        ]);
        let subtree = parse(&text).expect("it is one");
        assert_eq!(
            subtree,
            Subtree {
                base: "ou=a \\\"b,ou=c".to_owned(),
                before: vec!["ou=x".to_owned()],
                after: vec!["ou=y".to_owned()],
                minimum: 1,
                maximum: Some(3),
                filter: Some(Filter::Classes(filter.clone())),
            }
        );
        let found = parse(b"{specificationFilter \"(uid=a*)\"}").expect("it is one");
        assert_eq!(found.filter, Some(Filter::Search("(uid=a*)".to_owned())));
        for (classes, is_true) in [
            (&["person", "device"][..], true),
            (&["person"], false),
            (&["person", "device", "country"], false),
        ] {
            assert_eq!(filter.is_true(&|class| classes.contains(&class)), is_true, "{classes:?}");
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        for (text, why) in [
            ("", "`{` is expected"),
            ("{ base ou=a }", "`\"` is expected"),
            ("{ base \"a\" }", "is no DN"),
            ("{ base \"ou=a }", "not closed"),
            ("{ minimum -1 }", "a number"),
            ("{ minimum 1, minimum 2 }", "twice"),
            ("{ depth 1 }", "is none of"),
            ("{ specificationFilter item: }", "an object class"),
            ("{ specificationFilter (uid=x) }", "`:` is expected"),
            ("{ specificationFilter \"(uid=x\" }", "no filter"),
            ("{} {}", "the end"),
        ] {
            let fault = parse(text.as_bytes()).expect_err(text);
            assert!(fault.contains(why), "{text}: {fault}");
        }
        let deep = format!("{{ specificationFilter {}item:x }}", "not:".repeat(100_000));
        assert!(parse(deep.as_bytes()).is_err());
        let deep = format!("{{ specificationFilter {}item:x }}", "not:".repeat(1000));
        assert!(parse(deep.as_bytes()).expect_err("too deep").contains("in one another"));
    }

    proptest! {
        #[test]
        fn anything_is_read_or_refused(text in "[{}\",: a-z0-9]{0,80}") {
            let _ = parse(text.as_bytes());
        }
    }
}
