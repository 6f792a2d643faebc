//! What is wrong on the port of peers has one line in the log, and no line has a secret.

mod nodes;

use env::entropy::SystemEntropy;
use nodes::{Cluster, now_s, until};
use peers::{Authority, NodeKey, Token, client, folder};
use std::io::{Read as _, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    fn warnings(&self) -> usize {
        self.text().lines().filter(|line| line.contains("WARN") || line.contains("ERROR")).count()
    }
}

#[test]
fn each_wrong_connection_has_one_line_and_no_line_has_a_secret() {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_max_level(tracing::Level::TRACE);
    subscriber.with_writer(move || writer.clone()).init();
    let mut cluster = Cluster::start(2);
    let begun = lines.warnings();
    let to = cluster.nodes[0].socket();
    let mut expected = begun;
    let mut one_more = |what: &str| {
        expected += 1;
        until(what, || lines.warnings() >= expected);
        assert_eq!(lines.warnings(), expected, "{what}: {}", lines.text());
    };
    for (what, bytes) in
        [("no TLS", &b"GET / HTTP/1.0\r\n\r\n"[..]), ("nothing", b""), ("half a record", b"\x16\x03\x01")]
    {
        let mut stream = TcpStream::connect(to).unwrap();
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
        one_more(what);
    }
    let data = tempfile::tempdir().unwrap();
    let key = NodeKey::load_or_make(&env::disk::RealDisk, &folder(data.path())).unwrap();
    let request = |version: &str| peers::JoinRequest {
        request: key.request(),
        peer_addresses: Vec::new(),
        ldap_addresses: Vec::new(),
        version: version.to_owned(),
        behaviours: (2, 2),
    };
    let addresses = [cluster.nodes[0].address()];
    let earlier_s = now_s() - peers::TOKEN_VALID_S;
    let expired = Token::issue(&cluster.authority, &addresses, earlier_s, &mut SystemEntropy);
    assert!(client::join(&expired, &request("1")).is_err());
    one_more("a join with an expired token");
    let foreign = Authority::new(now_s(), &mut SystemEntropy).unwrap();
    let foreign = Token::issue(&foreign, &addresses, now_s(), &mut SystemEntropy);
    assert!(client::join(&foreign, &request("1")).is_err());
    one_more("a join of a node that looks for another cluster");
    let good = Token::issue(&cluster.authority, &addresses, now_s(), &mut SystemEntropy);
    client::join(&good, &request("1")).unwrap();
    cluster.check();
    // A node that was removed comes again and again with each of its links. It has a line at each end, and reads where the reason is.
    cluster.nodes[0].peers.set_members(&cluster.members()[..1]);
    let refused = |level: &str| {
        let of = |line: &&str| {
            line.contains(level) && line.contains("is refused: its certificate is of no member")
        };
        lines.text().lines().filter(of).count()
    };
    until("it has tried a few times", || refused("DEBUG") >= 5);
    assert_eq!(refused("WARN"), 1, "{}", lines.text());
    assert!(
        lines.text().contains("no link to node 1 for messages: it does not take this node: its log says why")
    );
    drop(cluster);
    let text = lines.text();
    for token in [&expired, &good] {
        let code = token.to_string();
        let code = code.lines().last().unwrap().strip_prefix("mac ").unwrap();
        assert!(!text.contains(code));
    }
    assert!(!text.contains("PRIVATE KEY"));
}
