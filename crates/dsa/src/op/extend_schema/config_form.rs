//! Requests about entries of OpenLDAP's `cn=schema,cn=config`, as the change of the subschema that they mean. From there on nothing knows that a client
//! has asked for it in another form.
//!
//! ```text
//! add cn=NAME,cn=schema,cn=config      what is there already is left out -> the rest is added, all of it or nothing
//! modify of it                         values are added and deleted, as in a modify of the subschema
//! delete or rename of it               refused: definitions are removed from the subschema
//! ```
//! Nothing is kept of the entries: neither names, nor macros, nor which definitions came together.
//!
//! A definition that is there already is compared by what it does for entries and searches. One that does the same is left out. One of the standard schema that
//! differs stays as it is, and the answer names it. Any other that differs is refused.

use crate::outcome::{self, Refusal, unwilling};
use crate::system::{SCHEMA_CONFIG_DN, System};
use model::ResultCode;
use model::dn::{parse_rdn, split_first};
use proto::list::Octets;
use proto::message::Request;
use proto::op::modify::{Changes, ModifyKind, change_list};
use proto::op::{Add, Modify};
use schema::{ADDED_BYTES_MAX, Already, ConfigAttribute, Element, Expansion, Schema, without_index};
use std::borrow::Cow;

/// Definitions of the standard schema that a text names.
const NAMED_MAX: usize = 10;

/// Definitions of one attribute of a request.
struct Part<'a> {
    kind: ModifyKind,
    element: Element,
    values: Vec<Cow<'a, [u8]>>,
}

/// What such a request comes to.
pub(crate) struct TranslatedChange<'a> {
    parts: Vec<Part<'a>>,
    syntaxes: Vec<&'a [u8]>,
    is_add: bool,
    /// Why it is refused, whatever there is. Rights are asked before that is said.
    fault: Option<Refusal>,
}

/// The bytes of [`Changes`].
pub(crate) struct Encoded(Vec<u8>);

impl Encoded {
    /// The modify of the subschema.
    pub(crate) fn modify(&self) -> Modify<'_> {
        let changes = Changes::parse(&self.0).expect("it was just encoded");
        Modify { dn: store::derived::SUBSCHEMA_DN.as_bytes(), changes }
    }
}

