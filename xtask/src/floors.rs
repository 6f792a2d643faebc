//! Floors: how many assertions run in production code, and the share of comments in the crates that are hardest to read.
//! xtask/floors.toml lists them, and they may only rise.

use crate::Fault;
use crate::source::File;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

const LIST: &str = "xtask/floors.toml";
const HEADER: &str = "\
# What may only get more: assertions in production code that are on in releases, and the share of comments in lines of code
# and comments. `cargo xtask tidy --fix` raises the numbers.
";
/// Crates that only test others.
const OF_TESTS: [&str; 2] = ["histories", "sim"];
/// Crates whose share of comments is held.
const COMMENTED: [&str; 2] = ["dsa", "store"];
const ASSERTS: [&str; 3] = ["assert", "assert_eq", "assert_ne"];

/// Calls of `assert!`, `assert_eq!` and `assert_ne!`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Asserts {
    /// Those that run.
    run: usize,
    /// Those that the compiler evaluates: in the value of a constant or in a `const` block.
    constant: usize,
}

/// Prints the numbers and checks that none is below its floor; with `fix`, raises the floors.
///
/// # Errors
/// The list cannot be read or written; a file is no Rust.
pub(crate) fn check(root: &Path, files: &[File], fix: bool) -> Result<Vec<Fault>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{LIST}: {error}");
    let text = std::fs::read_to_string(root.join(LIST)).map_err(|error| failed(&error))?;
    let listed: BTreeMap<String, usize> = toml::from_str(&text).map_err(|error| failed(&error))?;
    let now = measure(files)?;
    if fix {
        std::fs::write(root.join(LIST), raised(&listed, &now)).map_err(|error| failed(&error))?;
    }
    Ok(compare(&listed, &now))
}

fn measure(files: &[File]) -> Result<BTreeMap<String, usize>, String> {
    let mut by_crate: BTreeMap<&str, Asserts> = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs") && file.is_product()) {
        let Some(name) = file.crate_name().filter(|name| !OF_TESTS.contains(name)) else { continue };
        let tokens = file.text.parse().map_err(|error| format!("{}: {error}", file.path))?;
        count(tokens, false, by_crate.entry(name).or_default());
    }
    let run = by_crate.values().map(|asserts| asserts.run).sum();
    let constant: usize = by_crate.values().map(|asserts| asserts.constant).sum();
    let each: Vec<String> =
        by_crate.iter().map(|(name, asserts)| format!("{name} {}", asserts.run)).collect();
    println!("assertions: {run} that run ({}), {constant} in constants", each.join(", "));
    let mut now = BTreeMap::from([("assertions".to_owned(), run)]);
    for name in COMMENTED {
        let share = comment_permille(name, files);
        println!("comments of {name}: {}.{} %", share / 10, share % 10);
        now.insert(format!("comments of {name}, percent"), share / 10);
    }
    Ok(now)
}

fn compare(listed: &BTreeMap<String, usize>, now: &BTreeMap<String, usize>) -> Vec<Fault> {
    let falls = |(key, floor): (&String, &usize)| {
        let now = now.get(key).copied().unwrap_or_default();
        let message = format!("{key}: {now}, {floor} are listed: the number may only rise");
        (now < *floor).then(|| Fault::new(LIST, message))
    };
    listed.iter().filter_map(falls).collect()
}

fn raised(listed: &BTreeMap<String, usize>, now: &BTreeMap<String, usize>) -> String {
    let mut out = HEADER.to_owned();
    for (key, now) in now {
        let floor = listed.get(key).copied().unwrap_or_default();
        let _ = writeln!(out, "\"{key}\" = {}", floor.max(*now));
    }
    out
}

/// Lines of comments among a thousand lines of comments and code; blank lines and inline tests do not count.
fn comment_permille(name: &str, files: &[File]) -> usize {
    let of_crate =
        |file: &&File| file.crate_name() == Some(name) && file.path.ends_with(".rs") && file.is_product();
    let lines = files.iter().filter(of_crate).flat_map(|file| file.text.lines().take(file.tests_begin() - 1));
    let (comments, code): (Vec<&str>, Vec<&str>) =
        lines.map(str::trim).filter(|line| !line.is_empty()).partition(|line| line.starts_with("//"));
    comments.len() * 1000 / (comments.len() + code.len()).max(1)
}

/// Counts the assertions among tokens, without items that are only compiled for tests.
fn count(tokens: TokenStream, is_constant: bool, asserts: &mut Asserts) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let (mut at, mut constant_until) = (0, 0);
    while let Some(token) = tokens.get(at) {
        let is_constant = is_constant || at < constant_until;
        if let Some(len) = attribute(&tokens[at..]) {
            at += if is_test(&tokens[at + 1]) { test_item(&tokens[at..]) } else { len };
            continue;
        }
        match token {
            TokenTree::Group(group) => count(group.stream(), is_constant, asserts),
            TokenTree::Ident(word) if word == "const" => constant_until = at + constant(&tokens, at),
            TokenTree::Ident(word) if tokens.get(at + 1).is_some_and(|next| is(next, '!')) => {
                let counter = if is_constant { &mut asserts.constant } else { &mut asserts.run };
                *counter += usize::from(ASSERTS.iter().any(|name| word == name));
            }
            _ => {}
        }
        at += 1;
    }
}

