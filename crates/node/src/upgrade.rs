//! Which version of the behaviour comes into force when an upgrade of all replicas is finished.

use consensus::ReplicaId;

/// The latest that the programs of all replicas know, of what each has said when it last started; it may be that which is in force `before`.
///
/// # Errors
/// In words, which replicas keep the others from a later one.
pub fn wanted(newest: &[(ReplicaId, Option<u32>)], before: u32) -> Result<u32, String> {
    // Who has said nothing has applied what is in force.
    let known = |newest: &(ReplicaId, Option<u32>)| newest.1.unwrap_or(0).max(before);
    let of_all = newest.iter().map(known).min().unwrap_or(before);
    let latest = newest.iter().map(known).max().unwrap_or(before);
    if of_all > before || latest == before {
        return Ok(of_all);
    }
    let behind = newest.iter().filter(|one| known(one) == before);
    let behind: Vec<String> = behind.map(|(id, _)| id.to_string()).collect();
    let (nodes, have) = if behind.len() == 1 { ("node", "has") } else { ("nodes", "have") };
    let (behind, next) = (behind.join(", "), before + 1);
    Err(format!(
        "{nodes} {behind} {have} not said to know behaviour {next}: start the newer program there first"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_that_all_know_comes_into_force() {
        let all = |newest: [Option<u32>; 3]| {
            let ids = [1, 2, 4].map(ReplicaId);
            wanted(&ids.into_iter().zip(newest).collect::<Vec<_>>(), 2)
        };
        assert_eq!(all([Some(3), Some(3), Some(4)]), Ok(3));
        assert_eq!((all([Some(2); 3]), all([None; 3])), (Ok(2), Ok(2)), "there is nothing to do");
        let refused = |newest| all(newest).expect_err("some are behind");
        assert!(refused([Some(3), Some(2), Some(3)]).starts_with("node 2 has not said to know behaviour 3"));
        assert!(refused([Some(3), Some(2), None]).starts_with("nodes 2, 4 have not said"));
    }
}
