//! The holes and faults that one test each finds: xtask/holes.toml says which. A row of the security requirements that is about an attack, or whose test
//! sees what does not happen, has one at least, for a test that was never seen to fail shows nothing.

use crate::source::File;
use crate::{Fault, rows};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const LIST: &str = "xtask/holes.toml";
/// Where they are declared, and nothing else.
const DECLARED: [&str; 5] = [
    "crates/consensus/src/faults/holes.rs",
    "crates/dsa/src/faults/holes.rs",
    "crates/node/src/faults/holes.rs",
    "crates/peers/src/faults.rs",
    "crates/store/src/faults/holes.rs",
];
/// Other faults, of which most are found by the simulator.
const OTHERS: [&str; 2] = ["crates/consensus/src/faults.rs", "crates/node/src/faults.rs"];
/// The variable that a process is started with which has a hole: `env::planted` reads it.
const VARIABLE: &str = "PANDO_PLANTED";
/// Builds the project's own crates with faults.
const WRAPPER: &str = ".ci/cfg/planted";
const BLACK_BOX: &str = "black-box";
/// So many tests run at a time. Two left two thirds of two cores idle, for most tests wait.
const AT_A_TIME: usize = 4;
/// Its tests compare times, so each runs alone.
const TIMES: &str = "test_times";
/// Tests at the bottom of source files.
const LIB: &str = "lib";
/// Packages with few targets or none that are built here. With the features that they ask for, crates are those that builds of the whole workspace have left,
/// such as the one with planted faults; without them, serde and all above it would be built once more.
const AS_WORKSPACE: [&str; 2] = ["--package=pando", "--package=pando-models"];
/// What the tests of dsa ask for, where they are not built.
const FEATURES_AS_DSA: &str = "--features=pando-access/testing";

/// A hole, and the test that finds it.
struct Hole {
    name: String,
    row: String,
    test: Test,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Test {
    /// A package, or [`BLACK_BOX`].
    package: String,
    /// `lib`, or the name of a file of tests.
    target: String,
    name: String,
}

impl Test {
    fn parse(text: &str) -> Option<Test> {
        let [package, target, name] =
            text.split(' ').map(str::to_owned).collect::<Vec<_>>().try_into().ok()?;
        Some(Test { package, target, name })
    }

