//! Access rules in their one-line form.

/// What parses can be written and parsed again to the same; an error is inside of the text.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match access::parse(text) {
        Ok(rule) => {
            let written = rule.to_string();
            assert_eq!(access::parse(&written), Ok(rule), "a written rule is the same rule: {written}");
        }
        Err(error) => assert!(error.at <= text.len(), "{error}"),
    }
}
