//! Sockets that the service manager opened and passed (`sd_listen_fds`): a port below 1024 without the rights for it, and clients that wait
//! while a server is restarted.

use super::socket::Bound;
use super::tcp::TcpBound;
use super::unix::UnixBound;
use std::io;
use std::os::fd::{AsFd as _, FromRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// The first descriptor that is passed.
const FIRST: i32 = 3;
/// As many as are looked at.
const COUNT_MAX: i32 = 1024;
/// Whether they were taken.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The sockets that this process was passed, each with its name; none if there is no service manager, and none the second time.
///
/// # Errors
/// When one is no socket that listens for connections.
pub fn inherited() -> io::Result<Vec<(String, Bound)>> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<i32>().ok());
    // The variables may be those of a process that started this one.
    let is_for_us = number("LISTEN_PID") == i32::try_from(std::process::id()).ok();
    let count = number("LISTEN_FDS").filter(|count| is_for_us && (1..=COUNT_MAX).contains(count));
    let (Some(count), false) = (count, TAKEN.swap(true, Ordering::Relaxed)) else { return Ok(Vec::new()) };
    let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
    let names: Vec<&str> = names.split(':').collect();
    (0..count)
        .map(|at| {
            let name = names.get(at as usize).copied().unwrap_or_default().to_owned();
            // An owned descriptor must be one that is open.
            rustix::io::fcntl_getfd(borrowed(FIRST + at)).map_err(io::Error::from)?;
            Ok((name, bound(owned(FIRST + at))?))
        })
        .collect()
}

fn borrowed(number: i32) -> std::os::fd::BorrowedFd<'static> {
    // SAFETY: the number is not -1. It is used for one system call, which reports a descriptor that is not open.
    unsafe { std::os::fd::BorrowedFd::borrow_raw(number) }
}

fn owned(number: i32) -> OwnedFd {
    // SAFETY: the descriptor is open, as was just asked. The service manager gave it to this process, and nobody else in it uses the number:
    // it was taken before the program began, and the flag lets one caller only come here.
    unsafe { OwnedFd::from_raw_fd(number) }
}

fn bound(descriptor: OwnedFd) -> io::Result<Bound> {
    // Not for programs that this one starts.
    rustix::io::fcntl_setfd(descriptor.as_fd(), rustix::io::FdFlags::CLOEXEC)?;
    let socket = socket2::Socket::from(descriptor);
    let is_listener = socket.is_listener().unwrap_or(false) && socket.r#type()? == socket2::Type::STREAM;
    if !is_listener {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a descriptor that was passed is no listening socket",
        ));
    }
    socket.set_nonblocking(true)?;
    let address = socket.local_addr()?;
    match address.as_pathname() {
        Some(path) => Ok(Bound::Unix(UnixBound::inherited(socket, path))),
        None => Ok(Bound::Tcp(TcpBound::inherited(socket))),
    }
}
