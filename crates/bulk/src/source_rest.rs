//! What the configuration of another server has besides indexes: access rules, and definitions of its schema.

use crate::source_configuration::{ConfigEntry, Configuration, Directive, Said};
use std::collections::BTreeSet;
use std::path::Path;

/// Files of OpenLDAP whose definitions are in the standard schema.
const STANDARD_FILES: [&str; 7] =
    ["collective", "core", "cosine", "dyngroup", "inetorgperson", "nis", "ppolicy"];

/// What an import does not take of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceRest {
    /// Access rules of OpenLDAP, global ones of OpenDJ. Those of 389 Directory Server are in its entries.
    pub access_rules: u64,
    /// Names and OIDs, in lower case, of the attribute types and object classes that it defines.
    pub defined: BTreeSet<String>,
    /// Files and folders of definitions that it names, without those that the standard schema has.
    pub schema_files: Vec<String>,
}

/// Finds what a configuration has besides indexes.
pub fn source_rest(configuration: &Configuration) -> SourceRest {
    let mut rest = SourceRest::default();
    match &configuration.0 {
        Said::Slapd(directives) => directives.iter().for_each(|directive| rest.directive(directive)),
        Said::Ldif(entries) => entries.iter().for_each(|entry| rest.entry(entry)),
    }
    rest
}

impl SourceRest {
    fn directive(&mut self, (word, text): &Directive) {
        match &word[..] {
            "access" => self.access_rules += 1,
            "attributetype" | "attribute" | "objectclass" => self.defined.extend(names(text)),
            "include" => self.file(text.trim_matches('"')),
            _ => {}
        }
    }

    fn entry(&mut self, entry: &ConfigEntry) {
        let rules = entry.values("olcaccess").chain(entry.values("ds-cfg-global-aci"));
        self.access_rules += rules.count() as u64;
        for attribute in ["olcattributetypes", "olcobjectclasses", "attributetypes", "objectclasses"] {
            self.defined.extend(entry.values(attribute).flat_map(names));
        }
        entry.values("olcinclude").for_each(|path| self.file(path));
        // What was added to the schema of 389 Directory Server while it ran.
        entry.values("nsslapd-schemadir").for_each(|dir| self.file(&format!("{dir}/99user.ldif")));
    }

    /// Takes a file that may have definitions. An included one may have anything else.
    fn file(&mut self, path: &str) {
        let stem = Path::new(path).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if !STANDARD_FILES.contains(&stem) && !self.schema_files.iter().any(|known| known == path) {
            self.schema_files.push(path.to_owned());
        }
    }
}

/// The OID and the names of a definition (RFC 4512 section 4.1), in lower case. None of what is no definition.
fn names(definition: &str) -> Vec<String> {
    let mut tokens = tokens(definition).skip_while(|token| *token != "(").skip(1);
    let Some(oid) = tokens.next() else { return Vec::new() };
    let mut found = vec![oid.to_ascii_lowercase()];
    let behind = tokens.skip_while(|token| !token.eq_ignore_ascii_case("NAME")).skip(1);
    for token in behind.skip_while(|token| *token == "(") {
        let Some(name) = token.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) else { break };
        found.push(name.to_ascii_lowercase());
        // One name without parentheses is followed by a keyword, and several by the end of theirs.
    }
    found
}

/// Parentheses, quoted texts with their quotes, and words.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let bytes = match first {
            '(' | ')' => 1,
            '\'' => rest[1..].find('\'').map_or(rest.len(), |at| at + 2),
            _ => rest.find(|c: char| c.is_whitespace() || matches!(c, '(' | ')')).unwrap_or(rest.len()),
        };
        let (token, behind) = rest.split_at(bytes);
        rest = behind;
        Some(token)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (u64, Vec<String>, Vec<String>) {
        let rest = source_rest(&Configuration::read(text.as_bytes()).expect("it can be read"));
        (rest.access_rules, rest.defined.into_iter().collect(), rest.schema_files)
    }

    #[test]
    fn slapd_conf_has_rules_and_includes() {
        let text = "include /etc/ldap/schema/core.schema\ninclude \"/etc/ldap/schema/mail.schema\"\n\
            include /etc/ldap/schema/mail.schema\nattributetype ( 1.2.3.4 NAME 'taste'\n  SUP name )\n\
            objectclass ( 1.2.3.5 NAME ( 'wine' 'drink' )\n  DESC 'x' SUP top )\n\
            # access to nothing\naccess to attrs=userPassword\n by self write\n by * none\nAccess to * by * read\n";
        let (rules, defined, files) = found(text);
        assert_eq!((rules, &files[..]), (2, &["/etc/ldap/schema/mail.schema".to_owned()][..]));
        assert_eq!(defined, ["1.2.3.4", "1.2.3.5", "drink", "taste", "wine"]);
    }

    #[test]
    fn ldif_has_rules_and_definitions() {
        let slapd = "dn: cn={4}mail,cn=schema,cn=config\nobjectClass: olcSchemaConfig\n\
            olcAttributeTypes: {0}( 1.2.3.4 NAME 'mailQuota' SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )\n\
            olcObjectClasses: {0}(1.2.3.5 NAME('mailUser'))\n\n\
            dn: olcDatabase={1}mdb,cn=config\nobjectClass: olcMdbConfig\nolcAccess: {0}to attrs=userPassword by self write\n\
            olcAccess: {1}to * by * read\nolcRootPW: ( NAME 'secret' )\n";
        let (rules, defined, files) = found(slapd);
        assert_eq!((rules, files.len()), (2, 0));
        assert_eq!(defined, ["1.2.3.4", "1.2.3.5", "mailquota", "mailuser"]);
        let dse = "dn: cn=config\nobjectClass: nsslapdConfig\nnsslapd-schemadir: /etc/dirsrv/slapd-a/schema\naci: (targetattr=*)\n";
        assert_eq!(found(dse), (0, Vec::new(), vec!["/etc/dirsrv/slapd-a/schema/99user.ldif".to_owned()]));
        let config = "dn: cn=Access Control Handler,cn=config\nobjectClass: top\n\
            ds-cfg-global-aci: (extop=\"1.2\")\nds-cfg-global-aci: (targetattr=\"*\")\n";
        assert_eq!(found(config).0, 2);
        assert!(Configuration::read(b"dn: cn=x\nno ldif\n").is_err());
    }

    #[test]
    fn what_is_no_definition_has_no_names() {
        for text in ["", "(", "olcSchemaConfig", "( )", "'", "( 1.2 NAME 'x"] {
            assert!(names(text).iter().all(|name| name != "x"), "{text}");
        }
    }
}
