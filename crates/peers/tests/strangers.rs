//! What is no member's ends its own connection, and nothing else.

mod nodes;

use consensus::links::Channel;
use consensus::{Extent, ReplicaId};
use env::disk::RealDisk;
use env::entropy::SystemEntropy;
use nodes::{Cluster, Node, create, now_s, until};
use peers::hello::{Class, Hello};
use peers::{Authority, Holder, Identity, NodeKey, NotDone, RunId, Runs, Token};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, StreamOwned};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Takes any server: it is the other end that is tested.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256, SignatureScheme::ED25519]
    }
}

type Connection = StreamOwned<ClientConnection, TcpStream>;

/// A connection with the certificate of a node's folder, or without one.
fn connect(to: SocketAddr, dir: Option<&Path>) -> Connection {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody));
    let config = match dir {
        Some(dir) => {
            let chain =
                ["node.pem", "ca.pem"].map(|name| CertificateDer::from_pem_file(dir.join(name)).unwrap());
            let key = PrivateKeyDer::from_pem_file(dir.join("node.key")).unwrap();
            builder.with_client_auth_cert(chain.to_vec(), key).unwrap()
        }
        None => builder.with_no_client_auth(),
    };
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(nodes::PATIENCE)).unwrap();
    let tls = ClientConnection::new(Arc::new(config), "x.invalid".try_into().unwrap()).unwrap();
    StreamOwned::new(tls, stream)
}

/// A frame, of any kind and length.
fn frame(kind: u8, len: u32, body: &[u8]) -> Vec<u8> {
    [&len.to_le_bytes()[..], &[kind, 0, 0, 0], body].concat()
}

fn hello_frame(hello: &Hello) -> Vec<u8> {
    let body = hello.encode();
    frame(1, body.len() as u32, &body)
}

fn hello(cluster: &Cluster, node: u64, boots: u64) -> Hello {
    let (cluster, run) = (cluster.authority.cluster(), RunId::random(&mut SystemEntropy));
    let version = peers::hello::VERSION;
    let (class, extent, earlier) = (Class::Messages, Extent::default(), Runs::default());
    Hello { version, class, cluster, node, boots, run, extent, earlier }
}

/// Sends bytes, and reads until the end: that comes, and these bytes before it.
fn ends(mut connection: Connection, bytes: &[u8]) -> Vec<u8> {
    let _ = connection.write_all(bytes).and_then(|()| connection.flush());
    let mut read = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match connection.read(&mut buffer) {
            Ok(0) => return read,
            Ok(count) => read.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("the connection goes on"),
            Err(_) => return read,
        }
    }
}

/// Ends without having got anything.
fn gets_nothing(connection: Connection, bytes: &[u8]) {
    assert_eq!(ends(connection, bytes), b"");
}

#[test]
fn those_without_a_members_certificate_get_nothing() {
    let mut cluster = Cluster::start(3);
    let to = cluster.nodes[0].socket();
    let stranger = Authority::new(now_s(), &mut SystemEntropy).unwrap();
    // Of a CA of its own; of the cluster's CA, but no member; a member's number, but another certificate.
    let dirs = [(&stranger, 2, "a"), (&cluster.authority, 4, "b"), (&cluster.authority, 2, "c")];
    for (authority, id, name) in dirs {
        let dir = create(&cluster.data.path().join(name), authority, id);
        gets_nothing(connect(to, Some(&dir)), &hello_frame(&hello(&cluster, id, 99)));
        let identity = Identity::load(&RealDisk, &dir).unwrap();
        assert!(peers::client::command(&identity, &cluster.nodes[0].address(), b"x").is_err());
    }
    // Without a certificate only a join is read.
    gets_nothing(connect(to, None), &hello_frame(&hello(&cluster, 2, 99)));
    gets_nothing(connect(to, None), &frame(3, 4, b"abcd"));
    gets_nothing(connect(to, None), &frame(6, 4, b"abcd"));
    // A member does not join.
    gets_nothing(connect(to, Some(&cluster.nodes[1].dir)), &frame(8, 4, &[1, 0, 0, 0]));
    assert!(cluster.nodes[0].is_linked(2));
    cluster.check();
}

