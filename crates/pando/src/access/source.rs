//! Where rules and entries come from.

use super::world::{OfData, OfServer};
use crate::failed::Failed;
use crate::local;
use crate::remote::Remote;
use access::builtin::{Keys, rules as builtin};
use access::decide::{Origin, Placed};
use access::{Entry, Name, Rule, Tree, World};
use clap::Args as ClapArgs;
use client::{ClientError, Link};
use dsa::Anonymous;
use node::data::Data;
use schema::Schema;
use server::config::{self, Config};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Keys of a directory that decisions hang on.
const KEYS: [&str; 6] = ["root-dn", "write-dn", "proxy-dn", "anonymous", "access.rule", "access.defaults"];

#[derive(ClapArgs, Default)]
#[group(skip)]
pub(super) struct Args {
    /// Take the rules from this file, not from the directory: a configuration file (NAME.toml), or a file with a rule a line
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,

    /// Take the entries from LDIF files
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["data", "url"])]
    ldif: Vec<PathBuf>,

    /// Take entries, and rules if --rules is not given, from a data directory that is not being served
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    data: Option<PathBuf>,

    #[command(flatten)]
    remote: Remote,

    /// The schema beyond the standard one: files, or names of built-in schemas
    #[arg(long, value_name = "FILE", num_args = 1..)]
    schema: Vec<String>,
}

/// Rules and entries.
pub(super) struct Source {
    /// The rules of the configuration and the built-in ones.
    pub(super) rules: Vec<Placed>,
    /// Where each stands.
    pub(super) places: Vec<String>,
    /// The entries.
    pub(super) world: Box<dyn World>,
    /// The root DN, if there is one.
    pub(super) root: Option<Name>,
    /// What is wrong with the rules under the schema, by their number.
    pub(super) faults: Vec<(usize, String)>,
    /// The connection that entries come over, if they do.
    server: Option<std::rc::Rc<OfServer>>,
}

impl Args {
    /// Reads all of it.
    ///
    /// # Errors
    /// What cannot be read, or is wrong; faults of rules under the schema are listed in the source.
    pub(super) fn load(&self) -> Result<Source, Failed> {
        let mut loading = Loading { config: Config::default(), places: Vec::new(), is_given: false };
        if !self.schema.is_empty() {
            loading.config.set("schema", &self.schema).map_err(Failed::configured)?;
        }
        if let Some(path) = &self.rules {
            loading.rules_of(path)?;
        }
        if let Some(dir) = &self.data {
            return loading.with_data(dir);
        }
        if let Some(server) = self.remote.server()? {
            return loading.with_server(Link::open(&server).map_err(Failed::of)?);
        }
        if self.rules.is_none() && self.ldif.is_empty() {
            return Err(Failed::usage("where are the rules? --rules FILE, --data DIR or --url ldap://HOST"));
        }
        loading.with_ldif(&self.ldif)
    }
}

impl Source {
    /// The rules that may decide about an entry: those of the entry and of its superiors besides the others.
    pub(super) fn rules_for(&self, name: &Name) -> Result<(Vec<Placed>, Vec<String>), Failed> {
        let (mut rules, mut places) = (self.rules.clone(), self.places.clone());
        for levels in 0..name.len() {
            let Some(entry) = name.superior(levels).and_then(|name| self.world.entry(&name)) else {
                continue;
            };
            for rule in of_entry(&entry)? {
                places.push(format!("pandoAccess of {}", entry.dn));
                rules.push(Placed { rule, origin: Origin::Entry(entry.name.clone()) });
            }
        }
        Ok((rules, places))
    }

    /// Ends with what the server said, if it failed meanwhile.
    pub(super) fn ended(&self) -> Result<(), Failed> {
        let failed = self.server.as_ref().and_then(|server| server.failed.borrow().clone());
        failed.map_or(Ok(()), |text| Err(Failed::of(text)))
    }
}

