//! Connections that come and go, and what they are sent without asking.

use super::{Connection, Node};
use dsa::{Session, State};
use env::clock::Clock;
use std::task::{Context, Waker};

impl Node {
    /// A client connects, and has not bound yet. The number of its session.
    pub fn connect(&mut self) -> usize {
        let session = Session::new(&mut self.worker);
        let (input, answers) = (Vec::new(), Vec::new());
        self.connections.push(Connection { session, waits: false, rank: None, input, answers });
        self.connections.len() - 1
    }

    /// The client with this session has gone, and another comes.
    pub fn connect_again(&mut self, session: usize) {
        self.connections[session].session = Session::new(&mut self.worker);
        let connection = &mut self.connections[session];
        connection.waits = false;
        connection.input.clear();
        connection.answers.clear();
    }

    /// What a session was sent since the last call, with what its searches that follow changes have to say up to now.
    pub fn followed(&mut self, session: usize, clock: &dyn Clock) -> Vec<u8> {
        self.worker.tick(clock.now());
        let Connection { session, waits, answers, .. } = &mut self.connections[session];
        let mut all = std::mem::take(answers);
        if *waits {
            return all;
        }
        loop {
            let cx = &mut Context::from_waker(Waker::noop());
            let mut state = session.poll_notices(&self.worker, cx, answers);
            all.append(answers);
            if state != State::Busy {
                return all;
            }
            while state == State::Busy {
                state = session.step(&mut self.worker, answers);
                all.append(answers);
            }
        }
    }
}