/// The body of a join that says this version.
fn join_body(version: u32, token: &str, request: &[u8]) -> Vec<u8> {
    let mut body = version.to_le_bytes().to_vec();
    for string in [token.as_bytes(), request, b"0.1.0"] {
        body.extend_from_slice(&(string.len() as u32).to_le_bytes());
        body.extend_from_slice(string);
    }
    // Two versions of the behaviour, and no addresses.
    body.extend_from_slice(&[2, 0, 0, 0, 2, 0, 0, 0, 0, 0]);
    body
}

/// What a node says of a join: kind and text of the frame after those that say that it is there.
fn refused(node: &Node, body: &[u8]) -> (u8, String) {
    let got = ends(connect(node.socket(), None), &frame(8, body.len() as u32, body));
    let alive = frame(2, 0, b"");
    let mut rest = &got[..];
    while let Some(more) = rest.strip_prefix(&alive[..]) {
        rest = more;
    }
    let text = String::from_utf8(rest[8..].to_vec()).unwrap();
    assert_eq!(rest, frame(rest[4], text.len() as u32, text.as_bytes()));
    (rest[4], text)
}

/// `pando serve --join` does not send these: it reads the token before, and asks nodes of its cluster only.
#[test]
fn a_token_is_read_again_by_the_node_that_gets_it() {
    let cluster = Cluster::start(1);
    let node = &cluster.nodes[0];
    let data = tempfile::tempdir().unwrap();
    let key = NodeKey::load_or_make(&RealDisk, data.path()).unwrap();
    let token = |authority: &Authority| {
        Token::issue(authority, &[node.address()], now_s(), &mut SystemEntropy).to_string()
    };
    let refused = |version, token: &str| refused(node, &join_body(version, token, &key.request()));
    let foreign = Authority::new(now_s(), &mut SystemEntropy).unwrap();
    let said = |why: &str| (10, why.to_owned());
    assert_eq!(refused(4, &token(&foreign)), said("the token is of another cluster"));
    let damaged = token(&cluster.authority).replace("mac ", "mac");
    assert_eq!(refused(4, &damaged), said("the token is damaged: its code is none"));
    let later = token(&cluster.authority).replace("token 1", "token 2");
    assert_eq!(refused(4, &later), said("the token is of another version of Pando"));
    assert_eq!(refused(2, &later), said("the node speaks another version"));
    let long = "x".repeat(peers::TOKEN_BYTES_MAX + 1);
    assert_eq!(refused(4, &long), said("the frame of the join: it is longer than its kind may be"));
}

/// A program of an earlier version knows one kind of refusal.
#[test]
fn a_join_of_an_earlier_version_is_refused_as_that_version_knows_it() {
    let cluster = Cluster::start(1);
    let node = &cluster.nodes[0];
    let token = Token::issue(&cluster.authority, &[node.address()], now_s(), &mut SystemEntropy);
    let data = tempfile::tempdir().unwrap();
    let key = NodeKey::load_or_make(&RealDisk, data.path()).unwrap();
    let why = "no node leads the cluster now: try again";
    for (version, kind) in [(3, 10), (4, 12), (5, 12)] {
        node.service.refusals.lock().unwrap().push_back(NotDone::Passing(why.to_owned()));
        let said = refused(node, &join_body(version, &token.to_string(), &key.request()));
        assert_eq!(said, (kind, why.to_owned()), "version {version}");
    }
}

#[test]
fn a_hello_that_is_not_of_its_certificate_gets_nothing() {
    let mut cluster = Cluster::start(3);
    let (to, dir) = (cluster.nodes[0].socket(), cluster.nodes[1].dir.clone());
    let right = hello(&cluster, 2, 99);
    let others = [
        Hello { node: 3, ..right },
        Hello { node: 1, ..right },
        Hello { cluster: peers::ClusterId([1; 16]), ..right },
        // An earlier start, and this one in another run: the data directory was reset.
        Hello { boots: 0, ..right },
        Hello { boots: 1, ..right },
    ];
    for other in others {
        gets_nothing(connect(to, Some(&dir)), &hello_frame(&other));
    }
    let mut version = right.encode();
    version[0] = 1;
    gets_nothing(connect(to, Some(&dir)), &frame(1, version.len() as u32, &version));
    version[0] = peers::hello::VERSION as u8;
    version.push(0);
    gets_nothing(connect(to, Some(&dir)), &frame(1, version.len() as u32, &version));
    // This node's own certificate is good for commands only.
    let own = cluster.nodes[0].dir.clone();
    gets_nothing(connect(to, Some(&own)), &hello_frame(&Hello { node: 1, ..right }));
    assert!(cluster.nodes[0].is_linked(2) && cluster.nodes[0].is_linked(3));
    cluster.check();
}

