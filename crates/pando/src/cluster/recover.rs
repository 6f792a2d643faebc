//! `pando cluster recover`: a new cluster, of the one node that is left.

use crate::failed::Failed;
use crate::local;
use crate::output::note;
use crate::progress::RecoveryBar;
use crate::serve_cluster::{alone, at_cluster, found, is_node};
use crate::versions;
use clap::Args as ClapArgs;
use consensus::{ReplicaId, WholeLog};
use env::clock::{Clock as _, SystemClock};
use env::disk::RealDisk;
use env::entropy::SystemEntropy;
use env::terminal;
use node::data::{Data, Remains};
use peers::{Identity, successor};
use server::cluster::Facts;
use server::config::Config;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Make a new cluster of a node that has lost the majority of its cluster for ever.
///
/// Runs on the stopped directory of the node that is left, and makes it node 1 of a new cluster, which has a name and a CA of its own. All that
/// is in its log is kept, whether it was acknowledged or not. What only the lost nodes had is lost, though it was acknowledged. No node of
/// the old cluster can be a part of the new one: make new nodes, which join.
///
/// Of several nodes that are left recover one: that with the latest change: the command names its time before anything is done.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
pub(super) struct Args {
    /// The data directory of the node that is left. Its server must not run
    #[arg(long, value_name = "DIR")]
    data: PathBuf,

    /// Accept that acknowledged changes may be lost
    #[arg(long, required = true)]
    accept_loss: bool,

    /// All other nodes of the cluster. None of them may run again
    #[arg(long, value_name = "NODES", value_delimiter = ',', required = true)]
    lost: Vec<u64>,

    /// Do not ask on the terminal
    #[arg(long)]
    yes: bool,
}

const AFTER: &str = "\
EXAMPLES:
  Of three nodes only node 1 is left:
    pando cluster recover --data n1 --accept-loss --lost 2,3
    pando serve --data n1
    pando cluster token --data n1 -o token2

EXIT CODES:
  0  it is node 1 of a new cluster; start it with `pando serve`
  1  nothing was changed; standard error has the reason
  2  the command line is wrong";

pub(super) fn run(args: &Args) -> Result<(), Failed> {
    let dir = &args.data;
    let at = |what: &str| Failed::at(dir.display(), what);
    if finish(dir)? {
        note!(
            "pando cluster: an earlier recovery was interrupted, and is complete now: this is node 1 of a new cluster"
        );
        return Ok(());
    }
    if !is_node(dir) {
        return Err(at("this is not the directory of a node"));
    }
    let clock = SystemClock::start();
    let identity = Identity::load(&RealDisk, &peers::folder(dir)).map_err(at_cluster)?;
    let log = wal::Settings::default();
    let data = Data::open_replica(Arc::new(RealDisk), dir, log, &mut SystemEntropy);
    let data = data.map(versions::known).map_err(Failed::of)?;
    let mut config = Config::default();
    data.made().map_err(Failed::of)?.iter().for_each(|made| config.take_rules(made));
    let schema = Arc::new(local::schema(&config)?);
    let mut bar = RecoveryBar::new(false);
    let memory = config.memory_bytes_max();
    let remains = data.remains(&schema, memory, log, &mut SystemEntropy, &mut |stage| bar.show(stage));
    let remains = remains.map_err(Failed::of)?;
    drop(bar);
    let others = others(&remains.log, ReplicaId(identity.node())).map_err(|what| at(&what))?;
    let mut lost = args.lost.clone();
    lost.sort_unstable();
    lost.dedup();
    if lost != others {
        let text = "the other nodes of this cluster are {}: if any of them can be started again, do that. If not, name them all";
        return Err(Failed::at("--lost", text.replace("{}", &list(&others))));
    }
    tell(&identity, &remains, &others, clock.wall_ms());
    confirm(args, &others)?;
    if successor::exists(&RealDisk, dir).map_err(Failed::of)? {
        successor::discard(&RealDisk, dir).map_err(Failed::of)?;
    }
    let addresses = [identity.peer_addresses().to_vec(), identity.ldap_addresses().to_vec()];
    let folder = successor::folder(dir);
    let mut next = found(&folder, addresses.clone(), clock.wall_ms() / 1000)?;
    let listens = identity.listens().clone();
    next.advertise(&RealDisk, &folder, addresses.clone(), listens).map_err(at_cluster)?;
    data.begin_anew(&remains, alone(&next, addresses)).map_err(Failed::of)?;
    take_over(&data)?;
    note!("pando cluster: this is node 1 of the new cluster {}; start it with `pando serve`", next.cluster());
    Ok(())
}

