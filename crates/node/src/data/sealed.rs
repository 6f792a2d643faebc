//! Files of facts end in a checksum of what stands before it, so that a changed byte is no other fact.

/// What the last line begins with.
const KEY: &str = "checksum";

/// Adds the checksum to lines of text.
pub(super) fn seal(text: String) -> String {
    let line = line(&text);
    text + &line + "\n"
}

fn line(text: &str) -> String {
    format!("{KEY} = \"{:08x}\"", crc32c::crc32c(text.as_bytes()))
}

/// The lines before the checksum. Files of versions that wrote none are taken as they are, so whoever reads them must
/// refuse keys that are not known: one could have been this.
///
/// # Errors
/// When the checksum is wrong.
pub(super) fn unseal(text: &str) -> Result<&str, String> {
    let Some(at) = text.rfind(&format!("\n{KEY}")).map(|at| at + 1) else { return Ok(text) };
    let (lines, last) = text.split_at(at);
    match last.strip_suffix('\n') == Some(&line(lines)) {
        true => Ok(lines),
        false => Err("its checksum is wrong: it is not what was written".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back_and_a_change_shows() {
        let sealed = seal("# a\nb = 3\n".to_owned());
        assert_eq!(unseal(&sealed), Ok("# a\nb = 3\n"));
        assert!(unseal(&sealed.replace('3', "2")).is_err());
        assert!(unseal(sealed.trim_end()).is_err());
        assert_eq!(unseal("b = 3\n"), Ok("b = 3\n"));
    }
}
