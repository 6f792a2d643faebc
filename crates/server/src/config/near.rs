//! What to say of a key that does not exist: the key that was meant, if one is near.

/// What to say of a key that does not exist, beside those that do.
pub(super) fn unknown(name: &str, keys: impl Iterator<Item = &'static str>) -> String {
    // `_` is taken for `-`.
    let distance = |name: &str, key: &str| strsim::levenshtein(&name.replace('_', "-"), key);
    let last = |name: &'static str| name.rsplit('.').next().unwrap_or(name);
    let near = keys
        .map(|key| (distance(name, key).min(distance(name, last(key)) + 1), key))
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
