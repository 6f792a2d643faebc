//! Schema files that are part of the server, by bare name.

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
    "rfc2307bis" "rfc2307bis.schema",
    "dvtds" "dvtds.schema",
}

/// What [`crate::Builder::standard`] loads besides the system schema, which is always there.
pub(crate) const STANDARD: &[&str] =
    &["core", "cosine", "inetorgperson", "nis", "dyngroup", "ppolicy", "monitor"];

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

/// What the attributes are called that [`crate::Builder::settings`] makes; no path of a file is it.
pub(crate) const SETTINGS: &str = "\0settings";
