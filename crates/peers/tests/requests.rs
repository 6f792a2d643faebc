//! Joins and commands.

mod nodes;

use env::disk::RealDisk;
use env::entropy::SystemEntropy;
use nodes::{Cluster, Node, now_s};
use peers::client::{self, RequestError};
use peers::{Address, Authority, Identity, JoinRequest, Member, NodeKey, NotDone, Token, folder};

fn request(key: &NodeKey, version: &str) -> JoinRequest {
    JoinRequest {
        request: key.request(),
        peer_addresses: vec![Address::parse("127.0.0.1:7389").unwrap()],
        ldap_addresses: vec![Address::parse("127.0.0.1:389").unwrap()],
        version: version.to_owned(),
        behaviours: (2, 2),
    }
}

/// A port at which nobody listens.
fn nobody() -> Address {
    nodes::address(std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap())
}

#[test]
fn a_node_joins_with_a_token_and_is_linked() {
    let mut cluster = Cluster::start(2);
    let data = tempfile::tempdir().unwrap();
    let dir = folder(data.path());
    let key = NodeKey::load_or_make(&RealDisk, &dir).unwrap();
    // The first address does not answer.
    let addresses = [nobody(), cluster.nodes[0].address()];
    let token = Token::issue(&cluster.authority, &addresses, now_s(), &mut SystemEntropy);
    let request = request(&key, "1");
    let answer = client::join(&token, &request).unwrap();
    assert_eq!((answer.cluster, answer.node, answer.body.len()), (cluster.authority.cluster(), 10, 1 << 20));
    assert_eq!(client::join(&token, &request).unwrap(), answer, "the same key gets the same answer");
    let authority = std::sync::Arc::new(answer.to_authority().unwrap());
    let addresses = [request.peer_addresses, request.ldap_addresses];
    let identity = Identity::create(&RealDisk, &dir, &authority, key, answer.certificate, addresses).unwrap();
    assert_eq!(identity.node(), 10);
    let node = Node::start(&dir, &authority, "127.0.0.1:0".parse().unwrap());
    cluster.nodes.push(node);
    cluster.introduce();
    cluster.until_linked();
    cluster.check();
}

#[test]
fn tokens_that_are_not_good_are_refused_with_the_reason() {
    let mut cluster = Cluster::start(2);
    let data = tempfile::tempdir().unwrap();
    let key = NodeKey::load_or_make(&RealDisk, &folder(data.path())).unwrap();
    let addresses = [cluster.nodes[0].address()];
    let good = Token::issue(&cluster.authority, &addresses, now_s(), &mut SystemEntropy);
    // As the user sees it, without what is before it.
    let refused = |token: &Token, why: &str| {
        let said = client::join(token, &request(&key, "1")).map_err(|error| error.to_string());
        assert_eq!(said, Err(why.to_owned()));
    };
    let earlier_s = now_s() - peers::TOKEN_VALID_S;
    refused(
        &Token::issue(&cluster.authority, &addresses, earlier_s, &mut SystemEntropy),
        "the node refuses: the token has expired",
    );
    // One byte of its number is another.
    let id = good.to_string().lines().find(|line| line.starts_with("id ")).unwrap().to_owned();
    let other = format!("{}{}", &id[..id.len() - 1], if id.ends_with('0') { '1' } else { '0' });
    let other = Token::parse(&good.to_string().replace(&id, &other)).unwrap();
    refused(&other, "the node refuses: the token is damaged: its code is not that of its content");
    // Of another cluster: this node is not the one that it names, so it is sent nothing.
    let foreign = Authority::new(now_s(), &mut SystemEntropy).unwrap();
    let foreign = Token::issue(&foreign, &addresses, now_s(), &mut SystemEntropy);
    let unreached = |why| format!("no node answers; {}: {why}", addresses[0]);
    refused(&foreign, &unreached("invalid peer certificate: UnknownIssuer"));
    // It names this CA, but another cluster.
    let changed = good.to_string().replace(&cluster.authority.cluster().to_string(), &"0".repeat(32));
    refused(&Token::parse(&changed).unwrap(), &unreached("its certificate is of no node of the cluster"));
    // What the service says is passed on.
    let used = RequestError::Refused(format!("the token {} was used", &good.name()[..2]));
    assert_eq!(client::join(&good, &request(&key, "used")), Err(used));
    let mut long = request(&key, "1");
    long.request = vec![0; 10_000];
    assert_eq!(client::join(&good, &long), Err(RequestError::TooLong));
    long.request = vec![0; 100];
    let wrong = "the request for a certificate is not well-formed";
    assert_eq!(client::join(&good, &long), Err(RequestError::Refused(wrong.to_owned())));
    assert!(client::join(&good, &request(&key, "1")).is_ok());
    cluster.check();
}