/// The rules that stand in an entry.
pub(super) fn of_entry(entry: &Entry) -> Result<Vec<Rule>, Failed> {
    let named = entry.attributes.iter().filter(|(name, _)| name.eq_ignore_ascii_case("pandoAccess"));
    let parsed = named.flat_map(|(_, values)| values).map(|value| {
        let text = std::str::from_utf8(value).map_err(|_| "a value of pandoAccess is not UTF-8".to_owned());
        text.and_then(|text| access::parse_of_entry(text).map_err(|error| error.to_string()))
    });
    let rules: Result<Vec<Rule>, String> = parsed.collect();
    rules.map_err(|reason| Failed::at(&entry.dn, reason))
}

/// What has been read so far.
struct Loading {
    config: Config,
    places: Vec<String>,
    /// A file of rules was given.
    is_given: bool,
}

impl Loading {
    fn rules_of(&mut self, path: &Path) -> Result<(), Failed> {
        self.is_given = true;
        let schema = std::mem::take(&mut self.config.schema);
        if path.extension().is_some_and(|extension| extension == "toml") {
            let read = config::read_file(path).map_err(Failed::configured_one)?;
            if !read.faults.is_empty() {
                return Err(Failed::configured(&read.faults));
            }
            let place = |at| match read.place_of("access.rule", at) {
                Some((line, _)) => format!("{}:{line}", path.display()),
                None => path.display().to_string(),
            };
            self.places = (0..read.config.settings.access.rules.len()).map(place).collect();
            self.config = read.config;
        } else {
            self.rules_of_lines(path)?;
        }
        self.config.schema.extend(schema);
        Ok(())
    }

