//! Bytes between memory and scratchpad.

/// Bytes between memory and scratchpad, by kind. Compulsory traffic does not depend on the
/// scratchpad: each limb passes once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Key-switch hints, loaded for the first time.
    pub hints: u64,
    /// Inputs, loaded for the first time.
    pub inputs: u64,
    /// Constants, loaded for the first time.
    pub constants: u64,
    /// Outputs.
    pub outputs: u64,
    /// Hints that are loaded again. This traffic and all that follows is not compulsory.
    pub hints_again: u64,
    /// Inputs and constants that are loaded again.
    pub inputs_again: u64,
    /// Results that were written to memory and are loaded again.
    pub results_loaded: u64,
    /// Results other than outputs that are written because the scratchpad is full.
    pub results_written: u64,
}

impl Traffic {
    /// All byte counts with their names.
    pub fn all(&self) -> [(&'static str, u64); 8] {
        [
            ("hints", self.hints),
            ("inputs", self.inputs),
            ("constants", self.constants),
            ("outputs", self.outputs),
            ("hints again", self.hints_again),
            ("inputs again", self.inputs_again),
            ("results loaded", self.results_loaded),
            ("results written", self.results_written),
        ]
    }

    /// Bytes of the compulsory traffic.
    pub fn compulsory(&self) -> u64 {
        self.hints + self.inputs + self.constants + self.outputs
    }

    /// Bytes of the whole traffic.
    pub fn total(&self) -> u64 {
        self.all().iter().map(|(_, bytes)| bytes).sum()
    }

    /// Adds the counts of `other`.
    pub(super) fn add_assign(&mut self, other: &Self) {
        self.hints += other.hints;
        self.inputs += other.inputs;
        self.constants += other.constants;
        self.outputs += other.outputs;
        self.hints_again += other.hints_again;
        self.inputs_again += other.inputs_again;
        self.results_loaded += other.results_loaded;
        self.results_written += other.results_written;
    }
}
