//! Quantities as people write them.

/// A number of bytes: `1073741824`, `512MiB`, `8GiB`, `2G`. Units are powers of 1024.
///
/// # Errors
/// In words, what is wrong.
pub fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let shift = match text[digits..].trim() {
        "" | "B" => 0,
        "K" | "KiB" => 10,
        "M" | "MiB" => 20,
        "G" | "GiB" => 30,
        "T" | "TiB" => 40,
        unit => return Err(format!("`{unit}` is not a unit of bytes: KiB, MiB, GiB or TiB")),
    };
    let number: u64 = text[..digits].parse().map_err(|_| format!("`{text}` is not a number of bytes"))?;
    number.checked_mul(1 << shift).ok_or_else(|| format!("`{text}` is more than can be counted"))
}
