//! Indexes, trees, names and counts fit the entries.

use super::Situation;
use dsa::Dsa;

/// Findings that are reported.
const FINDINGS_MAX: usize = 3;

pub(super) fn check(situation: &Situation<'_>) -> Result<(), String> {
    of(&situation.node.recovered.dsa)
}

/// Looks at a directory.
///
/// # Errors
/// In words, what is wrong.
pub fn of(dsa: &Dsa) -> Result<(), String> {
    let findings = dsa.shard().writer().check(FINDINGS_MAX);
    if findings.is_empty() {
        return Ok(());
    }
    let findings: Vec<String> = findings.iter().map(ToString::to_string).collect();
    Err(findings.join("; "))
}
