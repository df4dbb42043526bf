//! Bytes as hexadecimal digits in JSON.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

/// Writes bytes as two digits each.
///
/// # Errors
/// The errors of the serializer.
pub fn serialize<S: Serializer>(bytes: &impl AsRef<[u8]>, to: S) -> Result<S::Ok, S::Error> {
    let digits = bytes.as_ref().iter().map(|byte| format!("{byte:02x}"));
    to.serialize_str(&digits.collect::<String>())
}

/// Reads as many bytes as the array has.
///
/// # Errors
/// If the text has other characters, or another length.
pub fn deserialize<'de, D: Deserializer<'de>, const N: usize>(
    from: D,
) -> Result<[u8; N], D::Error> {
    let digits = String::deserialize(from)?;
    let wrong = || D::Error::custom(format!("a text of {} hexadecimal digits is missing", 2 * N));
    let mut bytes = [0; N];
    if digits.len() != 2 * N {
        return Err(wrong());
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        let pair = digits.get(2 * index..2 * index + 2).ok_or_else(wrong)?;
        *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
    }
    Ok(bytes)
}
