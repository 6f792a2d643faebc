//! Decimal numbers, without the machinery of formats: lines of logs and of test data have half a dozen of them each.

/// Appends a number with at least `width` digits, of which 20 are zeros in front at most.
pub fn decimal(mut number: u64, width: usize, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    at = at.min(digits.len() - width.min(digits.len()));
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_formats_write_them() {
        for number in [0, 7, 10, 99, 1_000_000, u64::MAX] {
            for width in [0, 1, 3, 20, 30] {
                let mut out = Vec::new();
                decimal(number, width, &mut out);
                assert_eq!(out, format!("{number:0width$}", width = width.min(20)).as_bytes());
            }
        }
    }
}
