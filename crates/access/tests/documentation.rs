//! The rules that docs/access.md shows are rules, and mean something under the standard schema.

#[test]
fn rules_of_the_documentation_are_rules() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/access.md");
    let text = std::fs::read_to_string(path).expect("it is there");
    let schema = schema::Builder::new().standard().build().expect("it is sound");
    let blocks = text.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    let rules: Vec<String> = blocks.flat_map(str::lines).map(str::to_owned).collect();
    // Two examples show a helpdesk.
    let parsed =
        rules.iter().map(|rule| access::parse(rule).unwrap_or_else(|error| panic!("{rule}: {error}")));
    let parsed: Vec<access::Rule> = parsed.collect();
    assert_eq!(access::check_all(&parsed, &schema), Ok(()));
    let examples =
        text.split("## Examples").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("a chapter");
    assert!((1..=20).all(|number| examples.contains(&format!("\n{number}. "))), "twenty examples");
}