    /// A rule a line; a line that begins with a blank goes on with the rule before it, one that begins with `#` is left out.
    fn rules_of_lines(&mut self, path: &Path) -> Result<(), Failed> {
        let text = std::fs::read_to_string(path).map_err(|error| Failed::at(path.display(), error))?;
        let mut rules: Vec<(usize, String)> = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            match rules.last_mut() {
                Some((_, rule)) if line.starts_with([' ', '\t']) => {
                    rule.push(' ');
                    rule.push_str(line.trim());
                }
                _ if line.trim().is_empty() => {}
                _ => rules.push((number + 1, line.to_owned())),
            }
        }
        self.places = rules.iter().map(|(line, _)| format!("{}:{line}", path.display())).collect();
        let texts: Vec<String> = rules.into_iter().map(|(_, text)| text).collect();
        match access::parse_all(&texts) {
            Ok(rules) => self.config.settings.access.rules = rules,
            Err(bad) => {
                let place =
                    |at: usize| self.places.get(at).cloned().unwrap_or_else(|| path.display().to_string());
                return Err(Failed::configured(
                    bad.into_iter().map(|(at, reason)| format!("{}: {reason}", place(at))),
                ));
            }
        }
        Ok(())
    }

    fn with_ldif(mut self, files: &[PathBuf]) -> Result<Source, Failed> {
        let schema = Arc::new(local::schema(&self.config)?);
        let mut tree = Tree::new(Arc::clone(&schema));
        for path in files {
            let bytes = std::fs::read(path).map_err(|error| Failed::at(path.display(), error))?;
            let entries =
                access::ldif::entries(&schema, &bytes).map_err(|what| Failed::at(path.display(), what))?;
            entries.into_iter().for_each(|entry| tree.insert(entry));
        }
        if self.config.suffixes.is_empty() {
            let is_top = |entry: &&Arc<Entry>| {
                entry.name.superior(1).is_none_or(|superior| tree.entry(&superior).is_none())
            };
            self.config.suffixes = tree.entries().filter(is_top).map(|entry| entry.dn.clone()).collect();
        }
        Ok(self.finish(&schema, Box::new(tree), None))
    }

    fn with_data(mut self, dir: &Path) -> Result<Source, Failed> {
        let (data, schema) = local::open(dir, &mut self.config)?;
        self.recorded(&data, dir)?;
        let view = local::view(&data, &schema, &self.config, &[], true)?;
        let world = OfData { schema: Arc::clone(&schema), view };
        Ok(self.finish(&schema, Box::new(world), None))
    }

    /// Takes what the directory has recorded of the keys that no file gave.
    fn recorded(&mut self, data: &Data, dir: &Path) -> Result<(), Failed> {
        let record = data.settings().map_err(Failed::of)?.record();
        for (key, values) in record.values.iter().filter_map(|(key, values)| Some((wanted(key)?, values))) {
            self.take(key, values, &format!("settings of {}", dir.display()))?;
        }
        Ok(())
    }

    fn take(&mut self, key: &'static str, values: &[String], from: &str) -> Result<(), Failed> {
        if self.config.given.contains_key(key) || (key == "access.rule" && self.is_given) {
            return Ok(());
        }
        self.config.set(key, values).map_err(Failed::all)?;
        if key == "access.rule" {
            self.places = vec![from.to_owned(); values.len()];
        }
        Ok(())
    }

    fn with_server(mut self, mut link: Link) -> Result<Source, Failed> {
        let shown = match client::entry(&mut link, b"cn=config") {
            Ok(shown) => shown,
            Err(ClientError::Refused(_)) => None,
            Err(error) => return Err(Failed::of(error)),
        };
        if shown.is_none() && !self.is_given {
            let text =
                "cn=config cannot be read: bind as the root DN (--bind-dn, --password-file), or give --rules";
            return Err(Failed::of(text));
        }
        for (name, values) in shown.unwrap_or_default() {
            let of_key = |key: &config::Key| key.attribute().eq_ignore_ascii_case(&name);
            let Some(key) = config::keys().find(of_key) else { continue };
            let values = values.into_iter().map(String::from_utf8).collect::<Result<Vec<_>, _>>();
            let values = values.map_err(|_| Failed::of(format!("{name} of cn=config is not UTF-8")))?;
            if key.name == "suffix" && !self.config.given.contains_key("suffix") {
                self.config.suffixes = values;
            } else if let Some(key) = wanted(key.name) {
                self.take(key, &values, "cn=config")?;
            }
        }
        let schema = Arc::new(local::schema(&self.config)?);
        let world = std::rc::Rc::new(OfServer {
            schema: Arc::clone(&schema),
            link: RefCell::new(link),
            known: RefCell::default(),
            failed: RefCell::default(),
        });
        Ok(self.finish(&schema, Box::new(Shared(std::rc::Rc::clone(&world))), Some(world)))
    }

    fn finish(self, schema: &Schema, world: Box<dyn World>, server: Option<std::rc::Rc<OfServer>>) -> Source {
        let Loading { config, mut places, .. } = self;
        let (settings, standing) = (config.settings.access, config.settings.standing);
        let faults = access::check_all(&settings.rules, schema).err().unwrap_or_default();
        let configured = |rule| Placed { rule, origin: Origin::Configured };
        let mut rules: Vec<Placed> = settings.rules.into_iter().map(configured).collect();
        if settings.defaults {
            let keys = Keys {
                suffixes: config.suffixes,
                subschema: dsa::SUBSCHEMA_DN.to_owned(),
                monitor: dsa::MONITOR_DN.to_owned(),
                anonymous_read: standing.anonymous == Anonymous::Read,
                writers: standing.writers,
                proxies: standing.proxies,
            };
            rules.extend(builtin(&keys, schema));
        }
        places.resize(rules.len(), "built in".to_owned());
        let root = config.root_dn.and_then(|dn| Name::parse(schema, dn.as_bytes()));
        Source { rules, places, world, root, faults, server }
    }
}

fn wanted(key: &str) -> Option<&'static str> {
    KEYS.into_iter().find(|other| *other == key)
}

/// The world of a server, which the source asks in the end whether the connection failed.
struct Shared(std::rc::Rc<OfServer>);

impl World for Shared {
    fn schema(&self) -> &Schema {
        self.0.schema()
    }

    fn entry(&self, name: &Name) -> Option<Arc<Entry>> {
        self.0.entry(name)
    }
}
