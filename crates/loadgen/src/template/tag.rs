//! The tags `<name:arguments>` of the template language. Names are not case sensitive.
//!
//! | tag | makes |
//! |---|---|
//! | `<first>`, `<last>` | a given name, a family name |
//! | `<sequential[:start[:false]]>` | a number that counts up; `false`: not from the start again below each parent |
//! | `<padded:width[:start]>` | the same with leading zeros |
//! | `<random:alpha\|numeric\|alphanumeric\|hex\|base64:n[:max]>` | n (to max) characters; `numeric:min:max[:width]` with min below max: a number |
//! | `<random:chars:SET:n[:max]>` | characters of a set |
//! | `<random:month[:n]>`, `<random:telephone>` | the (first n characters of a) month's name, a telephone number |
//! | `<guid>` | a UUID of version 4 |
//! | `<list:a;weight:b;weight>` | one of a list, by weight |
//! | `<file:name[:random\|sequential]>` | a line of a file, or of the built-in `cities`, `states`, `streets`, `first.names`, `last.names`, `words` |
//! | `<dn>`, `<parentdn>`, `<rdn>` | of this entry; `<_dn>`, `<_parentdn>` with `_` for commas |
//! | `<presence:percent>` | nothing; the line is there in so many of 100 entries |
//! | `<ifpresent:attribute[:value]>`, `<ifabsent:...>` | nothing; the line is there if |
//! | `<static:text>` | the text |
//! | `<text:bytes>` | running text of exactly so many bytes |
//! | `<ssha:password>` | the salted SHA-1 of a password, 46 bytes |
//! | `<jpeg:bytes>` | noise between the marks of a JPEG file |

use super::lists;
use super::parse::{Names, Options};
use super::part::{Choice, Condition, Part};
use std::sync::Arc;

/// What a tag means.
pub(super) enum Tag {
    Part(Part),
    Condition(Condition),
}

/// Why a tag has no meaning.
pub(super) type Fault = &'static str;

/// The most bytes one tag may make: a value must fit in a message.
const TAG_BYTES_MAX: usize = 8 << 20;

/// Understands what stands between `<` and `>`.
pub(super) fn parse(text: &str, names: &mut Names, options: &Options<'_>) -> Result<Tag, Fault> {
    let (name, rest) = match text.split_once(':') {
        Some((name, rest)) => (name, Some(rest)),
        None => (text, None),
    };
    let arguments: Vec<&str> = rest.map(|rest| rest.split(':').collect()).unwrap_or_default();
    let name = name.to_ascii_lowercase();
    if let Some(condition) = condition(&name, &arguments, names)? {
        return Ok(Tag::Condition(condition));
    }
    let part = match name.as_str() {
        "first" => Part::Choose(list(lists::FIRST)),
        "last" => Part::Choose(list(lists::LAST)),
        "sequential" => sequential(&arguments)?,
        "padded" => Part::Sequential {
            start: number_or(arguments.get(1), 0)?,
            reset: true,
            width: width(&arguments)?,
        },
        "random" => random(&arguments)?,
        "guid" => Part::Guid,
        "list" => Part::Choose(Arc::new(weighted(&arguments)?)),
        "file" => file(&arguments, options)?,
        "dn" | "_dn" => Part::Dn { underscores: name.starts_with('_') },
        "parentdn" | "_parentdn" => Part::ParentDn { underscores: name.starts_with('_') },
        "rdn" => Part::Rdn,
        "static" | "statictext" => Part::Literal(rest.unwrap_or("").as_bytes().to_vec()),
        "text" => Part::Text { words: list(lists::WORDS), bytes: size(arguments.first())? },
        "ssha" => Part::Ssha(rest.ok_or("expected a password")?.as_bytes().to_vec()),
        "jpeg" => Part::Jpeg(size(arguments.first())?),
        _ => return Err("no such tag"),
    };
    Ok(Tag::Part(part))
}

fn condition(name: &str, arguments: &[&str], names: &mut Names) -> Result<Option<Condition>, Fault> {
    Ok(Some(match name {
        "presence" => match number(arguments.first())? {
            percent @ 0..=100 => Condition::Presence(percent),
            _ => return Err("a percentage is from 0 to 100"),
        },
        "ifpresent" | "ifabsent" => {
            let attribute =
                arguments.first().filter(|name| !name.is_empty()).ok_or("expected an attribute")?;
            let value = arguments.get(1).map(|value| value.as_bytes().to_vec());
            Condition::If(name == "ifpresent", names.id(attribute)?, value)
        }
        _ => return Ok(None),
    }))
}

fn list(text: &str) -> Arc<Choice> {
    Arc::new(Choice { items: lists::items(text), sums: Vec::new() })
}

