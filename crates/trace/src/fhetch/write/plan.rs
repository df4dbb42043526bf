//! Plans which instructions of a body are written, and in which form.

use crate::ir::{Body, Op, Trace, Type, ValueId};
use crate::limbs::Limbs;
use crate::modular::inverse_of_product;

/// The form in which an instruction is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// Not written, because its result is not needed.
    Nothing,
    /// Written as itself.
    Own,
    /// A transform of converted limbs. It is written as `BaseExtend` of the value's limbs `from`.
    Extend { value: ValueId, from: Limbs },
    /// A scaling of the difference from converted limbs. It is written as `Rescale` of the value's
    /// limbs `of` by the moduli of `by`.
    Rescale {
        value: ValueId,
        of: Limbs,
        by: Limbs,
    },
}

/// Returns the form in which each instruction of a body is written.
pub(super) fn written(trace: &Trace, body: &Body) -> Vec<Written> {
    let view = View::new(trace, body);
    let mut needed = vec![false; view.types.len()];
    body.results.iter().for_each(|&value| needed[value] = true);
    let mut written = vec![Written::Nothing; body.instructions.len()];
    for (index, instruction) in body.instructions.iter().enumerate().rev() {
        let results = view.first[index]..view.first[index] + instruction.types.len();
        let stores = matches!(instruction.op, Op::Store { .. });
        if !stores && !needed[results].contains(&true) {
            continue;
        }
        written[index] = view.written(&instruction.op);
        match &written[index] {
            Written::Nothing => {}
            Written::Own => instruction
                .op
                .for_each_operand(|value| needed[value] = true),
            Written::Extend { value, .. } | Written::Rescale { value, .. } => needed[*value] = true,
        }
    }
    written
}

/// A body's values.
struct View<'a> {
    trace: &'a Trace,
    types: Vec<&'a Type>,
    /// The operation that makes each value. `None` for parameters.
    made_by: Vec<Option<&'a Op>>,
    /// Index of the first result of each instruction.
    first: Vec<ValueId>,
}

impl<'a> View<'a> {
    fn new(trace: &'a Trace, body: &'a Body) -> Self {
        let mut types: Vec<&Type> = body.parameters.iter().collect();
        let (mut made_by, mut first) = (vec![None; types.len()], Vec::new());
        for instruction in &body.instructions {
            first.push(types.len());
            types.extend(&instruction.types);
            made_by.resize(types.len(), Some(&instruction.op));
        }
        Self {
            trace,
            types,
            made_by,
            first,
        }
    }

    fn written(&self, op: &Op) -> Written {
        let found = match op {
            Op::Ntt(value) => self.extension(*value),
            Op::Scale { value, factors } => self.division(*value, factors),
            _ => None,
        };
        found.unwrap_or(Written::Own)
    }

    /// The value from which this value is selected.
    fn whole(&self, mut value: ValueId) -> ValueId {
        while let Some(Op::Select { value: of, .. }) = self.made_by[value] {
            value = *of;
        }
        value
    }

    /// The form of a transform of this value.
    fn extension(&self, converted: ValueId) -> Option<Written> {
        let Some(Op::Convert { value, .. }) = self.made_by[converted] else {
            return None;
        };
        let Some(Op::Intt(values)) = self.made_by[self.whole(*value)] else {
            return None;
        };
        Some(Written::Extend {
            value: self.whole(*values),
            from: self.types[*value].limbs.clone(),
        })
    }

    /// The form of a scaling of this value.
    fn division(&self, difference: ValueId, factors: &[u64]) -> Option<Written> {
        let Some(Op::Sub(kept, remainder)) = self.made_by[difference] else {
            return None;
        };
        let Some(Op::Ntt(converted)) = self.made_by[*remainder] else {
            return None;
        };
        let Some(Written::Extend { value, from: by }) = self.extension(*converted) else {
            return None;
        };
        let (q, keep) = (&self.trace.moduli, &self.types[*kept].limbs);
        let dividers = || by.iter().map(|limb| q[limb]);
        let mut inverses = keep
            .iter()
            .map(|limb| inverse_of_product(dividers(), q[limb]).ok());
        let same = self.whole(*kept) == value
            && factors
                .iter()
                .all(|&factor| inverses.next() == Some(Some(factor)));
        let of = keep.union(&by);
        same.then_some(Written::Rescale { value, of, by })
    }
}
