//! Measures the seconds of a run, and those of its bootstrappings separately.

use program::circuit::{Circuit, Op};
use std::cell::RefCell;
use std::time::Instant;

/// Is called with each step before it is run.
pub(crate) struct Clock<'c> {
    circuit: &'c Circuit,
    state: RefCell<State>,
}

struct State {
    start: Instant,
    /// Start of the bootstrapping that is running.
    since: Option<Instant>,
    bootstrapping: Vec<f64>,
}

impl<'c> Clock<'c> {
    pub(crate) fn new(circuit: &'c Circuit) -> Self {
        let state = State {
            start: Instant::now(),
            since: None,
            bootstrapping: Vec::new(),
        };
        Self {
            circuit,
            state: RefCell::new(state),
        }
    }

    pub(crate) fn begin(&self, step: usize) {
        let mut state = self.state.borrow_mut();
        if let Some(since) = state.since.take() {
            let seconds = since.elapsed().as_secs_f64();
            state.bootstrapping.push(seconds);
            println!(
                "{:8.1} s: step {step} of {}, after a bootstrapping of {seconds:.2} s",
                state.start.elapsed().as_secs_f64(),
                self.circuit.steps.len()
            );
        }
        if let Op::Bootstrap { .. } = self.circuit.steps[step].op {
            state.since = Some(Instant::now());
        }
    }

    /// Prints the times of a run that has just ended.
    pub(crate) fn print(&self) {
        let state = self.state.borrow();
        let (whole, count) = (
            state.start.elapsed().as_secs_f64(),
            state.bootstrapping.len(),
        );
        let bootstrapping: f64 = state.bootstrapping.iter().sum();
        println!(
            "training {whole:.1} s: iterations {:.1} s, {count} bootstrappings {bootstrapping:.1} s",
            whole - bootstrapping
        );
    }
}
