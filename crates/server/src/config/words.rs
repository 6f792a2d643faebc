//! A table of the file as a line of words ([`dsa::settings::words`]). An array in a table is joined with commas.

use super::scalar::scalar;
pub(super) use dsa::settings::words::{parse, put};
use toml::de::{DeTable, DeValue};

/// The line of a table of the file. `None` if it has other tables in it.
pub(super) fn of_table(table: &DeTable<'_>) -> Option<String> {
    let mut line = String::new();
    for (name, value) in table {
        let text = match value.get_ref() {
            DeValue::Array(items) => {
                let items: Option<Vec<String>> = items.iter().map(|item| scalar(item.get_ref())).collect();
                items?.join(",")
            }
            value => scalar(value)?,
        };
        put(&mut line, name.get_ref(), &text);
    }
    Some(line)
}
