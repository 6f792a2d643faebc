//! String preparation of RFC 4518. ASCII takes a path of one pass; all else goes through the tables.

use crate::Invalid;
use crate::invalid::utf8;
use model::short::Word;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Which part of a substring assertion (RFC 4511 section 4.5.1.7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What the value begins with.
    Initial,
    /// What it contains.
    Any,
    /// What it ends with.
    Final,
}

/// How spaces at the ends are treated (RFC 4518 section 2.6.1).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edges {
    lead: bool,
    trail: bool,
    whole: bool,
}

impl Edges {
    /// A whole value: one space before, one after.
    pub(crate) const VALUE: Edges = Edges { lead: true, trail: true, whole: true };

    pub(crate) fn of(part: Part) -> Edges {
        Edges { lead: part == Part::Initial, trail: part == Part::Final, whole: false }
    }
}

/// Prepares a value or a part of one; `fold` makes upper and lower case the same. A whole value has one space at
/// each end and two wherever it has any inside, so that a part which ends or begins with a space finds one.
#[inline]
pub(crate) fn prepare(value: &[u8], fold: bool, edges: Edges, out: &mut Vec<u8>) -> Result<(), Invalid> {
    if edges == Edges::VALUE
        && let Some(form) = Word::of(value).and_then(|word| short_form(word, fold))
    {
        form.append(out);
        return Ok(());
    }
    prepare_any(value, fold, edges, out)
}

/// Bytes of a word that takes the shortest way.
pub const SHORT_MAX: usize = 22;

/// Prepares a whole value that is one word of graphic ASCII, as nearly every login name and number is, and of
/// [`SHORT_MAX`] bytes at most.
#[inline(always)]
pub(crate) fn short_form(value: Word, fold: bool) -> Option<Word> {
    value.is_graphic().then(|| graphic_form(value, fold))?
}

/// As [`short_form`], of a value that is known to be graphic ASCII.
#[inline(always)]
pub(crate) fn graphic_form(value: Word, fold: bool) -> Option<Word> {
    if !(1..=SHORT_MAX).contains(&value.len) {
        return None;
    }
    let word = if fold { value.lowercase() } else { value };
    Some(word.behind(u64::from(b' '), 1).and(b' '))
}

fn prepare_any(value: &[u8], fold: bool, edges: Edges, out: &mut Vec<u8>) -> Result<(), Invalid> {
    if edges == Edges::VALUE && !value.is_empty() && value.iter().all(u8::is_ascii_graphic) {
        let start = out.len();
        out.reserve(value.len() + 2);
        out.push(b' ');
        out.extend_from_slice(value);
        if fold {
            out[start..].make_ascii_lowercase();
        }
        out.push(b' ');
        return Ok(());
    }
    if edges == Edges::VALUE && value.iter().all(|b| (b' '..=b'~').contains(b)) {
        append_words(value, fold, out);
        return Ok(());
    }
    if value.is_ascii() {
        let mut spaces = Squeezer::new(edges, out);
        for &byte in value {
            match byte {
                b'\t'..=b'\r' | b' ' => spaces.space(),
                0..=0x1f | 0x7f => {}
                _ => spaces.ascii(if fold { byte.to_ascii_lowercase() } else { byte }),
            }
        }
        spaces.finish();
        return Ok(());
    }
    let text = map_and_normalise(utf8(value)?, fold)?;
    let mut spaces = Squeezer::new(edges, out);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == ' ' && !chars.peek().is_some_and(|next| is_combining_mark(*next)) {
            spaces.space();
        } else {
            spaces.character(c);
        }
    }
    spaces.finish();
    Ok(())
}

