//! What to say of a key that does not exist: the key that was meant, if one is near.

use super::keys;

/// What to say of a key that does not exist.
pub(super) fn unknown(name: &str) -> String {
    let last = |name: &'static str| name.rsplit('.').next().unwrap_or(name);
    let near = keys()
        .map(|key| (distance(name, key.name).min(distance(name, last(key.name)) + 1), key.name))
        .min()
        .filter(|(distance, _)| *distance <= 1 + name.len() / 3);
    match near {
        Some((_, near)) if near.contains('.') && !name.contains('.') => {
            let (section, key) = near.split_once('.').unwrap_or(("", near));
            format!("unknown key `{name}`; did you mean `{key}` in section `[{section}]`?")
        }
        Some((_, near)) => format!("unknown key `{name}`; did you mean `{near}`?"),
        None => format!("unknown key `{name}`"),
    }
}

/// Edit distance: insertions, deletions and replacements that make one of the other, `_` counting as `-`.
fn distance(a: &str, b: &str) -> usize {
    let same = |x: u8, y: u8| x == y || (x == b'_' && y == b'-');
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(!same(x, y));
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
