//! Snapshots on their way from one replica to another. It has one owner, starts no thread and reads no clock; it reads and writes
//! files, so it is not for the thread that writes the log.

mod message;
mod receiver;
mod sender;

use consensus::WantedSnapshot;
use consensus::links::Links;
use env::disk::Disk;
use message::Message;
use receiver::{Fetched, Receiver};
use sender::Sender;
use std::path::PathBuf;
use std::sync::Arc;

/// Messages that are taken in one step.
const MESSAGES_IN_STEP: usize = 64;

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing came, and nothing is to be sent.
    Idle,
    /// Something was sent, or is to be.
    Sends,
    /// Something of the wanted snapshot came.
    Goes,
    /// The wanted snapshot cannot be had now.
    Failed,
    /// The wanted snapshot is there: the replica is to start again.
    Done,
}

/// See the module.
pub struct Transfer {
    links: Box<dyn Links>,
    disk: Arc<dyn Disk>,
    /// Where a snapshot comes.
    incoming: PathBuf,
    sender: Sender,
    receiver: Option<Receiver>,
    /// The own snapshot is for nobody.
    withholds: bool,
}

impl Transfer {
    /// Of a directory that has its own snapshot in the folder `own`, and takes those of others in `incoming`.
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        own: PathBuf,
        incoming: PathBuf,
        links: Box<dyn Links>,
    ) -> Transfer {
        let sender = Sender::new(Arc::clone(&disk), own);
        Transfer { links, disk, incoming, sender, receiver: None, withholds: false }
    }

    /// Whether the own snapshot is for nobody from now on, since nobody knows whether it is right.
    pub fn withhold(&mut self, withholds: bool) {
        self.withholds = withholds;
    }

    /// Sends what others want, and takes what comes of `wanted`.
    pub fn step(&mut self, now_ms: u64, wanted: Option<WantedSnapshot>) -> Progress {
        let mut progress = self.take(now_ms, wanted);
        for _ in 0..MESSAGES_IN_STEP {
            let Some((from, bytes)) = self.links.receive() else { break };
            let (receiver, sender) = (&mut self.receiver, &mut self.sender);
            match Message::decode(&bytes) {
                None => tracing::warn!(%from, "a message about a snapshot cannot be read; it is ignored"),
                // It asks again.
                Some(Message::Want(_)) if self.withholds => {}
                Some(Message::Want(place)) => {
                    if let Some(answer) = sender.on_want(from, place) {
                        self.links.send(from, answer.encode());
                    }
                }
                Some(Message::Gone(place)) => receiver.iter_mut().for_each(|it| it.on_gone(from, place)),
                Some(Message::Piece(place, total, data)) => {
                    let Some(it) = receiver else { continue };
                    match it.on_piece((from, place, total, &data), now_ms) {
                        Ok(Fetched::Nothing) => {}
                        Ok(Fetched::Part) => progress = Progress::Goes,
                        Ok(Fetched::All) => {
                            self.receiver = None;
                            return Progress::Done;
                        }
                        Err(error) => {
                            tracing::warn!(%from, %error, "a snapshot from another server cannot be taken");
                            self.receiver = None;
                            progress = Progress::Failed;
                        }
                    }
                }
            }
        }
        let links = &mut self.links;
        let mut sent = false;
        let mut send = |to, message: Message| {
            sent = true;
            links.send(to, message.encode());
        };
        if !self.withholds {
            self.sender.step(now_ms, &mut send);
        }
        self.receiver.iter_mut().for_each(|receiver| receiver.step(now_ms, &mut send));
        if progress == Progress::Idle && (sent || !(self.withholds || self.sender.is_idle())) {
            progress = Progress::Sends;
        }
        progress
    }

    /// Begins the fetch of another snapshot, or ends one.
    fn take(&mut self, now_ms: u64, wanted: Option<WantedSnapshot>) -> Progress {
        let Some(wanted) = wanted else {
            self.receiver = None;
            return Progress::Idle;
        };
        if let Some(receiver) = &mut self.receiver {
            let is_silent = receiver.is_silent(now_ms);
            if is_silent || !receiver.is_for(wanted) {
                self.receiver = None;
            }
            if is_silent {
                return Progress::Failed;
            }
        }
        let (disk, dir) = (&self.disk, &self.incoming);
        self.receiver.get_or_insert_with(|| Receiver::new(Arc::clone(disk), dir, wanted, now_ms));
        Progress::Idle
    }
}
