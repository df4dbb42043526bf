//! Names of inputs and results.

use trace::is_name;

/// Prefix of encoded names.
const HEX: &str = "hex.";

/// Returns the name in a recording, and in its trace, of an input or result that a user named. It
/// is the same name if a trace can load and store under it. Otherwise it is `hex.` and the name's
/// bytes in hexadecimal. Different names stay different.
pub fn recorded_name(name: &str) -> String {
    if is_name(name) && !name.starts_with(HEX) {
        return name.into();
    }
    let bytes = name.bytes().map(|byte| format!("{byte:02x}"));
    std::iter::once(HEX.into()).chain(bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_or_written_out() {
        assert_eq!(recorded_name("conv.1/out-2_b"), "conv.1/out-2_b");
        assert_eq!(recorded_name("a b"), "hex.612062");
        assert_eq!(recorded_name(""), "hex.");
        assert_eq!(recorded_name("hex.612062"), "hex.6865782e363132303632");
        assert!(
            ["ü", " ", "", "hex."]
                .iter()
                .all(|name| is_name(&recorded_name(name)))
        );
    }
}
