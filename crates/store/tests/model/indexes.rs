//! Indexes that come and go while operations and searches go on.

use super::generate::Choices;
use std::sync::Arc;
use store::{IndexBuild, IndexDrop, IndexKind, IndexName, IndexVerify, Reader, Settled, Shard, Verified};

/// Findings that a check tells.
const FINDINGS_MAX: usize = 10;
/// Bytes of memory beyond which a build is given up: never reached here.
const BYTES_MAX: u64 = 8 << 30;

/// What is in progress, and what was done.
#[derive(Default)]
pub(crate) struct Indexes {
    building: Option<IndexBuild>,
    leaving: Vec<IndexDrop>,
    pub(crate) made: usize,
    pub(crate) dropped: usize,
    verify: Option<IndexVerify>,
    pub(crate) verified: usize,
}

impl Indexes {
    /// Takes one step of what is in progress, or begins something.
    pub(crate) fn act(&mut self, choices: &mut impl Choices, shard: &Arc<Shard>) -> Result<(), String> {
        let mut writer = shard.writer();
        self.leaving.retain(|drop| !writer.index_free(drop, 3));
        match self.building.take() {
            Some(build) if choices.one_in(150) => self.leaving.push(writer.index_give_up(build)),
            Some(mut build) => {
                let values = 1 + choices.below(100);
                let all = writer.index_step(&mut build, values, BYTES_MAX).map_err(|e| e.to_string())?;
                match all && writer.index_ready(&build) {
                    true => self.made += 1,
                    false => self.building = Some(build),
                }
            }
            None => {
                let name = some_name(choices, shard);
                match writer.index_drop(name) {
                    Some(drop) => {
                        self.dropped += 1;
                        self.leaving.push(drop);
                    }
                    None => self.building = Some(writer.index_begin(name).map_err(|e| e.to_string())?),
                }
            }
        }
        writer.publish();
        Ok(())
    }

    /// Compares a little of an index with the entries. Nothing may be found, whatever is in progress.
    pub(crate) fn verify(&mut self, choices: &mut impl Choices, shard: &Arc<Shard>) -> Result<(), String> {
        let mut reader = Reader::register(shard).ok_or("too many readers")?;
        let Some(verify) = &mut self.verify else {
            let pin = reader.pin();
            self.verify = IndexVerify::begin(pin.read_point(), some_name(choices, shard));
            return Ok(());
        };
        let verified = verify.step(reader.pin().read_point(), 1 + choices.below(60));
        if verified == Verified::Doubts {
            let mut writer = shard.writer();
            // Too much is never due here.
            assert_eq!(writer.index_settle(verify), Settled::Some);
            if choices.one_in(2) {
                writer.publish();
            }
        }
        if let Some(finding) = verify.findings().first() {
            return Err(format!("a comparison on line finds: {finding}"));
        }
        if matches!(verified, Verified::All | Verified::Gone) {
            self.verified += usize::from(verified == Verified::All);
            self.verify = None;
        }
        Ok(())
    }

    /// Brings all to its end, when no reader pins.
    pub(crate) fn finish(&mut self, shard: &Arc<Shard>) -> Result<(), String> {
        if let Some(mut build) = self.building.take() {
            let mut is_ready = false;
            while !is_ready {
                let mut writer = shard.writer();
                let all = writer.index_step(&mut build, 1000, BYTES_MAX).map_err(|e| e.to_string())?;
                is_ready = all && writer.index_ready(&build);
                writer.publish();
            }
        }
        while !self.leaving.is_empty() {
            let mut writer = shard.writer();
            self.leaving.retain(|drop| !writer.index_free(drop, 1000));
            writer.publish();
        }
        Ok(())
    }
}

/// Does all of the shard hang together?
pub(crate) fn check(shard: &Shard) -> Result<(), String> {
    let findings = shard.writer().check(FINDINGS_MAX);
    let texts: Vec<String> = findings.iter().map(ToString::to_string).collect();
    if texts.is_empty() { Ok(()) } else { Err(format!("a check finds: {}", texts.join("; "))) }
}

fn some_name(choices: &mut impl Choices, shard: &Shard) -> IndexName {
    const ATTRIBUTES: [&str; 8] =
        ["uid", "member", "xText", "xNumber", "uidNumber", "name", "cn", "objectClass"];
    loop {
        let attribute = ATTRIBUTES[choices.below(ATTRIBUTES.len())];
        let attribute_type = shard.schema().find_type(attribute.as_bytes()).expect("a known type");
        let name = IndexName { attribute_type, kind: IndexKind::ALL[choices.below(IndexKind::ALL.len())] };
        if name.missing_rule(shard.schema()).is_none() {
            return name;
        }
    }
}
