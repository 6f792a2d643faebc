//! Rows X2 and X5: a value that may not be tested cannot be guessed, however often and by whatever request, and what is hidden shows in no count.

use super::*;
use ResultCode::{InsufficientAccessRights, SizeLimitExceeded, Success};
use model::Scope;
use proto::control::sort::{self, SortKey};
use proto::control::virtual_list_view::{self, Target, ViewResponse, VirtualListView};
use proto::op::ModifyKind::{self, Replace};

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

/// What a client sees of the list of all people by a key, of a part of it, and of that part by a value: the names in their order, and
/// what the view says.
fn list(client: &mut Client, by: &str, target: Target<'_>) -> (Vec<String>, Option<ViewResponse>) {
    let (reverse, name) = by.strip_prefix('-').map_or((false, by), |name| (true, name));
    let key = SortKey { attribute: name.as_bytes(), ordering_rule: None, reverse };
    let by = sort::encode(&[key]);
    let all = i32::MAX;
    let view = VirtualListView { before_count: all, after_count: all, target, context_id: None }.encode();
    let controls = [sort::control(&by, true), virtual_list_view::control(&view, true)];
    let people = "ou=people,dc=example";
    let found = client.search_with(people, Scope::One, "(uid=*)", &["1.1"], |_| {}, &controls);
    assert_eq!(found.end.code, Success, "{}", found.end.text);
    let said = found.controls.iter().find(|(oid, _)| oid.as_bytes() == virtual_list_view::RESPONSE_OID);
    let said = said.and_then(|(_, value)| ViewResponse::decode(value.as_deref()?).ok());
    (found.entries.iter().map(|(dn, _)| dn.clone()).collect(), said)
}

/// By an attribute, a password, an option or a value that may not be read the order is that of entries without it: that of their ids. So is the
/// place of a value among them.
#[test]
fn x5_x1_the_order_is_that_of_what_may_be_read() {
    let hides = [
        "no: all attrs=employeeNumber,sn; users; deny=read",
        "some: all attrs=title values=(title=s*); users; deny=read",
    ];
    let first = || Target::ByOffset { offset: 1, content_count: 0 };
    as_ada(&hides, |mut client| {
        let mut root = client.root();
        for (dn, number, title) in [(ADA, "30", "secret"), (GRACE, "20", "boss"), (BOB, "10", "aide")] {
            let changes: &[(_, &str, &[&str])] = &[
                (Replace, "employeeNumber", &[number]),
                (Replace, "title", &[title]),
                (Replace, "userPassword", &[number]),
            ];
            root.must_modify(dn, changes);
        }
        let ids = [ADA, GRACE, BOB].map(str::to_owned).to_vec();
        assert_eq!(
            list(&mut root, "employeeNumber", first()).0,
            [BOB, GRACE, ADA],
            "who may, sees the order"
        );
        for by in
            ["employeeNumber", "-employeeNumber", "sn", "-sn", "userPassword", "-userPassword", "carLicense"]
        {
            assert_eq!(list(&mut client, by, first()).0, ids, "{by}");
        }
        for value in ["0", "10", "15", "20", "99"] {
            let at = |client: &mut Client, by| list(client, by, Target::AtLeast(value.as_bytes()));
            assert_eq!(at(&mut client, "employeeNumber"), at(&mut client, "carLicense"), "{value}");
            assert_eq!(at(&mut client, "-userPassword"), at(&mut client, "-carLicense"), "{value}");
        }
        // Of the values of an attribute those count that may be read.
        assert_eq!(list(&mut client, "title", first()).0, [BOB, GRACE, ADA]);
        root.must_modify(ADA, &[(Replace, "title", &["sa", "zz"])]);
        root.must_modify(GRACE, &[(Replace, "title", &["zzz", "so"])]);
        assert_eq!(list(&mut client, "title", first()).0, [BOB, ADA, GRACE]);
    });
}

/// An entry that is hidden takes no place of a list: positions, counts and the place of a value are those of a directory without it.
#[test]
fn x5_a_hidden_entry_is_in_no_list() {
    let hides = ["hide: subtree=\"uid=grace,ou=people,dc=example\" attrs=entry,**; users; deny=all"];
    as_ada(&hides, |mut client| {
        let mut root = client.root();
        let looks = |client: &mut Client| {
            let offsets = [(1, 0), (2, 0), (1, 2), (2, 2), (5, 10)];
            let offset = |(offset, content_count)| Target::ByOffset { offset, content_count };
            let targets = offsets.map(offset).into_iter().chain([&b"Hopper"[..], b"Hz"].map(Target::AtLeast));
            targets.flat_map(|target| ["sn", "-sn"].map(|by| list(client, by, target))).collect::<Vec<_>>()
        };
        let hidden = looks(&mut client);
        assert_eq!(hidden[0].1.map(|said| said.content_count), Some(2));
        assert_eq!(
            list(&mut root, "sn", Target::AtLeast(b"Hopper")).1.map(|said| said.content_count),
            Some(3)
        );
        assert_eq!(root.delete(GRACE).code, Success);
        assert_eq!(looks(&mut client), hidden);
    });
}

