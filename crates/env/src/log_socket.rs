//! The local socket of a service that takes lines: each is a datagram. Nobody is waited for longer than the caller says.

use crate::log_file::takes_more;
use std::io::{self, ErrorKind};
use std::os::unix::net::UnixDatagram;
use std::path::Path;

/// The socket.
#[derive(Debug)]
pub struct LogSocket(UnixDatagram);

impl LogSocket {
    /// Connects to the service at a path.
    ///
    /// # Errors
    /// When nobody listens there.
    pub fn connect(path: &Path) -> io::Result<LogSocket> {
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        socket.connect(path)?;
        Ok(LogSocket(socket))
    }

    /// Sends a datagram; `false` if the service takes none now, and took none within `patience_ms`.
    ///
    /// # Errors
    /// When the service is gone, or takes no datagram that is so long.
    pub fn send(&mut self, datagram: &[u8], patience_ms: u32) -> io::Result<bool> {
        for is_last in [false, true] {
            match self.0.send(datagram) {
                Ok(_) => return Ok(true),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // A service that is slow has all the room that a socket has.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if is_last || !takes_more(&self.0, patience_ms) {
                        return Ok(false);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Does an error of [`LogSocket::send`] say that no such datagram is ever taken?
    pub fn is_too_long(error: &io::Error) -> bool {
        error.raw_os_error() == Some(rustix::io::Errno::MSGSIZE.raw_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_that_takes_nothing_is_not_waited_for() {
        let dir = std::env::temp_dir().join(format!("pando-socket-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("log");
        assert!(LogSocket::connect(&path).is_err());
        let service = UnixDatagram::bind(&path).unwrap();
        let mut socket = LogSocket::connect(&path).unwrap();
        assert!(LogSocket::is_too_long(&socket.send(&vec![b'x'; 64 << 20], 0).unwrap_err()));
        assert!(socket.send(b"one", 0).unwrap());
        let mut room = [0; 9];
        assert_eq!((service.recv(&mut room).unwrap(), &room[..3]), (3, &b"one"[..]));
        let taken = (0..100_000).take_while(|_| socket.send(b"more", 0).unwrap()).count();
        assert!(taken < 100_000 && !socket.send(b"more", 1).unwrap(), "{taken}");
        drop(service);
        assert!(socket.send(b"gone", 0).is_err());
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