/// Prepares and leaves out the characters that `dropped` names (RFC 4518 sections 2.6.2 and 2.6.3).
pub(crate) fn prepare_without(
    value: &[u8],
    dropped: fn(char) -> bool,
    out: &mut Vec<u8>,
) -> Result<(), Invalid> {
    if value.is_ascii() {
        let kept = |b: &u8| !b.is_ascii_control() && !dropped(*b as char);
        out.extend(value.iter().filter(|b| kept(b)).map(u8::to_ascii_lowercase));
        return Ok(());
    }
    let text = map_and_normalise(utf8(value)?, true)?;
    for c in text.chars().filter(|c| !dropped(*c)) {
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Ok(())
}

/// A whole value of printable ASCII, word by word.
fn append_words(value: &[u8], fold: bool, out: &mut Vec<u8>) {
    let start = out.len();
    out.reserve(value.len() * 2 + 2);
    out.push(b' ');
    for word in value.split(|b| *b == b' ').filter(|word| !word.is_empty()) {
        if out.len() > start + 1 {
            out.extend_from_slice(b"  ");
        }
        out.extend_from_slice(word);
    }
    out.push(b' ');
    // Two spaces for one between words, one at each end.
    assert!(
        out.len() - start <= value.len() * 2 + 2,
        "a prepared string takes no more room than was reserved"
    );
    if fold {
        out[start..].make_ascii_lowercase();
    }
}

/// RFC 4518 sections 2.2 to 2.4. Code points that Unicode 3.2 had not assigned are let through: the table is
/// frozen, the scripts and symbols people write in are not.
fn map_and_normalise(text: &str, fold: bool) -> Result<String, Invalid> {
    let mut now = map(text, fold);
    // Newer characters may normalise to a letter that folds again; twice is enough for all of Unicode, the
    // bound is there so that no table can make this run on.
    for _ in 0..4 {
        let again = map(&now, fold);
        if again == now {
            break;
        }
        now = again;
    }
    match now.chars().find(|c| is_prohibited(*c)) {
        Some(_) => Err(Invalid::new("a character that RFC 4518 prohibits")),
        None => Ok(now),
    }
}

fn map(text: &str, fold: bool) -> String {
    let mapped = text.chars().filter(|c| !is_removed(*c)).map(|c| if is_space(c) { ' ' } else { c });
    if fold {
        let mut folded = String::with_capacity(text.len());
        mapped.for_each(|c| folded.extend(stringprep::tables::case_fold_for_nfkc(c)));
        folded.nfkc().collect()
    } else {
        mapped.nfkc().collect()
    }
}

/// Mapped to nothing (RFC 4518 section 2.2).
fn is_removed(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{8}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{ad}' | '\u{34f}'
        | '\u{6dd}' | '\u{70f}' | '\u{1806}' | '\u{180b}'..='\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2063}' | '\u{206a}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffc}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0001}' | '\u{e0020}'..='\u{e007f}')
}

