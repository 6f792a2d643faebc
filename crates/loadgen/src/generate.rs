//! From a template to bytes: the walk over branches, templates and groups, in constant memory.

use crate::add::put_add;
use crate::entry::Entry;
use crate::group::Groups;
use crate::order::{Order, Part};
use crate::template::{Options, Place, Template};
use model::limits::MESSAGE_BYTES_MAX;
use proto::ldif::write_attribute_folded;
use std::fmt;
use std::io::{self, Write};

/// What the bytes look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// LDIF content records (RFC 2849).
    Ldif {
        /// Columns at which lines are folded, 2 at least; 0: never.
        wrap: usize,
    },
    /// LDAPMessages with AddRequests, one after the other, ids counting from 1.
    Ber,
}

/// What to make.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// The template.
    pub template: &'a Template,
    /// Decides about every random value and order.
    pub seed: u64,
    /// The order of entries below each parent.
    pub order: Order,
    /// The form of the output.
    pub format: Format,
    /// Which part of the entries below the branches, with all that is below them. The first part has the branches and the
    /// groups too.
    pub part: Part,
    /// Whether the branches themselves (suffix and the like) are written.
    pub branches: bool,
    /// Number of groups; their parent `ou=Groups` comes with them.
    pub groups: u64,
    /// Members of each group.
    pub members: u64,
    /// Below which entry the groups' parent stands.
    pub suffix: &'a [u8],
}

/// What was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// Entries, branches and groups included.
    pub entries: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Why it was not.
#[derive(Debug)]
pub enum GenerateError {
    /// The output failed.
    Io(io::Error),
    /// An entry does not fit in an LDAPMessage, which would have so many bytes.
    TooLong(usize),
    /// Groups were asked for, but not exactly one template makes all entries with DNs that follow from their number.
    GroupsNeedNumbers,
    /// A group needs a member, and has each entry at most once.
    GroupSize,
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GenerateError::Io(error) => error.fmt(f),
            GenerateError::TooLong(bytes) => write!(f, "an entry of {bytes} bytes does not fit in a message"),
            GenerateError::GroupsNeedNumbers => f.write_str(
                "groups need a template with one subordinateTemplate whose RDN is made of text and <sequential> only",
            ),
            GenerateError::GroupSize => f.write_str("a group has at least one member and at most all entries"),
        }
    }
}

impl std::error::Error for GenerateError {}

impl From<io::Error> for GenerateError {
    fn from(error: io::Error) -> GenerateError {
        GenerateError::Io(error)
    }
}

/// What stands at the top of a stream of LDIF records.
const LDIF_HEADER: &[u8] = b"version: 1\n\n";
/// Output is handed on in pieces of this size.
const PIECE_BYTES: usize = 256 << 10;

/// Output on its way: in pieces of 256 KiB.
pub(crate) struct Output<'o, W> {
    to: &'o mut W,
    pub(crate) piece: Vec<u8>,
    /// Bytes handed on.
    bytes: u64,
    last_id: u32,
}

impl<W: Write> Output<'_, W> {
    /// The next message id: 1 to 2^31 - 1, around.
    pub(crate) fn next_id(&mut self) -> u32 {
        self.last_id = if self.last_id == i32::MAX as u32 { 1 } else { self.last_id + 1 };
        assert!(self.last_id > 0, "0 is the id of what a server sends of itself");
        self.last_id
    }

    pub(crate) fn flush_if_full(&mut self) -> io::Result<()> {
        if self.piece.len() >= PIECE_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.write_all(&self.piece)?;
        self.bytes += self.piece.len() as u64;
        self.piece.clear();
        Ok(())
    }
}

/// Makes it all and writes it to `to`.
///
/// # Errors
/// [`GenerateError`]; the output then ends at an arbitrary place.
pub fn run(job: &Job<'_>, to: &mut impl Write) -> Result<Made, GenerateError> {
    let groups = groups_of(job)?;
    let piece = Vec::with_capacity(PIECE_BYTES + (64 << 10));
    let mut writer = Writer { job, output: Output { to, piece, bytes: 0, last_id: 0 }, entries: 0 };
    if let Format::Ldif { .. } = job.format {
        writer.output.piece.extend_from_slice(LDIF_HEADER);
    }
    let mut entry = Entry::default();
    let mut serials = vec![0; job.template.templates()];
    for (index, branch) in job.template.branches().iter().enumerate() {
        if job.branches && job.part.number == 0 {
            job.template.branch_entry(index, job.seed, &mut entry);
            writer.write(&entry)?;
        }
        writer.below(&branch.dn, &branch.subordinates, job.part, &mut serials)?;
    }
    if let Some(groups) = groups.filter(|_| job.part.number == 0) {
        writer.groups(&groups)?;
    }
    writer.output.flush()?;
    writer.output.to.flush()?;
    Ok(Made { entries: writer.entries, bytes: writer.output.bytes })
}

