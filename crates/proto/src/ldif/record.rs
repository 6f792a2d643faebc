//! What the lines of a record mean: content, or a change.

use super::line::{Homes, Kind, Parsed, Span, decode_base64, skip_spaces};
use crate::op::ModifyKind;

/// One record.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Line of the file on which it begins, from 1.
    pub line: u64,
    /// DN of the entry, not yet parsed; empty for the root DSE.
    pub dn: &'a [u8],
    /// Controls to send with a change.
    pub controls: RecordControls<'a>,
    /// What it says about the entry.
    pub body: Body<'a>,
}

/// What a record says about its entry.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// No changetype: this is the entry.
    Content(Lines<'a>),
    /// `changetype: add`
    Add(Lines<'a>),
    /// `changetype: delete`
    Delete,
    /// `changetype: modify`
    Modify(Modifications<'a>),
    /// `changetype: modrdn` or `moddn`
    ModifyDn {
        /// The new RDN.
        new_rdn: &'a [u8],
        /// Do the values of the old RDN leave the entry?
        delete_old_rdn: bool,
        /// DN of the new parent, if it moves.
        new_superior: Option<&'a [u8]>,
    },
}

/// The value of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// The value itself.
    Bytes(&'a [u8]),
    /// Where the value is: `:< file:///...`. The caller resolves it, or refuses.
    Url(&'a [u8]),
}

/// A line with an attribute and a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Line of the file, from 1.
    pub line: u64,
    /// Attribute description as written.
    pub description: &'a [u8],
    /// Its value.
    pub value: Value<'a>,
}

/// What spans are resolved with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) homes: Homes<'a>,
    pub(crate) lines: &'a [Parsed],
    pub(crate) first_line: u64,
}

impl<'a> View<'a> {
    #[inline]
    fn line(&self, parsed: &Parsed) -> Line<'a> {
        let value = self.homes.bytes(parsed.value);
        Line {
            line: self.first_line + parsed.number as u64,
            description: self.homes.bytes(parsed.name),
            value: if parsed.kind == Kind::Url { Value::Url(value) } else { Value::Bytes(value) },
        }
    }

    fn value(&self, at: usize) -> &'a [u8] {
        self.homes.bytes(self.lines[at].value)
    }
}

/// Lines with attributes and values, in the order of the file; an attribute's lines need not be neighbours.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a>(View<'a>);

impl<'a> Lines<'a> {
    /// The lines in order.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Line<'a>> + Clone + use<'a> {
        let view = self.0;
        view.lines.iter().map(move |parsed| view.line(parsed))
    }

    /// Number of lines.
    pub fn len(&self) -> usize {
        self.0.lines.len()
    }

    /// No lines?
    pub fn is_empty(&self) -> bool {
        self.0.lines.is_empty()
    }
}

/// One modification of a `changetype: modify`.
#[derive(Clone, Copy, Debug)]
pub struct Modification<'a> {
    /// Line of the file, from 1.
    pub line: u64,
    /// What to do.
    pub kind: ModifyKind,
    /// Attribute description as written.
    pub description: &'a [u8],
    /// The values; may be none for delete and replace.
    pub values: Lines<'a>,
}

/// The modifications of a record.
#[derive(Clone, Copy, Debug)]
pub struct Modifications<'a>(View<'a>);

impl<'a> Modifications<'a> {
    /// The modifications in order.
    pub fn iter(&self) -> impl Iterator<Item = Modification<'a>> + Clone + use<'a> {
        let mut view = self.0;
        std::iter::from_fn(move || {
            let (head, lines, rest) = split_modification(view.lines)?;
            let values = Lines(View { lines, ..view });
            let kind = modify_kind(view.homes.bytes(head.name))?;
            let line = view.line(head);
            view.lines = rest;
            Some(Modification { line: line.line, kind, description: view.homes.bytes(head.value), values })
        })
    }
}

/// A control that a record wants to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordControl<'a> {
    /// Its OID.
    pub oid: &'a [u8],
    /// Its criticality.
    pub critical: bool,
    /// Its value, or where the value is.
    pub value: Option<Value<'a>>,
}

/// The controls of a record.
#[derive(Clone, Copy, Debug)]
pub struct RecordControls<'a> {
    homes: Homes<'a>,
    controls: &'a [ParsedControl],
}

