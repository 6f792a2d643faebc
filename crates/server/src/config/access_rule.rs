//! An access rule as a table of the file, `[[access.rule]]`: made into the one-line form, which is read as any other. A fault in that is
//! one at the key of the table that it came from.

use super::scalar::scalar;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A fault, and where it stands in the file.
pub(super) type Fault = (Range<usize>, String);

/// Reads a rule's table; `span` is where it stands. Returns the one-line form.
pub(super) fn read(table: &DeTable<'_>, span: Range<usize>) -> Result<String, Fault> {
    let mut line = Line::new(span.clone());
    for (key, _) in table {
        let known = ["name", "to", "by", "allow", "deny", "rank"];
        if !known.contains(&key.get_ref().as_ref()) {
            let text = format!("unknown key `{}` of a rule; there are {}", key.get_ref(), known.join(", "));
            return Err((key.span(), text));
        }
    }
    line.name(table, &span)?;
    let to = need(table, "to", &span, "to = { subtree = \"...\" }: what the rule is about")?;
    line.begin(to.span(), ": ");
    line.words(to)?;
    line.subjects("; ", table, &span)?;
    line.begin(span, "; ");
    for key in ["allow", "deny", "rank"] {
        if let Some(value) = table.get(key) {
            line.word(key, value)?;
        }
    }
    line.checked(access::parse)
}

fn need<'t, 'd>(
    table: &'t DeTable<'d>,
    key: &str,
    span: &Range<usize>,
    what: &str,
) -> Result<&'t Spanned<DeValue<'d>>, Fault> {
    table.get(key).ok_or_else(|| (span.clone(), format!("the rule has no `{key}`; {what}")))
}

/// The one-line form as far as it is made.
pub(super) struct Line {
    text: String,
    /// Where in the file the text came from that begins here.
    pieces: Vec<(usize, Range<usize>)>,
}

impl Line {
    /// Of a rule that stands there.
    pub(super) fn new(span: Range<usize>) -> Line {
        Line { text: String::new(), pieces: vec![(0, span)] }
    }

    /// The name of a rule.
    pub(super) fn name(&mut self, table: &DeTable<'_>, span: &Range<usize>) -> Result<(), Fault> {
        let name = need(table, "name", span, "name = \"...\": logs and explanations name the rule by it")?;
        let text = scalar(name.get_ref()).ok_or((name.span(), "`name` is a text".to_owned()))?;
        access::check_name(&text).map_err(|reason| (name.span(), reason))?;
        self.begin(name.span(), &text);
        Ok(())
    }

    /// Whom a rule is for, behind a text: a table, or several.
    pub(super) fn subjects(
        &mut self,
        behind: &str,
        table: &DeTable<'_>,
        span: &Range<usize>,
    ) -> Result<(), Fault> {
        let by = need(table, "by", span, "by = [{ users = true }]: whom the rule is for")?;
        self.begin(by.span(), behind);
        let DeValue::Array(subjects) = by.get_ref() else { return self.words(by) };
        for (at, subject) in subjects.iter().enumerate() {
            self.begin(subject.span(), if at == 0 { "" } else { " | " });
            self.words(subject)?;
        }
        Ok(())
    }

    /// Text that comes from a place in the file.
    pub(super) fn begin(&mut self, span: Range<usize>, text: &str) {
        self.pieces.push((self.text.len(), span));
        self.text.push_str(text);
    }

    /// The keys of a table, each a word.
    fn words(&mut self, table: &Spanned<DeValue<'_>>) -> Result<(), Fault> {
        let DeValue::Table(keys) = table.get_ref() else {
            let text =
                format!("a table is expected, as {{ key = \"value\" }}, not {}", table.get_ref().type_str());
            return Err((table.span(), text));
        };
        for (key, value) in keys {
            let name = key.get_ref();
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') {
                return Err((key.span(), format!("unknown key `{}`", name.escape_debug())));
            }
            self.word(name, value)?;
        }
        Ok(())
    }

    /// One key with its value.
    pub(super) fn word(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<(), Fault> {
        let text = match value.get_ref() {
            DeValue::Array(items) => list(key, items, value.span())?,
            DeValue::Boolean(is_so) => is_so.to_string(),
            other => scalar(other).ok_or_else(|| wrong(key, value))?,
        };
        let text = access::quoted(&text);
        self.begin(value.span(), &format!("{key}={text} "));
        Ok(())
    }

    /// The text, if it is a rule.
    pub(super) fn checked<R: ToString>(
        self,
        parse: impl Fn(&str) -> Result<R, access::Error>,
    ) -> Result<String, Fault> {
        match parse(&self.text) {
            Ok(rule) => Ok(rule.to_string()),
            Err(error) => {
                let piece = self.pieces.iter().rev().find(|(begin, _)| *begin <= error.at);
                Err((piece.map_or(0..0, |(_, span)| span.clone()), error.text))
            }
        }
    }
}

