//! Connections that this node opens: one of each class to each other member, made anew when they end. This node sends over them, and hears
//! nothing but that the other end is there.

use crate::frame::Kind;
use crate::hello::{Class, Hello};
use crate::member::Member;
use crate::secure::no_name;
use crate::shared::{Shared, holder};
use crate::socket::{Dialer, Heard, Socket};
use crate::table::Link;
use crate::wire::{self, ALIVE_MS, Ended};
use env::task;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncWriteExt as _, BufWriter, ReadHalf, WriteHalf};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Milliseconds before a connection is tried again: first, and at most.
const PAUSE_MS: (u64, u64) = (50, 1_000);
/// Bytes that are collected before they are encrypted.
const BUFFER_BYTES: usize = 64 << 10;

/// Keeps a connection of a class to a node, until that is no member any more.
pub(crate) async fn keep(shared: &Shared, node: u64, class: Class) {
    let mut changes = shared.table.changes();
    let mut dialer = Dialer::new();
    let (mut pause_ms, mut has_failed) = (PAUSE_MS.0, false);
    while let Some(member) = shared.table.other(node) {
        changes.mark_unchanged();
        let opened = tokio::select! {
            opened = open(shared, &mut dialer, &member, class) => opened,
            // It may have other addresses or certificates now.
            _ = changes.changed() => continue,
        };
        match opened {
            Ok((link, stream, heard)) => {
                tracing::info!(version = link.version(), "linked to node {node} for {class}");
                (pause_ms, has_failed) = (PAUSE_MS.0, false);
                let ended = run(shared, &link, stream, &heard).await;
                shared.table.close(&link);
                tracing::warn!("the link to node {node} for {class} ended: {ended}");
            }
            // One line for a node that is not there, not one for each time.
            Err(ended) if !std::mem::replace(&mut has_failed, true) => {
                tracing::warn!("no link to node {node} for {class}: {ended}");
            }
            Err(ended) => tracing::debug!("no link to node {node} for {class}: {ended}"),
        }
        let _ = task::timeout_ms(pause_ms, changes.changed()).await;
        pause_ms = (2 * pause_ms).min(PAUSE_MS.1);
    }
}

type Opened = (Arc<Link>, TlsStream<Socket>, Heard);

async fn open(shared: &Shared, dialer: &mut Dialer, member: &Member, class: Class) -> Result<Opened, Ended> {
    let own = shared.own(class).await;
    let connection = dialer.connect(&member.addresses).await?;
    let heard = Heard::now(shared.clock);
    let socket = Socket::opened(connection, heard.clone())?;
    wire::in_time(async {
        let connector = TlsConnector::from(shared.configs().client);
        let mut stream = connector.connect(no_name(), socket).await?;
        let holder = holder(stream.get_ref().1.peer_certificates())?;
        let holder = holder.ok_or(Ended::Stranger("it has shown no certificate"))?;
        if holder.node != member.id || !member.certificates.contains(&holder.fingerprint) {
            return Err(Ended::Stranger("its certificate is not that of the member"));
        }
        wire::send(&mut stream, Kind::Hello, &own.encode()).await?;
        let (_, body) = wire::read(&mut stream, |kind| kind == Kind::Hello).await.map_err(refused)?;
        let hello = Hello::decode(&body)?;
        if hello.class != class {
            return Err(Ended::Stranger("its hello is of another class"));
        }
        shared.admit(&hello, &holder).await?;
        let link = shared.table.open(&hello, holder.fingerprint)?;
        Ok((link, stream, heard))
    })
    .await
}

/// A node that is no member any more, or whose disk was set back, is sent nothing, and hears of it by this alone.
fn refused(ended: Ended) -> Ended {
    let is_end = match &ended {
        Ended::Closed => true,
        Ended::Io(error) => {
            matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset)
        }
        _ => false,
    };
    if is_end { Ended::Stranger("it does not take this node: its log says why") } else { ended }
}

async fn run(shared: &Shared, link: &Link, stream: TlsStream<Socket>, heard: &Heard) -> Ended {
    heard.mark();
    let (reader, writer) = tokio::io::split(stream);
    tokio::select! {
        ended = listen(reader) => ended,
        ended = send(shared, link, writer) => ended,
        ended = wire::watch(heard) => ended,
        ended = link.stopped() => ended,
    }
}

async fn listen(mut reader: ReadHalf<TlsStream<Socket>>) -> Ended {
    loop {
        if let Err(ended) = wire::read(&mut reader, |kind| kind == Kind::Alive).await {
            return ended;
        }
    }
}

async fn send(shared: &Shared, link: &Link, writer: WriteHalf<TlsStream<Socket>>) -> Ended {
    let mut writer = BufWriter::with_capacity(BUFFER_BYTES, writer);
    loop {
        let step = async {
            if let Some(body) = shared.table.next_acknowledged(link) {
                wire::write(&mut writer, Kind::Acknowledged, &body).await?;
            }
            while let Some((channel, message)) = shared.table.next(link) {
                wire::write(&mut writer, Kind::Message(channel), &message).await?;
                shared.table.keep_buffer(message);
            }
            Ok::<(), Ended>(writer.flush().await?)
        };
        if let Err(ended) = step.await {
            return ended;
        }
        if task::timeout_ms(ALIVE_MS, link.work.notified()).await.is_none()
            && let Err(ended) = wire::write(&mut writer, Kind::Alive, &[]).await
        {
            return ended;
        }
    }
}
