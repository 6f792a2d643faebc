//! A write to a stream.

use env::net::Stream;
use std::io;
use std::task::{Context, Poll, ready};

/// One write. A socket that takes nothing of something is an error, or its writer would never end.
pub(super) fn write_some<S: Stream>(
    stream: &mut S,
    cx: &mut Context<'_>,
    bytes: &[u8],
) -> Poll<io::Result<usize>> {
    assert!(!bytes.is_empty(), "a write of nothing would look like a socket that takes nothing");
    match ready!(stream.poll_write(cx, bytes)) {
        Ok(0) => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
        Ok(written) => {
            assert!(written <= bytes.len(), "a stream takes no more than it was given");
            Poll::Ready(Ok(written))
        }
        failed => Poll::Ready(failed),
    }
}
