use super::*;

#[test]
fn standard_files_have_no_faults() {
    let schema = Builder::new().standard().build().unwrap_or_else(|e| panic!("{e}"));
    assert!(schema.warnings().is_empty(), "{:?}", schema.warnings());
}