    /// The name of its function.
    fn function(&self) -> &str {
        self.name.rsplit_once("::").map_or(&self.name, |(_, name)| name)
    }
}

fn list(root: &Path) -> Result<Vec<Hole>, String> {
    let text = std::fs::read_to_string(root.join(LIST)).map_err(|error| format!("{LIST}: {error}"))?;
    let listed: BTreeMap<String, toml::Table> =
        toml::from_str(&text).map_err(|error| format!("{LIST}: {error}"))?;
    let holes = listed.into_iter().map(|(name, table)| {
        let field = |key: &str| table.get(key).and_then(|value| value.as_str()).unwrap_or_default();
        let test = Test::parse(field("test"))
            .ok_or_else(|| format!("{LIST}: the test of {name} is not PACKAGE TARGET NAME"))?;
        Ok(Hole { row: field("row").to_owned(), name, test })
    });
    holes.collect()
}

/// Checks that each hole is declared and listed, its test is there, and each row that needs one has one ([`rows::need_holes`]).
pub(crate) fn check(root: &Path, files: &[File]) -> Result<Vec<Fault>, String> {
    let holes = list(root)?;
    let declared_in = |paths: &[&str]| -> BTreeSet<&str> {
        let lines =
            files.iter().filter(|file| paths.contains(&&file.path[..])).flat_map(|file| file.text.lines());
        lines.filter_map(|line| line.trim().split_once(" = \"")?.1.strip_suffix("\";")).collect()
    };
    let (declared, others) = (declared_in(&DECLARED), declared_in(&OTHERS));
    let mut faults = Vec::new();
    let mut fault = |text: String| faults.push(Fault::new(LIST, text));
    for hole in &holes {
        if !declared.contains(&hole.name[..]) && !others.contains(&hole.name[..]) {
            fault(format!("nobody declares {}", hole.name));
        }
        let (rust, python) =
            (format!("fn {}(", hole.test.function()), format!("def {}(", hole.test.function()));
        if !files.iter().any(|file| file.text.contains(&rust) || file.text.contains(&python)) {
            fault(format!("there is no test {} that would find {}", hole.test.name, hole.name));
        }
    }
    let listed: BTreeSet<&str> = holes.iter().map(|hole| &hole.name[..]).collect();
    for name in declared.difference(&listed) {
        fault(format!("no test is said to find {name}"));
    }
    let with_holes: BTreeSet<&str> = holes.iter().map(|hole| &hole.row[..]).collect();
    for row in rows::need_holes(root)? {
        if !with_holes.contains(&row[..]) {
            fault(format!("no hole is planted for row {row}: nobody has seen its test fail"));
        }
    }
    Ok(faults)
}

/// Builds what [`run`] needs.
pub(crate) fn build_only(root: &Path) -> Result<Vec<Fault>, String> {
    Built::new(root, &tests_of(&list(root)?)).map(|_| Vec::new())
}

fn tests_of(holes: &[Hole]) -> BTreeSet<Test> {
    holes.iter().map(|hole| hole.test.clone()).collect()
}

/// Builds with faults, and runs each test with its hole, by which it must fail, and without, by which it must pass.
pub(crate) fn run(root: &Path) -> Result<Vec<Fault>, String> {
    let holes = list(root)?;
    let tests = tests_of(&holes);
    let built = Built::new(root, &tests)?;
    fetch(root)?;
    // Black-box tests without holes are run by their own step, which takes long enough.
    let of_cargo = tests.iter().filter(|test| test.package != BLACK_BOX);
    let mut runs: Vec<(&Test, Option<&Hole>)> = of_cargo.map(|test| (test, None)).collect();
    runs.extend(holes.iter().map(|hole| (&hole.test, Some(hole))));
    let mut faults = Vec::new();
    for ((test, hole), output) in runs.iter().zip(built.run_all(root, &runs)) {
        let output = output?;
        let Some(hole) = hole else {
            if !output.status.success() {
                faults.push(Fault::new(LIST, format!("{} fails without any hole", test.name)));
            }
            continue;
        };
        // A test that did not run has not found anything.
        let text = String::from_utf8_lossy(&output.stdout);
        let has_failed = text.contains("1 failed") && !output.status.success();
        println!("{:<32} {:<5} {}", hole.name, hole.row, if has_failed { "found" } else { "NOT FOUND" });
        if !has_failed {
            faults.push(Fault::new(LIST, format!("{} passes with {} planted", hole.test.name, hole.name)));
        }
    }
    Ok(faults)
}

/// Fetches what black-box tests are written with, once: several of them would at the same time.
fn fetch(root: &Path) -> Result<(), String> {
    let fetched = Command::new(root.join("tests/run")).arg("--fetch").current_dir(root).output();
    let fetched = fetched.map_err(|error| format!("tests/run --fetch: {error}"))?;
    if fetched.status.success() {
        return Ok(());
    }
    Err(format!("tests/run --fetch: {}", String::from_utf8_lossy(&fetched.stderr).trim()))
}

/// What was built with faults.
struct Built {
    /// The executable of each target, by package and target.
    executables: BTreeMap<(String, String), PathBuf>,
    /// The server, if a test of it is among them.
    server: PathBuf,
}

impl Built {
    /// Builds in two goes, for in one cargo would build the tests at the bottom of the files of every package. Crates that both share are built once, with the
    /// features that the whole workspace asks for ([`AS_WORKSPACE`]).
    fn new(root: &Path, tests: &BTreeSet<Test>) -> Result<Built, String> {
        let (of_server, of_cargo): (Vec<&Test>, Vec<&Test>) =
            tests.iter().partition(|test| test.package == BLACK_BOX);
        let (of_libs, of_files): (Vec<&Test>, Vec<&Test>) =
            of_cargo.into_iter().partition(|test| test.target == LIB);
        let as_workspace = || AS_WORKSPACE.map(str::to_owned).into_iter();
        let packages = |tests: &[&Test]| -> BTreeSet<String> {
            let named = tests.iter().map(|test| format!("--package={}", test.package));
            named.chain(as_workspace()).collect()
        };
        let mut arguments = packages(&of_files);
        arguments.extend(of_files.iter().map(|test| format!("--test={}", test.target)));
        if !of_server.is_empty() {
            // The server is built for the test of its command.
            arguments.insert("--test=command".to_owned());
        }
        let mut executables = build(root, &arguments)?;
        if !of_libs.is_empty() {
            let mut arguments = packages(&of_libs);
            arguments.extend(["--lib".to_owned(), FEATURES_AS_DSA.to_owned()]);
            executables.extend(build(root, &arguments)?);
        }
        let server = executables.get(&("pando".to_owned(), "pando".to_owned())).cloned();
        if !of_server.is_empty() && server.is_none() {
            return Err("there is no server".to_owned());
        }
        Ok(Built { executables, server: server.unwrap_or_default() })
    }

