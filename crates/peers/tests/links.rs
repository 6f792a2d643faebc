//! Messages between nodes: order, bounds, restarts.

mod nodes;

use consensus::ReplicaId;
use consensus::links::Channel;
use nodes::{Cluster, Node, until};
use std::time::{Duration, Instant};

const CHANNELS: [Channel; 3] = [Channel::Consensus, Channel::Updates, Channel::Files];

fn numbered(number: u32, len: usize) -> Vec<u8> {
    let mut message = vec![number as u8; len.max(4)];
    message[..4].copy_from_slice(&number.to_le_bytes());
    message
}

fn number(message: &[u8]) -> u32 {
    u32::from_le_bytes(message[..4].try_into().unwrap())
}

#[test]
fn three_nodes_exchange_messages_in_order_while_files_are_sent() {
    let mut cluster = Cluster::start(3);
    // Files of node 1, more than a queue holds: they are sent as they are received.
    const PARTS: u32 = 64;
    const WINDOW: u32 = 3;
    let mut sent = 0;
    while sent < WINDOW {
        cluster.nodes[0].files.send(ReplicaId(2), numbered(sent, 1 << 20));
        sent += 1;
    }
    let mut counts = [[0u32; 3]; 3];
    for part in 0..PARTS {
        // Each node sends to each some messages of both other channels meanwhile.
        for (from, counts) in counts.iter_mut().enumerate() {
            for to in (0..3).filter(|to| *to != from) {
                for at in 0..5 {
                    let count = &mut counts[to];
                    let len = 4 + (*count as usize * 37 + at) % 3_000;
                    let node = &mut cluster.nodes[from];
                    node.consensus.send(ReplicaId(to as u64 + 1), numbered(*count, len));
                    node.updates.send(ReplicaId(to as u64 + 1), numbered(*count, len));
                    *count += 1;
                }
            }
        }
        let (from, message) = cluster.nodes[1].next(Channel::Files);
        assert_eq!((from, number(&message), message.len()), (ReplicaId(1), part, 1 << 20));
        if sent < PARTS {
            cluster.nodes[0].files.send(ReplicaId(2), numbered(sent, 1 << 20));
            sent += 1;
        }
    }
    for (to, node) in cluster.nodes.iter_mut().enumerate() {
        for channel in [Channel::Consensus, Channel::Updates] {
            let mut next = [0u32; 3];
            let all: u32 = counts.iter().map(|of| of[to]).sum();
            for _ in 0..all {
                let (from, message) = node.next(channel);
                let from = from.0 as usize - 1;
                assert_eq!(number(&message), next[from], "from {from} to {to}");
                next[from] += 1;
            }
            assert_eq!(node.links(channel).receive(), None);
        }
    }
}

#[test]
fn the_longest_messages_arrive() {
    let mut cluster = Cluster::start(2);
    for (channel, len) in [
        (Channel::Consensus, consensus::message::BYTES_MAX),
        (Channel::Updates, peers::frame::UPDATE_BYTES_MAX),
        (Channel::Files, peers::frame::FILE_BYTES_MAX),
    ] {
        cluster.nodes[0].links(channel).send(ReplicaId(2), numbered(9, len));
        let (_, message) = cluster.nodes[1].next(channel);
        assert!(message[..] == numbered(9, len)[..]);
    }
}

#[test]
fn a_queue_that_is_full_ends_the_link_and_later_messages_come_in_order() {
    let mut cluster = Cluster::start(2);
    // Nobody receives: what was sent waits in the inbox, then in sockets, then in the queue.
    let mut sent = 0;
    until("the queue is full", || {
        cluster.nodes[0].files.send(ReplicaId(2), numbered(sent, 1 << 20));
        sent += 1;
        !cluster.nodes[0].peers.status()[0].sends_files
    });
    assert!(cluster.nodes[0].peers.status()[0].sends_messages, "other connections go on");
    // What came of the earlier link is a beginning of what was sent.
    let mut next = 0;
    let begun = Instant::now();
    let first = loop {
        cluster.nodes[0].files.send(ReplicaId(2), numbered(1_000_000, 8));
        match cluster.nodes[1].files.receive() {
            Some((_, message)) if number(&message) == 1_000_000 => break true,
            Some((_, message)) => {
                assert_eq!(number(&message), next);
                next += 1;
            }
            None => std::thread::park_timeout(Duration::from_millis(1)),
        }
        assert!(begun.elapsed() < nodes::PATIENCE, "the link is made anew");
    };
    assert!(first && next < sent);
    for at in 0..100 {
        cluster.nodes[0].files.send(ReplicaId(2), numbered(2_000_000 + at, 8));
    }
    let mut at = 0;
    while at < 100 {
        let (_, message) = cluster.nodes[1].next(Channel::Files);
        if number(&message) != 1_000_000 {
            assert_eq!(number(&message), 2_000_000 + at);
            at += 1;
        }
    }
    cluster.check();
}

