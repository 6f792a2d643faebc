//! Templates in makeLDIF's language: what a directory looks like, as text.
//!
//! A template file has definitions, branches and templates; blocks are separated by empty lines, `#` begins a
//! comment line.
//!
//! ```text
//! define suffix=dc=example,dc=com
//!
//! branch: ou=People,[suffix]
//! subordinateTemplate: person:1000
//!
//! template: person
//! rdnAttr: uid
//! objectClass: inetOrgPerson
//! uid: user.<sequential>
//! sn: <last>
//! cn: <first> {sn}
//! ```
//!
//! `[name]` inserts a definition, `{attribute}` or `{attribute:n}` the (first n characters of the) entry's value,
//! `<tag:arguments>` something made; a backslash takes the meaning off `[`, `{`, `<` and itself. The tags are listed
//! at [`tag`]. An entry depends on seed, template and position only, so the order of generation does not matter.

mod lists;
mod parse;
mod part;
pub mod tag;

use crate::entry::{Entry, NameId};
use crate::random::Random;
use part::{Context, Line};
use std::fmt;
use std::io;

pub use parse::Options;

/// A template file, understood.
#[derive(Clone, Debug, Default)]
pub struct Template {
    names: Vec<Vec<u8>>,
    branches: Vec<Branch>,
    templates: Vec<EntryTemplate>,
    count: u64,
}

/// A single entry at a fixed place, and what stands below it.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Where.
    pub dn: Vec<u8>,
    /// What stands below: index of a template, and how many entries.
    pub subordinates: Vec<(usize, u64)>,
    lines: Vec<Line>,
}

/// How entries of one kind are made.
#[derive(Clone, Debug, Default)]
struct EntryTemplate {
    name: String,
    rdn: Vec<NameId>,
    lines: Vec<Line>,
    subordinates: Vec<(usize, u64)>,
    /// The line after which all values of the RDN are known.
    rdn_ready: usize,
}

/// Why a template file was refused, and where. Its text leaves out the line, which stands behind the name of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// Line number from 1, of the template file or the included one; 0: the file as a whole.
    pub line: usize,
    /// What is wrong.
    pub reason: &'static str,
    /// The offending text.
    pub text: String,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text.trim() {
            "" => f.write_str(self.reason),
            text => write!(f, "{}: {text}", self.reason),
        }
    }
}

impl std::error::Error for TemplateError {}

/// Reads a file that a template names (`include`, `<file:...>`).
pub type Load<'a> = &'a dyn Fn(&str) -> io::Result<Vec<u8>>;

/// The data sets that need no file, and their template files.
const BUILT_IN: [(&str, &str); 3] = [
    // `uid=N` flat below the suffix, one attribute of eight bytes.
    ("dvtds", include_str!("../templates/dvtds.template")),
    // `cn=userN`, four classes, values of 16, 8, 26 and 46 bytes.
    ("mvault", include_str!("../templates/mvault.template")),
    // `uid=user.N,ou=People`, 26 attributes, 3 kB with a photo.
    ("slamd", include_str!("../templates/slamd.template")),
];

/// The template file of the data set with this name, if it needs no file: `dvtds`, `mvault` or `slamd`.
pub fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(other, _)| *other == name).map(|(_, text)| *text)
}

/// Where an entry stands: what, beside the seed, decides about its values.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Index of the template.
    pub template: usize,
    /// Number below its parent, from 0.
    pub number: u64,
    /// Number among all entries of the template, from 0.
    pub serial: u64,
    /// The parent's DN.
    pub parent: &'a [u8],
}

impl Template {
    /// Understands a template file.
    ///
    /// # Errors
    /// With line and text of the first fault.
    pub fn parse(text: &str, options: &Options<'_>) -> Result<Template, TemplateError> {
        parse::parse(text, options)
    }

    /// The attribute descriptions that [`NameId`] counts.
    pub fn names(&self) -> &[Vec<u8>] {
        &self.names
    }

    /// The branches in the order of the file.
    pub fn branches(&self) -> &[Branch] {
        &self.branches
    }

