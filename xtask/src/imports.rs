//! Which file of a crate uses names that another one defines, read from the tokens: enough of Rust's name resolution for the sources of
//! this project, without macros' expansions.

use crate::source::File;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};

/// By file: the files whose definitions it uses.
pub(crate) type Graph = BTreeMap<String, BTreeSet<String>>;

/// Words in front of the name of an item.
const ITEMS: [&str; 8] = ["fn", "struct", "enum", "trait", "type", "const", "static", "union"];

/// A module: a file, or a part of one.
#[derive(Default)]
struct Module {
    file: String,
    parent: usize,
    /// Names that it defines.
    items: BTreeSet<String>,
    children: BTreeMap<String, usize>,
    /// What it imports, by the name it has here.
    imports: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    /// Paths in its code, and names alone.
    paths: BTreeSet<Vec<String>>,
    names: BTreeSet<String>,
}

/// A crate's modules; the first is its root.
struct Crate<'f> {
    files: BTreeMap<&'f str, &'f str>,
    modules: Vec<Module>,
}

/// What a path leads to.
#[derive(Clone, Copy)]
enum Found {
    /// The module itself.
    Module(usize),
    /// An item of this module.
    ItemOf(usize),
}

/// The graph of the crate in folder `crates/<name>`.
///
/// # Errors
/// If a file is no Rust.
pub(crate) fn crate_of(name: &str, files: &[File]) -> Result<Graph, String> {
    let files = files.iter().filter(|file| file.path.ends_with(".rs")).map(|file| (&*file.path, &*file.text));
    let mut all = Crate { files: files.collect(), modules: Vec::new() };
    let folder = format!("crates/{name}/src");
    let root = ["lib.rs", "main.rs"].map(|root| format!("{folder}/{root}"));
    if let Some(root) = root.into_iter().find(|root| all.files.contains_key(&**root)) {
        all.load_file(root, 0, &folder)?;
    }
    Ok(all.graph())
}