/// An index has all entries and values. What a view says by it is what it says without, for those who may not see all.
#[test]
fn x5_positions_of_an_index_tell_of_nothing_hidden() {
    let rules = [
        "hide: subtree=\"uid=grace,ou=people,dc=example\" attrs=entry,**; users; deny=all",
        "hide: all attrs=entry filter=\"(sn=hopper)\"; users; deny=read",
        "hide: all attrs=sn; users; deny=read",
        "hide: all attrs=sn; users; deny=search",
        "hide: all attrs=sn values=\"(sn=hop*)\"; users; deny=read",
        "hide: subtree=\"uid=grace,ou=people,dc=example\" attrs=sn; users; deny=read",
        // One of several values of an entry, which would be the least.
        "hide: all attrs=\"sn;lang-de\"; users; deny=read",
    ];
    let offsets = [(1, 0), (2, 0), (2, 2), (1, 2)]
        .map(|(offset, content_count)| Target::ByOffset { offset, content_count });
    let targets = [&offsets[..], &[&b"Hopper"[..], b"Hz"].map(Target::AtLeast)].concat();
    let looks = |client: &mut Client| {
        let mut seen = Vec::new();
        for (by, base, filter) in [
            ("sn", "dc=example", "(sn=*)"),
            ("-sn", "dc=example", "(sn=*)"),
            ("sn", "dc=example", "(objectClass=*)"),
            ("-sn", "dc=example", "(objectClass=*)"),
            ("sn", "ou=people,dc=example", "(objectClass=person)"),
            ("-sn", "ou=people,dc=example", "(&(objectClass=person)(sn=*))"),
        ] {
            for &target in &targets {
                let (reverse, name) = by.strip_prefix('-').map_or((false, by), |name| (true, name));
                let by =
                    sort::encode(&[SortKey { attribute: name.as_bytes(), ordering_rule: None, reverse }]);
                // Of one entry: the others are counted and not looked at.
                let view =
                    VirtualListView { before_count: 0, after_count: 0, target, context_id: None }.encode();
                let controls = [sort::control(&by, true), virtual_list_view::control(&view, true)];
                let found = client.search_with(base, Scope::Subtree, filter, &["1.1"], |_| {}, &controls);
                let said =
                    found.controls.iter().find(|(oid, _)| oid.as_bytes() == virtual_list_view::RESPONSE_OID);
                let said = said.and_then(|(_, value)| ViewResponse::decode(value.as_deref()?).ok());
                seen.push((
                    found.end.code,
                    found.entries.into_iter().map(|(dn, _)| dn).collect::<Vec<_>>(),
                    said,
                ));
            }
        }
        seen
    };
    for rule in rules {
        let [plain, indexed] = [false, true].map(|is_indexed| {
            let mut config = config();
            config.settings.configured.access.rules =
                ::access::parse_all(&[rule.to_owned()]).expect("the rule is sound");
            if is_indexed {
                config.store.indexes.push(store::IndexSettings::of("sn", [store::IndexKind::Ordering]));
            }
            let mut client = Client::with(config);
            if rule.contains("lang") {
                client.must_modify(ADA, &[(ModifyKind::Add, "sn;lang-de", &["Aal"])]);
            }
            let of_root = looks(&mut client);
            client.must_bind(ADA, "lace");
            (of_root, looks(&mut client))
        });
        assert_eq!(indexed, plain, "{rule}");
        assert_ne!(indexed.0, indexed.1, "{rule}");
    }
}

/// A list is remembered for its requester, and for the rights that it has now.
#[test]
fn x5_a_list_is_of_its_requester() {
    let hides = [
        "hide: subtree=\"uid=grace,ou=people,dc=example\" attrs=entry,**; dn=\"uid=ada,ou=people,dc=example\"; deny=all",
    ];
    let first = || Target::ByOffset { offset: 1, content_count: 0 };
    as_ada(&hides, |mut client| {
        // One thread serves both.
        client.bind_root();
        assert_eq!(list(&mut client, "sn", first()).0, [GRACE, ADA, BOB]);
        client.must_bind(ADA, "lace");
        assert_eq!(list(&mut client, "sn", first()).0, [ADA, BOB]);
        client.must_bind(BOB, "tail");
        assert_eq!(list(&mut client, "sn", first()).0, [GRACE, ADA, BOB]);
    });
}
