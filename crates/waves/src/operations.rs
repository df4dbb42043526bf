//! The operations of a trace, limb by limb.

use crate::kernel::{Kernel, Shape, padded};
use crate::tables::Permutation;
use crate::work::{Limb, Origin, Writer, ZERO};
use trace::{ConstantId, Domain, Instruction, Limbs, Op, Type};

/// Limbs of the result that one instruction of a conversion computes. Instructions of the same
/// conversion repeat their common part: a few products for each limb that is read. With all limbs
/// in one instruction there were 50 shapes of conversions in the plan of MNIST w7a7.
const CONVERTED: usize = 4;

impl Writer<'_> {
    /// Writes out an instruction that is not a call: adds the limbs of its results to `values`.
    pub(crate) fn operation(
        &mut self,
        origin: Origin,
        instruction: &Instruction,
        types: &[&Type],
        values: &mut Vec<Vec<Limb>>,
    ) {
        let Instruction {
            op,
            types: result_types,
        } = instruction;
        match op {
            Op::Store { value, .. } => return self.store(origin, &values[*value]),
            Op::Combine { .. } => {
                let results = self.combine(op, &result_types[0].limbs, values);
                return values.extend(results);
            }
            _ => {}
        }
        let ty = &result_types[0];
        let limbs = &ty.limbs;
        let of = |value: &usize| values[*value].as_slice();
        let result = match op {
            Op::Load { .. } | Op::Sample { .. } | Op::Constant { .. } => {
                self.source(origin, op, ty)
            }
            Op::Zero { .. } => vec![ZERO; limbs.len()],
            Op::Ntt(x) => self.each(Kernel::Ntt, limbs, &[of(x)]),
            Op::Intt(x) => self.each(Kernel::Intt, limbs, &[of(x)]),
            Op::Add(a, b) => self.each(Kernel::Add, limbs, &[of(a), of(b)]),
            Op::Sub(a, b) => self.each(Kernel::Sub, limbs, &[of(a), of(b)]),
            Op::Mul(a, b) => self.each(Kernel::Mul, limbs, &[of(a), of(b)]),
            Op::Dot { left, right } => {
                let [left, right] = [left, right].map(|side| side.iter().map(of).collect());
                self.dot(&left, &right, limbs)
            }
            Op::Scale { value, factors } => {
                let scaled = limbs.iter().zip(of(value)).zip(factors);
                let one = |((prime, &limb), &factor): ((usize, &Limb), &u64)| {
                    self.run_one(Kernel::Scale, &[limb], &[prime as u32, factor as u32])
                };
                scaled.map(one).collect()
            }
            Op::Automorphism { value, element } => {
                let permutation = match ty.domain {
                    Domain::Eval => Permutation::Eval(*element),
                    Domain::Coeff => Permutation::Coeff(*element),
                };
                self.permute(permutation, limbs, of(value))
            }
            Op::Shift { value, exponent } => {
                self.permute(Permutation::Shift(*exponent), limbs, of(value))
            }
            Op::Slots(value) => self.permute(Permutation::Slots, limbs, of(value)),
            Op::Extract {
                values: read,
                at,
                entries,
            } => {
                let read: Vec<&[Limb]> = read.iter().map(of).collect();
                self.extract(&read, (*at, *entries), limbs)
            }
            Op::Convert { value, to } => self.convert(of(value), &types[*value].limbs, to),
            Op::Select { value, limbs } => gather(limbs, &[(&types[*value].limbs, of(value))]),
            Op::Join(parts) => {
                let parts: Vec<_> = parts.iter().map(|v| (&types[*v].limbs, of(v))).collect();
                gather(limbs, &parts)
            }
            Op::Round { value, to } => {
                let words = [one(&types[*value].limbs), *to as u32];
                vec![self.run_one(Kernel::Round, of(value), &words)]
            }
            Op::Digit {
                value,
                index,
                bits,
                count,
            } => {
                let words = [one(limbs), *index as u32, *bits, *count as u32];
                vec![self.run_one(Kernel::Digit, of(value), &words)]
            }
            Op::Turn { .. } | Op::Expand { .. } => {
                unreachable!("powers of two were refused")
            }
            Op::Store { .. } | Op::Combine { .. } | Op::Call { .. } => {
                unreachable!("handled before")
            }
        };
        values.push(result);
    }

    /// Adds one instruction for each limb. It reads the limbs at the same position of all operands.
    fn each(&mut self, kernel: Kernel, limbs: &Limbs, operands: &[&[Limb]]) -> Vec<Limb> {
        let limbs = limbs.iter().enumerate();
        let one = |(place, prime): (usize, usize)| {
            let reads: Vec<Limb> = operands.iter().map(|operand| operand[place]).collect();
            self.run_one(kernel, &reads, &[prime as u32])
        };
        limbs.map(one).collect()
    }

    fn dot(&mut self, left: &Vec<&[Limb]>, right: &Vec<&[Limb]>, limbs: &Limbs) -> Vec<Limb> {
        let terms = padded(left.len());
        if terms == 1 {
            return self.each(Kernel::Mul, limbs, &[left[0], right[0]]);
        }
        let shape = Shape {
            kernel: Kernel::Dot,
            reads: 2 * terms,
            writes: 1,
        };
        let limbs = limbs.iter().enumerate();
        let one = |(place, prime): (usize, usize)| {
            let side = |side: &[&[Limb]]| column(side, place, terms);
            let reads = side(left).into_iter().chain(side(right));
            self.run(shape, reads, 1, &[prime as u32]).start
        };
        limbs.map(one).collect()
    }

    /// Adds one instruction for each limb, which computes all rows of a combination. Returns the
    /// limbs of each row.
    fn combine(&mut self, op: &Op, limbs: &Limbs, values: &[Vec<Limb>]) -> Vec<Vec<Limb>> {
        let Op::Combine {
            values: columns,
            rows,
            ..
        } = op
        else {
            unreachable!("the operation is a combination")
        };
        let columns: Vec<&[Limb]> = columns.iter().map(|&v| values[v].as_slice()).collect();
        let shape = Shape {
            kernel: Kernel::Combine,
            reads: padded(columns.len()),
            writes: padded(rows.len()),
        };
        let matrix = self.tables.matrix(op, shape);
        let mut results = vec![Vec::with_capacity(limbs.len()); rows.len()];
        for (place, prime) in limbs.iter().enumerate() {
            let reads = column(&columns, place, shape.reads);
            let computed = self.run(shape, reads, rows.len(), &[prime as u32, matrix]);
            let rows = results.iter_mut().zip(computed);
            rows.for_each(|(result, limb)| result.push(limb));
        }
        results
    }

    fn permute(&mut self, permutation: Permutation, limbs: &Limbs, value: &[Limb]) -> Vec<Limb> {
        let permutation = self.tables.permutation(permutation);
        let limbs = limbs.iter().zip(value);
        let one = |(prime, &limb): (usize, &Limb)| {
            self.run_one(Kernel::Permute, &[limb], &[prime as u32, permutation])
        };
        limbs.map(one).collect()
    }

    fn extract(
        &mut self,
        read: &[&[Limb]],
        (at, entries): (ConstantId, Option<(ConstantId, usize)>),
        limbs: &Limbs,
    ) -> Vec<Limb> {
        let [at, at_steps] = self.tables.places(at, false);
        let ([entries, entries_steps], gap) = match entries {
            None => ([at, at_steps], 0),
            Some((entries, gap)) => (self.tables.places(entries, true), gap as u32),
        };
        let shape = Shape {
            kernel: Kernel::Extract,
            reads: padded(read.len()),
            writes: 1,
        };
        let limbs = limbs.iter().enumerate();
        let one = |(place, prime): (usize, usize)| {
            let reads = column(read, place, shape.reads);
            let words = [prime as u32, at, at_steps, entries, entries_steps, gap];
            self.run(shape, reads, 1, &words).start
        };
        limbs.map(one).collect()
    }

    /// Adds instructions of a conversion, each for [`CONVERTED`] limbs of the result.
    fn convert(&mut self, value: &[Limb], from: &Limbs, to: &Limbs) -> Vec<Limb> {
        let shape = Shape {
            kernel: Kernel::Convert,
            reads: padded(value.len()),
            writes: CONVERTED,
        };
        let reads = filled(value.iter().copied(), shape.reads);
        let to: Vec<usize> = to.iter().collect();
        let mut results = Vec::with_capacity(to.len());
        for some in to.chunks(CONVERTED) {
            let limbs = Limbs::new(some.iter().map(|&limb| limb..limb + 1));
            let conversion = self.tables.conversion((from, &limbs), shape);
            results.extend(self.run(shape, reads.iter().copied(), some.len(), &[conversion]));
        }
        results
    }
}

/// The limbs at one position of several values, filled up with zeros to `length`.
fn column(values: &[&[Limb]], place: usize, length: usize) -> Vec<Limb> {
    filled(values.iter().map(|value| value[place]), length)
}

fn filled(limbs: impl Iterator<Item = Limb>, length: usize) -> Vec<Limb> {
    let mut limbs: Vec<Limb> = limbs.collect();
    limbs.resize(length, ZERO);
    limbs
}

/// The index of the prime of a value that has one limb.
fn one(limbs: &Limbs) -> u32 {
    limbs.ranges()[0].start as u32
}

/// The limbs of a value, picked from values that together have all of them.
fn gather(limbs: &Limbs, among: &[(&Limbs, &[Limb])]) -> Vec<Limb> {
    let limb = |id: usize| {
        let mut matches = among
            .iter()
            .filter_map(|(limbs, value)| Some(value[limbs.position(id)?]));
        matches.next().expect("the verifier saw this limb")
    };
    limbs.iter().map(limb).collect()
}
