//! Schema files that are part of the server, by bare name.

use std::collections::BTreeSet;
use std::sync::LazyLock;

macro_rules! files {
    ($($name:literal $path:literal,)*) => {
        /// Names that [`crate::Builder::builtin`] knows.
        pub const BUILTIN_NAMES: &[&str] = &[$($name,)*];

        /// The text of a built-in file.
        pub(crate) fn text(name: &str) -> Option<&'static str> {
            match name { $($name => Some(include_str!(concat!("../data/", $path))),)* _ => None }
        }
    };
}

files! {
    "system" "system.schema",
    "core" "core.schema",
    "cosine" "cosine.schema",
    "inetorgperson" "inetorgperson.schema",
    "nis" "nis.schema",
    "dyngroup" "dyngroup.schema",
    "monitor" "monitor.schema",
    "ppolicy" "ppolicy.schema",
    "dynamic" "dynamic.schema",
    "collective" "collective.schema",
    "rfc2307bis" "rfc2307bis.schema",
    "dvtds" "dvtds.schema",
    "ad" "ad.schema",
}

/// What [`crate::Builder::standard`] loads besides the system schema, which is always there.
pub(crate) const STANDARD: &[&str] =
    &["core", "cosine", "inetorgperson", "nis", "dyngroup", "ppolicy", "dynamic", "collective", "monitor"];

/// The file of what the server shows of itself and of its settings.
pub(crate) const OWN: &str = "monitor";

/// Attribute types that the file needs of others, by what begins their definition. Rules that were recorded need not have them: those of a directory
/// without the standard files.
pub(crate) const OWN_NEEDS: [(&str, &str); 3] = [
    (
        "attributetype ( 2.5.4.13 ",
        "NAME 'description' EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch \
         SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )\n",
    ),
    ("attributetype ( 2.5.4.34 ", "NAME 'seeAlso' SUP distinguishedName )\n"),
    (
        "attributetype ( 1.3.6.1.4.1.250.1.57 ",
        "NAME 'labeledURI' EQUALITY caseExactMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )\n",
    ),
];

/// Is a line the definition of an OID that a standard file has, but that of the server's own entries?
pub(crate) fn is_standard(line: &str) -> bool {
    let others = || STANDARD.iter().filter(|name| **name != OWN).chain(&["system"]);
    defined(line).is_some_and(|oid| others().any(|name| defines(name, oid)))
}

/// Has the standard schema a definition with this OID?
pub(crate) fn is_of_standard(oid: &str) -> bool {
    STANDARD.iter().chain(&["system"]).any(|name| defines(name, oid))
}

/// Has a built-in file a definition with this OID?
pub(crate) fn has(oid: &str) -> bool {
    BUILTIN_NAMES.iter().any(|name| defines(name, oid))
}

fn defines(name: &str, oid: &str) -> bool {
    static OIDS: LazyLock<Vec<(&str, BTreeSet<&str>)>> = LazyLock::new(|| {
        let oids = |name| text(name).unwrap_or_default().lines().filter_map(defined).collect();
        BUILTIN_NAMES.iter().map(|name| (*name, oids(name))).collect()
    });
    OIDS.iter().any(|(of, oids)| *of == name && oids.contains(oid))
}

/// The OID that a line of RFC text begins to define.
fn defined(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let is_definition =
        matches!(words.next()?.to_ascii_lowercase().as_str(), "attributetype" | "objectclass");
    (is_definition && words.next()? == "(").then(|| words.next()).flatten()
}

/// What the attributes are called that [`crate::Builder::settings`] makes; no path of a file is it.
pub(crate) const SETTINGS: &str = "\0settings";
