//! What may go wrong in a world, and how often: a file of TOML. All chances are of 1,000.

use crate::disk::Faults;
use crate::late::Group;
use crate::random::Random;
use serde::Deserialize;
use wal::Mode;

/// Of 16 unsynced sectors, how many a power loss keeps when a plan does not say: none, nearly all, and those between.
const SECTORS_KEPT: [u64; 5] = [0, 1, 8, 15, 16];

/// See the module. What a file does not name does not happen.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Plan {
    /// What it is for.
    pub about: String,
    /// Number of incarnations of the server.
    #[serde(default = "four")]
    pub incarnations: u64,
    /// Sync modes, one for each world.
    #[serde(default = "always")]
    pub sync: Vec<Sync>,
    /// How an incarnation ends if nothing ends it before.
    #[serde(default)]
    pub ends: Ends,
    /// What the disk does in an incarnation.
    #[serde(default)]
    pub disk: Disk,
    /// What happens at a start.
    #[serde(default)]
    pub starts: Starts,
    /// What happens to the clock.
    #[serde(default)]
    pub clock: Clock,
    /// What other replicas do.
    #[serde(default)]
    pub replicas: Replicas,
    /// A cluster in place of one server.
    #[serde(default)]
    pub cluster: Cluster,
}

/// A sync mode.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Sync {
    /// What is answered is synced.
    Always,
    /// It is synced after 1 to 20 ms.
    Interval,
    /// It is synced when the system likes.
    None,
}

/// How an incarnation ends if nothing ends it before; else it ends well.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Ends {
    /// The power fails.
    pub power_cut: u64,
    /// The process is killed.
    pub kill: u64,
}

/// What the disk does. One of the chances, or none, is drawn for each incarnation; the others have none then.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Disk {
    /// The power fails during an operation of the disk.
    pub power_cut: u64,
    /// Some syncs fail.
    pub failing_syncs: u64,
    /// Some writes fail, after a part of their bytes.
    pub failing_writes: u64,
    /// It gets full.
    pub full: u64,
    /// In any incarnation besides: syncs take from 0.1 ms on, now and then up to a hundred times as long as usual.
    pub slow: u64,
    /// Of 16 unsynced sectors, how many a power loss keeps: one of these. Not all is a torn write, 0 a lost one.
    pub sectors_kept: Vec<u64>,
}

/// What happens at a start.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Starts {
    /// A start before it is cut short by the power, or by a kill.
    pub cut_short: u64,
    /// A world in which every other start changes whether entries are held to the schema. Not where the directory is backed
    /// up.
    pub other_rules: u64,
    /// A bit of a file is not what it was.
    pub flipped_bit: u64,
}

/// What happens to the clock.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Clock {
    /// The wall clock is set by up to ten seconds, back or forward, between two steps.
    pub set: u64,
}

/// What other replicas of the log do: see [`crate::late`].
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Replicas {
    /// In a world, but for those with an operator: there are some. Records are committed late or before they are synced here,
    /// leaders change, and what is not committed by then may be lost. The sync mode is `always`, and no disk gets full.
    pub some: u64,
}

/// A cluster in place of one server: see [`crate::cluster`]. Other chances than those of `disk` have no meaning for it.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Cluster {
    /// A world has 1, 3 or 5 replicas, up to so many; 0 is none.
    pub replicas_max: u64,
    /// In a turn: the directory of one replica becomes another by itself.
    pub damage: u64,
    /// Consumers of content synchronisation follow it. Their reads are messages between the replicas, so such a world is another one.
    pub consumers: bool,
}

fn four() -> u64 {
    4
}

fn always() -> Vec<Sync> {
    vec![Sync::Always]
}

/// A plan that no seed takes by itself.
const FOLLOWED: (&str, &str) = ("followed", include_str!("../faults/followed.toml"));