impl Crate<'_> {
    fn load_file(&mut self, file: String, parent: usize, folder: &str) -> Result<usize, String> {
        let stream: TokenStream = self.files[&*file].parse().map_err(|error| format!("{file}: {error}"))?;
        let mut tokens = Vec::new();
        flatten(stream, &mut tokens);
        self.load(&without_tests(&tokens), file, parent, folder)
    }

    /// Adds the module that these tokens are the body of; its children are in files below `folder`.
    fn load(
        &mut self,
        tokens: &[String],
        file: String,
        parent: usize,
        folder: &str,
    ) -> Result<usize, String> {
        let number = self.modules.len();
        self.modules.push(Module { file: file.clone(), parent, ..Module::default() });
        let (mut at, mut depth, mut code) = (0, 0, Vec::new());
        while at < tokens.len() {
            let token = tokens[at].as_str();
            let next = tokens.get(at + 1).map_or("", String::as_str);
            let after = tokens.get(at + 2).map_or("", String::as_str);
            if token == "mod" && (after == ";" || after == "{") {
                let below = format!("{folder}/{next}");
                let child = match after {
                    ";" => {
                        let mut places = [format!("{below}.rs"), format!("{below}/mod.rs")].into_iter();
                        let place = places.find(|place| self.files.contains_key(&**place));
                        place.map(|place| self.load_file(place, number, &below)).transpose()?
                    }
                    _ => {
                        let end = closing(tokens, at + 2);
                        Some(self.load(&tokens[at + 3..end], file.clone(), number, &below)?)
                    }
                };
                self.modules[number].children.extend(child.map(|child| (next.to_owned(), child)));
                at = if after == ";" { at + 3 } else { closing(tokens, at + 2) + 1 };
                continue;
            }
            if token == "use" && code.last().is_none_or(|last: &String| last != ".") {
                let end = at + tokens[at..].iter().position(|token| token == ";").unwrap_or(0);
                self.modules[number].import(&tokens[at + 1..end], &[]);
                at = end + 1;
                continue;
            }
            if depth == 0 && ITEMS.contains(&token) && is_name(next) && !ITEMS.contains(&next) {
                self.modules[number].items.insert(next.to_owned());
            }
            if token == "macro_rules" {
                self.modules[number].items.insert(after.to_owned());
            }
            match token {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            code.push(tokens[at].clone());
            at += 1;
        }
        self.modules[number].note_names(&code);
        Ok(number)
    }

    fn graph(&self) -> Graph {
        let mut graph: Graph =
            self.modules.iter().map(|module| (module.file.clone(), BTreeSet::new())).collect();
        for (number, module) in self.modules.iter().enumerate() {
            let names = module.names.iter().filter(|name| {
                !module.items.contains(*name)
                    && !module.imports.contains_key(*name)
                    && !module.children.contains_key(*name)
            });
            let names = names.filter(|_| !module.globs.is_empty()).map(std::slice::from_ref);
            let paths = module.paths.iter().chain(module.imports.values()).map(Vec::as_slice);
            for path in paths.chain(names) {
                if let Some(Found::ItemOf(other)) = self.resolve(number, path, &mut Vec::new()) {
                    let other = &self.modules[other].file;
                    if *other != module.file {
                        graph.get_mut(&module.file).expect("all are in it").insert(other.clone());
                    }
                }
            }
        }
        graph
    }

    /// Where a path leads that stands in a module. `seen` are the paths under way: imports may go round in circles.
    fn resolve(&self, module: usize, path: &[String], seen: &mut Vec<(usize, Vec<String>)>) -> Option<Found> {
        if path.is_empty() || seen.contains(&(module, path.to_vec())) {
            return None;
        }
        seen.push((module, path.to_vec()));
        let (mut at, mut rest) = (module, path);
        if rest[0] == "crate" {
            (at, rest) = (0, &rest[1..]);
        }
        while let Some((first, after)) = rest.split_first()
            && (first == "self" || first == "super")
        {
            at = if first == "super" { self.modules[at].parent } else { at };
            rest = after;
        }
        let found = if rest.is_empty() { Some(Found::Module(at)) } else { self.member(at, rest, seen) };
        seen.pop();
        found
    }

    fn member(&self, module: usize, path: &[String], seen: &mut Vec<(usize, Vec<String>)>) -> Option<Found> {
        let (first, rest) = path.split_first()?;
        let here = &self.modules[module];
        if let Some(&child) = here.children.get(first) {
            return if rest.is_empty() { Some(Found::Module(child)) } else { self.member(child, rest, seen) };
        }
        if here.items.contains(first) {
            return Some(Found::ItemOf(module));
        }
        if let Some(import) = here.imports.get(first).filter(|import| *import != path) {
            return match self.resolve(module, import, seen) {
                Some(Found::Module(other)) if !rest.is_empty() => self.member(other, rest, seen),
                found => found,
            };
        }
        here.globs.iter().find_map(|glob| match self.resolve(module, glob, seen)? {
            Found::Module(other) if other != module && !seen.contains(&(other, path.to_vec())) => {
                seen.push((other, path.to_vec()));
                let found = self.member(other, path, seen);
                seen.pop();
                found
            }
            _ => None,
        })
    }
}

impl Module {
    /// Notes what the tree of a `use` imports, below a path.
    fn import(&mut self, tokens: &[String], below: &[String]) {
        let mut path = below.to_vec();
        let mut at = 0;
        while at < tokens.len() {
            match tokens[at].as_str() {
                "{" => {
                    let list = &tokens[at + 1..closing(tokens, at)];
                    return split_list(list).into_iter().for_each(|branch| self.import(branch, &path));
                }
                "*" => return self.globs.push(path),
                "as" => {
                    let name = tokens[at + 1].clone();
                    if name == "_" {
                        self.paths.insert(path);
                    } else {
                        self.imports.insert(name, path);
                    }
                    return;
                }
                "::" => {}
                name => path.push(name.to_owned()),
            }
            at += 1;
        }
        if path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        if let Some(last) = path.last().cloned() {
            self.imports.insert(last, path);
        }
    }

