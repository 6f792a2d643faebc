//! Builds a [`Schema`] from files, in any order of definition, and tells all faults at once.

mod resolve;
mod settings;
mod table;

use crate::Schema;
use crate::builtin;
use crate::source::{self, Statement};
use std::fmt;
use std::sync::Arc;

/// A fault of a schema file, or a remark about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Name of the file, as given.
    pub file: Arc<str>,
    /// Line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

/// Every fault of all files, in the order of the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildErrors(pub Vec<Fault>);

impl fmt::Display for BuildErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, fault) in self.0.iter().enumerate() {
            write!(f, "{}{fault}", if at == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for BuildErrors {}

/// No built-in schema file has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownBuiltin(pub String);

impl fmt::Display for UnknownBuiltin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no built-in schema '{}'; there are {}", self.0, builtin::BUILTIN_NAMES.join(", "))
    }
}

impl std::error::Error for UnknownBuiltin {}

/// The name of the file that [`Builder::recorded`] reads.
const RECORDED: &str = "recorded rules";

/// Collects schema files. A file that comes later may define an OID anew: its definition replaces the earlier.
#[derive(Debug)]
pub struct Builder {
    files: Vec<(Arc<str>, Vec<Statement>)>,
    faults: Vec<Fault>,
    warnings: Vec<Fault>,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

impl Builder {
    /// Begins with the system schema, without which no server can be: RFC 4512 and what this server maintains.
    pub fn new() -> Builder {
        let empty = Builder { files: Vec::new(), faults: Vec::new(), warnings: Vec::new() };
        empty.builtin("system").expect("the system schema is built in")
    }

    /// Adds the standard files: core, cosine, inetorgperson, nis, dyngroup and monitor.
    pub fn standard(self) -> Builder {
        builtin::STANDARD.iter().fold(self, |b, name| b.builtin(name).expect("standard files are built in"))
    }

    /// What [`Schema::write_rules`] wrote, of this or of an earlier version, with the attributes of this server's own entries, settings apart.
    pub fn recorded(text: &str) -> Builder {
        let own = Builder::new().builtin(builtin::OWN).expect("it is built in");
        own.file(RECORDED, text)
    }

    /// Adds a built-in file by its bare name, such as `rfc2307bis` (replaces what it shares with nis) or `dvtds`.
    pub fn builtin(self, name: &str) -> Result<Builder, UnknownBuiltin> {
        match builtin::text(name) {
            Some(text) => Ok(self.file(name, text)),
            None => Err(UnknownBuiltin(name.to_owned())),
        }
    }

    /// Adds a file: RFC text, slapd's `.schema`, cn=config LDIF or subschema LDIF. Faults wait for
    /// [`Builder::build`]. A built-in file that was added before is not read twice.
    pub fn file(mut self, name: &str, text: &str) -> Builder {
        if builtin::text(name).is_some() && self.files.iter().any(|(n, _)| &**n == name) {
            return self;
        }
        let name: Arc<str> = name.into();
        let (statements, remarks) = source::read(text);
        for remark in remarks {
            let list = if remark.is_error { &mut self.faults } else { &mut self.warnings };
            list.push(Fault { file: name.clone(), line: remark.line, message: remark.message });
        }
        self.files.push((name, statements));
        self
    }

    /// Resolves everything.
    pub fn build(self) -> Result<Schema, BuildErrors> {
        resolve::Resolver::new(self.faults, self.warnings).build(&self.files)
    }
}

#[cfg(test)]
mod tests;