#[test]
fn a_node_whose_disk_was_set_back_gets_nothing_also_from_one_that_has_started_since() {
    let mut cluster = Cluster::start(3);
    let extent = |term, index| Extent { term, index };
    // Node 1 leads and says what node 2 has acknowledged; node 3 hears of it by that alone.
    cluster.nodes[0].peers.acknowledged(5, &[(1, 120), (2, 100), (3, 120)]);
    let has_line = |node: &Node, begin: &str, end: &str| {
        let text = std::fs::read_to_string(node.dir.join("seen")).unwrap();
        text.lines().any(|line| line.starts_with(begin) && line.ends_with(end))
    };
    until("node 3 writes what node 2 has acknowledged", || {
        cluster.nodes[2].peers.save_seen().unwrap();
        has_line(&cluster.nodes[2], "node 2 boots 1 ", " term 5 index 100")
    });
    // The leader does not come back, and node 3 has forgotten what was not on its disk.
    let [two, three] = [1, 1].map(|at| cluster.nodes.remove(at));
    cluster.nodes.clear();
    let (second, of_two, third, of_three) =
        (two.socket(), two.dir.clone(), three.socket(), three.dir.clone());
    let members = [two.member.clone(), three.member.clone()];
    drop((two, three));
    cluster.nodes.push(Node::start_from(&of_three, &cluster.authority, third, extent(5, 120)));
    cluster.nodes[0].peers.set_members(&members);
    let right = hello(&cluster, 2, 2);
    for image in [
        // The usual image: of the run that goes on. Its start is the next one, and its log ends before.
        Hello { extent: extent(5, 99), ..right },
        Hello { extent: extent(4, 500), ..right },
        Hello { boots: 1, extent: extent(5, 100), ..right },
        // One that was started before, and refused: its run before this one was another than that which was seen.
        Hello { extent: extent(5, 100), earlier: Runs::of(&[right.run]).unwrap(), ..right },
    ] {
        gets_nothing(connect(third, Some(&of_two)), &hello_frame(&image));
    }
    // The disk itself has all of it.
    cluster.nodes.push(Node::start_from(&of_two, &cluster.authority, second, extent(5, 100)));
    cluster.introduce();
    cluster.until_linked();
    cluster.check();
    assert!(has_line(&cluster.nodes[0], "node 2 boots 2 ", " term 5 index 100"));
}

#[test]
fn a_node_that_has_gone_on_since_its_start_is_linked_also_by_one_that_heard_of_that_before() {
    let mut cluster = Cluster::start(3);
    let extent = |index| Extent { term: 5, index };
    let two = cluster.nodes.remove(1);
    let (second, of_two) = (two.socket(), two.dir.clone());
    drop(two);
    cluster.nodes.push(Node::start_from(&of_two, &cluster.authority, second, extent(100)));
    // It is linked to node 1, which leads, first: what it acknowledges there node 3 hears before it hears of this start.
    *cluster.nodes[2].durable.lock().unwrap() = extent(150);
    cluster.nodes[0].peers.acknowledged(5, &[(2, 150)]);
    until("node 3 hears what node 2 has acknowledged", || {
        cluster.nodes[1].peers.save_seen().unwrap();
        std::fs::read_to_string(cluster.nodes[1].dir.join("seen")).unwrap().contains(" term 5 index 150")
    });
    cluster.introduce();
    cluster.until_linked();
    cluster.check();
}

