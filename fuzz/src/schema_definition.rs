//! Schema definitions: what parses can be printed and parsed again to the same.

use schema::definition::{parse_attribute_type, parse_object_class, parse_syntax};

/// Reads the bytes as each kind of definition.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(definition) = parse_attribute_type(text) {
        assert_eq!(parse_attribute_type(&definition.to_string()).as_ref(), Ok(&definition));
    }
    if let Ok(definition) = parse_object_class(text) {
        assert_eq!(parse_object_class(&definition.to_string()).as_ref(), Ok(&definition));
    }
    if let Ok(definition) = parse_syntax(text) {
        assert_eq!(parse_syntax(&definition.to_string()).as_ref(), Ok(&definition));
    }
}
