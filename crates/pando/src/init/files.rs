//! The files of a first configuration, and what to do with them.

use super::answers::Answers;
use super::args::Args;
use super::certificate;
use crate::failed::Failed;
use crate::password;
use env::entropy::SystemEntropy;
use env::host;
use model::dn;
use server::config::Listen;
use std::fs;
use std::path::{Path, PathBuf};

/// A file to be written.
pub(super) struct Content {
    pub(super) name: &'static str,
    pub(super) text: String,
    /// Only its owner may read it.
    pub(super) is_secret: bool,
}

/// All files.
///
/// # Errors
/// When one cannot be made of the answers.
pub(super) fn all(answers: &Answers, args: &Args) -> Result<Vec<Content>, Failed> {
    let public = |name, text| Content { name, text, is_secret: false };
    let secret = |name, text| Content { name, text, is_secret: true };
    let hash = password::store("argon2id", answers.root.word(), &mut SystemEntropy).map_err(Failed::of)?;
    let mut all = vec![
        public("pando.toml", config(answers, args)?),
        secret("root.password", format!("{hash}\n")),
        public("base.ldif", base(&answers.suffix)),
    ];
    if args.certificate.is_none() {
        let made = certificate::make(&answers.hosts)?;
        let (certificate, key) = (public("server.crt", made.certificate), secret("server.key", made.key));
        all.extend([certificate, key, public("authority.crt", made.authority)]);
    }
    Ok(all)
}

fn quoted(text: &str) -> String {
    // The escapes of JSON are among those of TOML.
    serde_json::Value::from(text).to_string()
}

/// DN of the administrator.
fn root_dn(answers: &Answers) -> String {
    format!("cn=admin,{}", answers.suffix)
}

/// The folder of the files, from the root: the path of a socket begins there.
fn folder(args: &Args) -> Result<PathBuf, Failed> {
    let failed = |error| Failed::at(args.dir.display(), error);
    let absolute = std::path::absolute(&args.dir).map_err(failed)?;
    // As it is without links, if it is there.
    Ok(fs::canonicalize(&absolute).unwrap_or(absolute))
}

/// The addresses to listen on: ports below 1024 are root's.
fn listeners(args: &Args) -> Result<Vec<String>, Failed> {
    if !args.listen.is_empty() {
        return Ok(args.listen.clone());
    }
    let [plain, tls] = if host::user_id() == 0 { [389, 636] } else { [3389, 6636] };
    Ok(vec![
        format!("ldap://0.0.0.0:{plain}"),
        format!("ldaps://0.0.0.0:{tls}"),
        Listen::unix(folder(args)?.join("ldapi")).to_string(),
    ])
}

fn config(answers: &Answers, args: &Args) -> Result<String, Failed> {
    let listen: Vec<String> = listeners(args)?.iter().map(|url| quoted(url)).collect();
    let file = |path: &Option<PathBuf>, made: &str| match path {
        Some(path) => {
            let absolute = std::path::absolute(path).map_err(|error| Failed::at(path.display(), error))?;
            Ok::<_, Failed>(quoted(&absolute.to_string_lossy()))
        }
        None => Ok(quoted(made)),
    };
    let (suffix, root_dn) = (quoted(&answers.suffix), quoted(&root_dn(answers)));
    let (certificate, key) = (file(&args.certificate, "server.crt")?, file(&args.key, "server.key")?);
    let group = quoted(&format!("cn=helpdesk,{}", answers.suffix));
    let policy = quoted(&format!("cn=policy,{}", answers.suffix));
    let mut text = TEMPLATE.to_owned();
    let places = [
        ("SUFFIX", &suffix),
        ("LISTEN", &listen.join(", ")),
        ("ROOT_DN", &root_dn),
        ("CERTIFICATE", &certificate),
        ("KEY", &key),
        ("GROUP", &group),
        ("POLICY", &policy),
    ];
    for (name, value) in places {
        text = text.replace(&format!("@{name}@"), value);
    }
    Ok(text)
}

const TEMPLATE: &str = include_str!("template.toml");

/// The first entry, of the class that its name asks for.
fn base(suffix: &str) -> String {
    let rdn = dn::parse_rdn(dn::split_first(suffix.as_bytes()).0).ok();
    let name = rdn.as_ref().and_then(|rdn| rdn.iter().next()).map(|ava| {
        let value = String::from_utf8_lossy(&ava.value).into_owned();
        (String::from_utf8_lossy(ava.attribute_type).to_ascii_lowercase(), value)
    });
    let rest = match name {
        Some((kind, value)) if kind == "dc" => {
            format!("objectClass: dcObject\nobjectClass: organization\ndc: {value}\no: {value}\n")
        }
        Some((kind, value)) if kind == "o" => format!("objectClass: organization\no: {value}\n"),
        Some((kind, value)) if kind == "ou" => format!("objectClass: organizationalUnit\nou: {value}\n"),
        Some((kind, value)) if kind == "c" => format!("objectClass: country\nc: {value}\n"),
        Some((kind, value)) if kind == "cn" => format!("objectClass: device\ncn: {value}\n"),
        // The class of any entry that has a name and nothing else.
        Some((kind, value)) => {
            format!("objectClass: extensibleObject\nobjectClass: device\ncn: {value}\n{kind}: {value}\n")
        }
        None => String::new(),
    };
    format!("# The first entry: ldapadd -f base.ldif\ndn: {suffix}\n{rest}")
}

/// What to do next.
pub(super) fn next_steps(answers: &Answers, args: &Args) -> String {
    let at = |name: &str| args.dir.join(name).display().to_string();
    let listeners = listeners(args).unwrap_or_default();
    let local = listeners.iter().find(|url| url.starts_with("ldapi:")).cloned();
    let host = &answers.hosts[0];
    let plain = listeners.iter().find(|url| url.starts_with("ldap:"));
    let port = plain.and_then(|url| url.rsplit(':').next()).unwrap_or("389");
    let mut out = format!("The configuration is in {}.\n\n", at("pando.toml"));
    out += &format!("  pando serve --config {}\n\n", at("pando.toml"));
    if let Some(url) = local {
        out +=
            "The user that the server runs as is the administrator over its socket, without a password:\n\n";
        out += &format!("  ldapwhoami -Y EXTERNAL -H {url}\n");
        out += &format!("  ldapadd -Y EXTERNAL -H {url} -f {}\n\n", at("base.ldif"));
    }
    let trust = match args.certificate {
        None => format!("LDAPTLS_CACERT={} ", shown(Path::new(&at("authority.crt")))),
        Some(_) => String::new(),
    };
    out += "Everybody else proves who it is, over TLS:\n\n";
    out += &format!(
        "  {trust}ldapsearch -x -ZZ -H ldap://{host}:{port} -D {} -W -b {}\n",
        quoted(&root_dn(answers)),
        quoted(&answers.suffix)
    );
    if args.certificate.is_none() {
        out += &format!(
            "\nThe certificate ends in {} days, and nobody knows its authority. Get one of yours before others use the server:\ndocs/security.md has the list.\n",
            certificate::DAYS
        );
    }
    out
}

fn shown(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_entry_has_the_class_of_its_name() {
        assert!(base("dc=example,dc=com").ends_with("dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: example\n"));
        assert!(base("o=Example").contains("objectClass: organization\no: Example\n"));
        assert!(base("cn=x").contains("cn: x\n"));
    }
}