#[test]
fn garbage_ends_its_connection_and_nothing_else() {
    let mut cluster = Cluster::start(3);
    let (to, dir) = (cluster.nodes[0].socket(), cluster.nodes[1].dir.clone());
    // Before TLS.
    for bytes in [&b"GET / HTTP/1.0\r\n\r\n"[..], &[0; 100_000], b"\x16\x03\x01\xff\xff"] {
        let mut stream = TcpStream::connect(to).unwrap();
        stream.set_read_timeout(Some(nodes::PATIENCE)).unwrap();
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut read = Vec::new();
        let _ = stream.read_to_end(&mut read);
        assert!(read.len() < 64, "an alert at most");
    }
    // In its first frame: kinds, reserved bytes, lengths.
    for wrong in [frame(0, 0, b""), frame(77, 0, b""), frame(1, 1_025, b""), frame(1, u32::MAX, b"")] {
        gets_nothing(connect(to, Some(&dir)), &wrong);
    }
    let mut reserved = hello_frame(&hello(&cluster, 2, 99));
    reserved[6] = 1;
    gets_nothing(connect(to, Some(&dir)), &reserved);
    cluster.check();
    // Behind a good hello: node 2 is restarted for that, so that its hello is a new one.
    let old = cluster.nodes.remove(1);
    drop(old);
    let mut boots = 1;
    let wrongs = [
        frame(3, consensus::message::BYTES_MAX as u32 + 1, b""),
        frame(4, (20 << 20) + 1, b""),
        frame(2, 1, b"x"),
        frame(5, 4, b"file"),
        frame(6, 4, b"what"),
        frame(1, 0, b""),
        frame(11, 9, b"cut short"),
        b"garbage garbage garbage".to_vec(),
    ];
    for wrong in wrongs {
        boots += 1;
        let first = hello_frame(&hello(&cluster, 2, boots));
        let read = ends(connect(to, Some(&dir)), &[&first[..], &frame(3, 4, b"good"), &wrong].concat());
        assert_eq!(read[..8], frame(1, 76, b"")[..], "the hello is answered");
        let (from, message) = cluster.nodes[0].next(Channel::Consensus);
        assert_eq!((from, &message[..]), (ReplicaId(2), &b"good"[..]));
    }
    // A frame that ends in its middle is none.
    let first = hello_frame(&hello(&cluster, 2, boots + 1));
    let mut connection = connect(to, Some(&dir));
    connection.write_all(&[&first[..], &frame(3, 100, b"half")].concat()).unwrap();
    let mut answer = [0; 8];
    connection.read_exact(&mut answer).unwrap();
    drop(connection);
    until("it is closed", || {
        let status = cluster.nodes[0].peers.status();
        status.iter().all(|link| link.node != 2 || !link.receives_messages)
    });
    cluster.check();
    assert_eq!(cluster.nodes[0].consensus.receive(), None);
}

#[test]
fn a_member_that_is_removed_by_its_own_command_is_answered() {
    let cluster = Cluster::start(3);
    let identity = Identity::load(&RealDisk, &cluster.nodes[2].dir).unwrap();
    let (first, held) = (&cluster.nodes[0], &cluster.nodes[0].service.held);
    let address = first.address();
    let asks = std::thread::spawn(move || peers::client::command(&identity, &address, b"hold"));
    until("the command is executed", || held.load(Ordering::SeqCst));
    first.peers.set_members(&cluster.members()[..2]);
    held.store(false, Ordering::SeqCst);
    assert_eq!(asks.join().unwrap().unwrap()[..], *b"3: hold");
}

#[test]
fn a_removed_member_is_cut_off_at_once() {
    let mut cluster = Cluster::start(3);
    let members = cluster.members();
    // What it sent and was not received yet is gone with it.
    let came = cluster.nodes[0].came();
    cluster.nodes[2].updates.send(ReplicaId(1), b"late".to_vec());
    until("it came", || cluster.nodes[0].came() == came + 1);
    for node in &cluster.nodes[..2] {
        node.peers.set_members(&members[..2]);
        assert!(node.peers.status().iter().all(|link| link.node != 3));
    }
    assert_eq!(cluster.nodes[0].updates.receive(), None);
    until("node 3 notices", || !cluster.nodes[2].is_linked(1) && !cluster.nodes[2].is_linked(2));
    gets_nothing(
        connect(cluster.nodes[0].socket(), Some(&cluster.nodes[2].dir)),
        &hello_frame(&hello(&cluster, 3, 99)),
    );
    let identity = Identity::load(&RealDisk, &cluster.nodes[2].dir).unwrap();
    assert!(peers::client::command(&identity, &cluster.nodes[0].address(), b"x").is_err());
    let removed = cluster.nodes.pop().unwrap();
    cluster.check();
    // It may become one again.
    cluster.nodes.push(removed);
    cluster.introduce();
    cluster.until_linked();
    cluster.check();
}

