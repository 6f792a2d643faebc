//! The documentation of the keys, made from their table.

use super::keys;
use super::keys::is_changeable_at_node;
use dsa::settings::Scope;
use std::fmt::Write as _;

/// The table of keys of docs/configuration.md.
pub fn markdown() -> String {
    let mut out = String::from(
        "| key | value | default | scope | meaning | in `cn=config` |\n|---|---|---|---|---|---|\n",
    );
    for key in keys() {
        let form = key.form.replace('|', "\\|");
        let many = if key.many() { ", or an array of them" } else { "" };
        let online = match key.is_online() {
            true => ", changeable",
            false if is_changeable_at_node(&key) => ", changeable at the node",
            false => "",
        };
        let scope = match key.scope {
            Scope::Directory | Scope::Rules => "directory",
            Scope::Hash => "node; a hash: directory",
            Scope::Node => "node",
        };
        let (name, attribute, default, text) = (key.name, key.attribute(), key.default, key.text);
        let _ = writeln!(
            out,
            "| `{name}` | `{form}`{many} | {default} | {scope} | {text} | `{attribute}`{online} |"
        );
    }
    out
}

/// A configuration file with every key commented out and explained.
pub fn template() -> String {
    let mut out = String::from(
        "# Configuration of pando serve. Every key is shown; none needs to be set but `suffix`.\n",
    );
    let mut section = "";
    for key in keys() {
        let (of, name) = key.name.split_once('.').unwrap_or(("", key.name));
        if of != section {
            section = of;
            let _ = write!(out, "\n[{section}]\n");
        }
        let _ = write!(out, "\n# {}\n# Default: {}.\n# {name} = \"{}\"\n", key.text, key.default, key.form);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_this_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
        let text = std::fs::read_to_string(path).unwrap();
        if !text.contains(&markdown()) {
            panic!("docs/configuration.md is out of date; its table should be:\n{}", markdown());
        }
    }

    #[test]
    fn the_template_sets_nothing_and_is_valid() {
        let read = crate::config::read("template", &template());
        assert_eq!(read.faults, []);
        assert_eq!(read.config, crate::config::Config::default());
    }
}