/// A list: its elements with commas between them.
fn list(key: &str, items: &[Spanned<DeValue<'_>>], span: Range<usize>) -> Result<String, Fault> {
    if !["attrs", "op", "control", "extended", "auth", "peer", "allow", "deny"].contains(&key) {
        let text = format!("`{key}` takes one value; `by` is a list, of which any table fits");
        return Err((span, text));
    }
    let mut words = Vec::new();
    for item in items {
        let word = scalar(item.get_ref()).ok_or_else(|| wrong(key, item))?;
        // A comma would make two elements of one.
        if word.contains(',') {
            return Err((item.span(), format!("`{key}`: an element of a list has no comma")));
        }
        words.push(word);
    }
    Ok(words.join(","))
}

fn wrong(key: &str, value: &Spanned<DeValue<'_>>) -> Fault {
    (
        value.span(),
        format!("`{key}` takes a text, a number or a list of texts, not {}", value.get_ref().type_str()),
    )
}

#[cfg(test)]
mod tests {
    use crate::config::read;

    fn faults(text: &str) -> Vec<String> {
        read("p.toml", text).faults.iter().map(ToString::to_string).collect()
    }

    fn rules(text: &str) -> Vec<String> {
        let read = read("p.toml", text);
        assert_eq!(read.faults, []);
        read.config.settings.access.rules.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_table_is_the_rule_that_its_one_line_form_is() {
        let table = r#"
            [access]
            defaults = "off"
            [[access.rule]]
            name  = "helpdesk"
            to    = { subtree = "ou=People,dc=example,dc=com", filter = "(objectClass=inetOrgPerson)", attrs = ["userPassword", "pwdAccountLockedTime"] }
            by    = [{ group = "cn=helpdesk,ou=Groups,dc=example,dc=com", tls = 128 }, { dn = "uid=boss,dc=example,dc=com" }]
            allow = ["write", "manage"]
            rank  = 5
            [[access.rule]]
            name = "own"
            to = { all = true, attrs = "mobile" }
            by = { self = true, peer = ["10.0.0.0/8", "ldapi"], group = "!cn=x", nested = false }
            allow = "write"
            deny = ["read"]
        "#;
        let lines = [
            "helpdesk: subtree=\"ou=People,dc=example,dc=com\" filter=\"(objectClass=inetOrgPerson)\" \
             attrs=userPassword,pwdAccountLockedTime; group=\"cn=helpdesk,ou=Groups,dc=example,dc=com\" tls=128 | \
             dn=\"uid=boss,dc=example,dc=com\"; allow=write,manage rank=5",
            "own: all attrs=mobile; group=\"!cn=x\" nested=false peer=10.0.0.0/8,ldapi self; allow=write deny=read",
        ];
        assert_eq!(rules(table), lines);
        let strings = format!("access.rule = [{:?}, {:?}]\n", lines[0], lines[1]);
        assert_eq!(rules(&strings), lines);
        assert!(!read("p.toml", table).config.settings.access.defaults);
    }

    #[test]
    fn a_fault_of_a_table_is_at_its_key() {
        let rule = |rest: &str| format!("[[access.rule]]\nname = \"a\"\n{rest}\n");
        let all = "to = { all = true }\nby = [{ users = true }]\nallow = [\"read\"]\n";
        for (text, fault) in [
            (rule(&format!("{all}rnak = 3")), "p.toml:6:1: unknown key `rnak` of a rule"),
            (rule(""), "p.toml:1:1: the rule has no `to`"),
            (rule("to = { all = true }"), "p.toml:1:1: the rule has no `by`"),
            (
                rule("to = { subtree = \"x\" }\nby = [{ users = true }]\nallow = \"read\""),
                "p.toml:3:18: `x` is no DN",
            ),
            (
                rule("to = { filter = \"(a=b)\" }\nby = [{ users = true }]\nallow = \"read\""),
                "p.toml:3:6: which entries",
            ),
            (
                rule("to = { all = true, \"a b\" = 1 }\nby = []\nallow = \"read\""),
                "p.toml:3:20: unknown key `a b`",
            ),
            (rule("to = { all = true }\nby = []\nallow = \"read\""), "p.toml:4:6: whom is the rule for?"),
            (
                rule("to = { all = true }\nby = [{ users = true },\n{ grup = \"dc=x\" }]\nallow = \"read\""),
                "p.toml:5:10: unknown key `grup`; did you mean `group`?",
            ),
            (
                rule("to = { all = true }\nby = [{ group = [\"dc=x\"] }]\nallow = \"read\""),
                "p.toml:4:17: `group` takes one value",
            ),
            (
                rule("to = { all = true }\nby = [{ users = true }]\nallow = [\"read,add\"]"),
                "p.toml:5:10: `allow`: an element of a list has no comma",
            ),
            (
                rule("to = { all = true }\nby = [{ users = true }]\nallow = [\"raed\"]"),
                "p.toml:5:9: unknown right `raed`; did you mean `read`?",
            ),
            (
                rule("to = { all = true }\nby = [{ users = true }]\nallow = [1979-05-27]"),
                "p.toml:5:10: `allow` takes a text",
            ),
            (
                rule("to = \"all\"\nby = [{ users = true }]\nallow = \"read\""),
                "p.toml:3:6: a table is expected",
            ),
            (rule(&format!("{all}rank = -1")), "p.toml:6:8: `rank`: `-1` is not a number"),
            (format!("{}{}", rule(all), rule(all)), "p.toml:7:1: `access.rule`: another rule is called `a`"),
        ] {
            let found = faults(&text);
            assert!(found.len() == 1 && found[0].starts_with(fault), "{text}: {found:?}");
        }
        let text = "access.rule = [\"a: all; users; allow=read\",\n \"b: all; users; allow=raed\"]\n";
        assert!(
            faults(text)[0].starts_with(
                "p.toml:2:2: `access.rule`: unknown right `raed`; did you mean `read`? (at byte 21"
            ),
            "{:?}",
            faults(text)
        );
        assert!(
            faults("access.rule = 3\n")[0].contains("`access.rule`: the rule has no name"),
            "{:?}",
            faults("access.rule = 3\n")
        );
    }
}
