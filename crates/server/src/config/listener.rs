//! A listener: an address, and what is asked of the clients that come by it. `listen` has addresses alone.

use super::listen::Listen;
use super::value::{client_use, client_word};
use super::words;
use ::access::Network;
use dsa::settings::network;
use dsa::settings::value::switch;
use std::fmt;
use tls::ClientUse;

/// What can be said of a listener.
const KEYS: &str = "`url`, `name`, `tls`, `client-certificate`, `proxy` and `proxy-tls`";
/// Bytes of the name of a listener.
const NAME_BYTES_MAX: usize = 64;

/// An address to listen on, and its rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Where.
    pub url: Listen,
    /// What it is called in the log; the address if it has no other name. A socket that the service manager passes has the same name.
    pub name: String,
    /// TLS on it.
    pub tls: TlsUse,
    /// Whether clients are asked for certificates; none: as `tls.client-certificate` says. The server's listeners have one.
    pub clients: Option<ClientUse>,
    /// Where load balancers are that say where each client is (PROXY protocol).
    pub proxy: Vec<Network>,
    /// Does what they say of TLS count?
    pub proxy_tls: bool,
}

/// TLS on a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsUse {
    /// It is not offered.
    Off,
    /// A client may ask for it.
    Optional,
    /// Without it there is nothing but binds, and what leads to TLS.
    Required,
}

/// The words for it.
const USES: [(&str, TlsUse); 3] =
    [("off", TlsUse::Off), ("optional", TlsUse::Optional), ("required", TlsUse::Required)];

impl Listener {
    /// An address of `listen`.
    pub fn of(url: &Listen) -> Listener {
        Listener {
            url: url.clone(),
            name: url.to_string(),
            tls: default_use(url),
            clients: None,
            proxy: Vec::new(),
            proxy_tls: false,
        }
    }

    /// Must there be a certificate?
    pub(crate) fn needs_certificate(&self) -> bool {
        self.url.is_tls() || (self.tls == TlsUse::Required && !matches!(self.url, Listen::Unix { .. }))
    }

    /// What the sessions of clients must know of it. To be asked once: its name stays in memory as long as the process.
    pub(crate) fn of_sessions(&self) -> dsa::config::Listener {
        dsa::config::Listener {
            name: Some(Box::leak(self.name.clone().into_boxed_str())),
            offers_tls: self.tls != TlsUse::Off,
            any_strength: u16::from(self.tls == TlsUse::Required),
            strength: 0,
            via: None,
        }
    }

    /// Reads it from a line of words.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &str) -> Result<Listener, String> {
        let (mut url, mut name, mut tls, mut clients) = (None, None, None, None);
        let (mut proxy, mut proxy_tls) = (Vec::new(), false);
        for (key, value) in words::parse(line)? {
            match &key[..] {
                "url" => url = Some(value.parse::<Listen>()?),
                "name" => name = Some(checked_name(value)?),
                "tls" => tls = Some(use_of(&value)?),
                "client-certificate" => clients = Some(client_use(&value)?),
                "proxy" => proxy = network::parse_list(&value)?,
                "proxy-tls" => proxy_tls = switch(&value)?,
                _ => return Err(format!("`{key}` is none of {KEYS}")),
            }
        }
        let url = url.ok_or("a listener needs an address: `url = \"ldap://HOST:PORT\"`")?;
        let name = name.unwrap_or_else(|| url.to_string());
        let tls = tls.unwrap_or_else(|| default_use(&url));
        if url.is_tls() && tls != TlsUse::Required {
            return Err(format!("`{url}`: TLS is required there, whatever `tls` says"));
        }
        if proxy_tls && proxy.is_empty() {
            return Err("`proxy-tls` needs `proxy`".to_owned());
        }
        if !proxy.is_empty() && matches!(url, Listen::Unix { .. }) {
            return Err(format!("`{url}`: `proxy` is for clients that have addresses"));
        }
        Ok(Listener { url, name, tls, clients, proxy, proxy_tls })
    }
}

/// As it is read, without what goes without saying.
impl fmt::Display for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = String::new();
        words::put(&mut line, "url", &self.url.to_string());
        if self.name != self.url.to_string() {
            words::put(&mut line, "name", &self.name);
        }
        if self.tls != default_use(&self.url) {
            let word = USES.iter().find(|(_, of)| *of == self.tls).map_or("", |(word, _)| word);
            words::put(&mut line, "tls", word);
        }
        if let Some(clients) = self.clients {
            words::put(&mut line, "client-certificate", client_word(clients));
        }
        if !self.proxy.is_empty() {
            words::put(&mut line, "proxy", &network::show_list(&self.proxy));
        }
        if self.proxy_tls {
            words::put(&mut line, "proxy-tls", "on");
        }
        f.write_str(&line)
    }
}

fn default_use(url: &Listen) -> TlsUse {
    if url.is_tls() { TlsUse::Required } else { TlsUse::Optional }
}

fn use_of(text: &str) -> Result<TlsUse, String> {
    let found = USES.iter().find(|(word, _)| *word == text).map(|(_, of)| *of);
    found.ok_or_else(|| format!("`tls = {text}`: it is `off`, `optional` or `required`"))
}

/// The service manager puts colons between names.
fn checked_name(name: String) -> Result<String, String> {
    let is_good = (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let reason = format!(
        "`{name}` is no name of a listener: 1 to {NAME_BYTES_MAX} of letters, digits, `-`, `_` and `.`"
    );
    if is_good { Ok(name) } else { Err(reason) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_come_back() {
        for line in [
            "url=ldap://127.0.0.1:389",
            "url=ldap://127.0.0.1:389 name=main tls=required",
            "url=ldaps://127.0.0.1:636 name=secure",
            "url=ldapi://%2Frun%2Fx?mode=0600 tls=off",
            "url=ldaps://127.0.0.1:636 client-certificate=require",
            "url=ldap://127.0.0.1:389 proxy=\"10.0.0.0/8,::1/128\" proxy-tls=on",
        ] {
            assert_eq!(Listener::parse(line).map(|listener| listener.to_string()), Ok(line.to_owned()));
        }
        let named = Listener::parse("url=ldaps://h tls=required").unwrap();
        assert_eq!((named.name.as_str(), named.needs_certificate()), ("ldaps://h:636", true));
        assert!(!Listener::of(&"ldap://h".parse().unwrap()).needs_certificate());
    }

    #[test]
    fn what_is_no_listener() {
        for (line, said) in [
            ("name=x", "needs an address"),
            ("url=http://h", "not of the form"),
            ("url=ldap://h tls=maybe", "`off`, `optional` or `required`"),
            ("url=ldaps://h tls=off", "TLS is required there"),
            ("url=ldap://h name=a:b", "no name of a listener"),
            ("url=ldap://h port=1", "none of"),
            ("url=ldap://h proxy=x", "neither an address"),
            ("url=ldap://h proxy-tls=on", "needs `proxy`"),
            ("url=ldapi://%2Fx proxy=10.0.0.1", "have addresses"),
        ] {
            let error = Listener::parse(line).unwrap_err();
            assert!(error.contains(said), "{line}: {error}");
        }
    }
}