    /// Notes the paths and names that stand in code.
    fn note_names(&mut self, code: &[String]) {
        let mut at = 0;
        while at < code.len() {
            let follows = at > 0 && (code[at - 1] == "." || code[at - 1] == "::");
            if !is_name(&code[at]) || follows {
                at += 1;
                continue;
            }
            let mut path = vec![code[at].clone()];
            at += 1;
            while at + 1 < code.len() && code[at] == "::" && is_name(&code[at + 1]) {
                path.push(code[at + 1].clone());
                at += 2;
            }
            match path.len() {
                1 => self.names.extend(path),
                _ => _ = self.paths.insert(path),
            }
        }
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

/// The branches of a list in a `use`, at its commas.
fn split_list(list: &[String]) -> Vec<&[String]> {
    let (mut branches, mut begin, mut depth) = (Vec::new(), 0, 0);
    for (at, token) in list.iter().enumerate() {
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," if depth == 0 => {
                branches.push(&list[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    branches.push(&list[begin..]);
    branches.retain(|branch| !branch.is_empty());
    branches
}

/// Appends tokens one after the other: names, `::`, brackets, and every other mark alone; 0 for a literal.
fn flatten(stream: TokenStream, out: &mut Vec<String>) {
    for tree in stream {
        match tree {
            TokenTree::Ident(name) => out.push(name.to_string()),
            TokenTree::Literal(_) => out.push("0".to_owned()),
            TokenTree::Punct(mark)
                if mark.as_char() == ':' && out.last().is_some_and(|last| last == ":1") =>
            {
                *out.last_mut().expect("there is one") = "::".to_owned();
            }
            TokenTree::Punct(mark)
                if mark.as_char() == ':' && mark.spacing() == proc_macro2::Spacing::Joint =>
            {
                out.push(":1".to_owned());
            }
            TokenTree::Punct(mark) => out.push(mark.as_char().to_string()),
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                out.push(open.to_owned());
                flatten(group.stream(), out);
                out.push(close.to_owned());
            }
        }
    }
}

/// Where the bracket is closed that is opened at `at`.
fn closing(tokens: &[String], at: usize) -> usize {
    let (open, close) = match tokens[at].as_str() {
        "(" => ("(", ")"),
        "[" => ("[", "]"),
        _ => ("{", "}"),
    };
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(at) {
        depth += i32::from(token == open) - i32::from(token == close);
        if depth == 0 {
            return at;
        }
    }
    tokens.len() - 1
}

/// Leaves attributes out, with the items that are only compiled for tests.
fn without_tests(tokens: &[String]) -> Vec<String> {
    let (mut out, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let is_attribute = tokens[at] == "#" && tokens.get(at + 1).is_some_and(|next| next == "[");
        if !is_attribute {
            out.push(tokens[at].clone());
            at += 1;
            continue;
        }
        let end = closing(tokens, at + 1);
        let attribute = &tokens[at + 2..end];
        let has = |word: &str| attribute.iter().any(|token| token == word);
        at = end + 1;
        if attribute.first().is_some_and(|first| first == "cfg") && has("test") && !has("not") {
            at = end_of_item(tokens, at);
        }
    }
    out
}

/// Where the item ends that begins at `at`, perhaps with more attributes.
fn end_of_item(tokens: &[String], mut at: usize) -> usize {
    while at < tokens.len() && tokens[at] == "#" {
        at = closing(tokens, at + 1) + 1;
    }
    while at < tokens.len() {
        match tokens[at].as_str() {
            "(" | "[" => at = closing(tokens, at),
            ";" => return at + 1,
            "{" => {
                let end = closing(tokens, at) + 1;
                return end + usize::from(tokens.get(end).is_some_and(|next| next == ";"));
            }
            _ => {}
        }
        at += 1;
    }
    at
}
