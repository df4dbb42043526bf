//! Translation of circuits on messages to circuits on samples.

use super::describe::parameters;
use super::noise::Noise;
use crate::error::{Error, Result};
use program::message::{Circuit, Made, Messages, Op};
use program::torus::{self, Op as Sample, ValueId};
use std::collections::HashMap;
use tfhe::{Encoding, Gate, Params, TestPolynomial};
use trace::Constant;

/// Negative log2 of the constant of gates: 1/8 of the torus.
const EIGHTH: u32 = 3;

/// The encoding of messages for parameters of TFHE.
pub fn messages(params: &Params) -> Messages {
    match params.encoding() {
        Encoding::Gates => Messages::Bits,
        Encoding::Integers {
            message_bits,
            carry_bits,
        } => Messages::Integers {
            message_bits,
            carry_bits,
        },
    }
}

/// Checks that a circuit on messages can run with these parameters. It has an input, the
/// parameters' encoding of messages, tables that fit a bootstrapping, and results whose noise is at
/// most that of a ciphertext.
///
/// # Errors
/// [`Error::Program`] for a circuit that does not verify, [`Error::Circuit`] for a circuit that
/// does not fit.
pub fn check(params: &Params, circuit: &Circuit) -> Result<()> {
    circuit.verify()?;
    let own = messages(params);
    if circuit.messages != own {
        let what = "the encoding of the circuit";
        return Err(unfit(what, circuit.messages.to_string(), own.to_string()));
    }
    if circuit.inputs.is_empty() {
        // Without an input, nothing is encrypted. But a known result also has to be a sum of
        // samples.
        let (count, expected) = ("0".into(), "at least 1".into());
        return Err(unfit("the number of inputs", count, expected));
    }
    for op in &circuit.steps {
        if let Op::Lookup { tables, .. } = op {
            check_tables(params, tables.len())?;
        }
    }
    let noise = Noise::of(circuit);
    for output in &circuit.outputs {
        let found = output.values.iter().map(|&value| noise.deviations(value));
        let (found, most) = (found.max().unwrap_or(0), params.max_noise());
        if !circuit.is_of_bits() && found > most {
            let what = format!("the noise of output {}", output.name);
            let expected = format!("at most {most} bootstrappings': use a table on it first");
            return Err(unfit(
                what,
                format!("that of {found} bootstrappings"),
                expected,
            ));
        }
    }
    Ok(())
}

/// Checks that one bootstrapping has room for `found` tables.
///
/// # Errors
/// [`Error::Tfhe`] for too many tables.
pub fn check_tables(params: &Params, found: usize) -> Result<()> {
    let limit = params.n() / 2 / params.values() as usize;
    if found.next_power_of_two() > limit {
        return Err(tfhe::Error::Tables { found, limit }.into());
    }
    Ok(())
}

/// Translates a circuit on messages to operations on samples. Its inputs are all messages of the
/// first input, then all messages of the next, and so on. Outputs have the same order.
///
/// If an integer may be negative, its output is the integer plus the
/// [offset](program::message::Range::offset) of its range.
///
/// # Errors
/// The errors of [`check`].
pub fn describe(params: &Params, circuit: &Circuit) -> Result<torus::Circuit> {
    check(params, circuit)?;
    let mut writer = Writer {
        circuit,
        made: circuit.made(),
        out: torus::Circuit::new(parameters(params)),
        samples: Vec::with_capacity(circuit.steps.len()),
        exponents: HashMap::new(),
        unit: params.spec().word_bits - 1 - params.values().ilog2(),
        inputs: HashMap::new(),
    };
    for op in &circuit.steps {
        let samples = writer.step(op);
        writer.samples.push(samples);
    }
    for &value in circuit.outputs.iter().flat_map(|output| &output.values) {
        let offset = match &writer.made[value] {
            Made::Integer(range) => range.offset(circuit.messages),
            _ => 0,
        };
        let value = writer.plus(writer.samples[value][0], offset);
        writer.out.push(Sample::Output { value });
    }
    Ok(writer.out)
}

struct Writer<'a> {
    circuit: &'a Circuit,
    made: Vec<Made>,
    out: torus::Circuit,
    /// Samples of each step. A lookup has a sample for each of its tables.
    samples: Vec<Vec<ValueId>>,
    /// Exponents of samples, by sample and number of bits dropped. Tables of one integer share
    /// them.
    exponents: HashMap<(ValueId, u32), ValueId>,
    /// Bit position of the message 1 in a word.
    unit: u32,
    /// Inputs by number.
    inputs: HashMap<usize, ValueId>,
}

