//! Join tokens: what a new node must have to become a member. Any member can verify one, since its code is made with a key that follows from
//! the CA's; that it is used once is for the log to say. Text to the byte: `docs/formats/peers.md`.

use crate::address::{ADDRESSES_MAX, Address};
use crate::authority::Authority;
use crate::certificate::Fingerprint;
use crate::files::FileError;
use crate::id::{ClusterId, hex, random, unhex};
use env::disk::{Disk, replace_file};
use env::entropy::Entropy;
use ring::hmac;
use std::fmt::{self, Write as _};
use std::path::Path;

/// Seconds for which a token can be used: 24 hours.
pub const VALID_S: u64 = 24 * 60 * 60;
/// Bytes of its text at most.
pub const TOKEN_BYTES_MAX: usize = 4 << 10;
/// The first line.
const FIRST_LINE: &str = "pando join token 1";
/// What the key of the code is derived for.
const PURPOSE: &str = "pando join token 1";
const ID_BYTES: usize = 16;
const CODE_BYTES: usize = 32;

/// A join token. It is a secret: its holder can become a member.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    cluster: ClusterId,
    authority: Fingerprint,
    expires_s: u64,
    id: [u8; ID_BYTES],
    addresses: Vec<Address>,
    code: [u8; CODE_BYTES],
}

/// Why a token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// It is no token, or a part of it is missing or wrong.
    Damaged(&'static str),
    /// It was made by another version of Pando.
    Version,
    /// It is for another cluster.
    Cluster,
    /// Its time is over.
    Expired,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenError::Damaged(what) => write!(f, "the token is damaged: {what}"),
            TokenError::Version => f.write_str("the token is of another version of Pando"),
            TokenError::Cluster => f.write_str("the token is of another cluster"),
            TokenError::Expired => f.write_str("the token has expired"),
        }
    }
}

impl std::error::Error for TokenError {}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}mac {}", self.stated(), hex(&self.code))
    }
}

impl Token {
    /// Makes one. The time is in seconds since 1970. The addresses are those of members, in the order in which they are tried.
    ///
    /// # Panics
    /// There is no address, or there are more than [`ADDRESSES_MAX`].
    pub fn issue(
        authority: &Authority,
        addresses: &[Address],
        now_s: u64,
        entropy: &mut dyn Entropy,
    ) -> Token {
        assert!((1..=ADDRESSES_MAX).contains(&addresses.len()), "a token names a few members");
        let mut token = Token {
            cluster: authority.cluster(),
            authority: authority.fingerprint(),
            expires_s: now_s.saturating_add(VALID_S),
            id: random(entropy),
            addresses: addresses.to_vec(),
            code: [0; CODE_BYTES],
        };
        let code = hmac::sign(&authority.derived(PURPOSE), token.stated().as_bytes());
        token.code.copy_from_slice(code.as_ref());
        token
    }

    /// Reads its text. Whether the cluster made it is for a member to say: [`Token::verify`].
    ///
    /// # Errors
    /// [`TokenError::Damaged`] or [`TokenError::Version`].
    pub fn parse(text: &str) -> Result<Token, TokenError> {
        let damaged = TokenError::Damaged;
        if text.len() > TOKEN_BYTES_MAX {
            return Err(damaged("it is too long"));
        }
        let mut lines = text.lines();
        match lines.next() {
            Some(FIRST_LINE) => {}
            Some(other) if other.starts_with("pando join token ") => return Err(TokenError::Version),
            _ => return Err(damaged("it does not begin as tokens do")),
        }
        let mut value = |word: &str, what| {
            let line = lines.next().and_then(|line| line.strip_prefix(word)?.strip_prefix(' '));
            line.ok_or(damaged(what))
        };
        let cluster = value("cluster", "its cluster is missing")?;
        let authority = value("ca", "its CA is missing")?;
        let expires = value("expires", "its end is missing")?;
        let id = value("id", "its number is missing")?;
        let rest: Vec<&str> = lines.collect();
        let (last, addresses) = rest.split_last().ok_or(damaged("its code is missing"))?;
        if !(1..=ADDRESSES_MAX).contains(&addresses.len()) {
            return Err(damaged("it has no addresses, or too many"));
        }
        let address = |line: &&str| {
            line.strip_prefix("address ")
                .and_then(Address::parse)
                .ok_or(damaged("one of its addresses is none"))
        };
        let token = Token {
            cluster: ClusterId::parse(cluster).ok_or(damaged("its cluster is none"))?,
            authority: unhex(authority).map(Fingerprint).ok_or(damaged("its CA is none"))?,
            expires_s: expires.parse().map_err(|_| damaged("its end is no time"))?,
            id: unhex(id).ok_or(damaged("its number is none"))?,
            addresses: addresses.iter().map(address).collect::<Result<_, _>>()?,
            code: last.strip_prefix("mac ").and_then(unhex).ok_or(damaged("its code is none"))?,
        };
        // Each token has one text.
        if token.to_string() == text { Ok(token) } else { Err(damaged("it is not as Pando writes it")) }
    }

    /// Did a member of this cluster make it, and may it be used now? The time is in seconds since 1970.
    ///
    /// # Errors
    /// Why not.
    pub fn verify(&self, authority: &Authority, now_s: u64) -> Result<(), TokenError> {
        if self.cluster != authority.cluster() || self.authority != authority.fingerprint() {
            return Err(TokenError::Cluster);
        }
        let key = authority.derived(PURPOSE);
        if hmac::verify(&key, self.stated().as_bytes(), &self.code).is_err() {
            return Err(TokenError::Damaged("its code is not that of its content"));
        }
        if now_s >= self.expires_s { Err(TokenError::Expired) } else { Ok(()) }
    }

    /// Reads one from a file, or from what a user gave: white space around it is nothing.
    ///
    /// # Errors
    /// As [`Token::parse`].
    pub fn parse_given(text: &str) -> Result<Token, TokenError> {
        Token::parse(&format!("{}\n", text.trim()))
    }

    /// Writes it to a file for its owner alone; durable when this returns.
    ///
    /// # Errors
    /// What the disk says.
    pub fn save(&self, disk: &dyn Disk, dir: &Path, name: &str) -> Result<(), FileError> {
        replace_file(disk, dir, name, self.to_string().as_bytes())?;
        Ok(disk.sync_dir(dir)?)
    }

    /// The cluster that it is for.
    pub fn cluster(&self) -> ClusterId {
        self.cluster
    }

    /// SHA-256 of the certificate of that cluster's CA.
    pub fn authority(&self) -> Fingerprint {
        self.authority
    }

    /// Seconds since 1970 from which it cannot be used.
    pub fn expires_s(&self) -> u64 {
        self.expires_s
    }

    /// Names it: that it was used is remembered by this.
    pub fn name(&self) -> String {
        hex(&self.id)
    }

    /// Members, in the order in which they are tried.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// What the code is of: all lines before it.
    fn stated(&self) -> String {
        let (cluster, authority) = (self.cluster, self.authority);
        let mut text = format!(
            "{FIRST_LINE}\ncluster {cluster}\nca {authority}\nexpires {}\nid {}\n",
            self.expires_s,
            hex(&self.id)
        );
        self.addresses.iter().for_each(|address| _ = writeln!(text, "address {address}"));
        text
    }
}