/// Completes a recovery of the node in `dir` that was interrupted, or takes back what it has left. True if it was completed. To be called before
/// anything is made of which node that is.
pub(crate) fn finish(dir: &Path) -> Result<bool, Failed> {
    if !dir.is_dir()
        || !successor::exists(&RealDisk, dir).map_err(|error| Failed::at(dir.display(), error))?
    {
        return Ok(false);
    }
    let data = Data::existing(Arc::new(RealDisk), dir).map(versions::known).map_err(Failed::of)?;
    take_over(&data)
}

/// The files of the new node take the place of the old one's if the directory is of a new cluster already; else they go. Were they taken?
fn take_over(data: &Data) -> Result<bool, Failed> {
    let dir = data.dir();
    let failed = |error: std::io::Error| Failed::at(dir.display(), error);
    let mut is_next = false;
    if successor::is_whole(&RealDisk, dir).map_err(failed)? {
        let next = Identity::load(&RealDisk, &successor::folder(dir)).map_err(at_cluster)?;
        let members = data.members().map_err(Failed::of)?.unwrap_or_default();
        let certificate = Facts::of(&members, ReplicaId(next.node())).certificate;
        is_next = certificate == Some(next.holder().fingerprint);
    }
    match is_next {
        true => successor::take_over(&RealDisk, dir).map_err(failed)?,
        false => successor::discard(&RealDisk, dir).map_err(failed)?,
    }
    Ok(is_next)
}

/// All members but this node.
fn others(log: &WholeLog, own: ReplicaId) -> Result<Vec<u64>, String> {
    let members = &log.base.members;
    if members.all().all(|id| id != own) {
        return Err(format!("node {own} was removed from the cluster: recover a node that was a member"));
    }
    let others: Vec<u64> = members.all().filter(|id| *id != own).map(|id| id.0).collect();
    match others.is_empty() {
        true => Err("this cluster has no other node: there is nothing to recover, start it".to_owned()),
        false => Ok(others),
    }
}

fn tell(identity: &Identity, remains: &Remains, others: &[u64], now_ms: u64) {
    let WholeLog { committed, base, .. } = &remains.log;
    note!(
        "node {} of cluster {} has its log up to entry {}",
        identity.node(),
        identity.cluster(),
        base.index
    );
    match remains.last_ms {
        0 => note!("there is no change in it"),
        ms => note!(
            "the last change in it was given at {}, {} ago. What the lost nodes have acknowledged later is lost",
            model::timestamp(ms),
            age(now_ms.saturating_sub(ms))
        ),
    }
    if base.index > *committed {
        let behind = base.index - committed;
        note!(
            "of these, {behind} entries at the end are not known to be committed. They are kept: they may have been acknowledged"
        );
    }
    note!("nodes {} are given up for ever: none of them may run again", list(others));
}

/// Goes on only if somebody wants that.
fn confirm(args: &Args, others: &[u64]) -> Result<(), Failed> {
    if args.yes {
        return Ok(());
    }
    if !terminal::is_there() {
        return Err(Failed::of("there is no terminal to ask on: --yes goes on without a question"));
    }
    let wanted: Vec<String> = others.iter().map(ToString::to_string).collect();
    let question =
        "Type the numbers of the lost nodes once more, with commas, to make a new cluster without them: ";
    match terminal::ask(question).map_err(Failed::of)?.trim() == wanted.join(",") {
        true => Ok(()),
        false => Err(Failed::of("these are not the numbers of the lost nodes: nothing was changed")),
    }
}

fn list(nodes: &[u64]) -> String {
    nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A time in the largest unit of which there are two.
fn age(ms: u64) -> String {
    let units = [(86_400_000, "days"), (3_600_000, "hours"), (60_000, "minutes")];
    let unit = units.into_iter().find(|(unit, _)| ms >= 2 * unit).unwrap_or((1000, "seconds"));
    format!("{} {}", ms / unit.0, unit.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use consensus::{Base, Members};

    #[test]
    fn the_others_are_all_members_but_this_one() {
        let log = |voters: &[u64], learners: &[u64]| {
            let ids = |numbers: &[u64]| numbers.iter().copied().map(ReplicaId).collect();
            let members = Members { voters: ids(voters), learners: ids(learners), ..Members::default() };
            WholeLog { committed: 1, base: Base { index: 1, term: 1, members }, term: 1 }
        };
        assert_eq!(others(&log(&[1, 2, 3], &[5]), ReplicaId(2)), Ok(vec![1, 3, 5]));
        assert!(others(&log(&[1, 2, 3], &[]), ReplicaId(4)).unwrap_err().contains("was removed"));
        assert!(others(&log(&[4], &[]), ReplicaId(4)).unwrap_err().contains("nothing to recover"));
    }

    #[test]
    fn ages_are_in_the_largest_unit_of_which_there_are_two() {
        let ages = [1_999, 119_999, 120_000, 7_200_000, 172_800_000].map(age);
        assert_eq!(ages, ["1 seconds", "119 seconds", "2 minutes", "2 hours", "2 days"]);
    }
}
