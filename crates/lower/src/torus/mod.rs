//! From operations on samples to instructions on limbs: TFHE.
//!
//! A sample is its mask, `N` words to a value, and its body, which is word 0 of one more value.
//! Products of digits with keys are computed exactly by residues modulo primes. The primes are
//! chosen for the largest sum that can occur. Each rule is a sub-trace: key switch, modulus switch,
//! the step of a blind rotation.
//!
//! Number of transforms, for `p` primes, rank `k`, `l` digits of external products, a small secret
//! of `n` bits in `m = ceil(n / N)` polynomials and `d` digits of the key switch: a bootstrapping
//! takes `p (n (k + 1) l + k d)` transforms and `p (n (k + 1) + m + 1)` inverse ones. The keys take
//! `p (n (k + 1)^2 l + k d (m + 1))` transforms, once. A key switch by samples has `n + 1` in place
//! of `m + 1`.

mod keys;
pub mod names;
mod product;
mod rotation;
mod rounding;
mod samples;
mod switch;
mod table;

use crate::check::compare;
use crate::error::Result;
use keys::Keys;
use program::torus::{Circuit, KeySwitch, Op};
use table::ModulusTable;
use trace::{Builder, Limbs, Trace, ValueId};

/// The trace of a circuit on samples.
///
/// # Errors
/// The errors of [`Circuit::verify`].
pub fn lower(circuit: &Circuit) -> Result<Trace> {
    circuit.verify()?;
    let (table, mut builder) = ModulusTable::new(circuit)?;
    let mut walk = Walk {
        circuit,
        table: &table,
        made: Vec::with_capacity(circuit.steps.len()),
        keys: Keys::default(),
        outputs: 0,
    };
    let mut b = builder.main();
    for (step, op) in circuit.steps.iter().enumerate() {
        b.begin_step(&format!("{step}: {}", op.name()));
        let made = walk.step(&mut b, step)?;
        walk.made.push(made);
    }
    Ok(builder.finish()?)
}

/// Checks that a trace is the result of [`lower`] on a circuit.
///
/// # Errors
/// [`Error::Differs`](crate::Error::Differs) with the first difference, and the errors of
/// [`lower`].
pub fn check(circuit: &Circuit, trace: &Trace) -> Result<()> {
    compare(trace, &lower(circuit)?)
}

struct Walk<'a> {
    circuit: &'a Circuit,
    table: &'a ModulusTable,
    /// Values that each step has made: masks or mask polynomials, then the body.
    made: Vec<Vec<ValueId>>,
    keys: Keys,
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
                let key = self.keys.switch(table, b);
                let value = &self.made[*value];
                match p.key_switch {
                    KeySwitch::Ring(gadget) => {
                        let mut arguments = value.clone();
                        arguments.extend(key);
                        let sub = switch::key_switch(table, b, gadget);
                        b.call(sub, &arguments)
                    }
                    KeySwitch::Lwe(gadget) => samples::key_switch(table, b, (value, key), gadget),
                }
            }
            Op::ModulusSwitch { value, drop } => {
                let sub = rounding::modulus_switch(table, b, *drop);
                b.call(sub, &self.made[*value])
            }
            Op::BlindRotation { value, test } => {
                let key = self.keys.bootstrap(table, b);
                let test = b.define(circuit.constants[*test].clone());
                let test = b.constant(test, Limbs::one(table.word));
                rotation::rotate(table, b, &self.made[*value], test, key)
            }
            Op::Extraction { value, place } => {
                let (body, masks) = self.made[*value].split_last().expect("it has a body");
                let turn = |b: &mut Builder, value| match place {
                    0 => value,
                    place => b.shift(value, 2 * p.n - place),
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
                    b.store(names::part(names::ANSWER, self.outputs, component), part);
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
}
