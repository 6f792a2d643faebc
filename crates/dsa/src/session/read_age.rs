//! Answers to what was read where nobody knew what other servers have: each that ends an operation says how old that may be.

use crate::barrier::Age;
use proto::control::{self, read_age};
use proto::message::{Frame, frame};

/// What a session says of the age of what it reads: nothing, if that is not old.
#[derive(Debug, Default)]
pub(crate) struct ReadAge(Option<Box<Aged>>);

impl ReadAge {
    /// What is read from now on may be old; `None`: it is not. `is_over`: no search goes on whose end is still to be written.
    pub(crate) fn read_at(&mut self, age: Option<Age>, is_over: bool) {
        match age {
            Some(age) => self.0 = Some(Box::new(Aged::new(age, self.0.as_deref()))),
            None => {
                self.0.take_if(|aged| is_over && aged.is_between_messages());
            }
        }
    }

    /// Puts the age of what was read into the answers that were written to `out` from `before` on, if it may be old.
    #[inline]
    pub(crate) fn put(&mut self, out: &mut Vec<u8>, before: usize) {
        if let Some(aged) = &mut self.0 {
            aged.put(out, before);
        }
    }

    /// Is the age of what is read said?
    #[inline]
    pub(crate) fn is_said(&self) -> bool {
        self.0.is_some()
    }
}

/// Of a session that has read so.
#[derive(Debug)]
struct Aged {
    value: Option<Vec<u8>>,
    /// Bytes of a message that was begun: what is written next begins with them.
    open: usize,
}

impl Aged {
    /// What is written from now on was read at such an age.
    fn new(age: Age, former: Option<&Aged>) -> Aged {
        Aged { value: age.map(read_age::encode), open: former.map_or(0, |former| former.open) }
    }

    /// Is the last message whole that was written?
    fn is_between_messages(&self) -> bool {
        self.open == 0
    }

    /// Puts the age into the answers that were written to `out` from `before` on.
    fn put(&mut self, out: &mut Vec<u8>, before: usize) {
        let written = out.split_off(before);
        let (begun, mut rest) = written.split_at(self.open.min(written.len()));
        out.extend_from_slice(begun);
        self.open -= begun.len();
        let control = read_age::control(self.value.as_deref());
        while !rest.is_empty() {
            match frame(rest) {
                Ok(Frame::Complete { len }) => {
                    control::put_with(out, &rest[..len], &control);
                    rest = &rest[len..];
                }
                Ok(Frame::Incomplete { needed }) => {
                    self.open = needed - rest.len();
                    return out.extend_from_slice(rest);
                }
                Err(_) => {
                    // An entry that is longer than any message of a client. Nobody knows where it ends.
                    self.open = usize::MAX;
                    return out.extend_from_slice(rest);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ResultCode;
    use proto::control::Controls;
    use proto::result::encode_done;
    use proto::tag;

    #[test]
    fn what_ends_a_search_has_the_age_and_the_rest_of_a_message_is_left_alone() {
        let (mut aged, mut out) = (Aged::new(Some(1_500), None), Vec::new());
        let mut messages = Vec::new();
        encode_done(&mut messages, 7, tag::SEARCH_DONE, ResultCode::Success);
        let len = messages.len();
        encode_done(&mut messages, 8, tag::MODIFY_RESPONSE, ResultCode::Busy);
        for part in [&messages[..], &messages[..3], &messages[3..len]] {
            let before = out.len();
            out.extend_from_slice(part);
            aged.put(&mut out, before);
        }
        let Ok(Frame::Complete { len: first }) = frame(&out) else { panic!("{out:?}") };
        let value = Controls::of(&out[..first]).find(read_age::OID).unwrap().value.unwrap();
        assert_eq!(read_age::decode(value).unwrap(), 1_500);
        assert_eq!(
            out[first..],
            [&messages[len..], &messages[..len]].concat(),
            "an update, and what came in two parts"
        );
        assert!(aged.is_between_messages());
    }
}
