//! Arrays of vectors.

/// The array whose entry `k` is the given expression: a loop, where `from_fn` takes a closure.
///
/// A closure within a function that is inlined is compiled for any CPU. Each instruction of a
/// particular CPU in it is then a call through memory, unless the closure happens to be inlined.
/// `scripts/check_calls.py` finds such calls.
macro_rules! array {
    ($k:ident => $entry:expr) => {{
        let mut entries = [{
            let $k = 0_usize;
            $entry
        }; _];
        let mut $k = 1;
        while $k < entries.len() {
            entries[$k] = $entry;
            $k += 1;
        }
        entries
    }};
}
pub(crate) use array;
