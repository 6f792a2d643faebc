//! The agent as the engine of this server's connections.

use crate::engine::{Engine, Feed, State, Worker};
use dsa::{Dsa, Session};
use env::clock::Now;
use std::net::SocketAddr;
use std::sync::Arc;

impl Engine for Dsa {
    type Worker = dsa::Worker;

    fn worker(self: &Arc<Self>) -> Option<dsa::Worker> {
        dsa::Worker::new(self)
    }
}

impl Worker for dsa::Worker {
    type Session = Session;

    fn tick(&mut self, now: Now) {
        dsa::Worker::tick(self, now);
    }

    fn open(&mut self, _peer: SocketAddr) -> Session {
        Session::new(self)
    }

    fn feed(&mut self, session: &mut Session, input: &[u8], out: &mut Vec<u8>) -> Feed {
        let dsa::Feed { consumed, state, needed } = session.feed(self, input, out);
        Feed { consumed, state: state.into(), needed }
    }

    fn step(&mut self, session: &mut Session, out: &mut Vec<u8>) -> State {
        session.step(self, out).into()
    }

    fn shutdown(&mut self, session: &mut Session, out: &mut Vec<u8>) {
        session.shutdown(out);
    }

    fn close(&mut self, session: Session) {
        session.close(self);
    }
}

impl From<dsa::State> for State {
    fn from(state: dsa::State) -> State {
        match state {
            dsa::State::Idle => State::Idle,
            dsa::State::Busy => State::Busy,
            dsa::State::Close => State::Close,
        }
    }
}
