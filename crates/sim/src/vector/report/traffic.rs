//! Bytes between memory and scratchpad.

/// Bytes between memory and scratchpad, by kind. What is compulsory is moved once whatever the scratchpad.
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
    /// Hints that are loaded again: not compulsory, as all that follows.
    pub hints_again: u64,
    /// Inputs and constants that are loaded again.
    pub inputs_again: u64,
    /// Results that are loaded.
    pub results_loaded: u64,
    /// Results that are written because there was no room.
    pub results_written: u64,
}

impl Traffic {
    /// All numbers with their names.
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

    /// Bytes that are moved whatever the scratchpad.
    pub fn compulsory(&self) -> u64 {
        self.hints + self.inputs + self.constants + self.outputs
    }

    /// All bytes.
    pub fn total(&self) -> u64 {
        self.all().iter().map(|(_, bytes)| bytes).sum()
    }

    /// The sum of two.
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
