//! Unix stream sockets on tokio. The system says whose process connected.

use super::peer::{Credentials, PeerAddress};
use super::stream::{Listener, Pending, Stream};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A Unix socket that is bound and does not listen yet.
///
/// It is bound under a name beside its own and moved to that when it listens. So nobody finds a socket that refuses connections, nor one
/// with other permissions than were asked for, and what a former process has left is replaced in one step.
pub struct UnixBound {
    socket: socket2::Socket,
    /// Removed when this is dropped; none if it is somebody else's.
    file: Option<SocketFile>,
    path: PathBuf,
}

/// The file of a socket, which goes with its owner unless another has taken its place.
struct SocketFile {
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
}

impl SocketFile {
    fn of(path: PathBuf) -> io::Result<SocketFile> {
        let metadata = std::fs::symlink_metadata(&path)?;
        Ok(SocketFile { path, identity: (metadata.dev(), metadata.ino()) })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_own = SocketFile::of_now(&self.path) == Some(self.identity);
        if is_own {
            // If it stays the next start replaces it.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl SocketFile {
    fn of_now(path: &Path) -> Option<(u64, u64)> {
        std::fs::symlink_metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
    }
}

impl UnixBound {
    /// Binds a socket that will be found at `path`, by those whom the permissions `mode` allow.
    ///
    /// # Errors
    /// When there is something at the path that is no socket, or a socket that a process listens on.
    pub fn bind(path: &Path, mode: u32) -> io::Result<UnixBound> {
        must_be_free(path)?;
        let name = path.file_name().ok_or_else(|| invalid("names no file"))?.to_string_lossy().into_owned();
        let beside = path.with_file_name(format!(".{name}.{}", std::process::id()));
        // Left by a process that had the same number.
        if std::fs::symlink_metadata(&beside).is_ok_and(|metadata| metadata.file_type().is_socket()) {
            std::fs::remove_file(&beside)?;
        }
        let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        socket.bind(&socket2::SockAddr::unix(&beside)?)?;
        let file = SocketFile::of(beside)?;
        std::fs::set_permissions(&file.path, std::fs::Permissions::from_mode(mode))?;
        Ok(UnixBound { socket, file: Some(file), path: path.to_owned() })
    }

    /// A socket that somebody else has bound, and removes.
    pub(super) fn inherited(socket: socket2::Socket, path: &Path) -> UnixBound {
        UnixBound { socket, file: None, path: path.to_owned() }
    }

    /// Starts to listen, at its path. Must be called inside an event loop (see [`crate::task`]).
    ///
    /// # Errors
    /// As [`UnixBound::bind`]: another process may have begun to listen there since.
    pub fn listen(self, backlog: i32) -> io::Result<UnixListener> {
        let UnixBound { socket, mut file, path } = self;
        socket.listen(backlog)?;
        if let Some(file) = &mut file {
            must_be_free(&path)?;
            std::fs::rename(&file.path, &path)?;
            file.path = path.clone();
        }
        Ok(UnixListener { listener: tokio::net::UnixListener::from_std(socket.into())?, _file: file, path })
    }
}

/// Whether a socket may be put at a path: nothing is there, or one that nobody listens on.
fn must_be_free(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(metadata) if !metadata.file_type().is_socket() => {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a file that is no socket"));
        }
        Ok(_) => {}
    }
    let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None)?;
    // Who listens and has no room for one more is there, too.
    socket.set_nonblocking(true)?;
    match socket.connect(&socket2::SockAddr::unix(path)?) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::AddrInUse, "another process listens there")),
    }
}

