//! The layers of docs/architecture.md: an edge between crates goes down, and only where the table allows it.

use crate::{Fault, cargo};
use serde_json::Value;
use std::path::Path;

/// Which crates of the project a crate may use. Tests may use anything.
const MAY_USE: &[(&str, &[&str])] = &[
    ("pando-model", &[]),
    ("pando-env", &[]),
    ("pando-proto", &["pando-model"]),
    ("pando-password", &["pando-model"]),
    ("pando-schema", &["pando-model"]),
    ("pando-wal", &["pando-env"]),
    ("pando-store", &["pando-model", "pando-schema", "pando-env"]),
    ("pando-consensus", &["pando-env", "pando-wal"]),
    ("pando-access", &["pando-model", "pando-proto", "pando-schema"]),
    ("pando-logs", &["pando-model", "pando-password", "pando-proto", "pando-schema"]),
    (
        "pando-dsa",
        &[
            "pando-model",
            "pando-proto",
            "pando-password",
            "pando-schema",
            "pando-access",
            "pando-store",
            "pando-env",
        ],
    ),
    ("pando-client", &["pando-model", "pando-proto", "pando-env"]),
    (
        "pando-bulk",
        &[
            "pando-model",
            "pando-proto",
            "pando-password",
            "pando-schema",
            "pando-store",
            "pando-env",
            "pando-client",
        ],
    ),
    ("pando-loadgen", &["pando-model", "pando-proto", "pando-env", "pando-client"]),
    (
        "pando-node",
        &[
            "pando-model",
            "pando-proto",
            "pando-schema",
            "pando-store",
            "pando-env",
            "pando-dsa",
            "pando-wal",
            "pando-consensus",
        ],
    ),
    ("pando-tls", &["pando-env", "pando-dsa"]),
    ("pando-peers", &["pando-env", "pando-consensus"]),
    (
        "pando-server",
        &[
            "pando-tls",
            "pando-peers",
            "pando-model",
            "pando-schema",
            "pando-logs",
            "pando-access",
            "pando-store",
            "pando-env",
            "pando-dsa",
            "pando-client",
            "pando-bulk",
            "pando-wal",
            "pando-consensus",
            "pando-node",
        ],
    ),
    (
        "pando",
        &[
            "pando-server",
            "pando-tls",
            "pando-peers",
            "pando-node",
            "pando-loadgen",
            "pando-model",
            "pando-password",
            "pando-logs",
            "pando-env",
            "pando-client",
            "pando-bulk",
            "pando-dsa",
            "pando-schema",
            "pando-access",
            "pando-wal",
            "pando-consensus",
        ],
    ),
    ("pando-models", &[]),
    // Histories and the simulator may use anything; nobody uses them outside tests.
    ("pando-histories", &["pando-env", "pando-model", "pando-proto", "pando-client"]),
    (
        "pando-sim",
        &[
            "pando-env",
            "pando-wal",
            "pando-model",
            "pando-proto",
            "pando-schema",
            "pando-access",
            "pando-store",
            "pando-bulk",
            "pando-dsa",
            "pando-node",
            "pando-consensus",
            "pando-peers",
        ],
    ),
    ("xtask", &[]),
];

/// Crates that reach the outside world; nobody else may depend on them.
const DOORS: &[(&str, &[&str])] = &[
    ("socket2", &["pando-env"]),
    ("getrandom", &["pando-env"]),
    ("rustix", &["pando-env"]),
    ("tokio", &["pando-env", "pando-server", "pando-peers"]),
    ("rand", &[]),
];

/// What `cargo metadata` says of the workspace.
pub(crate) fn metadata(root: &Path) -> Result<Value, String> {
    let output = cargo(root, &["metadata", "--format-version=1", "--no-deps", "--offline"])?;
    serde_json::from_slice(&output).map_err(|error| format!("cargo metadata: {error}"))
}

/// Checks every edge of the workspace.
pub(crate) fn check(metadata: &Value) -> Vec<Fault> {
    let mut faults = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let place = format!("package {name}");
        let Some((_, allowed)) = MAY_USE.iter().find(|(of, _)| *of == name) else {
            faults.push(Fault::new(
                place,
                "has no layer; give it one in xtask/src/layers.rs and docs/architecture.md",
            ));
            continue;
        };
        if name.ends_with("common")
            || name.ends_with("util")
            || name.ends_with("utils")
            || name.ends_with("types")
        {
            faults.push(Fault::new(&place, "is named for nothing; name a crate for what it does"));
        }
        for used in dependencies(package) {
            faults.extend(edge(name, allowed, used).map(|message| Fault::new(&place, message)));
        }
    }
    faults
}

/// Names of what a package depends on outside its tests.
fn dependencies(package: &Value) -> impl Iterator<Item = &str> {
    let all = package["dependencies"].as_array().into_iter().flatten();
    all.filter(|dependency| dependency["kind"].as_str() != Some("dev")).filter_map(|d| d["name"].as_str())
}

fn edge(from: &str, allowed: &[&str], to: &str) -> Option<String> {
    if to.starts_with("pando") && !allowed.contains(&to) {
        return Some(format!("may not use {to}: edges go to lower layers only"));
    }
    let (_, users) = DOORS.iter().find(|(door, _)| *door == to)?;
    if users.contains(&from) {
        return None;
    }
    Some(format!("may not use {to}: the outside world is reached through pando-env"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn faults(name: &str, dependencies: &[(&str, Option<&str>)]) -> Vec<String> {
        let dependencies: Vec<Value> =
            dependencies.iter().map(|(name, kind)| json!({ "name": name, "kind": kind })).collect();
        let metadata = json!({ "packages": [{ "name": name, "dependencies": dependencies }] });
        check(&metadata).into_iter().map(|fault| fault.message).collect()
    }

    #[test]
    fn edges_down_are_allowed_and_others_are_not() {
        assert!(faults("pando-store", &[("pando-model", None), ("smallvec", None)]).is_empty());
        assert!(faults("pando-model", &[("pando-store", None)])[0].contains("lower layers"));
        assert!(faults("pando-proto", &[("pando-schema", None)])[0].contains("lower layers"));
        assert!(faults("pando-proto", &[("pando-schema", Some("dev"))]).is_empty());
    }

    #[test]
    fn doors_have_doorkeepers() {
        assert!(faults("pando-env", &[("socket2", None)]).is_empty());
        assert!(faults("pando-dsa", &[("tokio", None)])[0].contains("pando-env"));
    }

    #[test]
    fn a_new_crate_needs_a_layer() {
        assert!(faults("pando-misc", &[])[0].contains("has no layer"));
    }

    #[test]
    fn the_table_itself_goes_down_only() {
        for (at, (name, allowed)) in MAY_USE.iter().enumerate() {
            for used in *allowed {
                let below = MAY_USE.iter().position(|(of, _)| of == used);
                assert!(below.is_some_and(|below| below < at), "{name} uses {used}");
            }
        }
    }
}