impl Writer<'_> {
    fn step(&mut self, op: &Op) -> Vec<ValueId> {
        let of = |writer: &Self, value: usize| writer.samples[value][0];
        let one = match op {
            Op::Input { input, place } => {
                let before = self.circuit.inputs[..*input].iter();
                let index = before.map(|input| input.len()).sum::<usize>() + place;
                self.input(index)
            }
            Op::Constant { value } => {
                let constant = match self.circuit.messages {
                    Messages::Bits => self.eighths(2 * value - 1),
                    Messages::Integers { .. } => self.word(*value),
                };
                // A sample must be a sum of other samples. This sum has an input times 0.
                let any = self.input(0);
                let terms = vec![(0, any)];
                self.out.push(Sample::Combine { constant, terms })
            }
            Op::Not { value } => {
                let terms = vec![(-1, of(self, *value))];
                self.out.push(Sample::Combine { constant: 0, terms })
            }
            Op::Gate { gate, left, right } => {
                let operands = (of(self, *left), of(self, *right));
                self.sign(gate_of(*gate), operands)
            }
            Op::Choose { condition, yes, no } => {
                // Source: `tfhe::ServerKey::mux`.
                let [c, yes, no] = [condition, yes, no].map(|&value| of(self, value));
                let halves = [
                    self.sign(Gate::And, (c, yes)),
                    self.sign(Gate::AndNy, (c, no)),
                ];
                let (constant, terms) = (self.eighths(1), halves.map(|half| (1, half)).to_vec());
                self.out.push(Sample::Combine { constant, terms })
            }
            Op::Sum { constant, terms } => {
                let terms = terms
                    .iter()
                    .map(|&(factor, value)| (factor, of(self, value)));
                let (constant, terms) = (self.word(*constant), terms.collect());
                self.out.push(Sample::Combine { constant, terms })
            }
            Op::Lookup { value, tables } => return self.lookup(*value, tables),
            Op::Entry { lookup, table } => self.samples[*lookup][*table],
        };
        vec![one]
    }

    fn input(&mut self, index: usize) -> ValueId {
        if let Some(&known) = self.inputs.get(&index) {
            return known;
        }
        let sample = self.out.push(Sample::Input { index });
        self.inputs.insert(index, sample);
        sample
    }

    /// Adds a gate. Its sample is 1/8 of the torus if the gate is true, otherwise -1/8.
    fn sign(&mut self, gate: Gate, (left, right): (ValueId, ValueId)) -> ValueId {
        let (x, y, eighths) = gate.combination();
        let sum = self.out.push(Sample::Combine {
            constant: self.eighths(eighths),
            terms: vec![(x, left), (y, right)],
        });
        let values = vec![self.eighths(1)];
        let test = Constant::Repeat { run: 1, values };
        self.bootstrapped(sum, test, 1)[0]
    }

    fn lookup(&mut self, value: usize, tables: &[Vec<i64>]) -> Vec<ValueId> {
        let Made::Integer(range) = &self.made[value] else {
            unreachable!("the verifier knows what operands are")
        };
        let index = self.plus(self.samples[value][0], -range.least);
        let values = self.circuit.messages.values() as usize;
        let words = tables.iter().map(|table| {
            let entries = table.iter().map(|&entry| self.word(entry) as u64);
            let mut words: Vec<u64> = entries.collect();
            words.resize(values, 0); // no integer of the range reads these
            words
        });
        let words: Vec<Vec<u64>> = words.collect();
        let test = TestPolynomial::of_tables(self.out.parameters.n, &words);
        let words = test.words().iter().map(|&word| self.centred(word as i64));
        let words = Constant::Words(words.collect());
        self.bootstrapped(index, words, tables.len())
    }

    /// Adds a bootstrapping. Returns the samples of the first `count` coefficients.
    fn bootstrapped(&mut self, value: ValueId, test: Constant, count: usize) -> Vec<ValueId> {
        let drop = count.next_power_of_two().ilog2();
        let test = self.out.define(test);
        let exponents = match self.exponents.get(&(value, drop)) {
            Some(&known) => known,
            None => {
                let small = self.out.push(Sample::KeySwitch { value });
                let value_at = self.out.push(Sample::ModulusSwitch { value: small, drop });
                self.exponents.insert((value, drop), value_at);
                value_at
            }
        };
        let value = self.out.push(Sample::BlindRotation {
            value: exponents,
            test,
        });
        let places = 0..count;
        places
            .map(|place| self.out.push(Sample::Extraction { value, place }))
            .collect()
    }

    fn plus(&mut self, value: ValueId, constant: i64) -> ValueId {
        match constant {
            0 => value,
            _ => self.out.push(Sample::Combine {
                constant: self.word(constant),
                terms: vec![(1, value)],
            }),
        }
    }

    /// The word that encodes an integer, centred.
    fn word(&self, value: i64) -> i64 {
        self.centred(value.wrapping_shl(self.unit))
    }

    fn eighths(&self, count: i64) -> i64 {
        let eighth = 1i64 << (self.out.parameters.word_bits - EIGHTH);
        self.centred(eighth.wrapping_mul(count))
    }

    fn centred(&self, word: i64) -> i64 {
        match self.out.parameters.word_bits {
            32 => i64::from(word as i32),
            _ => word,
        }
    }
}

/// Converts a gate of a circuit to a gate of the scheme.
pub(super) fn gate_of(gate: program::message::Gate) -> Gate {
    match gate {
        program::message::Gate::And => Gate::And,
        program::message::Gate::AndNot => Gate::AndYn,
        program::message::Gate::NotAnd => Gate::AndNy,
        program::message::Gate::Or => Gate::Or,
        program::message::Gate::Xor => Gate::Xor,
    }
}

/// The error for a circuit that does not fit its parameters.
pub(super) fn unfit(what: impl Into<String>, found: String, expected: String) -> Error {
    Error::Circuit {
        what: what.into(),
        found,
        expected,
    }
}
