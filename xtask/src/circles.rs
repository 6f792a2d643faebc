//! Import circles: files of a crate that need each other to be understood. An arrow runs from a file to the file that defines a name which
//! it uses, through re-exports, without what is only compiled for tests; `mod x;` is no arrow. Files that reach each other by arrows are a
//! circle. xtask/circles.toml lists what there is in each crate, which may only shrink.

use crate::Fault;
use crate::imports::{Graph, crate_of};
use crate::source::File;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Files that a circle may have.
const FILES_MAX: usize = 15;
const LIST: &str = "xtask/circles.toml";
const HEADER: &str = "\
# Import circles of each crate: how many files the largest has, and how many are in some circle. Numbers may only get smaller:
# `cargo xtask tidy --fix` lowers them.
";

/// The circles of a crate: how many files the largest has, and all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Extent {
    largest: usize,
    files: usize,
}

/// Prints the circles of each crate and checks their sizes; with `fix`, lowers the list to what they are now.
pub(crate) fn check(root: &Path, files: &[File], fix: bool) -> Result<Vec<Fault>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{LIST}: {error}");
    let text = std::fs::read_to_string(root.join(LIST)).map_err(|error| failed(&error))?;
    let listed = parse(&text)?;
    let mut extents = BTreeMap::new();
    for name in names(files) {
        let circles = circles(&crate_of(&name, files)?);
        let sizes: Vec<usize> = circles.iter().map(Vec::len).collect();
        if !sizes.is_empty() {
            println!("import circles of {name}: {sizes:?} files");
        }
        let extent = Extent { largest: sizes.first().copied().unwrap_or(0), files: sizes.iter().sum() };
        if extent.files > listed.get(&name).copied().unwrap_or_default().files {
            circles.iter().for_each(|circle| println!("  {}", circle.join(", ")));
        }
        extents.insert(name, extent);
    }
    if fix {
        std::fs::write(root.join(LIST), lowered(&listed, &extents)).map_err(|error| failed(&error))?;
    }
    Ok(compare(&listed, &extents))
}

/// The crates that have sources, by the names of their folders.
fn names(files: &[File]) -> Vec<String> {
    let mut names: Vec<String> = files
        .iter()
        .filter(|file| file.path.ends_with("/src/lib.rs") || file.path.ends_with("/src/main.rs"))
        .filter_map(|file| Some(file.crate_name()?.to_owned()))
        .collect();
    names.sort();
    names.dedup();
    names
}

fn parse(text: &str) -> Result<BTreeMap<String, Extent>, String> {
    let rows: BTreeMap<String, BTreeMap<String, usize>> =
        toml::from_str(text).map_err(|error| format!("{LIST}: {error}"))?;
    let extent = |row: BTreeMap<String, usize>| {
        let number = |name: &str| row.get(name).copied().unwrap_or(0);
        Extent { largest: number("largest"), files: number("files") }
    };
    Ok(rows.into_iter().map(|(name, row)| (name, extent(row))).collect())
}

fn lowered(listed: &BTreeMap<String, Extent>, extents: &BTreeMap<String, Extent>) -> String {
    let mut out = HEADER.to_owned();
    for (name, max) in listed {
        let now = extents.get(name).copied().unwrap_or_default();
        let (largest, files) = (now.largest.min(max.largest), now.files.min(max.files));
        if files > 0 {
            let _ = writeln!(out, "{name} = {{ largest = {largest}, files = {files} }}");
        }
    }
    out
}

fn compare(listed: &BTreeMap<String, Extent>, extents: &BTreeMap<String, Extent>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (name, now) in extents {
        let max = listed.get(name).copied().unwrap_or_default();
        let place = format!("crates/{name}");
        if now.largest > FILES_MAX {
            let message =
                format!("an import circle of {} files, of which it may have {FILES_MAX}", now.largest);
            faults.push(Fault::new(&place, message));
        }
        if now.largest > max.largest || now.files > max.files {
            let (now, max) = ((now.largest, now.files), (max.largest, max.files));
            let message = format!(
                "import circles have grown: (largest, files) {now:?}, {max:?} are listed in {LIST}; move what is used below what uses it"
            );
            faults.push(Fault::new(&place, message));
        }
    }
    faults
}

