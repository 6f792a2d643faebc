//! What an export of another server has that an import does not take as it stands: passwords, operational attributes, access rules.

use crate::operational::{Foreign, OWN, foreign, locks, without_state};
use crate::password_history;
use crate::record::Records;
use crate::report::Fault;
use crate::source::{Input, Piece, Source, Whole};
use password::Stored;
use proto::ldif::Value;
use schema::Schema;
use std::collections::BTreeMap;
use std::fmt;

/// Names that are counted apart; of more, the others are left out of the report. No server has as many.
const NAMES_MAX: usize = 1000;
/// Operational attributes that are kept with the values that the other server gave them.
const KEPT: [&str; 6] =
    ["createTimestamp", "creatorsName", "entryCSN", "entryUUID", "modifiersName", "modifyTimestamp"];
const USER_PASSWORD: &str = "userPassword";
const OBJECT_CLASS: &str = "objectClass";

/// What becomes of some values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// They are imported as they are.
    Kept,
    /// They are imported as they are, and are of no use here.
    Useless(&'static str),
    /// They are imported in another form.
    Translated(&'static str),
    /// They are not imported.
    Left(&'static str),
}

/// What an export has, by kinds of values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Records.
    pub entries: u64,
    /// Records that are no entries, which the import reports.
    pub faults: u64,
    /// Values by attribute, in lower case, or scheme of a password: how it is written, what becomes of them, how many there are.
    pub values: BTreeMap<String, (String, Fate, u64)>,
    /// What entries have and the schema does not define, by its name or OID in lower case.
    pub missing: BTreeMap<(Definition, String), Missing>,
}

/// A kind of definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Definition {
    /// Of an attribute type.
    AttributeType,
    /// Of an object class.
    ObjectClass,
}

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Definition::AttributeType => "attribute type",
            Definition::ObjectClass => "object class",
        })
    }
}

/// What the schema does not define.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// How it is written.
    pub name: String,
    /// Entries that have it.
    pub entries: u64,
    /// The number of the last of them.
    last: u64,
}

