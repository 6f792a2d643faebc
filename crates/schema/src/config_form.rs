//! Definitions as entries of OpenLDAP's `cn=schema,cn=config` have them: `olcAttributeTypes: {0}( macro:1 NAME ... )`. A file of this form is read by
//! [`crate::Builder`]; here are the parts for who has such an entry as a request.

use crate::definition::{parse_attribute_type, parse_content_rule, parse_object_class, parse_syntax};
use crate::extend::Element;
use crate::macros::Macros;
use crate::source::without_index;
use crate::syntax::Syntax;
use std::borrow::Cow;

/// Bytes of a macro: so the work for a definition has a bound, whatever the macros are that it names.
const MACRO_BYTES_MAX: usize = 1024;

/// What an attribute of such an entry has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigAttribute {
    /// Definitions that can be added to a schema in use.
    Definitions(Element),
    /// Macros: names that stand for the beginning of OIDs.
    Macros,
    /// Syntaxes.
    Syntaxes,
}

impl ConfigAttribute {
    const ALL: [(&str, ConfigAttribute); 5] = [
        ("olcObjectIdentifier", ConfigAttribute::Macros),
        ("olcLdapSyntaxes", ConfigAttribute::Syntaxes),
        ("olcAttributeTypes", ConfigAttribute::Definitions(Element::AttributeType)),
        ("olcObjectClasses", ConfigAttribute::Definitions(Element::ObjectClass)),
        ("olcDitContentRules", ConfigAttribute::Definitions(Element::ContentRule)),
    ];

    /// The attribute with this name, in any case.
    pub fn find(name: &[u8]) -> Option<ConfigAttribute> {
        let mut all = ConfigAttribute::ALL.iter();
        all.find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name)).map(|(_, found)| *found)
    }
}

/// The macros of one request.
#[derive(Debug, Default)]
pub struct Expansion(Macros);

impl Expansion {
    /// Takes a value of `olcObjectIdentifier`: `{0}name oid`. Of several with one name the last counts.
    ///
    /// # Errors
    /// In words, when it is none, or a long one.
    pub fn add(&mut self, value: &[u8]) -> Result<(), String> {
        if value.len() > MACRO_BYTES_MAX {
            return Err(format!("a value of olcObjectIdentifier has {MACRO_BYTES_MAX} bytes at most"));
        }
        let fault = || "a value of olcObjectIdentifier is a name and an OID, with a space between".to_owned();
        let text = std::str::from_utf8(value).map_err(|_| fault())?;
        self.0.add(without_index(text)).map_err(|_| fault())
    }

