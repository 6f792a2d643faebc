//! Values of settings, from text and back: the same in the configuration file, in flags and in `cn=config`.

pub use model::quantity::bytes;

/// `on`, `off` and what people write instead.
///
/// # Errors
/// In words, what it should have been.
pub fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" | "true" | "yes" | "TRUE" => Ok(true),
        "off" | "false" | "no" | "FALSE" => Ok(false),
        _ => Err(format!("`{text}` is neither `on` nor `off`")),
    }
}

/// `on` or `off`.
pub fn on_off(is_on: bool) -> String {
    if is_on { "on" } else { "off" }.to_owned()
}

/// A number from `min` to `max`.
///
/// # Errors
/// In words, the bounds.
pub fn number<T: TryFrom<u64>>(text: &str, min: u64, max: u64) -> Result<T, String> {
    within(text.parse().ok(), min, max)
        .and_then(|n| T::try_from(n).ok())
        .ok_or_else(|| format!("`{text}` is not a number from {min} to {max}"))
}

/// A number of bytes from `min` to `max`.
///
/// # Errors
/// In words, what is wrong.
pub fn bytes_within(text: &str, min: u64, max: u64) -> Result<u64, String> {
    let number = within(Some(bytes(text)?), min, max);
    number.ok_or_else(|| format!("`{text}` is not a number of bytes from {min} to {max}"))
}

/// The number, if there is one and it is in its range.
fn within(number: Option<u64>, min: u64, max: u64) -> Option<u64> {
    number.filter(|n| (min..=max).contains(n))
}

/// The DN of an entry.
///
/// # Errors
/// In words, what is wrong with it.
pub fn dn(text: &str) -> Result<String, String> {
    match model::dn::parse(text.as_bytes()) {
        // Nobody is the root DSE, and nothing lies outside of it.
        Ok(rdns) if rdns.is_empty() => Err("the empty DN is the root DSE; name an entry".to_owned()),
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!("`{text}` is not a DN: {error}")),
    }
}

/// Whether a text is a filter (RFC 4515). Which attributes there are is for the schema to say.
///
/// # Errors
/// What is wrong with it.
pub fn check_filter(text: &str) -> Result<(), String> {
    proto::filter_string::parse(text.as_bytes()).map(drop).map_err(|error| error.to_string())
}

/// Schemes of URLs of servers.
const SERVER_SCHEMES: [&str; 2] = ["ldap://", "ldaps://"];

/// The URL of a server: a scheme, a host and perhaps a port. The name of a request follows it in a referral.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn server_url(text: &str) -> Result<String, String> {
    let scheme = SERVER_SCHEMES
        .iter()
        .find(|scheme| text.get(..scheme.len()).is_some_and(|given| given.eq_ignore_ascii_case(scheme)));
    let Some(scheme) = scheme else {
        return Err(format!("`{text}` begins with neither `ldap://` nor `ldaps://`"));
    };
    let host = text[scheme.len()..].strip_suffix('/').unwrap_or(&text[scheme.len()..]);
    let is_host =
        !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:[]".contains(&b));
    match is_host {
        true => Ok(format!("{scheme}{host}")),
        false => {
            Err(format!("`{text}` is not {scheme}HOST[:PORT]: the name and scope of each request are added"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_counts() {
        assert_eq!(bytes("8GiB"), Ok(8 << 30));
        assert_eq!(bytes("512 MiB"), Ok(512 << 20));
        assert_eq!(bytes("17"), Ok(17));
        assert!(bytes("GiB").is_err() && bytes("8 apples").is_err() && bytes("99999999999TiB").is_err());
        assert_eq!(bytes_within("1KiB", 1, 1024), Ok(1024));
        assert!(bytes_within("2KiB", 1, 1024).unwrap_err().contains("1 to 1024"));
    }

    #[test]
    fn numbers_have_bounds() {
        assert_eq!(number::<u8>("255", 0, 255), Ok(255));
        assert!(number::<u8>("256", 0, 1000).is_err() && number::<u64>("0", 1, 2).is_err());
        assert!(number::<u64>("-1", 0, 2).unwrap_err().contains("from 0 to 2"));
    }

    #[test]
    fn switches_take_the_words_of_ldap_too() {
        assert_eq!((switch("on"), switch("FALSE")), (Ok(true), Ok(false)));
        assert!(switch("maybe").is_err());
    }
}
