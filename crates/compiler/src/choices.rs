//! The alternatives that the planner compared and its choices, as data.

use crate::error::{Error, Result};
use program::TableShape;

/// All alternatives that were compared while a network was compiled, in the order of the decisions.
/// First forms are compared on a trial chain. The forms determine the chain's length. Then the ways
/// to cut digits are compared, each with its cheapest tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Choices {
    /// Number of limbs of the chain on which forms were compared. This chain is longer than the
    /// program's chain and has other digits.
    pub trial_limbs: usize,
    /// Layers with a table, in the network's order.
    pub layers: Vec<LayerChoices>,
    /// Ways to cut key switching into digits.
    pub cuts: Vec<Candidate<Cut, f64>>,
}

/// The alternatives that were compared for one layer.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerChoices {
    /// The layer's name.
    pub name: String,
    /// Forms of the layer's values.
    pub forms: Vec<Candidate<FormOption, FormCost>>,
    /// Shapes of the layer's table in the chosen form, with the program's parameters.
    pub tables: Vec<Candidate<TableShape, TableCost>>,
}

/// One of several alternatives that the compiler compares.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate<T, C> {
    /// The alternative.
    pub option: T,
    /// Predicted cost of the alternative, or the reason why it was refused.
    pub cost: std::result::Result<C, String>,
    /// True if the program uses it.
    pub chosen: bool,
}

/// The places of a layer's values in ciphertexts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormOption {
    /// True if the values are in slots, false if they are coefficients.
    pub slots: bool,
    /// Number of values that one ciphertext has room for, zeros included: a power of two.
    pub values: usize,
    /// Number of ciphertexts for the whole batch.
    pub ciphertexts: usize,
    /// Rows of zeros after each channel, and zeros after each row.
    pub zeros: [usize; 2],
    /// Number of products with plaintexts by which the next layers read the values. If ciphertexts
    /// hold different channels of one image, their products add up and count as one.
    pub products: usize,
}

/// Predicted cost of a form, in seconds on one thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FormCost {
    /// Seconds of packing, table and slots to coefficients, for all ciphertexts, on the trial
    /// chain.
    pub table_seconds: f64,
    /// Seconds of the products by which the next layers read the values.
    pub reading_seconds: f64,
}

/// Cost of a table in one shape, for one ciphertext.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableCost {
    /// Level at which the table starts.
    pub start_level: usize,
    /// Lowest level at which the next layer can read its result.
    pub end_level: usize,
    /// Number of products of two ciphertexts.
    pub products: usize,
    /// Predicted seconds of packing, table and slots to coefficients, on one thread.
    pub seconds: f64,
}

/// A way to cut key switching into digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// Number of limbs of the chain.
    pub limbs: usize,
    /// Number of special moduli.
    pub special_limbs: usize,
    /// Number of limbs of a digit.
    pub digit_limbs: usize,
    /// log2 of the product of all moduli, special ones included.
    pub log_qp: f64,
}

/// A cost by which candidates are compared.
pub trait Cost {
    /// Predicted seconds on one thread.
    fn seconds(&self) -> f64;
}

impl Cost for FormCost {
    fn seconds(&self) -> f64 {
        self.table_seconds + self.reading_seconds
    }
}

impl Cost for TableCost {
    fn seconds(&self) -> f64 {
        self.seconds
    }
}

impl Cost for f64 {
    fn seconds(&self) -> f64 {
        *self
    }
}

/// The candidates so far, and the reason for refusing the candidate that came closest to being
/// possible.
pub(crate) struct Comparison<T, C> {
    candidates: Vec<Candidate<T, C>>,
    reason: Option<Error>,
}

impl<T, C: Cost> Comparison<T, C> {
    pub(crate) fn new() -> Self {
        Self {
            candidates: Vec::new(),
            reason: None,
        }
    }

    pub(crate) fn add(&mut self, option: T, cost: Result<C>) {
        let cost = cost.map_err(|error| self.note(error));
        self.candidates.push(Candidate {
            option,
            cost,
            chosen: false,
        });
    }

    /// Refuses a candidate that was accepted before.
    pub(crate) fn refuse(&mut self, index: usize, error: Error) {
        self.candidates[index].cost = Err(self.note(error));
    }

    /// Keeps the reason of the candidate that came closest, and of several the last.
    fn note(&mut self, error: Error) -> String {
        let words = error.to_string();
        let kept = self.reason.as_ref().map_or(u32::MAX, far);
        if far(&error) <= kept {
            self.reason = Some(error);
        }
        words
    }

    /// Returns the cheapest candidate. If several are equal, the first.
    pub(crate) fn cheapest(&self) -> Option<(usize, &C)> {
        let costs = self.candidates.iter().enumerate();
        let costs = costs.filter_map(|(index, c)| Some((index, c.cost.as_ref().ok()?)));
        costs.min_by(|a, b| a.1.seconds().total_cmp(&b.1.seconds()))
    }

    /// Returns all candidates and marks candidate `index` as chosen. `cost` selects the part of the
    /// cost that is reported.
    pub(crate) fn choose<D>(self, index: usize, cost: impl Fn(C) -> D) -> Vec<Candidate<T, D>> {
        let candidates = self.candidates.into_iter().enumerate();
        let tell = |(i, candidate): (usize, Candidate<T, C>)| Candidate {
            option: candidate.option,
            cost: candidate.cost.map(&cost),
            chosen: i == index,
        };
        candidates.map(tell).collect()
    }

    /// The reason why no candidate was chosen. `None` if no candidate was refused.
    pub(crate) fn reason(self) -> Option<Error> {
        self.reason
    }
}

/// Returns true if other parameters could avoid an error.
pub(crate) fn is_of_parameters(error: &Error) -> bool {
    far(error) > 0
}

/// The distance of a candidate from being possible: 0 if its parameters are not the reason,
/// otherwise log2 of moduli that are too large. A chain that is too short has the largest distance,
/// because a longer chain was refused too.
fn far(error: &Error) -> u32 {
    use bfv::Error::Rlwe;
    use circuits::Error::{Bfv, OutOfLevels};
    match error {
        Error::Circuits(Bfv(Rlwe(rlwe::Error::Insecure { log_qp, .. }))) => *log_qp,
        Error::Circuits(OutOfLevels { .. }) => u32::MAX,
        _ => 0,
    }
}