fn groups_of<'a>(job: &Job<'a>) -> Result<Option<Groups<'a>>, GenerateError> {
    if job.groups == 0 {
        return Ok(None);
    }
    let (template, branch, count) = job.template.numbered().ok_or(GenerateError::GroupsNeedNumbers)?;
    if job.members == 0 || job.members > count {
        return Err(GenerateError::GroupSize);
    }
    let parent = &job.template.branches()[branch].dn;
    let members_of = (template, parent.as_slice(), count);
    Ok(Some(Groups { template: job.template, suffix: job.suffix, members_of, members: job.members }))
}

struct Writer<'a, 'o, W> {
    job: &'a Job<'a>,
    output: Output<'o, W>,
    entries: u64,
}

impl<W: Write> Writer<'_, '_, W> {
    /// Makes a part of everything below one entry. The depth is bounded by the template's check.
    fn below(
        &mut self,
        parent: &[u8],
        subordinates: &[(usize, u64)],
        part: Part,
        serials: &mut [u64],
    ) -> Result<(), GenerateError> {
        let job = self.job;
        let mut entry = Entry::default();
        for &(template, count) in subordinates {
            let first = serials[template];
            serials[template] += count;
            let inner = job.template.subordinates(template);
            let own = part.of(count);
            assert!(own.start <= own.end && own.end <= count, "a part lies within the entries");
            self.leave_out(inner, own.start, serials);
            for number in job.order.part(part, count, job.seed) {
                let place = Place { template, number, serial: first + number, parent };
                job.template.entry(place, job.seed, &mut entry);
                self.write(&entry)?;
                if !inner.is_empty() {
                    let dn = std::mem::take(&mut entry.dn);
                    self.below(&dn, inner, Part::WHOLE, serials)?;
                    entry.dn = dn;
                }
            }
            self.leave_out(inner, count - own.end, serials);
        }
        Ok(())
    }

    /// Counts what other parts make below so many entries.
    fn leave_out(&self, subordinates: &[(usize, u64)], entries: u64, serials: &mut [u64]) {
        for &(template, count) in subordinates {
            serials[template] += count * entries;
            self.leave_out(self.job.template.subordinates(template), count * entries, serials);
        }
    }

    fn write(&mut self, entry: &Entry) -> Result<(), GenerateError> {
        self.write_named(entry, self.job.template.names())
    }

    fn write_named(&mut self, entry: &Entry, names: &[Vec<u8>]) -> Result<(), GenerateError> {
        match self.job.format {
            Format::Ldif { wrap } => {
                let piece = &mut self.output.piece;
                write_attribute_folded(piece, b"dn", &entry.dn, wrap);
                for (name, value) in entry.values() {
                    write_attribute_folded(piece, &names[name.0 as usize], value, wrap);
                }
                piece.push(b'\n');
            }
            Format::Ber => {
                let (id, start) = (self.output.next_id(), self.output.piece.len());
                put_add(&mut self.output.piece, id, entry, names);
                let bytes = self.output.piece.len() - start;
                if bytes > MESSAGE_BYTES_MAX {
                    return Err(GenerateError::TooLong(bytes));
                }
            }
        }
        self.entries += 1;
        Ok(self.output.flush_if_full()?)
    }

    fn groups(&mut self, groups: &Groups<'_>) -> Result<(), GenerateError> {
        if self.job.branches {
            self.groups_parent(groups)?;
        }
        for group in 0..self.job.groups {
            match self.job.format {
                Format::Ldif { wrap } => groups.write_ldif(group, wrap, &mut self.output)?,
                Format::Ber => groups.write_ber(group, &mut self.output)?,
            }
            self.entries += 1;
        }
        Ok(())
    }

    /// Writes `ou=Groups`, unless the template has it as a branch.
    fn groups_parent(&mut self, groups: &Groups<'_>) -> Result<(), GenerateError> {
        let dn = groups.parent_dn();
        if self.job.template.branches().iter().any(|branch| branch.dn.eq_ignore_ascii_case(&dn)) {
            return Ok(());
        }
        let text = format!("branch: {}", String::from_utf8_lossy(&dn).replace(['[', '<', '{', '\\'], ""));
        let options = Options { defines: &[], load: &|_| Err(io::ErrorKind::NotFound.into()) };
        let Ok(parent) = Template::parse(&text, &options) else {
            return Err(GenerateError::GroupsNeedNumbers);
        };
        let mut entry = Entry::default();
        parent.branch_entry(0, 0, &mut entry);
        self.write_named(&entry, parent.names())
    }
}
