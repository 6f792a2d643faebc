//! How definitions are shown to clients. Strict readers, such as the UnboundID SDK and the API of Apache Directory, refuse a
//! schema that names a supertype before it is defined, gives a name twice, allows what a superclass requires, or has numbers in
//! OIDs that are no 31 bits long.

use crate::definition::{AttributeTypeDefinition, ObjectClassDefinition};
use crate::{ObjectClass, Schema};
use model::TypeId;

/// Where Microsoft lets everybody make OIDs out of UUIDs whose numbers are all short.
const OF_UUIDS: &str = "1.2.840.113556.1.8000.2554";

/// The OID that a definition of this server's own files has for clients: `2.25.N` (X.667), the number of a UUID, becomes the
/// same UUID as four numbers of 16 bits, one more, and two of 24. `None` for all that are as short as they should be.
pub(crate) fn short_oid(oid: &str) -> Option<String> {
    let number: u128 = oid.strip_prefix("2.25.")?.parse().ok().filter(|number| *number > i32::MAX as u128)?;
    let part = |from: u32, bits: u32| (number >> (128 - from - bits)) & ((1 << bits) - 1);
    let short =
        [part(0, 16), part(16, 16), part(32, 16), part(48, 16), part(64, 16), part(80, 24), part(104, 24)];
    let short: Vec<String> = short.iter().map(u128::to_string).collect();
    Some(format!("{OF_UUIDS}.{}", short.join(".")))
}

/// The names of a definition, each once: case does not tell names apart.
fn once(names: &[String]) -> Vec<String> {
    let is_new = |(at, name): &(usize, &String)| !names[..*at].iter().any(|n| n.eq_ignore_ascii_case(name));
    names.iter().enumerate().filter(is_new).map(|(_, name)| name.clone()).collect()
}

/// An attribute type as it is shown.
pub(crate) fn attribute_type(oid: &str, definition: &AttributeTypeDefinition) -> AttributeTypeDefinition {
    AttributeTypeDefinition { oid: oid.to_owned(), names: once(&definition.names), ..definition.clone() }
}

/// An object class as it is shown: each attribute once, and what it or a superclass requires it need not allow.
pub(crate) fn object_class(schema: &Schema, class: &ObjectClass) -> ObjectClassDefinition {
    let ObjectClassDefinition { must, may, names, .. } = &class.definition;
    let attributes = |list: &[String], met: &mut Vec<TypeId>| {
        let is_new = |name: &&String| match schema.find_type(name.as_bytes()) {
            Some(id) if met.contains(&id) => false,
            id => {
                met.extend(id);
                true
            }
        };
        list.iter().filter(is_new).cloned().collect()
    };
    let must = attributes(must, &mut Vec::new());
    let may = attributes(may, &mut class.all_must.clone());
    ObjectClassDefinition {
        oid: class.oid.clone(),
        names: once(names),
        must,
        may,
        ..class.definition.clone()
    }
}

/// The positions below `count` in their order, but each behind those above it. Who goes in circles ends there.
pub(crate) fn superiors_first<S: IntoIterator<Item = usize>>(
    count: usize,
    superiors: impl Fn(usize) -> S,
) -> Vec<usize> {
    let mut order = Vec::with_capacity(count);
    let mut is_met = vec![false; count];
    // With each one the question whether those above it are listed already.
    let mut open = Vec::new();
    for first in 0..count {
        open.push((first, false));
        while let Some((at, is_next)) = open.pop() {
            if is_next {
                order.push(at);
            } else if !std::mem::replace(&mut is_met[at], true) {
                open.push((at, true));
                let above: Vec<usize> = superiors(at).into_iter().collect();
                open.extend(
                    above.into_iter().rev().filter(|above| !is_met[*above]).map(|above| (above, false)),
                );
            }
        }
    }
    assert_eq!(order.len(), count, "each definition is shown once");
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_in_short_numbers() {
        // 12345678-9abc-def0-1122-334455667788
        let number = 0x1234_5678_9abc_def0_1122_3344_5566_7788_u128;
        let expected = format!(
            "{OF_UUIDS}.{}.{}.{}.{}.{}.{}.{}",
            0x1234, 0x5678, 0x9abc, 0xdef0, 0x1122, 0x33_4455, 0x66_7788
        );
        assert_eq!(short_oid(&format!("2.25.{number}")), Some(expected));
        for other in ["2.5.4.3", "2.25.7", "2.25.1.99999999999", "cn-oid", "2.25."] {
            assert_eq!(short_oid(other), None, "{other}");
        }
    }

    #[test]
    fn those_above_come_first() {
        let above = |at: usize| [vec![2, 3], vec![0], vec![], vec![2], vec![5], vec![4]][at].clone();
        assert_eq!(superiors_first(6, above), [2, 3, 0, 1, 5, 4]);
        let deep = superiors_first(100_000, |at| (at + 1 < 100_000).then_some(at + 1));
        assert!(deep.iter().copied().eq((0..100_000).rev()));
    }
}
