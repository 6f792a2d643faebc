//! Attributes in which the server shows its settings: made from their names, so that a new setting needs no schema file.

use super::Builder;
use crate::builtin;
use std::fmt::Write as _;

impl Builder {
    /// Adds an attribute for each setting, given its name and whether it may have several values. Those of the built-in file stay
    /// as that defines them. None is a part of what decides changes, nor of the hash that earlier versions made of a schema: so a
    /// log of an earlier version is replayed although this one has more settings.
    pub fn settings<N: AsRef<str>>(self, settings: impl IntoIterator<Item = (N, bool)>) -> Builder {
        let there = builtin::text(builtin::OWN).unwrap_or_default();
        let mut text = String::new();
        for (name, many) in settings {
            let name = name.as_ref();
            if !there.contains(&format!("NAME '{name}'")) {
                let (oid, single) = (oid(name), if many { "" } else { "SINGLE-VALUE " });
                writeln!(
                    text,
                    "attributetype ( {oid} NAME '{name}' EQUALITY caseExactMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 \
                     {single}USAGE dSAOperation )"
                )
                .expect("a String takes all");
            }
        }
        let mut all = self.file(builtin::SETTINGS, &text);
        // Whenever they are added, they have the numbers behind those of the built-in file: see [`Builder::recorded`].
        if let Some(at) = all.files.iter().position(|(name, _)| &**name == builtin::OWN) {
            all.files[at + 1..].rotate_right(1);
        }
        all
    }
}

/// The OID of a setting: a UUID of version 8 (RFC 9562) below 2.25 (ITU-T X.667), the FNV-1a hash of the name. So it is the same in
/// each version.
fn oid(name: &str) -> String {
    let hash = name.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    });
    let (version, variant) = (0xf_u128 << 76, 0x3_u128 << 62);
    format!("2.25.{}", hash & !(version | variant) | 8 << 76 | 2 << 62)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DefinitionKind, Schema};

    fn written(schema: &Schema) -> (String, String) {
        let (mut rules, mut defined) = (String::new(), String::new());
        schema.write_rules(&mut rules);
        schema.write_as_defined(DefinitionKind::AttributeTypes, |text| defined += text);
        (rules, defined)
    }

    #[test]
    fn a_new_setting_has_an_attribute_and_decides_nothing() {
        let standard = Builder::new().standard().build().expect("it is sound");
        let names = [("pandoThreads", false), ("pandoTasteOfTheDay", false), ("pandoColours", true)];
        let schema = Builder::new().standard().settings(names).build().expect("it is sound");
        assert_eq!(written(&schema), written(&standard));
        let of = |name: &str| schema.attribute_type(schema.find_type(name.as_bytes()).expect("it is there"));
        assert!(
            of("pandoTasteOfTheDay").definition.single_value && !of("pandoColours").definition.single_value
        );
        let numbers = of("pandoColours").oid.split('.').map(str::parse::<i32>);
        assert!(
            numbers.clone().count() > 7 && numbers.clone().all(|number| number.is_ok()),
            "for strict readers"
        );
        assert_eq!(schema.find_type(oid("pandoColours").as_bytes()), schema.find_type(b"pandoColours"));
        assert_eq!(
            of("pandoThreads").oid,
            standard.attribute_type(standard.find_type(b"pandoThreads").expect("it is there")).oid
        );
        let again =
            Builder::recorded(&written(&schema).0).settings(schema.settings()).build().expect("it is sound");
        assert_eq!(
            again.settings().collect::<Vec<_>>(),
            [("pandoTasteOfTheDay", false), ("pandoColours", true)]
        );
    }

    #[test]
    fn an_oid_is_a_uuid_of_version_8() {
        let uuid: u128 = oid("pandoMemoryShare")[5..].parse().expect("it is a number");
        assert_eq!((uuid >> 76 & 0xf, uuid >> 62 & 3), (8, 2));
        assert_eq!(oid("pandoMemoryShare"), oid("pandoMemoryShare"));
    }
}
