//! Answers that are kept back for more to come (queue length control), and for how long.

use env::task;
use model::limits::SESSION_OUT_BYTES_MAX;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Bytes that are kept back; with more there is nothing to gain from waiting.
pub(crate) const HOLD_BYTES_MAX: usize = 64 << 10;
/// Microseconds without input after which what is kept back is sent. The timer goes in steps of a millisecond, so it is
/// 0.2 to 1.2 ms.
const HOLD_US: u64 = 200;

const _: () = assert!(HOLD_BYTES_MAX < SESSION_OUT_BYTES_MAX, "a client that takes nothing is noticed");

/// What makes a connection release what it keeps back, when no input does.
#[derive(Default)]
pub(crate) struct Hold {
    timer: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

impl Hold {
    /// There was input: it waits for the next.
    pub(crate) fn begin_anew(&mut self) {
        self.timer = None;
    }

    /// Ready when there was none for too long. Begins to wait if it did not yet.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.timer.get_or_insert_with(|| Box::pin(task::sleep_us(HOLD_US))).as_mut().poll(cx)
    }
}
