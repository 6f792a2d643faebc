//! Questions of other replicas after the end of the log, which a leader can answer by itself.

use super::RaftLog;
use crate::faults::holes;
use crate::member::ReplicaId;
use env::planted;
use raft::eraftpb::{Message, MessageType};

impl RaftLog {
    /// Sends a question with the term that the replica knows: the core sends none. That it is the term of the replica that asks relies on the links: a question
    /// that another replica passes on is not from the end of its link, and is ignored.
    pub(super) fn with_term_of_question(&self, mut message: Message) -> Message {
        if message.get_msg_type() == MessageType::MsgReadIndex {
            message.term = self.core.raft.term;
        }
        message
    }

    /// Answers a question at once, without asking others whether it still leads, if this replica and the one that asks are a majority. The other
    /// one knew of no later term when it asked, and this one knows of none now. A later leader needs the vote of one of them, so none has committed anything
    /// before the question. Returns the message if it is none of these.
    pub(super) fn answer_question(&mut self, mut message: Message) -> Option<Message> {
        if message.get_msg_type() != MessageType::MsgReadIndex {
            return Some(message);
        }
        // Of the core the term is that of a message of its own.
        let known = std::mem::take(&mut message.term);
        let raft = &self.core.raft;
        let has_begun = raft.commit_to_current_term() || planted::is(holes::READ_BEFORE_OWN_TERM);
        let can_answer = self.leads() && has_begun;
        if !can_answer || known != raft.term || !self.is_majority_with(ReplicaId(message.from)) {
            return Some(message);
        }
        let mut answer = Message { from: self.id.0, to: message.from, ..Message::default() };
        answer.set_msg_type(MessageType::MsgReadIndexResp);
        (answer.term, answer.index) = (raft.term, raft.raft_log.committed);
        answer.entries = message.entries;
        self.send(vec![answer]);
        None
    }

    /// Are this replica and another one a majority, in a joint state of both sets?
    fn is_majority_with(&self, other: ReplicaId) -> bool {
        let (_, members) = self.core.store().members();
        let is_majority = |voters: &[ReplicaId]| {
            let count = voters.iter().filter(|id| **id == self.id || **id == other).count();
            2 * count > voters.len()
        };
        is_majority(&members.voters) && (!members.is_joint() || is_majority(&members.outgoing))
    }
}
