//! The one-line form of a rule, as text. Parsed again, it is the same rule.

use crate::right::{Right, Rights};
use crate::rule::{
    AttributeSelector, AuthMethod, Condition, Items, Operation, Operations, Pattern, Peer, Place, Reach,
    Rule, Subject, Target, Test, ValueTest,
};
use proto::filter_string::{self, FilterBuf};
use std::borrow::Cow;
use std::fmt;

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; ", self.name, self.target)?;
        for (at, subject) in self.subjects.iter().enumerate() {
            f.write_str(if at > 0 { " | " } else { "" })?;
            subject.fmt(f)?;
        }
        f.write_str(";")?;
        for (key, rights) in [("allow", self.allow), ("deny", self.deny)] {
            if !rights.is_empty() {
                write!(f, " {key}={rights}")?;
            }
        }
        if self.rank > 0 {
            write!(f, " rank={}", self.rank)?;
        }
        Ok(())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let selectors = match &self.items {
            Items::Controls(oids) => return pair(f, "control", &oids.join(",")),
            Items::Extended(oids) => return pair(f, "extended", &oids.join(",")),
            Items::Attributes(selectors) => selectors,
        };
        match &self.place {
            Place::All => f.write_str("all")?,
            Place::At(reach, pattern) => pair(f, reach.word(), &pattern.to_string())?,
        }
        if let Some(filter) = &self.filter {
            f.write_str(" ")?;
            pair(f, "filter", &filter_text(filter))?;
        }
        if *selectors != [AttributeSelector::Entry, AttributeSelector::User] {
            let texts: Vec<String> = selectors.iter().map(AttributeSelector::to_string).collect();
            f.write_str(" ")?;
            pair(f, "attrs", &texts.join(","))?;
        }
        match &self.values {
            None => {}
            Some(ValueTest::Requester) => f.write_str(" values=self")?,
            Some(ValueTest::Filter(filter)) => {
                f.write_str(" ")?;
                pair(f, "values", &filter_text(filter))?;
            }
        }
        if self.operations != Operations::ANY {
            write!(f, " op={}", self.operations)?;
        }
        Ok(())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.each_below { "*," } else { "" }, self.dn)
    }
}

impl fmt::Display for AttributeSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttributeSelector::Entry => f.write_str("entry"),
            AttributeSelector::User => f.write_str("*"),
            AttributeSelector::Operational => f.write_str("+"),
            AttributeSelector::Every => f.write_str("**"),
            AttributeSelector::Named { description, excluded } => {
                write!(f, "{}{description}", mark(*excluded))
            }
            AttributeSelector::Class { name, excluded } => write!(f, "{}@{name}", mark(*excluded)),
        }
    }
}

impl fmt::Display for Operations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Operation::WORDS.iter().filter(|(_, operation)| self.has(*operation));
        let words: Vec<&str> = named.map(|(word, _)| *word).collect();
        f.write_str(&words.join(","))
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, test) in self.0.iter().enumerate() {
            f.write_str(if at > 0 { " " } else { "" })?;
            test.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.condition.key();
        let Some(value) = value(&self.condition) else {
            return write!(f, "{key}{}", if self.negated { "=false" } else { "" });
        };
        // The `!` stands inside of the quotes, as it does in the configuration file.
        pair(f, &key, &format!("{}{value}", mark(self.negated)))?;
        let (inner, nested) = match &self.condition {
            Condition::Real(inner) => (&**inner, "real-nested"),
            other => (other, "nested"),
        };
        match inner {
            Condition::Group { nested: false, .. } => write!(f, " {nested}=false"),
            _ => Ok(()),
        }
    }
}

impl Condition {
    /// Its word in a rule.
    pub fn key(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Condition::Anyone => "anyone",
            Condition::Anonymous => "anonymous",
            Condition::Users => "users",
            Condition::Dn(Reach::Base, _) => "dn",
            Condition::Dn(Reach::One, _) => "dn-one",
            Condition::Dn(Reach::Subtree, _) => "dn-subtree",
            Condition::Dn(Reach::Children, _) => "dn-children",
            Condition::UserFilter(_) => "user-filter",
            Condition::Group { .. } => "group",
            Condition::Auth(_) => "auth",
            Condition::Strength(_) => "ssf",
            Condition::Tls(_) => "tls",
            Condition::Peer(_) => "peer",
            Condition::Listener(_) => "listener",
            Condition::Real(inner) => return Cow::Owned(format!("real-{}", inner.key())),
            Condition::Requester => "self",
            Condition::Parent(_) => "parent",
            Condition::DnAttribute(_) => "dn-attr",
            Condition::GroupAttribute(_) => "group-attr",
            Condition::Same(_) => "same",
        })
    }
}

/// The value of a condition that has one.
fn value(condition: &Condition) -> Option<String> {
    Some(match condition {
        Condition::Anyone | Condition::Anonymous | Condition::Users | Condition::Requester => return None,
        Condition::Dn(_, dn) | Condition::Group { dn, .. } => dn.clone(),
        Condition::UserFilter(filter) => filter_text(filter),
        Condition::Auth(methods) => methods.iter().map(AuthMethod::to_string).collect::<Vec<_>>().join(","),
        Condition::Strength(bits) | Condition::Tls(bits) => bits.to_string(),
        Condition::Peer(peers) => peers.iter().map(Peer::to_string).collect::<Vec<_>>().join(","),
        Condition::Real(inner) => return value(inner),
        Condition::Parent(levels) => levels.to_string(),
        Condition::Listener(name) => name.clone(),
        Condition::DnAttribute(name) | Condition::GroupAttribute(name) | Condition::Same(name) => {
            name.clone()
        }
    })
}

impl fmt::Display for AuthMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AuthMethod::None => "none",
            AuthMethod::Simple => "simple",
            AuthMethod::Sasl(mechanism) => mechanism,
        })
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Ldapi => f.write_str("ldapi"),
            Peer::Network(network) => write!(f, "{}/{}", network.address, network.prefix),
        }
    }
}

impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        let mut rest = *self;
        // The words that stand for most come first: `all` has the others in it.
        for (word, rights) in Rights::SHORT.iter().rev() {
            if rest.and(*rights) == *rights {
                words.push(*word);
                rest = rest.without(*rights);
            }
        }
        words.extend(Right::ALL.iter().filter(|right| rest.has(**right)).map(|right| right.word()));
        f.write_str(&words.join(","))
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Reach {
    /// Its word in the target of a rule.
    pub const fn word(self) -> &'static str {
        match self {
            Reach::Base => "base",
            Reach::One => "one",
            Reach::Subtree => "subtree",
            Reach::Children => "children",
        }
    }
}

const fn mark(negated: bool) -> &'static str {
    if negated { "!" } else { "" }
}

/// A filter as text.
pub(crate) fn filter_text(filter: &FilterBuf) -> String {
    let mut text = Vec::new();
    filter_string::write(&filter.filter(), &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Writes `key=value`, the value in quotes where they are needed.
fn pair(f: &mut fmt::Formatter<'_>, key: &str, value: &str) -> fmt::Result {
    write!(f, "{key}={}", quoted(value))
}

/// A value as it stands in the one-line form.
pub fn quoted(value: &str) -> Cow<'_, str> {
    // A DN is always in quotes: it reads better.
    let is_plain = |c: char| !c.is_whitespace() && !matches!(c, '"' | ';' | '|' | '=' | '(');
    match !matches!(value, "" | "!") && value.chars().all(is_plain) {
        true => Cow::Borrowed(value),
        false => Cow::Owned(format!("\"{}\"", value.replace('"', "\"\""))),
    }
}