    /// A definition without its number in braces, and with OIDs in place of macros. One that cannot be read is left as it is, for who judges it.
    ///
    /// # Errors
    /// In words, when it names what is no macro of this request.
    pub fn expand<'v>(&self, element: Element, value: &'v [u8]) -> Result<Cow<'v, [u8]>, String> {
        let Ok(text) = std::str::from_utf8(value) else { return Ok(value.into()) };
        let text = without_index(text);
        Ok(match self.expanded(element, text)? {
            Some(definition) => Cow::Owned(definition.into_bytes()),
            None => text.as_bytes().into(),
        })
    }

    /// A definition with OIDs in place of macros, if it has some.
    fn expanded(&self, element: Element, text: &str) -> Result<Option<String>, String> {
        let (before, after, definition) = match element {
            Element::AttributeType => {
                let Ok(before) = parse_attribute_type(text) else { return Ok(None) };
                let mut after = before.clone();
                after.oid = self.oid(&before.oid)?;
                after.syntax = before.syntax.as_deref().map(|syntax| self.oid(syntax)).transpose()?;
                return Ok((after != before).then(|| after.to_string()));
            }
            Element::ObjectClass => {
                let Ok(mut definition) = parse_object_class(text) else { return Ok(None) };
                let oid = self.oid(&definition.oid)?;
                (std::mem::replace(&mut definition.oid, oid.clone()), oid, definition.to_string())
            }
            Element::ContentRule => {
                let Ok(mut definition) = parse_content_rule(text) else { return Ok(None) };
                let oid = self.oid(&definition.oid)?;
                (std::mem::replace(&mut definition.oid, oid.clone()), oid, definition.to_string())
            }
            // OpenLDAP has no such attributes.
            Element::NameForm | Element::StructureRule => return Ok(None),
        };
        Ok((after != before).then_some(definition))
    }

    /// Is a value of `olcLdapSyntaxes` a syntax that the program has?
    pub fn is_known_syntax(&self, value: &[u8]) -> bool {
        let text = std::str::from_utf8(value).ok().map(without_index);
        let definition = text.and_then(|text| parse_syntax(text).ok());
        definition.and_then(|d| self.oid(&d.oid).ok()).is_some_and(|oid| Syntax::find(&oid).is_some())
    }

    fn oid(&self, word: &str) -> Result<String, String> {
        self.0.expand(word).map_err(|_| {
            format!(
                "'{word}' is neither an OID nor a macro of this request: macros are not kept, so the values of olcObjectIdentifier have to be in the entry that uses them"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expansion(macros: &[&str]) -> Expansion {
        let mut expansion = Expansion::default();
        macros.iter().for_each(|value| expansion.add(value.as_bytes()).expect("it is a macro"));
        expansion
    }

    fn expanded(expansion: &Expansion, element: Element, text: &str) -> Result<String, String> {
        let bytes = expansion.expand(element, text.as_bytes())?.into_owned();
        Ok(String::from_utf8(bytes).expect("it was text"))
    }

    #[test]
    fn names_of_attributes_have_no_case() {
        use ConfigAttribute::*;
        assert_eq!(ConfigAttribute::find(b"OLCattributetypes"), Some(Definitions(Element::AttributeType)));
        assert_eq!(ConfigAttribute::find(b"olcDitContentRules"), Some(Definitions(Element::ContentRule)));
        assert_eq!(ConfigAttribute::find(b"olcObjectIdentifier"), Some(Macros));
        assert_eq!(ConfigAttribute::find(b"attributeTypes"), None);
        assert_eq!(ConfigAttribute::find(b"olcAttributeTypes;x"), None);
    }

    #[test]
    fn macros_stand_for_oids_and_syntaxes() {
        let all =
            expansion(&["{1}At Root:1", "{0}root\t1.3.6.1.4.1.99999", "Text 1.3.6.1.4.1.1466.115.121.1.15"]);
        let (kind, class, rule) = (Element::AttributeType, Element::ObjectClass, Element::ContentRule);
        assert_eq!(
            expanded(&all, kind, "{12}( at:7 NAME 'taste' SYNTAX text{64} )").unwrap(),
            "( 1.3.6.1.4.1.99999.1.7 NAME 'taste' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15{64} )"
        );
        assert_eq!(
            expanded(&all, class, "( ROOT:2 NAME 'wine' MAY cn )").unwrap(),
            "( 1.3.6.1.4.1.99999.2 NAME 'wine' STRUCTURAL MAY cn )"
        );
        assert_eq!(expanded(&all, rule, "{0}( root:2 NOT l )").unwrap(), "( 1.3.6.1.4.1.99999.2 NOT l )");
        // What has none stays as it came, but for the number.
        assert_eq!(expanded(&all, kind, "{3} (1.2.3  SUP name)").unwrap(), " (1.2.3  SUP name)");
        for unread in ["", "{5}", "no definition", "( at:1", "{x}( 1.2.3 )"] {
            assert_eq!(expanded(&all, kind, unread).unwrap(), unread.trim_start_matches("{5}"));
        }
        assert_eq!(all.expand(kind, b"\xff").unwrap(), &b"\xff"[..]);
    }

    #[test]
    fn a_macro_that_is_not_in_the_request_is_named() {
        let text = expanded(&expansion(&[]), Element::AttributeType, "( other:1 SUP name )").unwrap_err();
        assert!(text.starts_with("'other:1' is neither an OID nor a macro of this request"), "{text}");
        let circle = expansion(&["a b:1", "b a:1"]);
        assert!(expanded(&circle, Element::ObjectClass, "( a:1 )").is_err());
        for malformed in [&b"alone"[..], b"", b"{0}", b"a b c", b"\xff 1.2", &[b'1'; 2000]] {
            assert!(Expansion::default().add(malformed).is_err());
        }
    }

    #[test]
    fn syntaxes_that_come_with_the_program_are_known() {
        let all = expansion(&["Lse 1.3.6.1.4.1.1466.115.121.1"]);
        assert!(all.is_known_syntax(b"{0}( Lse:15 DESC 'text' )"));
        assert!(!all.is_known_syntax(b"( 1.2.3.4 DESC 'mine' X-SUBST '1.3.6.1.4.1.1466.115.121.1.15' )"));
        assert!(!all.is_known_syntax(b"( other:15 )") && !all.is_known_syntax(b""));
    }
}