#[test]
fn a_receiver_that_waits_stops_the_sender_and_loses_nothing() {
    let mut cluster = Cluster::start(2);
    // The inbox has room for four, and one more; the others wait in sockets and in the queue.
    for at in 0..4 {
        cluster.nodes[0].files.send(ReplicaId(2), numbered(at, 1 << 20));
    }
    for at in 0..40 {
        let (_, message) = cluster.nodes[1].next(Channel::Files);
        assert_eq!(number(&message), at);
        cluster.nodes[0].files.send(ReplicaId(2), numbered(at + 4, 1 << 20));
    }
    assert!(cluster.nodes[0].is_linked(2));
}

#[test]
fn a_node_that_restarts_on_the_same_port_is_linked_again() {
    let mut cluster = Cluster::start(3);
    for _ in 0..2 {
        let old = cluster.nodes.remove(1);
        let (socket, dir) = (old.socket(), old.dir.clone());
        drop(old);
        until("the others notice", || !cluster.nodes[0].is_linked(2) && !cluster.nodes[1].is_linked(2));
        // Without a link, what is sent is dropped.
        cluster.nodes[0].consensus.send(ReplicaId(2), b"lost".to_vec());
        cluster.check();
        let new = Node::start(&dir, &cluster.authority, socket);
        cluster.nodes.insert(1, new);
        cluster.introduce();
        cluster.until_linked();
        cluster.check();
    }
}

#[test]
fn a_peer_that_is_silent_is_noticed_in_three_seconds() {
    // A listener that takes connections, and never says anything: a handshake ends after five seconds. A link is cut by a relay.
    let mut cluster = Cluster::start(2);
    let relay = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut members = cluster.members();
    let target = cluster.nodes[1].socket();
    members[1].addresses = vec![nodes::address(relay.local_addr().unwrap())];
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let copies = std::sync::Arc::clone(&stop);
    std::thread::spawn(move || {
        for from in relay.incoming() {
            let (from, to) = (from.unwrap(), std::net::TcpStream::connect(target).unwrap());
            for (mut from, mut to) in [(from.try_clone().unwrap(), to.try_clone().unwrap()), (to, from)] {
                let stop = std::sync::Arc::clone(&copies);
                std::thread::spawn(move || {
                    use std::io::{Read as _, Write as _};
                    let mut buffer = [0; 1 << 16];
                    loop {
                        let read = from.read(&mut buffer).unwrap_or(0);
                        if stop.load(std::sync::atomic::Ordering::Relaxed) {
                            // Nothing passes any more, and nothing is closed.
                            std::mem::forget((from, to));
                            return;
                        }
                        if read == 0 || to.write_all(&buffer[..read]).is_err() {
                            let _ = to.shutdown(std::net::Shutdown::Both);
                            return;
                        }
                    }
                });
            }
        }
    });
    // Another address: the links are made anew over it.
    let without: Vec<_> = members[..1].to_vec();
    cluster.nodes[0].peers.set_members(&without);
    until("the links end", || !cluster.nodes[1].is_linked(1));
    cluster.nodes[0].peers.set_members(&members);
    cluster.until_linked();
    cluster.check();
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let begun = Instant::now();
    until("it is noticed", || {
        let status = cluster.nodes[0].peers.status()[0];
        !status.sends_messages && !status.sends_files
    });
    assert!(begun.elapsed() < Duration::from_millis(3_500), "{:?}", begun.elapsed());
    until("by the other end too", || {
        let status = cluster.nodes[1].peers.status()[0];
        !status.receives_messages && !status.receives_files
    });
    assert!(begun.elapsed() < Duration::from_millis(4_000), "{:?}", begun.elapsed());
}

#[test]
fn all_channels_carry_messages_of_all_lengths() {
    let mut cluster = Cluster::start(2);
    for channel in CHANNELS {
        for len in [0, 1, 7, 8, 16_383, 16_384, 65_536, 200_000] {
            cluster.nodes[0].links(channel).send(ReplicaId(2), vec![5; len]);
            assert!(cluster.nodes[1].next(channel).1[..] == vec![5; len][..]);
        }
    }
}
