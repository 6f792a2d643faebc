//! Indexes, trees, names and counts fit the entries.

use super::Situation;

/// Findings that are told.
const FINDINGS_MAX: usize = 3;

pub(super) fn check(situation: &Situation<'_>) -> Result<(), String> {
    let findings = situation.node.recovered.dsa.shard().writer().check(FINDINGS_MAX);
    if findings.is_empty() {
        return Ok(());
    }
    let findings: Vec<String> = findings.iter().map(ToString::to_string).collect();
    Err(findings.join("; "))
}
