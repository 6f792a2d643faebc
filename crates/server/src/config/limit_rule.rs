//! A limit rule as a table of the file, `[[limits.rule]]`: made into the one-line form, as an access rule is.

use super::access_rule::{Fault, Line};
use std::ops::Range;
use toml::de::DeTable;

/// Reads a rule's table; `span` is where it stands. Returns the one-line form.
pub(super) fn read(table: &DeTable<'_>, span: Range<usize>) -> Result<String, Fault> {
    let known: Vec<&str> = ["name", "by"].into_iter().chain(access::Limits::KEYS).collect();
    if let Some((key, _)) = table.iter().find(|(key, _)| !known.contains(&key.get_ref().as_ref())) {
        let text = format!("unknown key `{}` of a limit; there are {}", key.get_ref(), known.join(", "));
        return Err((key.span(), text));
    }
    let mut line = Line::new(span.clone());
    line.name(table, &span)?;
    line.subjects(": ", table, &span)?;
    line.begin(span, "; ");
    for key in access::Limits::KEYS {
        if let Some(value) = table.get(key) {
            line.word(key, value)?;
        }
    }
    line.checked(access::parse_limit)
}

#[cfg(test)]
mod tests {
    use crate::config::read;

    fn faults(text: &str) -> Vec<String> {
        read("p.toml", text).faults.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_table_is_the_limit_that_its_one_line_form_is() {
        let table = r#"
            [limits]
            size = 5
            [[limits.rule]]
            name = "apps"
            by = [{ dn-subtree = "ou=Services,dc=x", peer = ["10.0.0.0/8", "ldapi"] }, { group = "cn=a,dc=x", nested = false }]
            look-through = 0
            page = 500
            unindexed = "refuse"
            [[limits.rule]]
            name = "rest"
            by = { users = true }
            size = 1_000
        "#;
        let lines = [
            "apps: dn-subtree=\"ou=Services,dc=x\" peer=10.0.0.0/8,ldapi | group=\"cn=a,dc=x\" nested=false; \
             look-through=0 page=500 unindexed=refuse",
            "rest: users; size=1000",
        ];
        let strings = format!("limits.rule = [{:?}, {:?}]\n", lines[0], lines[1]);
        for text in [table, &strings] {
            let read = read("p.toml", text);
            assert_eq!(read.faults, []);
            let shown: Vec<String> =
                read.config.settings.access.limits.iter().map(ToString::to_string).collect();
            assert_eq!(shown, lines);
        }
    }

    #[test]
    fn examples_of_the_documentation_are_sound() {
        let page = include_str!("../../../../docs/limits.md");
        let blocks = page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
        let blocks: Vec<&str> = blocks.collect();
        assert!(!blocks.is_empty());
        blocks.iter().for_each(|block| assert_eq!(faults(block), [""; 0], "{block}"));
    }

    #[test]
    fn a_fault_of_a_table_is_at_its_key() {
        let rule = |rest: &str| format!("[[limits.rule]]\nname = \"a\"\n{rest}\n");
        for (text, fault) in [
            (
                rule("by = { users = true }\nsise = 3"),
                "p.toml:4:1: unknown key `sise` of a limit; there are name, by, size",
            ),
            (rule("size = 3"), "p.toml:1:1: the rule has no `by`"),
            (rule("by = { users = true }\nsize = -3"), "p.toml:4:8: `size`: `-3` is not a number"),
            (rule("by = { users = true }"), "p.toml:1:1: which limits? size, time"),
            (rule("by = { users = true }\nunindexed = \"no\""), "p.toml:4:13: unknown value of `unindexed`"),
            (rule("by = { self = true }\nsize = 3"), "p.toml:3:6: `self` depends on an entry"),
        ] {
            let found = faults(&text);
            assert!(found.len() == 1 && found[0].starts_with(fault), "{text}: {found:?}");
        }
    }
}
