use super::*;
use crate::system::tests::standard_schema;
use proto::list::Octets;
use proto::list::octet_list;

#[test]
fn long_selections_take_one_place() {
    let schema = standard_schema();
    let mut made = Made::default();
    let mut choose = |name: &str, times: usize| {
        let raw = octet_list(vec![name.as_bytes(); times]);
        let selectors = Octets::parse(&raw).unwrap();
        let asked = RequestedSelection { selectors, types_only: false, follows: false, view: ViewId::ROOT };
        // Twice: a selection that was used last is found by another way.
        let chosen = [made.selection(asked, &schema), made.selection(asked, &schema)];
        (
            chosen.map(|chosen| chosen.kept),
            made.remembered.len(),
            made.long.as_ref().map(|long| long.selectors.len()),
        )
    };
    assert_eq!(choose("cn", 1), ([true; 2], 1, None));
    assert_eq!(choose("cn", 2_000), ([false; 2], 1, Some(2_000 * 4)));
    assert_eq!(choose("uid", 2_000), ([false; 2], 1, Some(2_000 * 5)));
    assert_eq!(choose("uid", 1), ([true; 2], 2, Some(2_000 * 5)));
}
