//! Serving a directory that is logged.

use crate::cluster::{Beside, Runtime};
use crate::config::{Listen, OnLogFailure};
use crate::listener::{Endpoints, serve_until};
use crate::options::Options;
use crate::reload::signal_to_end;
use env::clock::SystemClock;
use env::task;
use node::commit::{Committer, RunTask, Thread};
use node::data::{IndexFile, snapshot::SnapshotStore};
use node::indexer;
use std::io;
use std::sync::Arc;
use tokio::sync::Notify;

/// A directory that is logged.
pub struct Logged {
    /// The one who writes it.
    pub committer: Committer,
    /// Its snapshots.
    pub snapshots: SnapshotStore,
    /// Its indexes.
    pub indexes: IndexFile,
    /// What there is beside it if it belongs to a node of a cluster.
    pub beside: Option<Beside>,
}

/// How serving has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By a signal.
    Over,
    /// A node of a cluster has fetched a snapshot with which it is to start again.
    Again,
}

/// As [`crate::serve`], with updates that go through a log. Everything that was answered is as safe as the mode promises.
///
/// # Errors
/// As [`crate::serve`]; and when the log failed.
pub fn serve_logged(
    Logged { committer, snapshots, indexes, beside }: Logged,
    mut endpoints: Endpoints,
    options: Options,
    on_ready: impl FnMut(Listen),
) -> io::Result<Ended> {
    let dsa = Arc::clone(committer.dsa());
    // It is there until all that others have applied is written down.
    let auditor = endpoints.auditor.take();
    let schema = Arc::clone(dsa.shard().schema());
    let audit = auditor.map(|auditor| auditor.start(schema)).transpose()?;
    let over = Arc::new(Notify::new());
    let thread = {
        let over = Arc::clone(&over);
        let run = beside.as_ref().map(|beside| |main| beside.links.run(main));
        let run: Option<RunTask<'_>> = run.as_ref().map(|run| run as _);
        let own = Arc::clone(&endpoints.own);
        own.end_by(move || over.notify_one());
        own.change_snapshots(Arc::clone(committer.snapshot_limits()));
        Thread::start(committer, snapshots, SystemClock::start(), run, move |failed| {
            tracing::error!("{failed}");
            if own.log_failed() == OnLogFailure::ReadOnly {
                tracing::error!("searches are answered, writes are refused");
            }
        })?
    };
    let node = beside.as_ref().map(|beside| Arc::clone(&beside.node));
    let runtime = match beside {
        None => None,
        Some(Beside { node, folder, links, transfer }) => {
            let over = Arc::clone(&over);
            Some(Runtime::start(node, Arc::clone(&dsa), folder, links, transfer, move || over.notify_one())?)
        }
    };
    let indexer = indexer::Thread::start(Arc::clone(&dsa), indexes)?;
    let served = task::block_on(async {
        let mut termination = task::Termination::catch()?;
        let (files, of_signals) = (endpoints.files.clone(), Arc::clone(&dsa));
        let stop = async {
            tokio::select! {
                _ = signal_to_end(&mut termination, &of_signals, files) => {
                    if let Some(node) = &node {
                        node.step_down_at_end().await;
                    }
                }
                _ = over.notified() => {}
            }
        };
        serve_until(dsa, endpoints, options, on_ready, stop).await
    });
    // What is fetched from here on is of the next start.
    let has_fetched = runtime.as_ref().is_some_and(Runtime::has_fetched);
    // Whatever came of serving, what was answered is written down.
    let stopped = indexer.stop().and(thread.stop());
    drop(audit);
    served.flatten().and(stopped)?;
    drop(runtime);
    Ok(if has_fetched { Ended::Again } else { Ended::Over })
}
