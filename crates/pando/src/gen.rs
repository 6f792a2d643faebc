//! `pando gen`: makes a directory's data.

use crate::failed::Failed;
use crate::output::note;
use clap::{Args as ClapArgs, ValueEnum};
use env::poll::on_threads;
use loadgen::generate::{self, Format, GenerateError, Job, Made};
use loadgen::order::{Order, Part};
use loadgen::template::{Options, Template, TemplateError, built_in};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Make the data of a directory from a template, as LDIF or as a stream of AddRequests.
///
/// The output depends on the arguments only: the same seed gives the same bytes on every machine. Memory use is
/// constant, whatever the count, so billions of entries can be piped into a server or through a FIFO.
///
/// With --streams N there are N outputs, written at the same time by a thread each: --output has `%d` where the number of
/// the stream goes, from 0. Each has a share of the entries below the branches, in the order that is asked for: entries that
/// lie side by side, or, in random order, any. The first has the branches and the groups too. Together they are the
/// entries that one stream has.
///
/// TEMPLATES
///
/// dvtds: `uid=0,dc=com`, `uid=1,dc=com`, ...; object class inetOrgPerson, attributes uid and carLicense, the latter
/// with the same eight bytes in every entry. These entries have neither cn nor sn, although RFC 2798 asks for them:
/// load them into a server that was started with `--schema dvtds`, whose inetOrgPerson does not.
///
/// mvault: `cn=user000000000000,dc=example,dc=com`, ...; classes top, person, organizationalPerson, inetOrgPerson,
/// values of 16, 8, 26 and 46 bytes for cn, sn, mail and userPassword ({SSHA} of "password").
///
/// slamd: `uid=user.0,ou=People,dc=example,dc=com`, ...; 26 attributes, 3 kB with a binary photo of 1.5 kB;
/// the password is "password".
///
/// FILE: a template file in makeLDIF's language: `define`, `include`, `branch:`, `template:`, `extends:`, `rdnAttr:`,
/// `subordinateTemplate: NAME:COUNT`, `[definition]`, `{attribute}`, and the tags first, last, sequential, padded,
/// random, guid, list, file, dn, _dn, parentdn, rdn, presence, ifpresent, ifabsent, static, text, ssha, jpeg. A fault is
/// reported with its line. --count and --suffix replace its definitions `count` and `suffix`.
#[derive(ClapArgs, Debug)]
#[command(after_help = "EXAMPLES\n  \
    pando gen --template slamd --count 100000 --groups 10 --members 10000 -o demo.ldif\n  \
    pando gen --template dvtds --count 1000000 --order subdivided --format ber -o - | ...\n  \
    mkfifo f-0 f-1 f-2 f-3\n  \
    pando load --schema dvtds --data dvtds.pando --suffix dc=com f-? &\n  \
    pando gen --template dvtds --count 4000000 --order subdivided --format ber --streams 4 -o f-%d")]
