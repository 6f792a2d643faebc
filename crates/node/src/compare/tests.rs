use super::*;
use crate::health::{self, Report};
use dsa::chain::Chain;
use schema::Schema;

const OTHER: ReplicaId = ReplicaId(2);

/// A directory that nobody changes.
fn empty() -> Arc<Shard> {
    let schema: Schema = schema::Builder::new().standard().build().expect("it is sound");
    let settings = store::Settings {
        suffixes: vec!["dc=com".to_owned()],
        indexes: Vec::new(),
        memory_bytes_max: 16 << 20,
        removals_max: store::REMOVALS_MAX,
        operational_attributes: true,
        schema_check: true,
        initial_owner: "cn=root".to_owned(),
        key: [1, 2, 3, 4],
        site: 0,
    };
    Shard::create(settings, Arc::new(schema)).expect("address space is plenty")
}

/// A step of a replica that leads in this term, or does not, and hears what another one says of its readers. Returns the record before which
/// ids of deleted entries are free for others.
fn step(
    compare: &mut Compare,
    shard: &Arc<Shard>,
    leads: Option<u64>,
    now_ms: u64,
    said: Option<u64>,
) -> u64 {
    let chain = Chain::new(0, 0, 0);
    let clocks = health::Now { monotonic_ms: now_ms, wall_ms: now_ms };
    let leader = leads.map(|term| (compare.own, term));
    let now = Now { leads, leader, chain: &chain, shard, now_ms, clocks };
    let message = |before| {
        let said = Said::Forgotten { before, report: Report::default() };
        (OTHER, Message { term: leads.unwrap_or(0), index: 0, said })
    };
    let heard = said.map(message).into_iter().collect();
    assert!(!compare.step(heard, &now, &mut |_, _| ()), "its directory is not wrong");
    compare.free_before(now_ms)
}

#[test]
fn a_new_leader_frees_no_ids_before_others_had_time_to_speak_of_their_readers() {
    let folder = tempfile::tempdir().unwrap();
    let shard = empty();
    let mut compare = Compare::new(ReplicaId(1), Control::default(), DiffersFile::none(folder.path()));
    let mut step = |leads, now_ms, said| step(&mut compare, &shard, leads, now_ms, said);
    assert_eq!(step(None, 500, None), 0, "it does not lead");
    for (term, begin, before) in [(5, 1_000, 7), (8, 20_000, 9)] {
        assert_eq!(step(Some(term), begin, None), 0, "it has heard of nobody");
        // A third one may not have said anything yet.
        assert_eq!(step(Some(term), begin + ROUND_MS, Some(before - 1)), 0);
        assert_eq!(step(Some(term), begin + FORGOTTEN_MS - 1, Some(before)), 0);
        assert_eq!(step(Some(term), begin + FORGOTTEN_MS, None), before);
        // One that is silent for long is not waited for.
        assert_eq!(step(Some(term), begin + 2 * FORGOTTEN_MS, None), u64::MAX);
        // Nor does what it said in this term count in another one.
        assert_eq!(step(Some(term), begin + 2 * FORGOTTEN_MS + 1, Some(before)), before);
        assert_eq!(step(None, begin + 2 * FORGOTTEN_MS + 2, None), 0);
    }
}