/// Reads the inputs, for an import with this schema, to their ends.
///
/// # Errors
/// When one cannot be read.
pub fn survey(inputs: &mut [Input<'_>], schema: &Schema) -> Result<Survey, Fault> {
    let mut survey = Survey::default();
    for (number, input) in inputs.iter_mut().enumerate() {
        let (mut source, mut piece) = (Whole::new(input), Piece::default());
        while source.next(&mut piece).map_err(|fault| Fault { input: number, ..fault })? {
            survey.add(&piece, schema);
        }
    }
    Ok(survey)
}

impl Survey {
    fn add(&mut self, piece: &Piece, schema: &Schema) {
        let mut records = Records::of(piece);
        while let Some(record) = records.next() {
            let Ok(record) = record else {
                self.faults += 1;
                continue;
            };
            self.entries += 1;
            let counted = record.content.try_each(|_, line| {
                let value = match line.value {
                    Value::Bytes(value) | Value::Url(value) => value,
                };
                self.count(line.description, value, schema);
                Ok::<_, Fault>(())
            });
            self.faults += u64::from(counted.is_err());
        }
    }

    /// Counts a value of the entry that was counted last.
    pub(crate) fn count(&mut self, description: &[u8], value: &[u8], schema: &Schema) {
        let Some(stripped) = without_state(description) else {
            let why = "they were deleted, and kept for replication";
            return self.put("values with the option ;deleted", Fate::Left(why));
        };
        let name = stripped.split(|byte| *byte == b';').next().unwrap_or_default();
        if name.eq_ignore_ascii_case(USER_PASSWORD.as_bytes()) {
            return self.count_password(value);
        }
        let fate = match foreign(name) {
            Some(Foreign::Derived) => Fate::Left("this server derives them"),
            Some(Foreign::Uuid) => Fate::Translated("entryUUID, unless the entry has one"),
            Some(Foreign::Own(why)) => Fate::Left(why),
            Some(Foreign::Lock) if locks(value) => {
                Fate::Translated("pwdAccountLockedTime: nobody binds as them")
            }
            Some(Foreign::End) => Fate::Translated("pwdEndTime: nobody binds as them from then on"),
            Some(Foreign::Lock) => Fate::Left("they say that the account is not locked"),
            None if KEPT.iter().any(|kept| kept.as_bytes().eq_ignore_ascii_case(name)) => Fate::Kept,
            Some(Foreign::History) if password_history::of_389(value).is_some() => {
                Fate::Translated("pwdHistory")
            }
            Some(Foreign::History) => Fate::Left(OWN),
            None if name.eq_ignore_ascii_case(password_history::ATTRIBUTE)
                && password_history::is_foreign(value) =>
            {
                Fate::Translated("the form of this server")
            }
            None if name.eq_ignore_ascii_case(OBJECT_CLASS.as_bytes())
                && schema.find_class(value).is_none() =>
            {
                return self.miss(Definition::ObjectClass, value);
            }
            None if schema.find_type(name).is_none() => return self.miss(Definition::AttributeType, name),
            None => return,
        };
        self.put(&String::from_utf8_lossy(name), fate);
    }

    fn count_password(&mut self, value: &[u8]) {
        let scheme = value.strip_prefix(b"{").and_then(|rest| rest.split(|byte| *byte == b'}').next());
        let name = |scheme: &[u8]| {
            format!("{USER_PASSWORD} {{{}}}", String::from_utf8_lossy(scheme).to_ascii_uppercase())
        };
        let why = "the scheme is not known here, so no password matches them";
        match (Stored::read(value), scheme) {
            (Ok(stored), Some(scheme)) if !stored.is_clear() => self.put(&name(scheme), Fate::Kept),
            (Err(_), Some(scheme)) => self.put(&name(scheme), Fate::Useless(why)),
            _ => {
                self.put(&format!("{USER_PASSWORD} in the clear"), Fate::Translated("what --passwords says"))
            }
        }
    }

    /// Counts the entry as one that has what the schema does not define. An entry counts once.
    fn miss(&mut self, definition: Definition, name: &[u8]) {
        let name = shown(&String::from_utf8_lossy(name));
        let key = (definition, name.to_ascii_lowercase());
        if self.missing.len() < NAMES_MAX || self.missing.contains_key(&key) {
            let missing = self.missing.entry(key).or_insert(Missing { name, entries: 0, last: 0 });
            missing.entries += u64::from(missing.last != self.entries);
            missing.last = self.entries;
        }
    }

    pub(crate) fn put(&mut self, name: &str, fate: Fate) {
        let name = shown(name);
        let key = format!("{} {fate:?}", name.to_ascii_lowercase());
        if self.values.len() < NAMES_MAX || self.values.contains_key(&key) {
            self.values.entry(key).or_insert((name, fate, 0)).2 += 1;
        }
    }
}

/// A name for a report. A scheme may be anything that stands between two braces.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(100).collect()
}