pub(crate) struct Args {
    /// What the entries look like: dvtds, mvault, slamd, or the path of a template file
    #[arg(long, value_name = "NAME|FILE")]
    template: String,
    /// How many entries (beside the suffix and the like); without it the template decides
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Seed of every random value and of `--order random`
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// The entry at the top, written first; without it the template decides
    #[arg(long, value_name = "DN")]
    suffix: Option<String>,
    /// Also make N groups cn=group.0, cn=group.1, ... (groupOfNames) below ou=Groups,SUFFIX
    #[arg(long, value_name = "N", default_value_t = 0, requires = "members")]
    groups: u64,
    /// Members of each group; as long as there are enough entries, each is in one group at most. In the form `ber`, what
    /// does not fit in one message (16 MiB) follows as ModifyRequests that add members: for a client that sends the stream;
    /// `pando load`, which takes adds only, refuses them. The form `ldif` has groups of any size
    #[arg(long, value_name = "M", default_value_t = 0)]
    members: u64,
    /// The order of the entries below their parent
    #[arg(long, value_enum, default_value_t = Order::Sorted)]
    order: Order,
    /// What to write
    #[arg(long, value_enum, default_value_t = FormatName::Ldif)]
    format: FormatName,
    /// Leave out the suffix and the other entries that the template has as branches: for adding to an existing tree
    #[arg(long)]
    no_branches: bool,
    /// Fold LDIF lines at this column, 2 at least; 0: never
    #[arg(long, value_name = "COLUMNS", default_value_t = 0, value_parser = columns)]
    wrap: usize,
    /// The output: a file, a FIFO, or - for standard output; with %d for the number of the stream
    #[arg(short, long, value_name = "PATH", default_value = "-")]
    output: PathBuf,
    /// Number of outputs that are written at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    streams: u16,
    /// Print no summary
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormatName {
    /// LDIF (RFC 2849)
    Ldif,
    /// LDAPMessages with AddRequests, one after the other, as they would go over a connection
    Ber,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> Result<(), Failed> {
    let made = make(args).map_err(Failed::of)?;
    if !args.quiet {
        note!("{} entries, {} bytes", made.entries, made.bytes);
    }
    Ok(())
}

/// The value of `--wrap`: a folded line has a space and something more.
fn columns(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(1) => Err("a line has 2 columns at least".to_owned()),
        parsed => parsed.map_err(|error: std::num::ParseIntError| error.to_string()),
    }
}

fn make(args: &Args) -> Result<Made, String> {
    let template = template(args)?;
    let suffix = match &args.suffix {
        Some(suffix) => suffix.clone().into_bytes(),
        None => template.branches()[0].dn.clone(),
    };
    let job = Job {
        template: &template,
        seed: args.seed,
        order: args.order,
        format: match args.format {
            FormatName::Ldif => Format::Ldif { wrap: args.wrap },
            FormatName::Ber => Format::Ber,
        },
        part: Part::WHOLE,
        branches: !args.no_branches,
        groups: args.groups,
        members: args.members,
        suffix: &suffix,
    };
    if args.streams > 1 {
        return make_streams(args, &job);
    }
    if args.output == Path::new("-") {
        // Standard output of the library flushes at each line; the bytes here are binary and come in large pieces.
        let mut out = io::BufWriter::with_capacity(1 << 20, io::stdout().lock());
        let made = generate::run(&job, &mut out);
        let flushed = made.and_then(|made| out.flush().map(|()| made).map_err(GenerateError::Io));
        return match flushed {
            // Who reads has enough.
            Err(GenerateError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Made::default()),
            made => made.map_err(|error| format!("standard output: {error}")),
        };
    }
    make_file(&job, &args.output)
}

fn make_file(job: &Job<'_>, path: &Path) -> Result<Made, String> {
    let mut out = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
    generate::run(job, &mut out).map_err(|error| format!("{}: {error}", path.display()))
}

/// Makes all streams at the same time.
fn make_streams(args: &Args, job: &Job<'_>) -> Result<Made, String> {
    let text = args.output.to_str().filter(|text| text.contains("%d"));
    let text = text.ok_or("with --streams, --output has %d where the number of the stream goes")?;
    let parts = u64::from(args.streams);
    let made = on_threads(usize::from(args.streams), |number| {
        let part = Part { number: number as u64, parts };
        let path = text.replace("%d", &number.to_string());
        make_file(&Job { part, ..job.clone() }, Path::new(&path))
    });
    made.into_iter().try_fold(Made::default(), |sum, made| {
        let made = made?;
        Ok(Made { entries: sum.entries + made.entries, bytes: sum.bytes + made.bytes })
    })
}

fn template(args: &Args) -> Result<Template, String> {
    let count = args.count.map(|count| count.to_string());
    let mut defines = Vec::new();
    defines.extend(count.as_deref().map(|count| ("count", count)));
    defines.extend(args.suffix.as_deref().map(|suffix| ("suffix", suffix)));
    let place = |error: TemplateError| {
        let line = if error.line > 0 { format!(":{}", error.line) } else { String::new() };
        format!("{}{line}: {error}", args.template)
    };
    if let Some(text) = built_in(&args.template) {
        let load = |_: &str| Err(io::ErrorKind::NotFound.into());
        let options = Options { defines: &defines, load: &load };
        return Template::parse(text, &options).map_err(place);
    }
    let path = Path::new(&args.template);
    let text = std::fs::read_to_string(path).map_err(|error| {
        format!("{}: {error} (the built-in templates are dvtds, mvault and slamd)", args.template)
    })?;
    // Files that the template names are looked for beside it.
    let folder = path.parent().unwrap_or(Path::new(""));
    let load = |name: &str| std::fs::read(folder.join(name));
    let options = Options { defines: &defines, load: &load };
    Template::parse(&text, &options).map_err(place)
}