fn invalid(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// The real listener.
pub struct UnixListener {
    listener: tokio::net::UnixListener,
    _file: Option<SocketFile>,
    path: PathBuf,
}

impl UnixListener {
    /// Where it is found.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Listener for UnixListener {
    type Stream = UnixStream;
    type Pending = UnixPending;

    async fn accept(&self) -> io::Result<(UnixPending, PeerAddress)> {
        let (stream, _) = self.listener.accept().await?;
        // Of the moment when it connected: a process that has passed its end on to another since is not asked again.
        let of = stream.peer_cred()?;
        let credentials = Credentials { uid: of.uid(), gid: of.gid(), pid: of.pid().unwrap_or(0) };
        Ok((UnixPending(stream.into_std()?), PeerAddress::Unix(credentials)))
    }
}

/// An accepted socket outside any event loop.
pub struct UnixPending(std::os::unix::net::UnixStream);

impl Pending for UnixPending {
    type Stream = UnixStream;

    fn open(self) -> io::Result<UnixStream> {
        Ok(UnixStream(tokio::net::UnixStream::from_std(self.0)?))
    }
}

/// The real stream.
pub struct UnixStream(tokio::net::UnixStream);

impl Stream for UnixStream {
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        Pin::new(&mut self.0).poll_read(cx, &mut buffer).map_ok(|()| buffer.filled().len())
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }

    fn is_broken(&self) -> bool {
        !matches!(self.0.take_error(), Ok(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream as Client;

    fn mode_of(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn bytes_go_both_ways_and_the_client_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ldapi");
        crate::task::block_on(async {
            let bound = UnixBound::bind(&path, 0o620).unwrap();
            assert!(!path.exists(), "nobody finds it before it listens");
            let listener = bound.listen(16).unwrap();
            assert_eq!((listener.path(), mode_of(&path)), (&*path, 0o620));
            let mut client = Client::connect(&path).unwrap();
            let (pending, peer) = listener.accept().await.unwrap();
            let PeerAddress::Unix(credentials) = peer else { panic!("{peer}") };
            let own = std::fs::metadata(&path).unwrap();
            assert_eq!((credentials.uid, credentials.pid), (own.uid(), std::process::id() as i32));
            assert!(peer.is_local() && peer.ip().is_none());
            let mut stream = pending.open().unwrap();
            client.write_all(b"ping").unwrap();
            let mut buffer = [0; 16];
            let n = poll_fn(|cx| stream.poll_read(cx, &mut buffer)).await.unwrap();
            assert_eq!(&buffer[..n], b"ping");
            assert_eq!(poll_fn(|cx| stream.poll_write(cx, b"pong")).await.unwrap(), 4);
            poll_fn(|cx| stream.poll_finish(cx)).await.unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).unwrap();
            assert_eq!(answer, b"pong");
        })
        .unwrap();
        assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "it is removed at the end");
    }

    #[test]
    fn only_what_nobody_listens_on_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ldapi");
        crate::task::block_on(async {
            // What a process that was killed has left.
            drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
            let first = UnixBound::bind(&path, 0o666).unwrap();
            let folder_of_second = folder.path().join("second");
            std::fs::create_dir(&folder_of_second).unwrap();
            let first = first.listen(16).unwrap();
            let error = UnixBound::bind(&path, 0o666).err().unwrap();
            assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
            // The file of another is not removed.
            std::fs::remove_file(&path).unwrap();
            let other = std::os::unix::net::UnixListener::bind(&path).unwrap();
            drop(first);
            assert!(Client::connect(&path).is_ok());
            drop(other);
        })
        .unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "text").unwrap();
        assert!(UnixBound::bind(&file, 0o666).err().unwrap().to_string().contains("no socket"));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "text");
    }

    #[test]
    fn one_that_began_to_listen_meanwhile_keeps_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ldapi");
        crate::task::block_on(async {
            let bound = UnixBound::bind(&path, 0o666).unwrap();
            let other = std::os::unix::net::UnixListener::bind(&path).unwrap();
            assert_eq!(bound.listen(16).err().unwrap().kind(), io::ErrorKind::AddrInUse);
            assert!(Client::connect(&path).is_ok());
            drop(other);
        })
        .unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
