//! `pando export --schema-to`: what the schema of a directory has beyond the standard one, as a file for `--schema`.

use crate::failed::Failed;
use crate::local;
use crate::whole_file::WholeFile;
use client::{ClientError, Link, Server, values};
use dsa::SUBSCHEMA_DN;
use schema::{DefinitionKind, Schema};
use server::config::Config;
use std::io::{self, Write};
use std::path::Path;

/// What a file defines: the attribute of the subschema that has such definitions, and how a statement begins.
const KINDS: [(DefinitionKind, &str, &str); 6] = [
    (DefinitionKind::LdapSyntaxes, "ldapSyntaxes", "ldapsyntax"),
    (DefinitionKind::AttributeTypes, "attributeTypes", "attributetype"),
    (DefinitionKind::ObjectClasses, "objectClasses", "objectclass"),
    (DefinitionKind::ContentRules, "dITContentRules", "ditcontentrule"),
    (DefinitionKind::NameForms, "nameForms", "nameform"),
    (DefinitionKind::StructureRules, "dITStructureRules", "ditstructurerule"),
];

/// Definitions of each of [`KINDS`], as the subschema shows them.
pub(crate) type Definitions = [Vec<String>; KINDS.len()];

/// Those of a schema.
pub(crate) fn of_schema(schema: &Schema) -> Definitions {
    KINDS.map(|(kind, ..)| {
        let mut all = Vec::new();
        schema.write_definitions(kind, |text| all.push(text.to_owned()));
        all
    })
}

/// Those that a server shows.
///
/// # Errors
/// When the connection fails, or the server refuses.
pub(crate) fn of_server(server: &Server) -> Result<Definitions, ClientError> {
    let mut link = Link::open(server)?;
    let mut all = Definitions::default();
    for ((_, attribute, _), found) in KINDS.iter().zip(&mut all) {
        let values = values(&mut link, SUBSCHEMA_DN.as_bytes(), attribute.as_bytes())?;
        found.extend(values.into_iter().map(|value| String::from_utf8_lossy(&value).into_owned()));
    }
    Ok(all)
}

/// Writes those that the standard schema lacks, or has otherwise. What is derived from another comes after it.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn write(all: &Definitions, path: &Path) -> Result<(), Failed> {
    let standard = of_schema(&local::schema(&Config::default())?);
    let failed = |error: io::Error| Failed::of(format!("{}: {error}", path.display()));
    let mut text = String::from("# Definitions beyond those of the standard schema.\n");
    for (((_, _, keyword), all), known) in KINDS.iter().zip(all).zip(&standard) {
        for definition in all.iter().filter(|definition| !known.contains(definition)) {
            text.extend([keyword, " ", definition, "\n"]);
        }
    }
    let mut file = WholeFile::create(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.finish().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::{Builder, SchemaFile};

    #[test]
    fn what_is_written_makes_the_same_schema() {
        let own = "attributetype ( 1.3.6.1.4.1.99999.1.1 NAME 'taste' DESC 'added' SUP name )\n\
                   objectclass ( 1.3.6.1.4.1.99999.2.1 NAME 'wine' SUP top STRUCTURAL MUST ( cn $ taste ) )\n";
        let with = |text: &str| {
            let standard =
                Builder::new().standard().with_file(SchemaFile { name: "dvtds".into(), text: "".into() });
            standard.with_file(SchemaFile { name: "own".into(), text: text.into() }).build().unwrap()
        };
        let schema = with(own);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("own.schema");
        write(&of_schema(&schema), &path).unwrap_or_else(|_| panic!("the disk has room"));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("'wine'") && text.lines().count() < 50, "{text}");
        let again =
            Builder::new().standard().with_file(SchemaFile { name: "a".into(), text: text.as_str().into() });
        assert_eq!(of_schema(&again.build().unwrap()), of_schema(&schema));
    }
}