fn is(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

fn is_word(token: Option<&TokenTree>, word: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == word)
}

fn is_group(token: &TokenTree, delimiter: Delimiter) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == delimiter)
}

/// Whether an item may begin after these tokens; `use<..>` in a type does not.
fn begins_item(before: &[TokenTree]) -> bool {
    before
        .last()
        .is_none_or(|last| is(last, ';') || matches!(last, TokenTree::Group(_)) || is_word(Some(last), "pub"))
}

/// The tokens of `#[..]`, if these begin with it.
fn attribute(tokens: &[TokenTree]) -> Option<usize> {
    let [sign, group, ..] = tokens else { return None };
    (is(sign, '#') && is_group(group, Delimiter::Bracket)).then_some(2)
}

/// Whether an attribute is a `cfg` that only tests have: `test` stands in it, outside `not(..)`.
fn is_test(attribute: &TokenTree) -> bool {
    fn has_test(group: &Group) -> bool {
        let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
        let is_negated = |at: usize| at > 0 && is_word(tokens.get(at - 1), "not");
        tokens.iter().enumerate().any(|(at, token)| match token {
            TokenTree::Group(group) => !is_negated(at) && has_test(group),
            token => is_word(Some(token), "test"),
        })
    }
    let TokenTree::Group(group) = attribute else { return false };
    is_word(group.stream().into_iter().next().as_ref(), "cfg") && has_test(group)
}

/// The tokens of an item with the attributes before it.
fn test_item(tokens: &[TokenTree]) -> usize {
    let mut at = 0;
    while let Some(len) = attribute(&tokens[at..]) {
        at += len;
    }
    let ends = |token: &TokenTree| is(token, ';') || is_group(token, Delimiter::Brace);
    let Some(end) = tokens[at..].iter().position(ends) else { return tokens.len() };
    let end = at + end;
    let is_import = !is(&tokens[end], ';') && tokens.get(end + 1).is_some_and(|token| is(token, ';'));
    end + 1 + usize::from(is_import)
}

/// The tokens of a constant through its `;`, or of a `const` block; none of a parameter, a function or a pointer.
fn constant(tokens: &[TokenTree], at: usize) -> usize {
    let after = |n: usize| tokens.get(at + n);
    if after(1).is_some_and(|next| is_group(next, Delimiter::Brace)) {
        return 2;
    }
    match begins_item(&tokens[..at]) && after(2).is_some_and(|colon| is(colon, ':')) {
        true => tokens[at..].iter().take_while(|token| !is(token, ';')).count(),
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assertions_count_where_they_run() {
        let text = r#"
            // assert!(no)
            const _: () = assert!(1 < 2);
            const fn f() { assert!(true, "assert!(no)"); }
            mod inner { fn g<const N: usize>(a: u8) { assert_eq!(a, 1); const { assert!(N > 0) }; debug_assert!(a > 0); } }
            #[cfg(test)] #[allow(unused)] fn h() { assert!(false) }
            #[cfg(test)] use a::{b, c};
            #[cfg(not(test))] fn k() { assert!(true) }
            #[cfg(all(test, not(loom)))] fn i() { std::assert_ne!(1, 2) }
            #[cfg(test)] mod tests { fn j() { assert!(false) } }
        "#;
        let mut asserts = Asserts::default();
        count(text.parse().unwrap(), false, &mut asserts);
        assert_eq!(asserts, Asserts { run: 3, constant: 2 });
    }

    #[test]
    fn inline_tests_and_blank_lines_are_neither_comment_nor_code() {
        let text =
            "// one\n\nfn f() {}\n/// two\nfn g() {}\nfn h() {}\n#[cfg(test)]\nmod tests {}\n// three\n";
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let tests = file("crates/a/src/a/tests.rs", "// four");
        let files = [file("crates/a/src/a.rs", text), tests, file("crates/b/src/b.rs", "// five")];
        assert_eq!(comment_permille("a", &files), 400);
    }

    #[test]
    fn floors_may_only_rise() {
        let of = |size: usize| BTreeMap::from([("assertions".to_owned(), size)]);
        assert!(compare(&of(10), &of(9))[0].message.contains("only rise"));
        assert!(compare(&of(10), &BTreeMap::new())[0].message.contains("only rise"));
        assert!(compare(&of(10), &of(11)).is_empty());
        assert!(raised(&of(10), &of(11)).ends_with("\"assertions\" = 11\n"));
        assert!(raised(&of(10), &of(9)).ends_with("\"assertions\" = 10\n"));
    }
}