#[test]
fn a_renewed_certificate_is_taken_beside_the_earlier_one() {
    let mut cluster = Cluster::start(2);
    let dir = cluster.nodes[1].dir.clone();
    let mut identity = Identity::load(&RealDisk, &dir).unwrap();
    let renewed = cluster.authority.issue(&identity.key().request(), 2, now_s(), &mut SystemEntropy).unwrap();
    let fingerprint = Holder::read(&renewed).unwrap().fingerprint;
    cluster.nodes[1].member.certificates.push(fingerprint);
    cluster.introduce();
    assert!(cluster.nodes[0].is_linked(2), "links go on with the earlier one");
    identity.renew(&RealDisk, &dir, renewed).unwrap();
    cluster.nodes[1].peers.renew(&identity).unwrap();
    cluster.nodes[1].member.certificates.remove(0);
    cluster.introduce();
    cluster.until_linked();
    cluster.check();
}

#[test]
fn those_that_say_nothing_take_no_more_than_their_places() {
    let mut cluster = Cluster::start(2);
    let to = cluster.nodes[0].socket();
    let silent: Vec<TcpStream> = (0..80).map(|_| TcpStream::connect(to).unwrap()).collect();
    // They do not keep a member out.
    let identity = Identity::load(&RealDisk, &cluster.nodes[1].dir).unwrap();
    let answer = peers::client::command(&identity, &cluster.nodes[0].address(), b"x").unwrap();
    assert_eq!(answer, "2: x");
    cluster.check();
    // The oldest have lost their places, the others are not served for long.
    for mut stream in silent {
        stream.set_read_timeout(Some(nodes::PATIENCE)).unwrap();
        match stream.read(&mut [0; 64]) {
            Ok(read) => assert_eq!(read, 0),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
        }
    }
    cluster.check();
}

#[test]
fn a_node_is_not_linked_to_another_one_at_its_address() {
    let mut cluster = Cluster::start(3);
    let mut members = cluster.members();
    let (two, three) = (members[1].addresses.clone(), members[2].addresses.clone());
    cluster.nodes[0].peers.set_members(&members[..1]);
    (members[1].addresses, members[2].addresses) = (three.clone(), three);
    cluster.nodes[0].peers.set_members(&members);
    let sends = |node: u64, cluster: &Cluster| {
        let status = cluster.nodes[0].peers.status();
        status.iter().any(|link| link.node == node && link.sends_messages && link.sends_files)
    };
    until("node 3 is linked", || sends(3, &cluster));
    assert!(!sends(2, &cluster), "node 3 is not node 2");
    members[1].addresses = two;
    cluster.nodes[0].peers.set_members(&members);
    cluster.until_linked();
    cluster.check();
}

#[test]
fn a_node_is_not_linked_to_one_that_has_another_certificate() {
    let data = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::start(1);
    // The address of node 2 belongs to a server of another cluster, which knows this one as a member.
    let foreign = Arc::new(Authority::new(now_s(), &mut SystemEntropy).unwrap());
    let dir = create(&data.path().join("2"), &foreign, 2);
    let other = Node::start(&dir, &foreign, "127.0.0.1:0".parse().unwrap());
    other.peers.set_members(&[cluster.nodes[0].member.clone(), other.member.clone()]);
    cluster.nodes[0].peers.set_members(&[cluster.nodes[0].member.clone(), other.member.clone()]);
    // Node 3 is there too, and linked.
    let third = create(&data.path().join("3"), &cluster.authority, 3);
    let third = Node::start(&third, &cluster.authority, "127.0.0.1:0".parse().unwrap());
    let members = [cluster.nodes[0].member.clone(), other.member.clone(), third.member.clone()];
    cluster.nodes[0].peers.set_members(&members);
    third.peers.set_members(&members);
    until("node 3 is linked", || cluster.nodes[0].is_linked(3));
    let status = cluster.nodes[0].peers.status();
    assert!(status.iter().any(|link| link.node == 2 && !link.sends_messages && !link.receives_messages));
    cluster.nodes[0].consensus.send(ReplicaId(2), b"secret".to_vec());
    assert!(other.peers.links(Channel::Consensus).receive().is_none());
}