impl<'a> TranslatedChange<'a> {
    /// Reads an add or a modify.
    pub(crate) fn of(system: &System, request: &Request<'a>) -> TranslatedChange<'a> {
        let is_add = matches!(request, Request::Add(_));
        let mut asked = TranslatedChange { parts: Vec::new(), syntaxes: Vec::new(), is_add, fault: None };
        let mut macros = Expansion::default();
        let done = match request {
            Request::Add(add) => asked.read_add(system, add, &mut macros),
            Request::Modify(modify) => asked.read_modify(modify, &mut macros),
            _ => Err(unwilling("it is no add and no modify")),
        };
        asked.fault = done.and_then(|()| asked.expand(&macros)).err();
        asked
    }

    /// Why it is refused, whatever there is.
    ///
    /// # Errors
    /// That.
    pub(crate) fn fault(&self) -> Result<(), Refusal> {
        self.fault.clone().map_or(Ok(()), Err)
    }

    /// The change of the subschema. Of a request with a fault it is what rights are asked for.
    pub(crate) fn encode(&self) -> Encoded {
        let changes = self.parts.iter().map(|part| {
            (part.kind, part.element.attribute().as_bytes(), part.values.iter().map(|value| &**value))
        });
        Encoded(change_list(changes))
    }

    /// Is nothing to be done?
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Leaves out of an add what is there already, so that the files of a standard schema can be added too. Returns what is to be said of
    /// definitions that come with the program in another form.
    pub(crate) fn leave_out_present(&mut self, schema: &Schema) -> String {
        let mut others = Vec::new();
        if !self.is_add {
            return String::new();
        }
        for part in &mut self.parts {
            part.values.retain(|value| match schema.has_already(part.element, value) {
                None => true,
                Some(Already::Equivalent) => false,
                Some(Already::Standard(name)) => {
                    others.push(name);
                    false
                }
            });
        }
        self.parts.retain(|part| !part.values.is_empty());
        if others.is_empty() {
            return String::new();
        }
        let more = others.len().saturating_sub(NAMED_MAX);
        others.truncate(NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!(
            "the standard schema has other definitions of {}{more}, which stay as they are",
            others.join(", ")
        )
    }

    fn read_add(&mut self, system: &System, add: &Add<'a>, macros: &mut Expansion) -> Result<(), Refusal> {
        let mut classes = Vec::new();
        let mut names = Vec::new();
        let mut faults = Vec::new();
        for attribute in add.attributes.iter() {
            let description = attribute.description;
            if is_named(description, &[b"objectClass", b"2.5.4.0"]) {
                classes.extend(attribute.values.iter());
            } else if is_named(description, NAMES) {
                names.extend(attribute.values.iter());
            } else if let Err(fault) = self.read(ModifyKind::Add, description, attribute.values, macros) {
                // The others are read on: rights are asked for all of them.
                faults.push(fault);
            }
        }
        if system.is_schema_config(add.dn) {
            let text = format!("{SCHEMA_CONFIG_DN} exists: add entries below it, or modify it");
            return Err((ResultCode::EntryAlreadyExists, text));
        }
        check_name(add.dn, &names)?;
        check_classes(&classes)?;
        faults.into_iter().next().map_or(Ok(()), Err)?;
        match self.parts.is_empty() {
            true => Err(unwilling(
                "the entry has no definitions: below cn=schema,cn=config these are all that is kept of an entry",
            )),
            false => Ok(()),
        }
    }

    fn read_modify(&mut self, modify: &Modify<'a>, macros: &mut Expansion) -> Result<(), Refusal> {
        let mut fault = Ok(());
        for change in modify.changes.iter() {
            let (description, values) = (change.modification.description, change.modification.values);
            let read = match (change.kind, ConfigAttribute::find(description)) {
                (ModifyKind::Replace | ModifyKind::Increment, Some(_)) => Err(unwilling(
                    "which definitions an entry below cn=schema,cn=config had is not kept: add and delete definitions one by one",
                )),
                (ModifyKind::Delete, Some(ConfigAttribute::Macros)) => Err(unwilling(
                    "values of olcObjectIdentifier are not kept: they are for the request that has them",
                )),
                (ModifyKind::Delete, Some(ConfigAttribute::Syntaxes)) => {
                    Err(unwilling("syntaxes come with the program, and stay"))
                }
                (kind, _) => self.read(kind, description, values, macros),
            };
            fault = fault.and(read);
        }
        fault?;
        match self.parts.is_empty() && modify.changes.iter().next().is_some() {
            true => Err(unwilling(
                "the request has no definitions, and values of olcObjectIdentifier are for the request that has them",
            )),
            false => Ok(()),
        }
    }

    /// Takes the values of one attribute.
    fn read(
        &mut self,
        kind: ModifyKind,
        description: &[u8],
        values: Octets<'a>,
        macros: &mut Expansion,
    ) -> Result<(), Refusal> {
        match ConfigAttribute::find(description) {
            Some(ConfigAttribute::Definitions(element)) => {
                let values = values.iter().map(Cow::Borrowed).collect();
                self.parts.push(Part { kind, element, values });
                Ok(())
            }
            Some(ConfigAttribute::Macros) => values
                .iter()
                .try_for_each(|value| macros.add(value))
                .map_err(|text| (ResultCode::InvalidAttributeSyntax, text)),
            Some(ConfigAttribute::Syntaxes) => {
                self.syntaxes.extend(values.iter());
                Ok(())
            }
            None => Err((
                ResultCode::ObjectClassViolation,
                format!(
                    "{}: entries of cn=schema,cn=config have olcAttributeTypes, olcObjectClasses, olcDitContentRules, olcLdapSyntaxes and olcObjectIdentifier",
                    outcome::quoted(description)
                ),
            )),
        }
    }

    /// Puts OIDs in place of macros, and takes the numbers in braces off.
    fn expand(&mut self, macros: &Expansion) -> Result<(), Refusal> {
        if !self.syntaxes.iter().all(|value| macros.is_known_syntax(value)) {
            return Err(unwilling(
                "olcLdapSyntaxes: syntaxes come with the program; a schema file can name others at a start",
            ));
        }
        let mut bytes = 0;
        for part in &mut self.parts {
            for value in &mut part.values {
                let expanded = match value {
                    Cow::Borrowed(value) => macros.expand(part.element, value),
                    Cow::Owned(_) => unreachable!("it came as it is"),
                };
                *value = expanded.map_err(|text| (ResultCode::InvalidAttributeSyntax, text))?;
                if value.is_empty() {
                    let text = "a definition is named by its text: numbers in braces are not kept";
                    return Err((ResultCode::InvalidAttributeSyntax, text.to_owned()));
                }
                bytes += value.len();
                // Macros may be long, and many definitions may have one.
                if bytes > ADDED_BYTES_MAX {
                    let text = format!("the definitions of a request have {ADDED_BYTES_MAX} bytes at most");
                    return Err((ResultCode::AdminLimitExceeded, text));
                }
            }
        }
        Ok(())
    }
}

/// What the RDN of an entry may have.
const NAMES: &[&[u8]] = &[b"cn", b"commonName", b"2.5.4.3"];

fn is_named(description: &[u8], names: &[&[u8]]) -> bool {
    names.iter().any(|name| name.eq_ignore_ascii_case(description))
}

/// The RDN is a `cn`, and so is what the entry says of it. The number in braces is the place among other entries in OpenLDAP, and has no meaning here.
fn check_name(dn: &[u8], names: &[&[u8]]) -> Result<(), Refusal> {
    let bare = |value: &[u8]| {
        let bare = str::from_utf8(value).map_or(value, |text| without_index(text).as_bytes());
        bare.to_ascii_lowercase()
    };
    let rdn = parse_rdn(split_first(dn).0).unwrap_or_default();
    let name = match &rdn[..] {
        [one] if is_named(one.attribute_type, NAMES) => bare(&one.value),
        _ => {
            let text = "entries below cn=schema,cn=config are named by one cn".to_owned();
            return Err((ResultCode::NamingViolation, text));
        }
    };
    match names.iter().all(|value| bare(value) == name) {
        true => Ok(()),
        false => Err((ResultCode::NamingViolation, "cn is another one than that of the RDN".to_owned())),
    }
}

fn check_classes(classes: &[&[u8]]) -> Result<(), Refusal> {
    const CLASS: &[u8] = b"olcSchemaConfig";
    let is_other = |class: &&&[u8]| !is_named(class, &[CLASS, b"olcConfig", b"top"]);
    let text = match classes.iter().find(is_other) {
        Some(class) => {
            format!("{}: entries below cn=schema,cn=config are of olcSchemaConfig", outcome::quoted(class))
        }
        None if classes.iter().any(|class| is_named(class, &[CLASS])) => return Ok(()),
        None => "entries below cn=schema,cn=config are of the object class olcSchemaConfig".to_owned(),
    };
    Err((ResultCode::ObjectClassViolation, text))
}
