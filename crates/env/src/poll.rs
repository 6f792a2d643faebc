//! Readiness and plain sockets for load tools, which must cost as little as the kernel allows: one epoll per thread,
//! non-blocking TCP, CPU time by thread and process. Servers use [`crate::net`].

use rustix::event::epoll;
use rustix::event::{EventfdFlags, eventfd};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::io::{self, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// What a connection waits for. A closed or failed connection is always reported, as readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Bytes to read.
    Read,
    /// Room to write.
    Write,
    /// Either.
    ReadWrite,
}

impl Interest {
    fn flags(self) -> epoll::EventFlags {
        match self {
            Interest::Read => epoll::EventFlags::IN,
            Interest::Write => epoll::EventFlags::OUT,
            Interest::ReadWrite => epoll::EventFlags::IN | epoll::EventFlags::OUT,
        }
    }
}

/// What happened to one source.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The token it was added with.
    pub token: u64,
    /// There are bytes, an end or an error to read.
    pub readable: bool,
    /// There is room to write.
    pub writable: bool,
}

/// The token that [`Poller::wake`] is reported with; no source may have it.
pub const WAKE: u64 = u64::MAX;

/// A set of sources of which one thread waits for readiness. Level-triggered: what is not read is reported again.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    wake: OwnedFd,
}

/// The memory that [`Poller::wait`] reports into.
pub struct Events(Vec<epoll::Event>);

impl Events {
    /// Room for so many events at once; further ones are reported by the next wait.
    pub fn with_capacity(capacity: usize) -> Events {
        Events(Vec::with_capacity(capacity.max(1)))
    }

    /// What the last wait reported.
    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.0.iter().map(|event| {
            let flags = event.flags;
            let readable =
                flags.intersects(epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR);
            Event { token: event.data.u64(), readable, writable: flags.contains(epoll::EventFlags::OUT) }
        })
    }
}

impl Poller {
    /// An empty set.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn new() -> io::Result<Poller> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &wake, epoll::EventData::new_u64(WAKE), epoll::EventFlags::IN)?;
        Ok(Poller { epoll, wake })
    }

    /// Adds a source. It leaves the set when its descriptor is closed.
    ///
    /// # Errors
    /// What epoll says, among it that the source is in the set already.
    pub fn add(&self, source: &impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        assert_ne!(token, WAKE, "this token says that the poller was woken");
        Ok(epoll::add(&self.epoll, source, epoll::EventData::new_u64(token), interest.flags())?)
    }

    /// Changes what a source waits for.
    ///
    /// # Errors
    /// What epoll says, among it that the source is not in the set.
    pub fn modify(&self, source: &impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        assert_ne!(token, WAKE, "this token says that the poller was woken");
        Ok(epoll::modify(&self.epoll, source, epoll::EventData::new_u64(token), interest.flags())?)
    }

    /// Takes a source out of the set.
    ///
    /// # Errors
    /// What epoll says, among it that the source is not in the set.
    pub fn remove(&self, source: &impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, source)?)
    }

    /// Waits until a source is ready, or for so long. A signal ends the wait with no event.
    ///
    /// # Errors
    /// What epoll says; none is to be expected.
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        events.0.clear();
        let timeout = timeout.map(|time| Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(time.subsec_nanos()),
        });
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events.0), timeout.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        if events.iter().any(|event| event.token == WAKE) {
            let mut count = [0; 8];
            // Nothing to read means that another wait has taken the wake-up.
            let _ = rustix::io::read(&self.wake, &mut count);
        }
        Ok(())
    }

    /// Ends the wait of another thread, now or the next one, with an event of token [`WAKE`].
    pub fn wake(&self) {
        // A full counter means that a wake-up is in progress.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }
}

/// A TCP connection that never blocks, without Nagle's delay.
#[derive(Debug)]
pub struct Connection(TcpStream);

/// What came of one call to the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// So many bytes, at least one.
    Bytes(usize),
    /// Nothing now: wait for readiness.
    Later,
    /// The other side has closed, or the connection failed.
    Closed,
}

impl Connection {
    /// Connects; this blocks until it is done. A host name may stand for several addresses, tried in turn.
    ///
    /// # Errors
    /// What the last address said.
    pub fn connect(host: &str, port: u16) -> io::Result<Connection> {
        Connection::from_stream(TcpStream::connect((host, port))?)
    }

