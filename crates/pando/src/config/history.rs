//! `pando config history`: the last changes, and the settings as they were.

use super::change::Change;
use super::place::Place;
use super::running::{self, Running, Texts, Whose};
use crate::failed::Failed;
use crate::output::print;
use server::config::known;

/// Prints the last changes, the oldest first.
pub(super) fn run(place: &Place, whose: Whose) -> Result<(), Failed> {
    let Running { changes, .. } = running::read(place, &mut place.open()?, whose)?;
    let mut text = String::new();
    for change in &changes {
        let Change { number, time, author, .. } = change;
        text += &format!("{number} {time} {author}\n{}", difference(change));
    }
    print(text)
}

/// What a change did, as lines of a configuration file. A key that this program does not know is named.
fn difference(change: &Change) -> String {
    let Ok(key) = known(&change.key) else { return format!("? {}\n", change.key) };
    let of = |values: &[String]| {
        let mut texts = Texts::new();
        running::put(&mut texts, key, values.to_vec());
        texts
    };
    running::differences(&of(&change.before), &of(&change.after))
}

/// The settings as they were after change `number`: those behind it are taken back.
///
/// # Errors
/// When it is older than the changes that are kept, or there is no such change yet.
pub(super) fn at(number: u64, running: &Running) -> Result<Texts, Failed> {
    let newest = running.changes.last().map_or(0, |change| change.number);
    let oldest = running.changes.first().map_or(1, |change| change.number);
    if number > newest || number + 1 < oldest {
        let kept = format!("changes {oldest} to {newest} are kept");
        return Err(Failed::usage(format!("{number}: there is no such change; {kept}")));
    }
    let mut texts = running.texts.clone();
    for change in running.changes.iter().rev().take_while(|change| change.number > number) {
        if let Ok(key) = known(&change.key) {
            texts.remove(key.name);
            running::put(&mut texts, key, change.before.clone());
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u64, key: &str, before: &str, after: &str) -> Change {
        let text = format!(
            "{{\"number\":{number},\"time\":\"20260102030405Z\",\"by\":\"cn=a\",\"key\":\"{key}\",\"from\":[\"{before}\"],\
             \"to\":[\"{after}\"],\"was-set\":true}}"
        );
        Change::parse(&text).expect("it is a change")
    }

    #[test]
    fn settings_are_taken_back_to_a_change() {
        let texts = Texts::from([("txn-age-max", vec!["3".to_owned()]), ("threads", vec!["1".to_owned()])]);
        let changes = vec![
            line(4, "txn-age-max", "1", "2"),
            line(5, "txn-age-max", "2", "3"),
            line(5, "gone", "1", "2"),
        ];
        let running = Running { texts, changes };
        let of = |number| at(number, &running).ok().map(|texts| texts["txn-age-max"][0].clone());
        assert_eq!([of(3), of(4), of(5)].map(Option::unwrap_or_default), ["1", "2", "3"]);
        assert_eq!((of(2), of(6)), (None, None));
        assert_eq!(difference(&running.changes[0]), "- txn-age-max = \"1\"\n+ txn-age-max = \"2\"\n");
        assert_eq!(difference(&running.changes[2]), "? gone\n");
        assert_eq!(Change::parse("{}"), None);
    }
}
