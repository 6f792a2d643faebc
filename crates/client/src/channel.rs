//! What a connection's bytes go through: nothing, or TLS.

use env::poll::{Connection, Interest, Progress};
use rustls::{ClientConnection, Error};
use std::io::{self, Read as _, Write as _};

/// Bytes of records that are read at once.
const RECORDS_BYTES: usize = 64 << 10;

/// A connection, with or without TLS. As the socket does, it gives and takes what it can without waiting.
pub(crate) enum Channel {
    /// The bytes are those of the socket.
    Plain(Connection),
    /// They are in records of TLS.
    Secure(Box<Secure>),
}

/// A connection with TLS. The handshake is made by the first reads and writes.
pub(crate) struct Secure {
    connection: Connection,
    session: ClientConnection,
    /// Records that were read; those before `taken` are decrypted.
    records: Vec<u8>,
    taken: usize,
    /// Why TLS has failed. Nothing goes through it any more.
    failure: Option<Error>,
}

impl Channel {
    /// TLS over a connection on which all that was received is taken.
    pub(crate) fn secure(connection: Connection, session: ClientConnection) -> Channel {
        let (records, taken, failure) = (Vec::new(), 0, None);
        Channel::Secure(Box::new(Secure { connection, session, records, taken, failure }))
    }

    /// The socket.
    pub(crate) fn connection(&self) -> &Connection {
        match self {
            Channel::Plain(connection) => connection,
            Channel::Secure(secure) => &secure.connection,
        }
    }

    /// The socket, for another use.
    pub(crate) fn into_connection(self) -> Connection {
        match self {
            Channel::Plain(connection) => connection,
            Channel::Secure(secure) => secure.connection,
        }
    }

    /// Reads what is there.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Progress {
        match self {
            Channel::Plain(connection) => connection.read(buffer),
            Channel::Secure(secure) => secure.read(buffer),
        }
    }

    /// Writes what there is room for.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Progress {
        match self {
            Channel::Plain(connection) => connection.write(bytes),
            Channel::Secure(secure) => secure.write(bytes),
        }
    }

    /// Sends records that were made and not sent.
    pub(crate) fn flush(&mut self) {
        if let Channel::Secure(secure) = self {
            secure.flush();
        }
    }

    /// What to wait for, where bytes wait to be written or not. The end of a handshake, before which TLS takes few bytes, comes by reads.
    pub(crate) fn interest(&self, has_waiting: bool) -> Interest {
        let writes = match self {
            Channel::Plain(_) => has_waiting,
            Channel::Secure(secure) => {
                let session = &secure.session;
                session.wants_write() || has_waiting && !session.is_handshaking()
            }
        };
        if writes { Interest::ReadWrite } else { Interest::Read }
    }

    /// Why TLS has failed, if it has.
    pub(crate) fn failure(&self) -> Option<String> {
        match self {
            Channel::Secure(secure) => secure.failure.as_ref().map(Error::to_string),
            Channel::Plain(_) => None,
        }
    }
}

impl Secure {
    fn read(&mut self, buffer: &mut [u8]) -> Progress {
        loop {
            self.flush();
            if self.failure.is_some() {
                return Progress::Closed;
            }
            match self.session.reader().read(buffer) {
                // The server has said that nothing more comes.
                Ok(0) => return Progress::Closed,
                Ok(bytes) => return Progress::Bytes(bytes),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Progress::Closed,
            }
            if self.taken == self.records.len() {
                self.records.resize(RECORDS_BYTES, 0);
                let read = self.connection.read(&mut self.records);
                let bytes = if let Progress::Bytes(bytes) = read { bytes } else { 0 };
                self.records.truncate(bytes);
                self.taken = 0;
                if bytes == 0 {
                    return read;
                }
            }
            self.decrypt();
        }
    }

    /// Decrypts of the records what there is room for.
    fn decrypt(&mut self) {
        let mut rest = &self.records[self.taken..];
        let before = rest.len();
        let taken = self.session.read_tls(&mut rest);
        self.taken += before - rest.len();
        assert!(self.taken <= self.records.len(), "no more is decrypted than was read");
        let done = match taken {
            Ok(0) | Err(_) => Err(Error::General("the server sent what is no TLS".to_owned())),
            Ok(_) => self.session.process_new_packets().map(drop),
        };
        if let Err(why) = done {
            // The alert that tells the server why.
            self.flush();
            self.failure = Some(why);
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Progress {
        self.flush();
        if self.failure.is_some() {
            return Progress::Closed;
        }
        match self.session.writer().write(bytes) {
            // As much as it keeps waits for the socket, or for the end of the handshake.
            Ok(0) => Progress::Later,
            Ok(taken) => {
                self.flush();
                Progress::Bytes(taken)
            }
            Err(_) => Progress::Closed,
        }
    }

    /// An end of the connection is found by the next read.
    fn flush(&mut self) {
        struct Socket<'a>(&'a mut Connection);
        impl io::Write for Socket<'_> {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                match self.0.write(bytes) {
                    Progress::Bytes(bytes) => Ok(bytes),
                    Progress::Later => Err(io::ErrorKind::WouldBlock.into()),
                    Progress::Closed => Err(io::ErrorKind::BrokenPipe.into()),
                }
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        while self.session.wants_write() {
            if self.session.write_tls(&mut Socket(&mut self.connection)).is_err() {
                break;
            }
        }
    }
}