    /// Connects and waits for that, `patience` for all addresses of the host together. The system looks for the addresses before, for as long as it
    /// takes.
    pub fn connect_within(host: &str, port: u16, patience: Duration) -> io::Result<Connection> {
        let mut failed = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        let addresses = (host, port).to_socket_addrs()?;
        let began = Instant::now();
        for address in addresses {
            let left = patience.checked_sub(began.elapsed()).filter(|left| !left.is_zero());
            let Some(left) = left else { break };
            match TcpStream::connect_timeout(&address, left) {
                Ok(stream) => return Connection::from_stream(stream),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn from_stream(stream: TcpStream) -> io::Result<Connection> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Connection(stream))
    }

    /// Reads what is there.
    #[inline]
    pub fn read(&mut self, buffer: &mut [u8]) -> Progress {
        progress(self.0.read(buffer))
    }

    /// Writes what there is room for.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> Progress {
        progress(self.0.write(bytes))
    }

    /// Writes what there is room for of several pieces, one behind the other.
    #[inline]
    pub fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> Progress {
        progress(self.0.write_vectored(pieces))
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn progress(result: io::Result<usize>) -> Progress {
    match result {
        Ok(0) => Progress::Closed,
        Ok(bytes) => Progress::Bytes(bytes),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            Progress::Later
        }
        Err(_) => Progress::Closed,
    }
}

/// A listening socket.
#[derive(Debug)]
pub struct Acceptor(TcpListener);

impl Acceptor {
    /// Listens on `HOST:PORT`; port 0 picks one.
    ///
    /// # Errors
    /// When the address is taken or none of this machine.
    pub fn listen(address: impl ToSocketAddrs) -> io::Result<Acceptor> {
        Ok(Acceptor(TcpListener::bind(address)?))
    }

    /// Where it listens.
    ///
    /// # Errors
    /// None is to be expected.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// What `accept` says, among it that no descriptor is left.
    pub fn accept(&self) -> io::Result<Connection> {
        Connection::from_stream(self.0.accept()?.0)
    }
}

impl AsFd for Acceptor {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// CPU time of the calling thread so far, user and system.
pub fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// CPU time of all live threads of a process, user and system, in the scheduler's own resolution. Time of threads that
/// ended is missing: meant for differences while a server runs.
///
/// # Errors
/// When there is no such process, or the kernel keeps no such numbers.
pub fn process_cpu(pid: u32) -> io::Result<Duration> {
    let mut nanoseconds = 0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let Ok(text) = std::fs::read_to_string(task?.path().join("schedstat")) else { continue };
        let spent = text.split_ascii_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        nanoseconds += spent.ok_or_else(|| io::Error::other("schedstat is not what it used to be"))?;
    }
    Ok(Duration::from_nanos(nanoseconds))
}

/// Runs `work` with every number below `count`, each on a thread of its own, and waits for all: their results in order.
///
/// # Panics
/// If one of them panics, or the system has no thread left.
pub fn on_threads<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|index| {
                scope.spawn({
                    let work = &work;
                    move || work(index)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread panicked")).collect()
    })
}

/// Waits: the pauses of a thread that has nothing else to do.
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_go_both_ways_and_an_end_is_seen() {
        let acceptor = Acceptor::listen("127.0.0.1:0").unwrap();
        let port = acceptor.address().unwrap().port();
        let mut client = Connection::connect("127.0.0.1", port).unwrap();
        let mut server = acceptor.accept().unwrap();
        let (poller, mut events) = (Poller::new().unwrap(), Events::with_capacity(4));
        poller.add(&server, 7, Interest::Read).unwrap();
        poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
        assert_eq!(events.iter().count(), 0);
        assert_eq!(client.write(b"hello"), Progress::Bytes(5));
        poller.wait(&mut events, None).unwrap();
        let event = events.iter().next().unwrap();
        assert!(event.token == 7 && event.readable && !event.writable);
        let mut buffer = [0; 16];
        assert_eq!(server.read(&mut buffer), Progress::Bytes(5));
        assert_eq!(server.read(&mut buffer), Progress::Later);
        drop(client);
        poller.wait(&mut events, None).unwrap();
        assert_eq!(server.read(&mut buffer), Progress::Closed);
        poller.modify(&server, 7, Interest::ReadWrite).unwrap();
    }

    #[test]
    fn a_wake_up_ends_a_wait() {
        let (poller, mut events) = (Poller::new().unwrap(), Events::with_capacity(1));
        on_threads(2, |index| {
            if index == 0 {
                poller.wake()
            }
        });
        poller.wait(&mut events, None).unwrap();
        assert_eq!(events.iter().next().unwrap().token, WAKE);
        poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
        assert_eq!(events.iter().count(), 0);
    }

    #[test]
    fn cpu_time_is_measured() {
        let before = thread_cpu();
        assert_ne!((0..1_000_000u64).fold(1, |a, b| a ^ std::hint::black_box(b).wrapping_mul(a | 1)), 0);
        assert!(thread_cpu() > before);
        assert!(process_cpu(std::process::id()).unwrap() > Duration::ZERO);
    }
}