/// Circles of a graph, the largest first: its strongly connected components (Tarjan 1972) of more than one file.
fn circles(graph: &Graph) -> Vec<Vec<String>> {
    let mut search = Search::new(graph);
    for file in graph.keys() {
        if !search.order.contains_key(file.as_str()) {
            search.visit(file);
        }
    }
    let mut circles = search.circles;
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

struct Search<'g> {
    graph: &'g Graph,
    /// Files in the order they were met.
    order: BTreeMap<&'g str, usize>,
    /// The first file in that order that is reached from a file.
    low: BTreeMap<&'g str, usize>,
    open: Vec<&'g str>,
    circles: Vec<Vec<String>>,
}

impl<'g> Search<'g> {
    fn new(graph: &'g Graph) -> Search<'g> {
        Search { graph, order: BTreeMap::new(), low: BTreeMap::new(), open: Vec::new(), circles: Vec::new() }
    }

    fn visit(&mut self, file: &'g str) {
        let number = self.order.len();
        self.order.insert(file, number);
        self.low.insert(file, number);
        self.open.push(file);
        for next in &self.graph[file] {
            if !self.order.contains_key(next.as_str()) {
                self.visit(next);
                self.low.insert(file, self.low[file].min(self.low[next.as_str()]));
            } else if self.open.contains(&next.as_str()) {
                self.low.insert(file, self.low[file].min(self.order[next.as_str()]));
            }
        }
        if self.low[file] == number {
            let at = self.open.iter().position(|open| *open == file).expect("it was put there");
            let circle: Vec<String> = self.open.drain(at..).map(str::to_owned).collect();
            if circle.len() > 1 {
                self.circles.push(circle);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(sources: &[(&str, &str)]) -> Vec<File> {
        let file = |(path, text): &(&str, &str)| File {
            path: format!("crates/a/src/{path}"),
            text: (*text).to_owned(),
        };
        sources.iter().map(file).collect()
    }

    fn sizes(sources: &[(&str, &str)]) -> Vec<usize> {
        circles(&crate_of("a", &files(sources)).unwrap()).iter().map(Vec::len).collect()
    }

    const LIB: &str = "mod b; mod c; pub use b::B;";

    #[test]
    fn files_that_name_each_other_are_a_circle() {
        let b = "use crate::c::C; pub struct B(C);";
        assert_eq!(sizes(&[("lib.rs", LIB), ("b.rs", b), ("c.rs", "pub struct C(Box<crate::b::B>);")]), [2]);
        assert_eq!(sizes(&[("lib.rs", LIB), ("b.rs", b), ("c.rs", "pub struct C;")]), [0; 0]);
    }

    #[test]
    fn an_arrow_goes_through_reexports_to_the_definition() {
        let b = "use crate::c::C; pub struct B(C);";
        let c = "use crate::B; pub struct C(Box<B>);";
        assert_eq!(sizes(&[("lib.rs", LIB), ("b.rs", b), ("c.rs", c)]), [2]);
        let c = "use super::*; pub struct C(Box<B>);";
        assert_eq!(sizes(&[("lib.rs", LIB), ("b.rs", b), ("c.rs", c)]), [2], "by a glob");
    }

    #[test]
    fn a_module_that_uses_its_own_child_and_is_used_by_it_is_in_a_circle() {
        let lib = "mod b;";
        let b = "mod c; use self::c::C; pub struct B(C);";
        let files = [("lib.rs", lib), ("b.rs", b), ("b/c.rs", "pub struct C(Box<super::B>);")];
        assert_eq!(sizes(&files), [2]);
        let b = "mod c; pub struct B;";
        assert_eq!(sizes(&[("lib.rs", lib), ("b.rs", b), files[2]]), [0; 0], "a declaration is no arrow");
    }

    #[test]
    fn what_is_compiled_for_tests_only_does_not_count() {
        let b = "pub struct B; #[cfg(test)] mod tests { use crate::c::C; fn f(_: C) {} }";
        let c = "pub struct C(crate::b::B);";
        assert_eq!(sizes(&[("lib.rs", LIB), ("b.rs", b), ("c.rs", c)]), [0; 0]);
    }

    #[test]
    fn circles_may_only_shrink() {
        let extent = |largest, files| BTreeMap::from([("a".to_owned(), Extent { largest, files })]);
        assert!(compare(&extent(5, 7), &extent(5, 7)).is_empty());
        assert!(compare(&extent(5, 7), &extent(4, 8))[0].message.contains("have grown"));
        assert_eq!(compare(&extent(16, 16), &extent(16, 16)).len(), 1, "even if it is listed");
        assert!(lowered(&extent(5, 7), &extent(3, 9)).ends_with("a = { largest = 3, files = 7 }\n"));
        assert_eq!(parse(&lowered(&extent(5, 7), &extent(6, 6))).unwrap(), extent(5, 6));
    }
}