impl fmt::Display for Survey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} records", self.entries + self.faults)?;
        for (name, fate, count) in self.values.values() {
            match fate {
                Fate::Kept => writeln!(f, "kept: {name}: {count}")?,
                Fate::Useless(why) => writeln!(f, "kept: {name}: {count}: {why}")?,
                Fate::Translated(to) => writeln!(f, "translated: {name}: {count}: {to}")?,
                Fate::Left(why) => writeln!(f, "left out: {name}: {count}: {why}")?,
            }
        }
        for ((definition, _), Missing { name, entries, .. }) in &self.missing {
            let plural = if *entries == 1 { "entry" } else { "entries" };
            writeln!(f, "not in the schema: {definition} {name}: {entries} {plural}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn reported(text: &str) -> String {
        let mut cursor = Cursor::new(text.as_bytes().to_vec());
        let schema = schema::Builder::new().standard().build().expect("it is built in");
        survey(&mut [Input::Seekable(&mut cursor)], &schema).expect("it can be read").to_string()
    }

    #[test]
    fn an_export_of_openldap() {
        let text = "dn: dc=example\nobjectClass: domain\ndc: example\nstructuralObjectClass: domain\n\
            entryUUID: 8d4e2d14-0000-103f-8000-000000000000\ncontextCSN: 20260102030405.123456Z#000000#001#000000\n\n\
            dn: uid=a,dc=example\nuserPassword: {SSHA}W6ph5Mm5Pz8GgiULbPgzG37mj9gAAAAA\nuserPassword:: e05PTkV9eA==\n\
            entryUUID: 8d4e2d14-0000-103f-8000-000000000001\nUSERPASSWORD: secret\n\ndn: uid=b\nchangetype: delete\n";
        assert_eq!(
            reported(text),
            "3 records\n\
             left out: contextCSN: 1: this server derives them\n\
             kept: entryUUID: 2\n\
             left out: structuralObjectClass: 1: this server derives them\n\
             translated: userPassword in the clear: 1: what --passwords says\n\
             kept: userPassword {NONE}: 1: the scheme is not known here, so no password matches them\n\
             kept: userPassword {SSHA}: 1\n"
        );
    }

    #[test]
    fn what_the_schema_lacks_is_named_once() {
        let text = "dn: uid=a,dc=example\nobjectClass: inetOrgPerson\nobjectClass: mailUser\nuid: a\n\
            mailAlias: b\nmailalias: c\nmailAlias;lang-de: d\nmemberOf: cn=x\n2.5.4.3: a\n\n\
            dn: uid=b,dc=example\nobjectclass: MAILUSER\nmailAlias: b\nmailQuota: 1\n";
        assert_eq!(
            reported(text),
            "2 records\n\
             left out: memberOf: 1: this server derives them\n\
             not in the schema: attribute type mailAlias: 2 entries\n\
             not in the schema: attribute type mailQuota: 1 entry\n\
             not in the schema: object class mailUser: 2 entries\n"
        );
    }

    #[test]
    fn an_export_of_opendj() {
        let text = "dn: dc=example\naci: (targetattr!=\"userPassword\")\nds-sync-state: 00\n\n\
            dn: uid=a,dc=example\nuserPassword: {PBKDF2}10000:81yMjIQOOCzGxkHgmYgFvRbgF1IBAgMEBQYHCA==\n\
            ds-privilege-name: bypass-acl\nds-privilege-name: modify-acl\nds-pwp-account-disabled: true\n\
            ds-pwp-account-expiration-time: 20240101000000Z\nds-pwp-password-policy-dn: cn=x\n\
            ds-pwp-warned-time: 20230101000000.000Z\nds-rlim-size-limit: 5\nds-sync-hist: dn:00:add\n\
            pwdChangedTime: 20230105060708.412Z\nuserPassword: {BLOWFISH}AAAA\n\
            pwdHistory: 20230105060708.412Z#1.3.6.1.4.1.26027.1.3.1#{SSHA}AAAA\n\
            pwdHistory: 20230105060708Z#1.3.6.1.4.1.1466.115.121.1.40#10#{SSHA}AAAA\n";
        assert_eq!(
            reported(text),
            "2 records\n\
             left out: aci: 1: access rules: pando access translate makes rules of them\n\
             left out: ds-privilege-name: 2: privileges: access rules allow what they allow\n\
             translated: ds-pwp-account-disabled: 1: pwdAccountLockedTime: nobody binds as them\n\
             translated: ds-pwp-account-expiration-time: 1: pwdEndTime: nobody binds as them from then on\n\
             left out: ds-pwp-password-policy-dn: 1: password policies: write policies, and name them in pwdPolicySubentry\n\
             left out: ds-pwp-warned-time: 1: the state of log-ins and of password policies there\n\
             left out: ds-rlim-size-limit: 1: limits of clients: rules of [[limits.rule]] have them\n\
             left out: ds-sync-hist: 1: the other server's own\n\
             left out: ds-sync-state: 1: the other server's own\n\
             translated: pwdHistory: 1: the form of this server\n\
             kept: userPassword {BLOWFISH}: 1: the scheme is not known here, so no password matches them\n\
             kept: userPassword {PBKDF2}: 1\n"
        );
    }

    #[test]
    fn an_export_of_389_directory_server() {
        let text = "dn: dc=example\nnsUniqueId: 4f6d7b01-1dd211b2-8000e2c9-00000000\naci: (targetattr=\"*\")\n\
            cn;vucsn-5f00aa00000000010000: a\nmail;deleted: b\nparentid: 1\nnsAccountLock: TRUE\n\n\
            dn: cn=b,dc=example\nnsaccountlock: true\n\ndn: cn=c,dc=example\nnsAccountLock: false\n";
        assert_eq!(
            reported(text),
            "3 records\n\
             left out: aci: 1: access rules: pando access translate makes rules of them\n\
             left out: nsAccountLock: 1: they say that the account is not locked\n\
             translated: nsAccountLock: 2: pwdAccountLockedTime: nobody binds as them\n\
             translated: nsUniqueId: 1: entryUUID, unless the entry has one\n\
             left out: parentid: 1: the other server's own\n\
             left out: values with the option ;deleted: 1: they were deleted, and kept for replication\n"
        );
    }
}