    /// How many templates there are.
    pub fn templates(&self) -> usize {
        self.templates.len()
    }

    /// What stands below each entry of template `index`.
    pub fn subordinates(&self, index: usize) -> &[(usize, u64)] {
        &self.templates[index].subordinates
    }

    /// Makes the entry of a branch.
    pub fn branch_entry(&self, index: usize, seed: u64, entry: &mut Entry) {
        let branch = &self.branches[index];
        entry.clear();
        entry.dn.extend_from_slice(&branch.dn);
        let mut random = Random::for_item(seed, u64::MAX, index as u64);
        let parent = model::dn::split_first(&branch.dn).1.unwrap_or(b"");
        let mut context = Context { random: &mut random, number: 0, serial: 0, parent };
        for line in &branch.lines {
            line.write(&mut context, entry);
        }
    }

    /// Makes the entry at a place.
    pub fn entry(&self, place: Place<'_>, seed: u64, entry: &mut Entry) {
        let template = &self.templates[place.template];
        let mut random = Random::for_item(seed, place.template as u64, place.serial);
        entry.clear();
        let mut context =
            Context { random: &mut random, number: place.number, serial: place.serial, parent: place.parent };
        for (index, line) in template.lines.iter().enumerate() {
            line.write(&mut context, entry);
            if index == template.rdn_ready {
                name(template, &self.names, place.parent, entry);
            }
        }
    }

    /// The total number of entries, branches included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The template whose entries stand alone below one branch, if their DN is a function of their number: template,
    /// index of the branch and number of entries.
    pub fn numbered(&self) -> Option<(usize, usize, u64)> {
        let all = self.branches.iter().enumerate();
        let mut found =
            all.flat_map(|(at, b)| b.subordinates.iter().map(move |&(template, n)| (template, at, n)));
        let first = found.next()?;
        let template = &self.templates[first.0];
        let fixed = template.rdn.iter().all(|name| {
            template.lines.iter().filter(|line| line.name == *name).all(|line| line.is_fixed(template))
        });
        (found.next().is_none() && fixed && template.subordinates.is_empty()).then_some(first)
    }

    /// The DN alone of an entry of a [`Template::numbered`] template.
    pub fn entry_dn(&self, place: Place<'_>, entry: &mut Entry) {
        let template = &self.templates[place.template];
        let mut random = Random::new(0);
        entry.clear();
        let mut context =
            Context { random: &mut random, number: place.number, serial: place.serial, parent: place.parent };
        for line in template.lines.iter().filter(|line| line.is_fixed(template)) {
            line.write(&mut context, entry);
        }
        name(template, &self.names, place.parent, entry);
    }
}

/// Builds the DN from the RDN's values and the parent.
fn name(template: &EntryTemplate, names: &[Vec<u8>], parent: &[u8], entry: &mut Entry) {
    let mut dn = std::mem::take(&mut entry.dn);
    dn.clear();
    for &attribute in &template.rdn {
        let Some(value) = entry.first(attribute) else { continue };
        if !dn.is_empty() {
            dn.push(b'+');
        }
        dn.extend_from_slice(&names[attribute.0 as usize]);
        dn.push(b'=');
        escape(value, &mut dn);
    }
    if !parent.is_empty() {
        dn.push(b',');
        dn.extend_from_slice(parent);
    }
    entry.dn = dn;
}

/// Appends a value as RFC 4514 section 2.4 wants it in a DN.
fn escape(value: &[u8], out: &mut Vec<u8>) {
    if value.iter().all(|&b| b.is_ascii_alphanumeric() || b == b'.' || b == b'-') {
        out.extend_from_slice(value);
        return;
    }
    for (at, &byte) in value.iter().enumerate() {
        let edge = byte == b' ' && (at == 0 || at == value.len() - 1) || byte == b'#' && at == 0;
        match byte {
            0 => out.extend_from_slice(b"\\00"),
            b'"' | b'+' | b',' | b';' | b'<' | b'>' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            _ if edge => out.extend_from_slice(&[b'\\', byte]),
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests;