fn number(argument: Option<&&str>) -> Result<u64, Fault> {
    argument.ok_or("expected a number")?.trim().parse().map_err(|_| "not a number")
}

fn number_or(argument: Option<&&str>, default: u64) -> Result<u64, Fault> {
    if argument.is_none() { Ok(default) } else { number(argument) }
}

fn size(argument: Option<&&str>) -> Result<usize, Fault> {
    match number(argument)? as usize {
        bytes if bytes <= TAG_BYTES_MAX => Ok(bytes),
        _ => Err("a value of more than 8 MiB"),
    }
}

fn width(arguments: &[&str]) -> Result<usize, Fault> {
    match number(arguments.first())? {
        width @ 1..=20 => Ok(width as usize),
        _ => Err("a width is from 1 to 20"),
    }
}

fn sequential(arguments: &[&str]) -> Result<Part, Fault> {
    let reset = match arguments.get(1).map(|word| word.to_ascii_lowercase()) {
        None => true,
        Some(word) if word == "true" => true,
        Some(word) if word == "false" => false,
        Some(_) => return Err("expected true or false"),
    };
    Ok(Part::Sequential { start: number_or(arguments.first(), 0)?, reset, width: 1 })
}

fn random(arguments: &[&str]) -> Result<Part, Fault> {
    let kind = arguments.first().ok_or("expected a kind of random value")?.to_ascii_lowercase();
    let rest = &arguments[1..];
    Ok(match kind.as_str() {
        "alpha" => characters(b"abcdefghijklmnopqrstuvwxyz", rest)?,
        "alphanumeric" => characters(b"abcdefghijklmnopqrstuvwxyz0123456789", rest)?,
        "hex" => characters(b"0123456789abcdef", rest)?,
        "numeric" if rest.len() > 1 => {
            let (min, max) = (number(rest.first())?, number(rest.get(1))?);
            if min > max {
                return Err("the first number is above the second");
            }
            Part::Number { min, max, width: if rest.len() > 2 { width(&rest[2..])? } else { 1 } }
        }
        "numeric" => characters(b"0123456789", rest)?,
        "base64" => {
            let (min, max) = range(rest)?;
            Part::Base64 { min, max }
        }
        "chars" => {
            let set = rest.first().filter(|set| set.is_ascii() && (1..=256).contains(&set.len()));
            characters(set.ok_or("expected a set of 1 to 256 ASCII characters")?.as_bytes(), &rest[1..])?
        }
        "month" => Part::Month(list(lists::MONTHS), number_or(rest.first(), 9)? as usize),
        "telephone" => Part::Telephone,
        _ => return Err("no such kind of random value"),
    })
}

fn characters(alphabet: &[u8], lengths: &[&str]) -> Result<Part, Fault> {
    let (min, max) = range(lengths)?;
    Ok(Part::Characters { alphabet: alphabet.into(), min, max })
}

fn range(arguments: &[&str]) -> Result<(usize, usize), Fault> {
    let min = size(arguments.first())?;
    let max = if arguments.len() > 1 { size(arguments.get(1))? } else { min };
    if min <= max { Ok((min, max)) } else { Err("the first length is above the second") }
}

fn weighted(arguments: &[&str]) -> Result<Choice, Fault> {
    let mut choice = Choice { items: Vec::new(), sums: Vec::new() };
    let mut sum = 0u64;
    for argument in arguments {
        let (item, weight) = match argument.rsplit_once(';') {
            Some((item, weight)) => (item, number(Some(&weight))?),
            None => (*argument, 1),
        };
        sum = sum.checked_add(weight).ok_or("the weights are too large")?;
        choice.items.push(item.as_bytes().to_vec());
        choice.sums.push(sum);
    }
    if sum == 0 { Err("an empty list") } else { Ok(choice) }
}

fn file(arguments: &[&str], options: &Options<'_>) -> Result<Part, Fault> {
    let name = arguments.first().filter(|name| !name.is_empty()).ok_or("expected a file")?;
    let items = match lists::by_name(name) {
        Some(text) => lists::items(text),
        None => {
            let bytes = (options.load)(name).map_err(|_| "no such file or built-in list")?;
            bytes
                .split(|&b| b == b'\n')
                .map(|line| line.trim_ascii().to_vec())
                .filter(|line| !line.is_empty())
                .collect()
        }
    };
    if items.is_empty() {
        return Err("an empty list");
    }
    let choice = Arc::new(Choice { items, sums: Vec::new() });
    match arguments.get(1).map(|word| word.to_ascii_lowercase()).as_deref() {
        None | Some("random") => Ok(Part::Choose(choice)),
        Some("sequential") => Ok(Part::InTurn(choice)),
        Some(_) => Err("expected random or sequential"),
    }
}
