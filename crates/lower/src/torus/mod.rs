//! From operations on samples to instructions on limbs: TFHE.
//!
//! A sample is its mask, `N` words a value, and its body, the word 0 of one more value. Products of digits with keys are
//! exact by residues modulo primes ([`table`]). Each rule is a sub-trace: key switch, modulus switch, the step of a blind
//! rotation.

pub mod names;
mod product;
mod rotation;
mod rounding;
mod samples;
mod switch;
mod table;

use crate::check::compare;
use crate::error::Result;
use product::{prepare, prepare_column};
use program::torus::{Circuit, KeySwitch, Op};
use program::trace::{Builder, SubId, Trace, ValueId};
use table::Table;

/// The trace of a circuit on samples.
///
/// # Errors
/// Those of [`Circuit::verify`].
pub fn lower(circuit: &Circuit) -> Result<Trace> {
    circuit.verify()?;
    let (table, mut builder) = Table::new(circuit)?;
    let mut walk = Walk {
        circuit,
        table: &table,
        made: Vec::with_capacity(circuit.steps.len()),
        bootstrap: Vec::new(),
        switch: Vec::new(),
        outputs: 0,
    };
    let mut b = builder.main();
    for step in 0..circuit.steps.len() {
        let made = walk.step(&mut b, step)?;
        walk.made.push(made);
    }
    Ok(builder.finish()?)
}

/// Checks that a trace is what [`lower`] makes of a circuit.
///
/// # Errors
/// [`Error::Differs`](crate::Error::Differs) with the first difference, and those of [`lower`].
pub fn check(circuit: &Circuit, trace: &Trace) -> Result<()> {
    compare(trace, &lower(circuit)?)
}

struct Walk<'a> {
    circuit: &'a Circuit,
    table: &'a Table,
    /// Values of each step: masks or mask polynomials, and the body.
    made: Vec<Vec<ValueId>>,
    /// The keys made ready, if they were needed: the polynomials of all rows.
    bootstrap: Vec<ValueId>,
    switch: Vec<ValueId>,
    outputs: usize,
}

impl Walk<'_> {
    fn step(&mut self, b: &mut Builder, index: usize) -> Result<Vec<ValueId>> {
        let (circuit, table) = (self.circuit, self.table);
        let p = &circuit.parameters;
        Ok(match &circuit.steps[index] {
            Op::Input { index } => {
                let part = |component| names::part(names::QUERY, *index, component);
                let parts = 0..p.rank + 1;
                parts.map(|c| b.load(part(c), table.words())).collect()
            }
            Op::Combine { constant, terms } => self.combine(b, *constant, terms),
            Op::KeySwitch { value } => {
                self.load_switch(b);
                let value = &self.made[*value];
                match p.key_switch {
                    KeySwitch::Ring(gadget) => {
                        let mut arguments = value.clone();
                        arguments.extend(&self.switch);
                        let sub = switch::key_switch(table, b, gadget);
                        b.call(sub, &arguments)
                    }
                    KeySwitch::Lwe(gadget) => {
                        samples::key_switch(table, b, (value, &self.switch), gadget)
                    }
                }
            }
            Op::ModulusSwitch { value, drop } => {
                let sub = rounding::modulus_switch(table, b, *drop);
                b.call(sub, &self.made[*value])
            }
            Op::BlindRotation { value, test } => {
                self.load_bootstrap(b);
                let test = b.define(circuit.constants[*test].clone());
                let test = b.constant(test, table.word);
                let size = self.bootstrap.len() / p.dimension;
                let rows = |bit: usize| self.bootstrap[bit * size..][..size].to_vec();
                rotation::rotate(table, b, &self.made[*value], test, rows)
            }
            Op::Extraction { value, place } => {
                let (body, masks) = self.made[*value].split_last().expect("it has a body");
                let turn = |b: &mut Builder, value| match place {
                    0 => value,
                    place => table.turned(b, value, 2 * p.n - place),
                };
                let masks = masks.iter().map(|&mask| {
                    let mask = turn(b, mask);
                    table.reversed(b, mask)
                });
                let mut parts: Vec<ValueId> = masks.collect();
                parts.push(turn(b, *body));
                parts
            }
            Op::Output { value } => {
                let parts = self.made[*value].clone();
                for (component, &part) in parts.iter().enumerate() {
                    b.store(names::answer(self.outputs, component), part);
                }
                self.outputs += 1;
                parts
            }
        })
    }

    fn combine(&self, b: &mut Builder, constant: i64, terms: &[(i64, usize)]) -> Vec<ValueId> {
        let table = self.table;
        let rank = table.parameters.rank;
        let greatest = u64::MAX >> (64 - table.parameters.word_bits);
        let component = |component: usize| {
            let scaled = |b: &mut Builder, (factor, value): (i64, usize)| {
                let part = self.made[value][component];
                match factor {
                    1 => part,
                    _ => b.scale(part, [factor as u64 & greatest]),
                }
            };
            let mut sum = scaled(b, terms[0]);
            for &term in &terms[1..] {
                let more = scaled(b, term);
                sum = b.add(sum, more);
            }
            if component == rank && constant != 0 {
                let constant = table.repeated(b, constant, table.word);
                sum = b.add(sum, constant);
            }
            sum
        };
        (0..rank + 1).map(component).collect()
    }

    fn load_switch(&mut self, b: &mut Builder) {
        if self.switch.is_empty() {
            let (table, p) = (self.table, &self.circuit.parameters);
            let count = p.rank * p.key_switch.digits().count as usize;
            let (prepare, sizes) = match p.key_switch {
                KeySwitch::Ring(_) => {
                    let components = p.small_rank() + 1;
                    (prepare(table, b, components), (count, components))
                }
                KeySwitch::Lwe(_) => (prepare_column(table, b, count), (p.dimension + 1, count)),
            };
            self.switch = load(table, b, (names::SWITCH, prepare), sizes);
        }
    }

    fn load_bootstrap(&mut self, b: &mut Builder) {
        if self.bootstrap.is_empty() {
            let p = &self.circuit.parameters;
            let components = p.rank + 1;
            let rows = p.dimension * components * p.bootstrap.count as usize;
            let prepare = prepare(self.table, b, components);
            let key = (names::BOOTSTRAP, prepare);
            self.bootstrap = load(self.table, b, key, (rows, components));
        }
    }
}

/// The polynomials of a key's rows or columns, made ready by a sub-trace.
fn load(
    table: &Table,
    b: &mut Builder,
    (key, prepare): (&str, SubId),
    (rows, components): (usize, usize),
) -> Vec<ValueId> {
    let row = |row: usize| {
        let parts = 0..components;
        let parts = parts.map(|c| b.load(names::part(key, row, c), table.words()));
        let parts: Vec<ValueId> = parts.collect();
        b.call(prepare, &parts)
    };
    (0..rows).flat_map(row).collect()
}
