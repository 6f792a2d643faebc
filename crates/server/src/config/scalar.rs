//! Single values of TOML as text.

use dsa::settings::value::on_off;
use toml::de::DeValue;

/// The text of a value that is not made of values. Numbers in their decimal form, whatever they were written in.
pub(super) fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Boolean(on) => Some(on_off(*on)),
        DeValue::Integer(number) => {
            let decimal = i64::from_str_radix(number.as_str(), number.radix());
            Some(decimal.map_or_else(|_| number.as_str().to_owned(), |decimal| decimal.to_string()))
        }
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}