/// Refuses the next joins at a node, for reasons that pass or stay.
fn refuse(node: &Node, refusals: &[NotDone]) {
    node.service.refusals.lock().unwrap().extend(refusals.iter().cloned());
}

fn refusals_left(node: &Node) -> usize {
    node.service.refusals.lock().unwrap().len()
}

#[test]
fn a_join_is_tried_again_at_all_nodes_while_the_reason_passes() {
    let cluster = Cluster::start(2);
    let data = tempfile::tempdir().unwrap();
    let key = NodeKey::load_or_make(&RealDisk, &folder(data.path())).unwrap();
    let [one, two] = [&cluster.nodes[0], &cluster.nodes[1]];
    let token =
        |addresses: &[Address]| Token::issue(&cluster.authority, addresses, now_s(), &mut SystemEntropy);
    let passing = NotDone::Passing("no node leads the cluster now: try again".to_owned());
    let stays = NotDone::Final("the token was used: it has become node 2".to_owned());
    let refused = Err(RequestError::Refused("the token was used: it has become node 2".to_owned()));
    // The first round ends with two refusals; in the second one the first node takes it.
    refuse(one, std::slice::from_ref(&passing));
    refuse(two, &[passing.clone(), passing.clone()]);
    let both = token(&[one.address(), nobody(), two.address()]);
    assert_eq!(client::join(&both, &request(&key, "1")).map(|answer| answer.node), Ok(10));
    assert_eq!((refusals_left(one), refusals_left(two)), (0, 1));
    refuse(one, &[passing.clone(), stays.clone()]);
    // What stays ends it, whichever node says it: node 2 is asked in the second round, and there is no third.
    refuse(two, &[passing.clone(), passing.clone()]);
    assert_eq!(client::join(&both, &request(&key, "1")), refused);
    assert_eq!((refusals_left(one), refusals_left(two)), (0, 1));
    refuse(one, &[stays, passing]);
    assert_eq!(client::join(&both, &request(&key, "1")), refused);
    assert_eq!((refusals_left(one), refusals_left(two)), (1, 0));
    // Where nobody answers there is nothing to wait for.
    let outcome = client::join(&token(&[nobody()]), &request(&key, "1"));
    assert!(matches!(&outcome, Err(RequestError::Unreachable(tried)) if tried.len() == 1), "{outcome:?}");
}

#[test]
fn commands_of_members_are_answered() {
    let cluster = Cluster::start(2);
    let identity = Identity::load(&RealDisk, &cluster.nodes[1].dir).unwrap();
    for node in &cluster.nodes {
        let answer = client::command(&identity, &node.address(), b"status").unwrap();
        assert_eq!(answer, "2: status");
    }
    let long = vec![b'x'; peers::frame::COMMAND_BYTES_MAX];
    let answer = client::command(&identity, &cluster.nodes[0].address(), &long).unwrap();
    assert_eq!(answer.len(), long.len() + 3);
    let too_long = client::command(&identity, &cluster.nodes[0].address(), &[&long[..], b"x"].concat());
    assert_eq!(too_long, Err(RequestError::TooLong));
    let unreachable = client::command(&identity, &nobody(), b"status");
    assert!(matches!(unreachable, Err(RequestError::Unreachable(_))), "{unreachable:?}");
    // Several at the same time.
    std::thread::scope(|scope| {
        for at in 0..8u8 {
            let (identity, address) = (&identity, cluster.nodes[0].address());
            scope.spawn(move || {
                let answer = client::command(identity, &address, &[b'0' + at]).unwrap();
                assert_eq!(answer[..], [b"2: ".as_slice(), &[b'0' + at]].concat());
            });
        }
    });
    let members: Vec<Member> = cluster.members();
    assert_eq!(members.len(), 2);
}
