//! What the planner compared and what it chose, as data.

use crate::error::{Error, Result};
use program::TableShape;

/// All that was compared while a network was compiled, in the order of the decisions: forms on a trial chain, from
/// them the chain's length, then the ways to cut digits, each with the tables that are cheapest for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Choices {
    /// Limbs of the chain on which forms were compared: longer than the program's, with digits cut otherwise.
    pub trial_limbs: usize,
    /// Layers with a table, in the network's order.
    pub layers: Vec<LayerChoices>,
    /// Ways to cut key switching into digits.
    pub cuts: Vec<Candidate<Cut, f64>>,
}

/// What was compared for one layer.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerChoices {
    /// The layer's name.
    pub name: String,
    /// Forms of its values.
    pub forms: Vec<Candidate<FormOption, FormCost>>,
    /// Shapes of its table in the chosen form, with the program's parameters.
    pub tables: Vec<Candidate<TableShape, TableCost>>,
}

/// One of several ways.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate<T, C> {
    /// The way.
    pub option: T,
    /// What it is predicted to cost, or why it was refused.
    pub cost: std::result::Result<C, String>,
    /// Whether the program does it this way.
    pub chosen: bool,
}

/// How a layer's values lie in ciphertexts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormOption {
    /// In slots, not as coefficients.
    pub slots: bool,
    /// Values that one ciphertext has room for, zeros included: a power of two.
    pub values: usize,
    /// Ciphertexts of the whole batch.
    pub ciphertexts: usize,
    /// Rows of zeros after each channel, and zeros after each row.
    pub zeros: [usize; 2],
    /// Products with plaintexts by which the layers that follow read them. Those of ciphertexts with other channels of
    /// one image add up and count as one.
    pub products: usize,
}

/// Predicted seconds of a form, on one thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FormCost {
    /// Packing, table and the way to coefficients, of all ciphertexts, on the trial chain.
    pub table_seconds: f64,
    /// The products by which the layers that follow read them.
    pub reading_seconds: f64,
}

/// What one ciphertext's table costs in a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableCost {
    /// Level at which the table starts.
    pub start_level: usize,
    /// Products of two ciphertexts.
    pub products: usize,
    /// Predicted seconds of packing, table and the way to coefficients, on one thread.
    pub seconds: f64,
}

/// A way to cut key switching into digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// Limbs of the chain.
    pub limbs: usize,
    /// Special moduli.
    pub special_limbs: usize,
    /// Limbs of a digit.
    pub digit_limbs: usize,
    /// log2 of the product of all moduli, special ones included.
    pub log_qp: f64,
}

/// By what candidates are compared.
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

/// Candidates as they come, and the last reason for refusing one.
pub(crate) struct Comparison<T, C> {
    candidates: Vec<Candidate<T, C>>,
    last: Option<Error>,
}

impl<T, C: Cost> Comparison<T, C> {
    pub(crate) fn new() -> Self {
        Self {
            candidates: Vec::new(),
            last: None,
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

    /// Turns a candidate down after all.
    pub(crate) fn refuse(&mut self, index: usize, error: Error) {
        self.candidates[index].cost = Err(self.note(error));
    }

    fn note(&mut self, error: Error) -> String {
        let words = error.to_string();
        self.last = Some(error);
        words
    }

    /// The cheapest candidate, the first of equals.
    pub(crate) fn cheapest(&self) -> Option<(usize, &C)> {
        let costs = self.candidates.iter().enumerate();
        let costs = costs.filter_map(|(index, c)| Some((index, c.cost.as_ref().ok()?)));
        costs.min_by(|a, b| a.1.seconds().total_cmp(&b.1.seconds()))
    }

    /// All candidates, this one chosen, with as much of their costs as is to be told.
    pub(crate) fn choose<D>(self, index: usize, cost: impl Fn(C) -> D) -> Vec<Candidate<T, D>> {
        let candidates = self.candidates.into_iter().enumerate();
        let tell = |(i, candidate): (usize, Candidate<T, C>)| Candidate {
            option: candidate.option,
            cost: candidate.cost.map(&cost),
            chosen: i == index,
        };
        candidates.map(tell).collect()
    }

    /// Why none is left; `None` if there was none.
    pub(crate) fn last_error(self) -> Option<Error> {
        self.last
    }
}
