//! `pando log`: access logs in the binary form.

use crate::failed::Failed;
use crate::output::{note, print};
use clap::builder::PossibleValuesParser;
use clap::{Args as ClapArgs, Subcommand};
use logs::Origin;
use logs::form::Form;
use logs::frame::{Piece, Reader};
use logs::journal::{Access, Journal};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes that are read at once.
const PIECE_BYTES: usize = 256 << 10;
/// Places of damage that are named one by one.
const NAMED_MAX: u64 = 20;

/// Work with access logs.
#[derive(ClapArgs)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Cat(Cat),
}

/// Print the lines of an access log that is in the binary form (`log.format = "binary"`).
///
/// They are those that the server would have written. A file that was begun while connections were open lacks where their
/// clients are; the files before it have that, and several files may be given as one on standard input.
///
/// A record that was cut, or is damaged, is named with its offset on standard error. All others are printed.
#[derive(ClapArgs)]
#[command(after_long_help = AFTER)]
struct Cat {
    /// What lines look like
    #[arg(long, value_name = "FORM", default_value = "json", value_parser = words(), conflicts_with = "json")]
    format: String,

    /// Print JSON, as without --format
    #[arg(long)]
    json: bool,

    /// The file, or `-` for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

const AFTER: &str = "\
EXAMPLES:
  pando log cat /var/log/pando/access.log | jq 'select(.code == 49)'
  pando log cat --format 389 /var/log/pando/access.log > access && logconv.pl access
  cat access.log.1 access.log | pando log cat -

EXIT CODES:
  0  all of it was printed
  1  a record is cut or damaged, or the file cannot be read; standard error has the place
  2  the command line is wrong";

/// Forms that have lines.
fn words() -> PossibleValuesParser {
    let all = Form::WORDS.iter().filter(|(_, form)| *form != Form::Binary);
    PossibleValuesParser::new(all.map(|(word, _)| *word))
}

/// Runs it.
pub(crate) fn run(args: &Args) -> Result<(), Failed> {
    let Command::Cat(cat) = &args.command;
    let form = Form::WORDS.iter().find(|(word, _)| *word == cat.format).map(|(_, form)| *form);
    let read = |error| Failed::at(cat.file.display(), error);
    let mut from: Box<dyn Read> = match cat.file == Path::new("-") {
        true => Box::new(io::stdin().lock()),
        false => Box::new(File::open(&cat.file).map_err(read)?),
    };
    let mut printing = Printing {
        journal: Journal::new(Access::All, form.unwrap_or_default(), Origin::default()),
        reader: Reader::default(),
        lines: Vec::new(),
        damaged: 0,
    };
    let mut piece = vec![0; PIECE_BYTES];
    let read_all = loop {
        match from.read(&mut piece) {
            Ok(0) => break Ok(()),
            Ok(len) => printing.reader.feed(&piece[..len]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => break Err(read(error)),
        }
        printing.print()?;
    };
    // What came before a disk failed is printed all the same.
    printing.end()?;
    read_all?;
    if printing.damaged > 0 { Err(Failed::printed()) } else { Ok(()) }
}

/// Records on their way to lines.
struct Printing {
    journal: Journal,
    reader: Reader,
    lines: Vec<u8>,
    /// Places of damage so far.
    damaged: u64,
}

impl Printing {
    /// Prints what has come.
    fn print(&mut self) -> Result<(), Failed> {
        while let Some(piece) = self.reader.piece() {
            match piece {
                Piece::Record(stamp, record) => self.journal.take(stamp, record, &mut self.lines),
                Piece::Damage(from, to) => {
                    self.damaged += 1;
                    if self.damaged <= NAMED_MAX {
                        note!("pando log: octets {from} to {to} are no record: it was cut, or is damaged");
                    }
                }
            }
        }
        let lines = std::mem::take(&mut self.lines);
        print(String::from_utf8_lossy(&lines))
    }

    /// Nothing more comes.
    fn end(&mut self) -> Result<(), Failed> {
        self.reader.end();
        self.print()?;
        self.journal.finish_all(&mut self.lines);
        if self.damaged > NAMED_MAX {
            note!("pando log: {} places are damaged in all", self.damaged);
        }
        self.print()
    }
}
