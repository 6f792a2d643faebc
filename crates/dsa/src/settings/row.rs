//! A row of the table of settings: all that there is to say of a key stands in it. Flags, the reader of the configuration
//! file, `cn=config`, its template and its documentation are made of the rows.

/// The attribute of `cn=config` that shows the indexes, a value for each: OpenLDAP's name for it.
pub(crate) const INDEX: &str = "olcDbIndex";

/// Values that are bad, by their place, and why.
pub type Bad = Vec<(usize, String)>;

/// How many values a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// One; a flag without a value means `on`.
    Switch,
    /// One.
    One,
    /// Any number: an array in the file, a flag for each.
    Each,
    /// Any number: an array in the file, flags with one or more each.
    List,
    /// Any number, each made of several: a table in the file, elsewhere a line of words `name=value`.
    Tables,
}

/// Whose a setting is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The directory's: it is recorded with the data, and a start that does not name it goes by the record.
    Directory,
    /// The directory's, and part of the rules that a command of the log changes, or of what it is made with.
    Rules,
    /// The server's, a file; of what is in it the directory has a hash.
    Hash,
    /// The server's: it is in its file and its flags alone.
    Node,
}

/// A row: what a key is called, what it means, how text sets it in a `T`, and what text it has there.
pub struct Row<T> {
    /// Name in the file, those of a section as `section.name`; and of the flag, which those of a section have not, but for those of
    /// access control.
    pub name: &'static str,
    /// Form of a value, as in `--help`.
    pub form: &'static str,
    /// How many values it takes.
    pub values: Values,
    /// Whose it is.
    pub scope: Scope,
    /// What holds when it is absent, in words.
    pub default: &'static str,
    /// What it does: the line of the documentation, and of `--help`.
    pub text: &'static str,
    /// Sets it. Of a key with many values, those that are good may be kept although others are bad.
    pub set: fn(&mut T, &[String]) -> Result<(), Bad>,
    /// Its values, as text.
    pub show: fn(&T) -> Vec<String>,
}

impl<T> Row<T> {
    /// Whether it may have several values.
    pub fn many(&self) -> bool {
        !matches!(self.values, Values::Switch | Values::One)
    }

    /// The attribute of `cn=config` that shows it.
    pub fn attribute(&self) -> String {
        if self.name == "index" {
            return INDEX.to_owned();
        }
        let word = |word: &str| word[..1].to_uppercase() + &word[1..];
        "pando".to_owned() + &self.name.split(['-', '.']).map(word).collect::<String>()
    }

    /// The section of the file that it is in; empty for none.
    pub fn section(&self) -> &'static str {
        self.name.split_once('.').map_or("", |(section, _)| section)
    }

    /// Sets it from text.
    ///
    /// # Errors
    /// The values that are bad, by their place, and why.
    pub fn set(&self, of: &mut T, values: &[String]) -> Result<(), Bad> {
        if !self.many() && values.len() != 1 {
            return Err(vec![(0, format!("`{}` takes one value", self.name))]);
        }
        (self.set)(of, values)
    }

    /// Its values, as text.
    pub fn show(&self, of: &T) -> Vec<String> {
        (self.show)(of)
    }
}