/// Plans that come with the simulator: name and text.
pub const PLANS: [(&str, &str); 8] = [
    ("everything", include_str!("../faults/everything.toml")),
    ("power", include_str!("../faults/power.toml")),
    ("kills", include_str!("../faults/kills.toml")),
    ("bits", include_str!("../faults/bits.toml")),
    ("errors", include_str!("../faults/errors.toml")),
    ("full", include_str!("../faults/full.toml")),
    ("replicas", include_str!("../faults/replicas.toml")),
    ("cluster", include_str!("../faults/cluster.toml")),
];

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// In words, with the line.
    pub fn parse(text: &str) -> Result<Plan, String> {
        let plan: Plan = toml::from_str(text).map_err(|error| error.to_string())?;
        let Plan { incarnations, sync, disk, cluster, .. } = &plan;
        if !(1..=1000).contains(incarnations) {
            return Err("incarnations: 1 to 1000".to_owned());
        }
        if cluster.replicas_max > 7 {
            return Err("cluster.replicas-max: at most 7".to_owned());
        }
        if sync.is_empty() {
            return Err("sync: at least one mode".to_owned());
        }
        if disk.sectors_kept.iter().any(|kept| *kept > 16) {
            return Err("disk.sectors-kept: at most 16".to_owned());
        }
        Ok(plan)
    }

    /// The plan of a name that comes with the simulator.
    pub fn named(name: &str) -> Option<Plan> {
        let (_, text) = PLANS.iter().chain([&FOLLOWED]).find(|(of, _)| *of == name)?;
        Some(Plan::parse(text).expect("the plans that come with it are sound"))
    }

    /// The mode of a world.
    pub fn mode(&self, random: &mut Random) -> Mode {
        match random.one_of(&self.sync) {
            Sync::Always => Mode::Always,
            Sync::Interval => Mode::Interval { ms: 1 + random.below(20) },
            Sync::None => Mode::None,
        }
    }

    /// The other replicas of a world's log, if it has some; the log is kept as they want it then.
    pub fn group(&self, random: &mut Random, is_alone: bool, log: &mut wal::Settings) -> Option<Group> {
        if is_alone || self.replicas.some == 0 || !random.chance(self.replicas.some) {
            return None;
        }
        log.mode = Mode::Always;
        Some(Group::new(random.number(), log.waiting_bytes_max))
    }

    /// What goes wrong in an incarnation that begins after `operations` of the disk.
    pub fn faults(&self, random: &mut Random, operations: u64) -> Faults {
        let disk = &self.disk;
        let mut faults = Faults::default();
        let mut drawn = random.below(1000);
        let mut is = |chance: u64| {
            let hit = drawn < chance;
            drawn = if hit { u64::MAX } else { drawn.saturating_sub(chance) };
            hit
        };
        if is(disk.power_cut) {
            faults.power_at = Some(operations + 1 + random.below(120));
        } else if is(disk.failing_syncs) {
            faults.failing_syncs = 40;
        } else if is(disk.failing_writes) {
            faults.failing_writes = 40;
        } else if is(disk.full) {
            faults.capacity = Some(20_000 + random.below(200_000));
        }
        if random.chance(disk.slow) {
            faults.sync_ns = 100_000;
        }
        faults
    }

    /// Of 16 unsynced sectors, how many a power loss keeps.
    pub fn sectors_kept(&self) -> &[u64] {
        if self.disk.sectors_kept.is_empty() { &SECTORS_KEPT } else { &self.disk.sectors_kept }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plans_that_come_with_it_are_sound() {
        for (name, text) in PLANS.into_iter().chain([FOLLOWED]) {
            Plan::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    #[test]
    fn what_is_not_known_or_out_of_bounds_is_refused() {
        for wrong in ["", "about = ''\nkils = 3", "about = ''\nlives = 0", "about = ''\nsync = []"] {
            Plan::parse(wrong).unwrap_err();
        }
        let kept = Plan::parse("about = ''\ndisk.sectors-kept = [17]").unwrap_err();
        assert!(kept.contains("16"), "{kept}");
    }
}
