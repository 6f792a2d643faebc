//! The server under test: a process that is started, and ended one way or the other.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Who administers it.
const ROOT: &str = "cn=root";
const PASSWORD: &str = "secret";

/// A running server.
pub(super) struct Server {
    process: Child,
    port: u16,
}

impl Server {
    /// Starts one that keeps its directory below `folder`, or in memory, and waits until it is ready.
    pub(super) fn start(
        pando: &Path,
        folder: &Path,
        memory: bool,
        more: &[String],
    ) -> Result<Server, String> {
        let fail = |what: &str, error: std::io::Error| format!("{what}: {error}");
        let password = folder.join("password");
        std::fs::create_dir_all(folder).map_err(|error| fail("the folder", error))?;
        std::fs::write(&password, PASSWORD).map_err(|error| fail("the password", error))?;
        let said = OpenOptions::new().create(true).append(true).open(folder.join("server.log"));
        let mut command = Command::new(pando);
        command.args(["serve", "--suffix", "dc=x", "--listen", "ldap://127.0.0.1:0", "--root-dn", ROOT]);
        command.arg("--root-password-file").arg(&password).args(more);
        match memory {
            true => command.arg("--memory"),
            false => command.arg("--data").arg(folder.join("data")),
        };
        command.stdout(Stdio::piped()).stderr(said.map_err(|error| fail("server.log", error))?);
        let process = command.spawn().map_err(|error| fail("the server", error))?;
        // From now on it ends with this, also if it never gets ready.
        let mut server = Server { process, port: 0 };
        let mut line = String::new();
        let read = server.process.stdout.as_mut().map(|out| BufReader::new(out).read_line(&mut line));
        let port = line.trim().rsplit(':').next().and_then(|port| port.parse().ok());
        match (read, port) {
            (Some(Ok(_)), Some(port)) => {
                server.port = port;
                Ok(server)
            }
            _ => Err(format!("the server said {line:?} instead of being ready; see server.log")),
        }
    }

    /// How to reach it.
    pub(super) fn remote(&self) -> client::Server {
        let credentials = Some((ROOT.to_owned(), PASSWORD.as_bytes().to_vec()));
        client::Server { host: "127.0.0.1".to_owned(), port: self.port, credentials, security: None }
    }

    /// SIGKILL, to a server that is still there.
    pub(super) fn kill(mut self) -> Result<(), String> {
        match self.process.try_wait() {
            // The rest is done when it is dropped.
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(format!("the server has ended by itself: {status}; see server.log")),
            Err(error) => Err(format!("the server: {error}")),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only if it is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