    /// Runs tests with holes and without, some at a time: most of them wait for servers. The outcomes are in their order.
    fn run_all(&self, root: &Path, runs: &[(&Test, Option<&Hole>)]) -> Vec<Result<Output, String>> {
        let next = AtomicUsize::new(0);
        let outcomes = Mutex::new(Vec::new());
        let run = |at: usize| {
            let (test, hole) = runs[at];
            let outcome = self.run(root, test, hole.map(|hole| &hole.name[..]));
            outcomes.lock().expect("none has panicked").push((at, outcome));
        };
        let (alone, beside): (Vec<usize>, Vec<usize>) =
            (0..runs.len()).partition(|at| runs[*at].0.target == TIMES);
        let work = || {
            while let Some(at) = beside.get(next.fetch_add(1, Ordering::Relaxed)) {
                run(*at);
            }
        };
        std::thread::scope(|scope| (0..AT_A_TIME).for_each(|_| drop(scope.spawn(work))));
        alone.into_iter().for_each(run);
        let mut outcomes = outcomes.into_inner().expect("none has panicked");
        outcomes.sort_unstable_by_key(|(at, _)| *at);
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }

    fn run(&self, root: &Path, test: &Test, hole: Option<&str>) -> Result<Output, String> {
        let mut command = if test.package == BLACK_BOX {
            let mut command = Command::new(root.join("tests/run"));
            let test = format!("tests/black_box/{}.py::{}", test.target, test.name);
            command.args(["--numprocesses=0", &test]);
            command.env("PANDO", &self.server).current_dir(root);
            command
        } else {
            let key = (test.package.clone(), test.target.clone());
            let executable = self.executables.get(&key).ok_or(format!("{} was not built", test.target))?;
            let folder = root.join("crates").join(test.package.trim_start_matches("pando-"));
            let mut command = Command::new(executable);
            command.args(["--exact", &test.name]).current_dir(folder);
            command
        };
        match hole {
            Some(hole) => command.env(VARIABLE, hole),
            None => command.env_remove(VARIABLE),
        };
        command.output().map_err(|error| format!("{}: {error}", test.name))
    }
}

/// Builds tests with faults, and the binaries that they use: the executables, by package and target.
fn build(root: &Path, arguments: &BTreeSet<String>) -> Result<BTreeMap<(String, String), PathBuf>, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command.args(["test", "--no-run", "--locked", "--message-format=json-render-diagnostics"]);
    command.args(arguments).current_dir(root);
    let output = command.env("RUSTC_WORKSPACE_WRAPPER", root.join(WRAPPER)).output();
    let output = output.map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo test: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let lines = output.stdout.split(|byte| *byte == b'\n');
    let built = lines.filter_map(|line| {
        let line: serde_json::Value = serde_json::from_slice(line).ok()?;
        let executable = line.get("executable")?.as_str()?;
        // `path+file:///...#pando-dsa@0.1.0`, or `...crates/pando#0.1.0` where the folder has the name of the package.
        let id = line.get("package_id")?.as_str()?;
        let (path, version) = id.rsplit_once('#')?;
        let package =
            version.split_once('@').map_or_else(|| path.rsplit('/').next(), |(name, _)| Some(name))?;
        let target = line.get("target")?;
        let is_lib = target.get("kind")?.as_array()?.iter().any(|kind| kind == "lib");
        let name = if is_lib { LIB } else { target.get("name")?.as_str()? };
        Some(((package.to_owned(), name.to_owned()), PathBuf::from(executable)))
    });
    Ok(built.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_named_by_package_target_and_name() {
        let test = Test::parse("pando-dsa access attacks::x1_a").expect("three words");
        assert_eq!((&test.package[..], &test.target[..], test.function()), ("pando-dsa", "access", "x1_a"));
        assert!(Test::parse("pando-dsa access").is_none());
    }
}
