//! Rows X2 and X5: a value that may not be tested cannot be guessed, however often and by whatever request, and what is hidden shows in no count.

use super::*;
use ResultCode::{InsufficientAccessRights, SizeLimitExceeded, Success};
use model::Scope;
use proto::op::ModifyKind::Replace;

const GUESSES: usize = 10_000;
const RIGHT: usize = 4711;

/// All that a client sees of a search: code, matchedDN, text, entries and references, in their order.
fn seen(found: &Found) -> (ResultCode, String, String, Vec<String>, usize) {
    let dns = found.dns().into_iter().map(str::to_owned).collect();
    (found.end.code, found.end.matched.clone(), found.end.text.clone(), dns, found.references.len())
}

#[test]
fn x2_ten_thousand_guesses_have_one_answer() {
    let hides = ["no: all attrs=employeeNumber,carLicense; users; deny=search,compare,read"];
    let number = RIGHT.to_string();
    as_ada(&hides, |mut client| {
        client.root().must_modify(GRACE, &[(Replace, "employeeNumber", &[&number])]);
        let forms = [
            "(employeeNumber=*)",
            "(employeeNumber>=*)",
            "(&(uid=grace)(employeeNumber=*))",
            "(&(objectClass=person)(!(employeeNumber=*)))",
            "(|(uid=ada)(employeeNumber:caseExactMatch:=*))",
        ];
        // As of one that is hidden, too, and that nobody has.
        let absent: Vec<_> = forms.map(|form| form.replace("employeeNumber", "carLicense")).to_vec();
        let mut ask = |form: &str, guess: usize| {
            let filter = form.replacen('*', &guess.to_string(), 1);
            seen(&client.search("dc=example", Scope::Subtree, &filter, &["1.1"]))
        };
        for guess in (0..GUESSES).filter(|guess| guess % forms.len() != RIGHT % forms.len()).chain([RIGHT]) {
            let which = guess % forms.len();
            assert_eq!(ask(forms[which], guess), ask(&absent[which], guess), "{} {guess}", forms[which]);
        }
        for (form, absent) in forms.iter().zip(&absent) {
            assert_eq!(ask(form, RIGHT), ask(absent, RIGHT), "{form}");
        }
        let mut compare = |dn: &str, guess: usize| {
            let end = client.compare(dn, "employeeNumber", &guess.to_string());
            (end.code, end.matched, end.text)
        };
        let first = compare(GRACE, 0);
        assert_eq!(first.0, InsufficientAccessRights);
        assert!((1..GUESSES).all(|guess| compare(GRACE, guess) == first));
        assert_eq!(compare(ADA, RIGHT), first, "nor is it known that there is none");
    });
}

/// Grace comes between Ada and Bob, and takes no place of a page or of a limit.
#[test]
fn x5_what_is_hidden_counts_in_no_page_and_no_limit() {
    let hides = ["hide: subtree=\"uid=grace,ou=people,dc=example\" attrs=entry,**; users; deny=all"];
    as_ada(&hides, |mut client| {
        let limited = |client: &mut Client, most: i32| {
            let change = |search: &mut proto::op::Search<'_>| search.size_limit = most;
            client.search_with("dc=example", Scope::Subtree, "(uid=*)", &["1.1"], change, &[])
        };
        let whole = limited(&mut client, 2);
        assert_eq!((whole.end.code, whole.dns()), (Success, vec![ADA, BOB]));
        assert_eq!(limited(&mut client, 1).end.code, SizeLimitExceeded);
        // A page of two is the last one: that another entry follows would tell of it.
        let page = client.page("dc=example", Scope::Subtree, "(uid=*)", 2, b"");
        assert_eq!((page.dns(), page.cookie.as_deref()), (vec![ADA, BOB], Some(&b""[..])));
    });
}
