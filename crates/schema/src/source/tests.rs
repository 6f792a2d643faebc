use super::*;

#[test]
fn statements_and_their_lines() {
    let (statements, remarks) = read(
        "# comment\nattributetype ( 1.2.3\n\tNAME 'a'\n# inside\n\n  SYNTAX 1.2 )\nobjectClass(1.2.4\nNAME 'at the margin ('\n)\n\
         matchingRule ( 1.2.5\n  NAME 'x' )\nldapsyntax ( 1.2.6 )\n",
    );
    assert_eq!(statements.len(), 3);
    let first = &statements[0];
    assert_eq!((first.kind, first.line()), (StatementKind::AttributeType, 2));
    assert_eq!(first.line_of(first.text.find("NAME").unwrap()), 3);
    assert_eq!(first.line_of(first.text.find("SYNTAX").unwrap()), 6);
    assert_eq!((statements[1].kind, statements[1].line()), (StatementKind::ObjectClass, 7));
    assert_eq!(statements[1].line_of(statements[1].text.find("margin").unwrap()), 8);
    assert_eq!((statements[2].kind, statements[2].line()), (StatementKind::Syntax, 12));
    assert_eq!(remarks.len(), 1);
    assert_eq!((remarks[0].line, remarks[0].is_error), (10, false));
}

#[test]
fn ldif_is_unfolded() {
    let (statements, remarks) = read(
        "dn: cn=x\nobjectClass: top\nobjectClass: subschema\ncn: x\nolcAttributeTypes: {12}( 1.2.3 NA\n ME 'a' SYN\n TAX 1.2 )\n\
         objectClasses: ( 1.2.4 NAME 'b' )\n",
    );
    assert!(remarks.is_empty());
    assert_eq!(statements.len(), 2);
    assert_eq!(statements[0].text, "( 1.2.3 NAME 'a' SYNTAX 1.2 )");
    assert_eq!(statements[0].line_of(0), 5);
    assert_eq!(statements[0].line_of(statements[0].text.find("'a'").unwrap()), 6);
    assert_eq!(statements[0].line_of(statements[0].text.find("1.2 )").unwrap()), 7);
    assert_eq!(statements[1].line(), 8);
}

#[test]
fn base64_values() {
    assert_eq!(base64("SGVsbG8=").as_deref(), Some(&b"Hello"[..]));
    assert_eq!(base64("SGVsbG8h").as_deref(), Some(&b"Hello!"[..]));
    // What earlier versions took, a directory may have recorded.
    for lenient in ["SGVsbG8", "SGVsbG8===", "SGVsbG8hQ"] {
        assert!(base64(lenient).is_some_and(|bytes| bytes.starts_with(b"Hello")), "{lenient}");
    }
    assert_eq!(base64("a b"), None);
}
