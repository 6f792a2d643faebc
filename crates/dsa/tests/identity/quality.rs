//! How good a password must be under a policy.

use super::policy::*;
use super::*;
use model::ResultCode::*;
use proto::op::ModifyKind::{self, *};

/// The values of pandoPwdQuality, beside those of the policy.
fn good(client: &mut Client, values: &[(&str, &str)]) {
    let mut changes: Vec<(ModifyKind, &str, Vec<&str>)> = vec![(Add, "objectClass", vec!["pandoPwdQuality"])];
    changes.extend(values.iter().map(|(name, value)| (Add, *name, vec![*value])));
    let changes: Vec<(ModifyKind, &str, &[&str])> =
        changes.iter().map(|(kind, name, values)| (*kind, *name, &values[..])).collect();
    assert_eq!(client.another().modify(POLICY, &changes).code, Success);
}

#[test]
fn test_y1_poor_passwords_are_refused_and_the_text_says_why() {
    under(&[("pwdMinLength", "3")], |mut client| {
        good(
            &mut client,
            &[("pandoPwdMinClasses", "2"), ("pandoPwdMinScore", "3"), ("pandoPwdNotNames", "TRUE")],
        );
        client.must_bind(ADA, "first-word");
        let poor = [
            ("lowercase", "kinds of characters"),
            ("KING-size", "a name of its user"),
            ("xx-ADA-99", "a name of its user"),
            ("Password1", "too easy to guess"),
            ("qwerty-123", "too easy to guess"),
        ];
        for (word, why) in poor {
            assert_eq!(
                client.renew("first-word", word),
                (ConstraintViolation, Some((None, Some(5)))),
                "{word}"
            );
            let changes: Changes<'_> =
                &[(Delete, "userPassword", &["first-word"]), (Add, "userPassword", &[word])];
            let text = client.modify(ADA, changes).text;
            assert!(text.contains(why) && !text.contains(word), "{word}: {text}");
        }
        assert_eq!(client.renew("first-word", "kq7#vTz0!xPw2m").0, Success);
        // An administrator may set any, also of an entry that is added; others may not.
        let mut root = client.another();
        assert_eq!(root.modify(ADA, &[(Replace, "userPassword", &["ada"])]).code, Success);
        // Without a dictionary nobody can say whether a word is in it.
        assert_eq!(root.modify(POLICY, &[(Add, "pandoPwdDictionary", &["TRUE"])]).code, Success);
        client.must_bind(ADA, "ada");
        let lacking: Changes<'_> =
            &[(Delete, "userPassword", &["ada"]), (Add, "userPassword", &["kq7#vTz0!xPw2n"])];
        assert!(client.modify(ADA, lacking).text.contains("password-dictionary"));
        client.dsa.refuse_words(b"Dragonfly\n").expect("it is short");
        assert!(
            client
                .modify(ADA, &[(Delete, "userPassword", &["ada"]), (Add, "userPassword", &["12dragonFLY!"])])
                .text
                .contains("many people")
        );
        assert_eq!(client.modify(ADA, lacking).code, Success);
    });
}

#[test]
fn test_y7_quality_is_checked_when_it_is_written() {
    under(&[("pwdMinLength", "3")], |mut client| {
        good(&mut client, &[("pandoPwdMinClasses", "4"), ("pandoPwdMinScore", "0")]);
        let mut root = client.another();
        for (name, value) in
            [("pandoPwdMinClasses", "5"), ("pandoPwdMinScore", "-1"), ("PANDOPWDMINSCORE", "5")]
        {
            let end = root.modify(POLICY, &[(Replace, name, &[value])]);
            assert_eq!(end.code, ConstraintViolation, "{name}: {}", end.text);
        }
    });
}
