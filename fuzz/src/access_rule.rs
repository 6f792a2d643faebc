//! Access rules and limit rules in their one-line form, and rules of other servers.

use access::translate::{Dialect, translate};

/// What parses can be written and parsed again to the same; an error is inside of the text. What comes of a file of another server are
/// rules.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match access::parse(text) {
        Ok(rule) => {
            let written = rule.to_string();
            assert_eq!(access::parse(&written), Ok(rule), "a written rule is the same rule: {written}");
        }
        Err(error) => assert!(error.at <= text.len(), "{error}"),
    }
    match access::parse_limit(text) {
        Ok(rule) => {
            let written = rule.to_string();
            assert_eq!(
                access::parse_limit(&written),
                Ok(rule),
                "a written limit is the same limit: {written}"
            );
        }
        Err(error) => assert!(error.at <= text.len(), "{error}"),
    }
    for dialect in [Dialect::OpenLdap, Dialect::Ns389, Dialect::OpenDj] {
        for (_, rule) in translate(dialect, text).rules {
            assert_eq!(access::parse(&rule.to_string()), Ok(rule));
        }
    }
}
