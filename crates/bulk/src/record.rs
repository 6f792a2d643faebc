//! The records of a piece, one after the other, in either form: LDIF, or BER adds.

use crate::report::Fault;
use crate::source::{Form, Piece};
use proto::add_stream;
use proto::ldif::{Body, Line, Lines, Parser, Value};
use proto::list::Attributes;
use proto::message::Frame;
use std::ops::Range;

/// What a record says of its entry: attributes with values, in the order of the input.
#[derive(Clone, Copy)]
pub(crate) enum Content<'a> {
    Ldif(Lines<'a>),
    Ber(Attributes<'a>),
}

impl<'a> Content<'a> {
    /// Hands out each value with its place, until one is not taken.
    #[inline]
    pub(crate) fn try_each<E>(self, mut each: impl FnMut(usize, Line<'a>) -> Result<(), E>) -> Result<(), E> {
        match self {
            Content::Ldif(lines) => lines.iter().enumerate().try_for_each(|(at, line)| each(at, line)),
            Content::Ber(attributes) => {
                let lines = attributes.iter().flat_map(|attribute| {
                    let line = move |value| Line {
                        line: 0,
                        description: attribute.description,
                        value: Value::Bytes(value),
                    };
                    attribute.values.iter().map(line)
                });
                lines.enumerate().try_for_each(|(at, line)| each(at, line))
            }
        }
    }
}

/// A record of a piece.
pub(crate) struct Record<'a> {
    pub(crate) dn: &'a [u8],
    pub(crate) content: Content<'a>,
    pub(crate) place: Place,
}

/// A record, or what is wrong with it and which bytes it is.
pub(crate) type RecordOrFault<'a> = Result<Record<'a>, (Fault, Range<usize>)>;

/// Where a record is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// Its bytes in the piece.
    pub(crate) range: Range<usize>,
    /// Line on which it begins, comments before it included; 0 in BER.
    pub(crate) begin_line: u64,
    /// Line of its DN; 0 in BER.
    pub(crate) line: u64,
}

/// Walks through the records of a piece.
pub(crate) struct Records<'p> {
    bytes: &'p [u8],
    at: usize,
    /// `None` for BER.
    parser: Option<Parser>,
}

impl<'p> Records<'p> {
    pub(crate) fn of(piece: &'p Piece) -> Records<'p> {
        Records::within(piece, 0..piece.bytes.len(), piece.line)
    }

    /// One record of a piece.
    pub(crate) fn one(piece: &'p Piece, place: &Place) -> Records<'p> {
        Records::within(piece, place.range.clone(), place.begin_line)
    }

    /// Those in a part of a piece that begins on this line.
    fn within(piece: &'p Piece, range: Range<usize>, line: u64) -> Records<'p> {
        assert!(range.end <= piece.bytes.len(), "records lie within their piece");
        let is_first = piece.offset == 0 && range.start == 0;
        let parser = match piece.form {
            Form::Ber => None,
            Form::Ldif if is_first => Some(Parser::new()),
            Form::Ldif => Some(Parser::in_the_middle(line)),
        };
        Records { bytes: &piece.bytes[..range.end], at: range.start, parser }
    }

    /// The next record; `None` at the end of the piece.
    pub(crate) fn next(&mut self) -> Option<RecordOrFault<'_>> {
        let rest = &self.bytes[self.at..];
        match &mut self.parser {
            Some(parser) => next_of_ldif(parser, rest, &mut self.at),
            None => next_of_ber(rest, &mut self.at),
        }
    }
}

fn next_of_ber<'a>(rest: &'a [u8], at: &mut usize) -> Option<RecordOrFault<'a>> {
    // The source saw to it that all of them are whole.
    let Ok(Frame::Complete { len }) = add_stream::frame(rest) else { return None };
    let range = *at..*at + len;
    *at += len;
    Some(match add_stream::decode(&rest[..len]) {
        Ok(add) => {
            let place = Place { range, begin_line: 0, line: 0 };
            Ok(Record { dn: add.dn, content: Content::Ber(add.attributes), place })
        }
        Err(reason) => Err((Fault::at(0, reason), range)),
    })
}

fn next_of_ldif<'a>(parser: &'a mut Parser, rest: &'a [u8], at: &mut usize) -> Option<RecordOrFault<'a>> {
    let begin_line = parser.line();
    let (record, consumed) = parser.next_record(rest)?;
    let range = *at..*at + consumed;
    *at += consumed;
    Some(match record {
        Ok(record) => {
            if record.controls.iter().any(|control| control.critical) {
                let fault = Fault::of(record.line, record.dn, add_stream::CRITICAL_CONTROL);
                return Some(Err((fault, range)));
            }
            let (Body::Content(lines) | Body::Add(lines)) = record.body else {
                let fault = Fault::of(record.line, record.dn, "a change; only entries can be imported");
                return Some(Err((fault, range)));
            };
            let place = Place { range, begin_line, line: record.line };
            Ok(Record { dn: record.dn, content: Content::Ldif(lines), place })
        }
        Err(error) => Err((Fault::at(error.line, error.reason), range)),
    })
}
