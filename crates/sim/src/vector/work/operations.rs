//! Instructions on limbs for each instruction of a trace.

use super::flatten::Flattener;
use super::{Kind, NONE};
use trace::{Instruction, Limbs, Op, Type, ValueId};

impl Flattener<'_> {
    /// Flattens one instruction of the trace, which is no call. Appends the limbs of its results to
    /// `values`.
    pub(super) fn operation(
        &mut self,
        instruction: &Instruction,
        types: &[&Type],
        values: &mut Vec<Vec<u32>>,
    ) {
        let Instruction {
            op,
            types: result_types,
        } = instruction;
        if let Op::Combine {
            values: columns,
            rows,
            ..
        } = op
        {
            let results = self.combine(columns, rows.len(), &result_types[0].limbs, values);
            values.extend(results);
            return;
        }
        if let Op::Store { value, .. } = op {
            self.work.ends.stored += values[*value].len() as u64;
            self.work.outputs.extend(&values[*value]);
            let store = (self.op, values[*value].clone());
            self.work.stores.push(store);
            return;
        }
        let limbs = &result_types[0].limbs;
        let result = match op {
            Op::Load { name, .. } => self.load(name, limbs),
            Op::Constant { constant, .. } => self.constant(Some(*constant), limbs),
            Op::Zero { .. } => self.constant(None, limbs),
            Op::Sample { seed, stream, .. } => self.sample(seed, *stream, None, limbs),
            Op::Expand {
                seed, stream, skip, ..
            } => self.sample(seed, *stream, Some(*skip), limbs),
            Op::Ntt(value) => self.each(Kind::Ntt, limbs, &[&values[*value]]),
            Op::Intt(value) => self.each(Kind::Intt, limbs, &[&values[*value]]),
            Op::Add(a, b) | Op::Sub(a, b) => {
                self.each(Kind::Add, limbs, &[&values[*a], &values[*b]])
            }
            Op::Mul(a, b) => self.each(Kind::Mul, limbs, &[&values[*a], &values[*b]]),
            Op::Dot { left, right } => self.dot(left, right, limbs, values),
            Op::Scale { value, .. } => self.each(Kind::Scale, limbs, &[&values[*value]]),
            Op::Turn { value, by } => {
                let exponent = vec![values[*by][0]; limbs.len()];
                self.each(Kind::Permute, limbs, &[&values[*value], &exponent])
            }
            Op::Automorphism { value, .. } | Op::Shift { value, .. } | Op::Slots(value) => {
                self.each(Kind::Permute, limbs, &[&values[*value]])
            }
            Op::Extract { values: read, .. } => self.extract(read, limbs, values),
            Op::Convert { value, to } => self.convert(&values[*value], &types[*value].limbs, to),
            Op::Select { value, limbs } => {
                let from = &types[*value].limbs;
                let place = |limb| values[*value][from.position(limb).expect("verified")];
                limbs.iter().map(place).collect()
            }
            Op::Join(parts) => join(parts, types, values),
            Op::Round { value, .. } => self.each(Kind::Round, limbs, &[&values[*value]]),
            Op::Digit { value, .. } => self.each(Kind::Digit, limbs, &[&values[*value]]),
            Op::Store { .. } | Op::Combine { .. } | Op::Call { .. } => {
                unreachable!("handled before")
            }
        };
        values.push(result);
    }

    /// Adds an instruction for each limb. It reads the limb with the same index of each operand.
    fn each(&mut self, kind: Kind, limbs: &Limbs, operands: &[&Vec<u32>]) -> Vec<u32> {
        let one = |(place, modulus)| {
            self.push(kind, modulus, operands.iter().map(|operand| operand[place]))
        };
        limbs.iter().enumerate().map(one).collect()
    }

    fn dot(
        &mut self,
        left: &[ValueId],
        right: &[ValueId],
        limbs: &Limbs,
        values: &[Vec<u32>],
    ) -> Vec<u32> {
        let one = |(place, modulus): (usize, usize)| {
            let pairs = left.iter().zip(right);
            let pairs = pairs.flat_map(|(&a, &b)| [values[a][place], values[b][place]]);
            let (first, _) = self.operands(pairs);
            self.sum(Kind::Dot, modulus, (first, left.len()), 2)
        };
        limbs.iter().enumerate().map(one).collect()
    }

    /// Adds the rows of a combination limb by limb, so that instructions which read the limbs of
    /// one modulus are together.
    fn combine(
        &mut self,
        columns: &[ValueId],
        rows: usize,
        limbs: &Limbs,
        values: &[Vec<u32>],
    ) -> Vec<Vec<u32>> {
        let mut results = vec![Vec::with_capacity(limbs.len()); rows];
        for (place, modulus) in limbs.iter().enumerate() {
            let (first, _) = self.operands(columns.iter().map(|&value| values[value][place]));
            for (number, row) in results.iter_mut().enumerate() {
                self.row = number as u32;
                row.push(self.sum(Kind::Combine, modulus, (first, columns.len()), 1));
            }
            self.row = 0;
        }
        results
    }

    /// Adds the gathering of words from several values. Each value adds its words to the result of
    /// the values before.
    fn extract(&mut self, read: &[ValueId], limbs: &Limbs, values: &[Vec<u32>]) -> Vec<u32> {
        let one = |(place, modulus)| {
            let (first, _) = self.operands(read.iter().map(|&value| values[value][place]));
            self.sum(Kind::Extract, modulus, (first, read.len()), 1)
        };
        limbs.iter().enumerate().map(one).collect()
    }

    /// Adds a basis conversion. It scales each limb. The quotient and every limb of the result are
    /// sums over the scaled limbs.
    ///
    /// A value of one limb is not scaled, and its quotient says whether a word is above the half of
    /// the modulus. Each limb of the result then has one pass that compares and one that subtracts,
    /// and no limb with quotients has to stay.
    fn convert(&mut self, value: &[u32], from: &Limbs, to: &Limbs) -> Vec<u32> {
        if let [limb] = *value {
            // The trace counts a scaling and a quotient, which no instruction here makes.
            self.work.ends.scalings += 1;
            self.work.ends.quotients += 1;
            let operands = self.operands([limb]);
            return to
                .iter()
                .map(|modulus| self.push_terms((Kind::Convert, 2), modulus, NONE, operands))
                .collect();
        }
        let scaled = from
            .iter()
            .zip(value)
            .map(|(modulus, &limb)| self.push(Kind::Scale, modulus, [limb]));
        let scaled: Vec<u32> = scaled.collect();
        let (first, count) = self.operands(scaled);
        let modulus = from.iter().next().expect("a value has a limb");
        let quotient = self.sum(Kind::Quotient, modulus, (first, count as usize), 1);
        let terms: Vec<u32> = self.pooled(first, count).chain([quotient]).collect();
        let (first, count) = self.operands(terms);
        to.iter()
            .map(|modulus| self.sum(Kind::Convert, modulus, (first, count as usize), 1))
            .collect()
    }

    fn pooled(&self, first: u32, count: u32) -> impl Iterator<Item = u32> + '_ {
        self.work.pool[first as usize..(first + count) as usize]
            .iter()
            .copied()
    }
}

fn join(parts: &[ValueId], types: &[&Type], values: &[Vec<u32>]) -> Vec<u32> {
    let limbs = parts
        .iter()
        .flat_map(|&part| types[part].limbs.iter().zip(&values[part]));
    let mut limbs: Vec<(usize, u32)> = limbs.map(|(modulus, &limb)| (modulus, limb)).collect();
    limbs.sort_unstable();
    limbs.into_iter().map(|(_, limb)| limb).collect()
}