/// Mapped to SPACE (RFC 4518 section 2.2).
fn is_space(c: char) -> bool {
    matches!(c,
        '\u{9}'..='\u{d}' | ' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{2028}' | '\u{2029}'
        | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// Private use, non-characters and the replacement character (RFC 4518 section 2.4). Surrogates are not in
/// UTF-8, and what changes the display was mapped away.
fn is_prohibited(c: char) -> bool {
    c == '\u{fffd}'
        || stringprep::tables::private_use(c)
        || matches!(c, '\u{fdd0}'..='\u{fdef}')
        || (c as u32 & 0xfffe) == 0xfffe
}

/// Insignificant space handling (RFC 4518 section 2.6.1).
struct Squeezer<'o> {
    out: &'o mut Vec<u8>,
    edges: Edges,
    pending: bool,
    begun: bool,
}

impl Squeezer<'_> {
    fn new(edges: Edges, out: &mut Vec<u8>) -> Squeezer<'_> {
        Squeezer { out, edges, pending: false, begun: false }
    }

    fn space(&mut self) {
        self.pending = true;
    }

    fn ascii(&mut self, byte: u8) {
        self.before();
        self.out.push(byte);
    }

    fn character(&mut self, c: char) {
        self.before();
        self.out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }

    fn before(&mut self) {
        match (self.begun, self.pending) {
            (true, true) => self.out.extend_from_slice(b"  "),
            (true, false) => {}
            (false, pending) => {
                if pending || self.edges.lead {
                    self.out.push(b' ');
                }
            }
        }
        (self.begun, self.pending) = (true, false);
    }

    fn finish(self) {
        if !self.begun {
            self.out.extend_from_slice(if self.edges.whole { b"  " } else { b" " });
        } else if self.pending || self.edges.trail {
            self.out.push(b' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(text: &str, fold: bool) -> String {
        let mut out = Vec::new();
        prepare(text.as_bytes(), fold, Edges::VALUE, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn part(text: &str, part: Part) -> String {
        let mut out = Vec::new();
        prepare(text.as_bytes(), true, Edges::of(part), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn spaces_of_values() {
        assert_eq!(whole("  Foo   Bar ", true), " foo  bar ");
        assert_eq!(whole("foo", true), " foo ");
        assert_eq!(whole("", true), "  ");
        assert_eq!(whole("   ", true), "  ");
        assert_eq!(whole("a\tb\r\nc", false), " a  b  c ");
        assert_eq!(whole("a\u{3000}\u{a0}b", false), " a  b ");
    }

    #[test]
    fn the_short_way_tells_the_same() {
        for len in 0..=30 {
            for text in ["aB3-", "Q", "\u{e4}", "a b"].map(|text| text.repeat(30)) {
                let value = &text.as_bytes()[..len];
                for fold in [false, true] {
                    let short = short_form(Word::of(value).expect("it is short"), fold);
                    let is_short = (1..=SHORT_MAX).contains(&len) && value.iter().all(u8::is_ascii_graphic);
                    assert_eq!(short.is_some(), is_short, "{value:?}");
                    let Some(short) = short else { continue };
                    let mut long = Vec::new();
                    prepare_any(value, fold, Edges::VALUE, &mut long).expect("it is ASCII");
                    assert_eq!(Some(short), Word::of(&long), "{value:?}");
                }
            }
        }
    }

    #[test]
    fn spaces_of_parts() {
        assert_eq!(part(" a", Part::Initial), " a");
        assert_eq!(part("a ", Part::Initial), " a ");
        assert_eq!(part("a", Part::Any), "a");
        assert_eq!(part(" a b ", Part::Any), " a  b ");
        assert_eq!(part("a", Part::Final), "a ");
        assert_eq!(part("  ", Part::Any), " ");
    }

    #[test]
    fn mapped_to_nothing() {
        assert_eq!(whole("a\u{ad}b\u{200b}c\u{feff}d\u{0}e\u{7f}", false), " abcde ");
        assert_eq!(whole("a\u{1}b", false), " ab ");
    }

    #[test]
    fn folded_and_composed() {
        assert_eq!(whole("Stra\u{df}e", true), " strasse ");
        assert_eq!(whole("A\u{30a}", true), " \u{e5} ");
        assert_eq!(whole("\u{212b}", false), " \u{c5} ");
        assert_eq!(whole("\u{fb01}", true), " fi ");
        assert_eq!(whole("\u{ff21}\u{ff22}", true), " ab ");
        assert_eq!(whole("\u{1f600}", true), " \u{1f600} ");
    }

    #[test]
    fn a_space_with_a_mark_is_not_a_space() {
        assert_eq!(whole("a \u{301}b", false), " a \u{301}b ");
    }

    #[test]
    fn prohibited() {
        for bad in ["\u{fffd}", "\u{e000}x", "\u{fdd0}", "\u{1ffff}"] {
            assert!(prepare(bad.as_bytes(), true, Edges::VALUE, &mut Vec::new()).is_err(), "{bad:?}");
        }
        assert!(prepare(b"\xff", true, Edges::VALUE, &mut Vec::new()).is_err());
    }

    proptest! {
        #[test]
        fn once_is_enough(text in "\\PC{0,20}", fold: bool) {
            // A mark at the very beginning would be taken for the mark of the space put before it; some characters
            // begin with a mark once they are normalised.
            let normal = map_and_normalise(&text, fold).unwrap_or_default();
            prop_assume!(!normal.chars().next().is_some_and(is_combining_mark));
            let mut once = Vec::new();
            if prepare(text.as_bytes(), fold, Edges::VALUE, &mut once).is_ok() {
                let mut twice = Vec::new();
                prepare(&once, fold, Edges::VALUE, &mut twice).unwrap();
                prop_assert_eq!(once, twice);
            }
        }

        #[test]
        fn both_paths_agree(text in "[ -~\t]{0,20}") {
            let slow = map_and_normalise(&text, true).unwrap();
            prop_assert_eq!(whole(&text, true), whole(&slow, true));
        }
    }
}
