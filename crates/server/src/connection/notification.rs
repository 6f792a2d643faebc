//! What its thread notifies a connection of.

use super::Connection;
use crate::logs::Logged;
use crate::thread::Notification;
use dsa::State;
use env::net::Stream;

impl<S: Stream> Connection<S> {
    /// Takes what it was notified of.
    #[cold]
    pub(super) fn take_notification(&mut self, notification: Notification) {
        if let Some((accounts, gone)) = notification.gone {
            self.session.revoke(accounts, gone);
        }
        if notification.log {
            self.follow_log();
        }
    }

    /// The access log was switched on or off. It has a connection from between two requests on: in the middle of an answer nobody could tell
    /// where the next one begins.
    fn follow_log(&mut self) {
        let log = self.shared.log();
        if self.logged.as_ref().is_some_and(|logged| logged.has_gaps(log)) {
            self.logged = None;
            self.session.forget_binds();
        }
        if log.feed.is_some() && self.logged.is_none() {
            match self.state {
                State::Idle => self.logged = Logged::join(log, &mut self.session),
                _ => self.member.notify(|notification| notification.log = true),
            }
        }
        self.member.is_logged.set(self.logged.is_some());
    }
}
