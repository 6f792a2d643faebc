//! `access to` of OpenLDAP (slapd.access(5)): of slapd.conf, or of the LDIF of cn=config.

use super::lines::{is_ldif, logical, records, words};
use super::openldap_emit::emit;
use super::openldap_what::{What, what};
use super::openldap_who::{Directive, clauses};
use super::translation::Translation;

/// A database, or the part before all databases.
#[derive(Default)]
struct Section {
    suffixes: Vec<String>,
    /// Lines with the directives, without `access` before them.
    directives: Vec<(u64, String)>,
    is_global: bool,
}

pub(super) fn translate(text: &str) -> Translation {
    let mut done = Translation::default();
    let sections = match if is_ldif(text) { of_ldif(text, &mut done) } else { Ok(of_conf(text)) } {
        Ok(sections) => sections,
        Err((line, why)) => {
            done.leave(line, "the file", &why);
            return done;
        }
    };
    let is_allow = |(_, line): &(u64, String)| line.starts_with("allow") && line.contains("update_anon");
    let allows_anonymous = logical(text).iter().any(is_allow)
        || text.lines().any(|line| line.starts_with("olcAllows:") && line.contains("update_anon"));
    let (global, databases): (Vec<Section>, Vec<Section>) =
        sections.into_iter().partition(|section| section.is_global);
    let global: Vec<(u64, String)> = global.into_iter().flat_map(|section| section.directives).collect();
    // Directives before all databases hold after those of each database.
    let databases = if databases.is_empty() { vec![Section::default()] } else { databases };
    for (number, section) in databases.iter().enumerate() {
        let lines: Vec<&(u64, String)> = section.directives.iter().chain(&global).collect();
        let prefix = if number == 0 { "openldap".to_owned() } else { format!("openldap{}", number + 1) };
        let mut directives = Vec::new();
        for (line, text) in lines {
            match directive(*line, text, &mut done) {
                Ok(directive) => directives.push(directive),
                Err(why) => {
                    // Those behind it would decide about what it was about.
                    done.leave(*line, text, &format!("{why}; what it may be about is denied to everybody"));
                    directives.push(lost(*line, text));
                }
            }
        }
        if section.directives.is_empty() && global.is_empty() && !section.suffixes.is_empty() {
            // slapd.access(5): without any directive everybody reads everything.
            done.remark(0, "no directive says who has access: everybody reads, as it was");
            directives.extend(directive(0, "to * by * read", &mut done));
        }
        emit(&prefix, &section.suffixes, &directives, allows_anonymous, &mut done);
    }
    done
}

/// Denies what a directive may be about that is not carried over.
fn lost(line: u64, text: &str) -> Directive {
    let words = words(text);
    let by = words.iter().position(|word| word == "by").unwrap_or(words.len());
    Directive { line, what: What::widened(&words[..by]), clauses: Vec::new() }
}

/// `to WHAT by WHO ACCESS ...`. A clause that is not carried over is left out, as are those behind it: they would be for others.
fn directive(line: u64, text: &str, done: &mut Translation) -> Result<Directive, String> {
    let words = words(text);
    let [to, rest @ ..] = words.as_slice() else { return Err("it is empty".to_owned()) };
    if to != "to" {
        return Err("`to` is expected".to_owned());
    }
    let by = rest.iter().position(|word| word == "by").unwrap_or(rest.len());
    let what = what(&rest[..by])?;
    let clauses = clauses(&rest[by..], &what, |text, why| done.leave(line, text, why));
    Ok(Directive { line, what, clauses })
}

fn of_conf(text: &str) -> Vec<Section> {
    let mut sections = vec![Section { is_global: true, ..Section::default() }];
    for (line, text) in logical(text) {
        let (key, rest) = text.split_once(char::is_whitespace).unwrap_or((&text, ""));
        let last = sections.last_mut();
        match (key.to_ascii_lowercase().as_str(), last) {
            ("database", _) => sections.push(Section::default()),
            ("suffix", Some(section)) => section.suffixes.extend(words(rest)),
            ("access", Some(section)) => section.directives.push((line, rest.trim().to_owned())),
            _ => {}
        }
    }
    sections
}

fn of_ldif(text: &str, done: &mut Translation) -> Result<Vec<Section>, (u64, String)> {
    let mut sections = Vec::new();
    for record in records(text)? {
        let rdn = record.dn.to_ascii_lowercase();
        let mut directives: Vec<(u64, u64, String)> = record.of("olcAccess").map(numbered).collect();
        directives.sort_by_key(|(number, ..)| *number);
        let directives: Vec<(u64, String)> =
            directives.into_iter().map(|(_, line, text)| (line, text)).collect();
        if rdn.starts_with("olcdatabase={0}config")
            || rdn.starts_with("olcdatabase=config")
            || rdn.contains("}monitor")
        {
            for (line, text) in directives {
                done.leave(line, &text, "it is about slapd's own entries");
            }
            continue;
        }
        let suffixes: Vec<String> = record.of("olcSuffix").map(|(_, value)| value.to_owned()).collect();
        let is_global = rdn.contains("frontend") || !rdn.starts_with("olcdatabase");
        if !directives.is_empty() || !suffixes.is_empty() {
            sections.push(Section { suffixes, directives, is_global });
        }
    }
    Ok(sections)
}

/// `{3}to ...`: its number and the rest.
fn numbered((line, value): (u64, &str)) -> (u64, u64, String) {
    let numbered = value.strip_prefix('{').and_then(|rest| rest.split_once('}'));
    let (number, text) =
        numbered.map_or((u64::MAX, value), |(number, text)| (number.parse().unwrap_or(u64::MAX), text));
    (number, line, text.trim().to_owned())
}