impl<'a> RecordControls<'a> {
    /// The controls in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = RecordControl<'a>> + Clone + use<'a> {
        let homes = self.homes;
        self.controls.iter().map(move |control| RecordControl {
            oid: homes.bytes(control.oid),
            critical: control.critical,
            value: control.value.map(|(kind, span)| match kind {
                Kind::Url => Value::Url(homes.bytes(span)),
                _ => Value::Bytes(homes.bytes(span)),
            }),
        })
    }

    /// No controls?
    pub fn is_empty(&self) -> bool {
        self.controls.is_empty()
    }
}

#[derive(Clone, Copy, Debug)]
struct ParsedControl {
    oid: Span,
    critical: bool,
    value: Option<(Kind, Span)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Change {
    #[default]
    None,
    Add,
    Delete,
    Modify,
    ModifyDn,
}

/// Which of a record's lines are what. Found once, when the record is complete; all errors are found then.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    change: Change,
    /// First line behind dn, controls and changetype.
    body: usize,
    controls: Vec<ParsedControl>,
}

/// A reason, and on which line of the record.
type Fault = (u32, &'static str);

impl Layout {
    pub(crate) fn clear(&mut self) {
        self.change = Change::None;
        self.body = 0;
        self.controls.clear();
    }

    /// Finds the layout of `lines`. Controls' base64 is decoded to the end of `decoded`.
    pub(crate) fn find(
        &mut self,
        homes: Homes<'_>,
        lines: &[Parsed],
        decoded: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        assert!(!lines.is_empty(), "a record has a line");
        let first = &lines[0];
        if first.kind != Kind::Value || !homes.bytes(first.name).eq_ignore_ascii_case(b"dn") {
            return Err((first.number, "a record begins with `dn:`"));
        }
        let is_control = |line: &&Parsed| homes.bytes(line.name).eq_ignore_ascii_case(b"control");
        let controls = lines[1..].iter().take_while(is_control).count();
        let changetype = lines.get(1 + controls);
        match changetype {
            Some(line) if homes.bytes(line.name).eq_ignore_ascii_case(b"changetype") => {
                self.change = change_of(&Homes { decoded, ..homes }, line)?;
                self.body = 2 + controls;
                for line in &lines[1..1 + controls] {
                    self.controls
                        .push(control(homes, line, decoded).map_err(|reason| (line.number, reason))?);
                }
            }
            _ => self.body = 1,
        }
        let homes = Homes { decoded, ..homes };
        let body = &lines[self.body..];
        match self.change {
            Change::Modify => return check_modifications(homes, body),
            Change::ModifyDn => check_modify_dn(homes, body, first.number)?,
            Change::Add if body.is_empty() => return Err((first.number, "an entry without attributes")),
            Change::Delete if !body.is_empty() => return Err((body[0].number, "a delete has no attributes")),
            _ => {}
        }
        match body.iter().find(|line| line.kind == Kind::Dash) {
            Some(line) => Err((line.number, "expected `attribute: value`")),
            None => Ok(()),
        }
    }

    /// Shows the record with this layout.
    pub(crate) fn show<'a>(&'a self, view: View<'a>) -> Record<'a> {
        let body = View { lines: &view.lines[self.body..], ..view };
        Record {
            line: view.first_line,
            dn: view.value(0),
            controls: RecordControls { homes: view.homes, controls: &self.controls },
            body: match self.change {
                Change::None => Body::Content(Lines(body)),
                Change::Add => Body::Add(Lines(body)),
                Change::Delete => Body::Delete,
                Change::Modify => Body::Modify(Modifications(body)),
                Change::ModifyDn => Body::ModifyDn {
                    new_rdn: body.value(0),
                    delete_old_rdn: body.value(1) == b"1",
                    new_superior: (body.lines.len() > 2).then(|| body.value(2)),
                },
            },
        }
    }
}

fn change_of(homes: &Homes<'_>, line: &Parsed) -> Result<Change, Fault> {
    let value = homes.bytes(line.value);
    let kinds: [(&[u8], Change); 5] = [
        (b"add", Change::Add),
        (b"delete", Change::Delete),
        (b"modify", Change::Modify),
        (b"modrdn", Change::ModifyDn),
        (b"moddn", Change::ModifyDn),
    ];
    let found = kinds.iter().find(|(name, _)| value.eq_ignore_ascii_case(name));
    found.map(|(_, change)| *change).ok_or((line.number, "unknown changetype"))
}

fn modify_kind(name: &[u8]) -> Option<ModifyKind> {
    let kinds: [(&[u8], ModifyKind); 4] = [
        (b"add", ModifyKind::Add),
        (b"delete", ModifyKind::Delete),
        (b"replace", ModifyKind::Replace),
        (b"increment", ModifyKind::Increment),
    ];
    kinds.iter().find(|(n, _)| name.eq_ignore_ascii_case(n)).map(|(_, kind)| *kind)
}

/// The first modification: its head, its values, and the lines behind it.
fn split_modification(lines: &[Parsed]) -> Option<(&Parsed, &[Parsed], &[Parsed])> {
    let (head, rest) = lines.split_first()?;
    let count = rest.iter().position(|line| line.kind == Kind::Dash).unwrap_or(rest.len());
    Some((head, &rest[..count], rest.get(count + 1..).unwrap_or_default()))
}

fn check_modifications(homes: Homes<'_>, mut lines: &[Parsed]) -> Result<(), Fault> {
    while let Some((head, values, rest)) = split_modification(lines) {
        let kind = modify_kind(homes.bytes(head.name));
        let Some(kind) = kind.filter(|_| head.kind == Kind::Value) else {
            return Err((head.number, "expected `add:`, `delete:`, `replace:` or `increment:`"));
        };
        let description = homes.bytes(head.value);
        if description.is_empty() {
            return Err((head.number, "expected an attribute to modify"));
        }
        let stranger = |line: &&Parsed| !homes.bytes(line.name).eq_ignore_ascii_case(description);
        if let Some(line) = values.iter().find(stranger) {
            return Err((line.number, "expected a value of the modified attribute, or `-`"));
        }
        if values.is_empty() && matches!(kind, ModifyKind::Add | ModifyKind::Increment) {
            return Err((head.number, "expected values to add"));
        }
        lines = rest;
    }
    Ok(())
}

fn check_modify_dn(homes: Homes<'_>, lines: &[Parsed], first: u32) -> Result<(), Fault> {
    let names: [(&[u8], &'static str); 3] = [
        (b"newrdn", "expected `newrdn:`"),
        (b"deleteoldrdn", "expected `deleteoldrdn:`"),
        (b"newsuperior", "expected `newsuperior:`"),
    ];
    if let Some(line) = lines.get(3) {
        return Err((line.number, "unexpected line after `newsuperior:`"));
    }
    if lines.len() < 2 {
        return Err((lines.last().map_or(first, |l| l.number), "expected `newrdn:` and `deleteoldrdn:`"));
    }
    for (line, (name, reason)) in lines.iter().zip(names) {
        if line.kind != Kind::Value || !homes.bytes(line.name).eq_ignore_ascii_case(name) {
            return Err((line.number, reason));
        }
    }
    match homes.bytes(lines[1].value) {
        b"0" | b"1" => Ok(()),
        _ => Err((lines[1].number, "deleteoldrdn is 0 or 1")),
    }
}

/// `control: OID [true|false][: value|:: base64|:< url]`
fn control(homes: Homes<'_>, line: &Parsed, decoded: &mut Vec<u8>) -> Result<ParsedControl, &'static str> {
    const BAD: &str = "expected `control: OID [true|false][: value]`";
    if line.kind != Kind::Value || line.value.home == super::line::Home::Decoded {
        return Err(BAD);
    }
    let text = homes.bytes(line.value);
    let span = |from: usize, to: usize| Span {
        start: line.value.start + from as u32,
        end: line.value.start + to as u32,
        home: line.value.home,
    };
    let oid_len = text.iter().take_while(|&&b| b.is_ascii_digit() || b == b'.').count();
    if !model::oid::is_numeric(&text[..oid_len]) {
        return Err("expected the OID of a control");
    }
    let mut at = skip_spaces(text, oid_len);
    let mut critical = false;
    if at > oid_len {
        for (word, value) in [(&b"true"[..], true), (b"false", false)] {
            if text[at..].get(..word.len()).is_some_and(|w| w.eq_ignore_ascii_case(word)) {
                critical = value;
                at = skip_spaces(text, at + word.len());
                break;
            }
        }
    }
    let from = |n: usize| skip_spaces(text, at + n);
    let value = match text[at..] {
        [] => None,
        [b':', b':', ..] => Some((Kind::Value, decode_base64(&text[from(2)..], decoded)?)),
        [b':', b'<', ..] => Some((Kind::Url, span(from(2), text.len()))),
        [b':', ..] => Some((Kind::Value, span(from(1), text.len()))),
        _ => return Err(BAD),
    };
    Ok(ParsedControl { oid: span(0, oid_len), critical, value })
}
