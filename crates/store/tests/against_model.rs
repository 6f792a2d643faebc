//! The store against a naive directory of maps and strings: random operations, whose outcomes, content,
//! searches and old read points must agree. `PANDO_SEED=7 PANDO_OPS=5000 cargo test --test against_model` runs one
//! seed alone, with each taste.

#[path = "model/mod.rs"]
mod naive;

use naive::generate::{Random, Taste};
use naive::run::{Plan, run};

const CROWDED: Plan = Plan {
    ops: 45_000,
    taste: Taste { names: 12, members: 60, long_one_in: 400 },
    entries: 60,
    content_every: 600,
    search_every: 20,
    kept: 4,
    indexed: true,
    changing: false,
};

const WIDE: Plan = Plan {
    ops: 95_000,
    taste: Taste { names: 80, members: 200, long_one_in: 100 },
    entries: 400,
    content_every: 5000,
    search_every: 100,
    kept: 3,
    indexed: true,
    changing: false,
};

fn check(plan: Plan, seeds: std::ops::Range<u64>) {
    let from_environment = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = from_environment("PANDO_SEED").map_or(seeds, |seed| seed..seed + 1);
    let ops = from_environment("PANDO_OPS").map_or(plan.ops, |ops| ops as usize);
    for seed in seeds {
        if let Err(text) = run(&mut Random::new(seed), Plan { ops, ..plan }) {
            panic!("PANDO_SEED={seed}: {text}");
        }
    }
}

#[test]
fn crowded_names() {
    check(CROWDED, 1..4);
}

#[test]
fn crowded_names_more() {
    check(CROWDED, 6..8);
}

#[test]
fn wide_trees() {
    check(WIDE, 10..11);
}

#[test]
fn wide_trees_without_old_readers() {
    check(Plan { kept: 0, ..WIDE }, 12..13);
}

/// Most attributes have no index: their modifies can be prepared.
#[test]
fn crowded_names_with_few_indexes() {
    check(Plan { indexed: false, ..CROWDED }, 14..15);
}

/// Indexes are built, given up and dropped meanwhile.
#[test]
fn crowded_names_while_indexes_come_and_go() {
    check(Plan { indexed: false, changing: true, kept: 1, search_every: 6, ..CROWDED }, 16..17);
}

/// As above, with bigger sets, which take several steps.
#[test]
fn wide_trees_while_indexes_come_and_go() {
    check(Plan { changing: true, kept: 1, search_every: 20, ops: 60_000, ..WIDE }, 19..20);
}
