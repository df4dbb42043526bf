//! The operations, limb by limb.

use super::frame::Frame;
use super::machine::Machine;
use super::value::{Value, gather, operands, slices};
use crate::error::Result;
use crate::outside::Outside;
use kernels::kernels;
use trace::{Limbs, Op, Passes, Type};

/// Largest number of terms in one call to the kernel of inner products.
const DOT_TERMS: usize = 256;

/// The counter of a kind of pass.
type Pass = fn(&mut Passes) -> &mut u64;

impl Machine<'_> {
    /// Executes an operation other than a call. `types` are the types of its results.
    pub(super) fn execute(
        &mut self,
        op: &Op,
        types: &[Type],
        frame: &Frame,
        outside: &mut impl Outside,
    ) -> Result<Vec<Value>> {
        let made = match op {
            Op::Load { .. }
            | Op::Constant { .. }
            | Op::Zero { .. }
            | Op::Sample { .. }
            | Op::Expand { .. } => {
                let made = self.sources.make(op, &types[0], outside, &self.spare)?;
                let passes = &mut self.counts.passes;
                *match op {
                    Op::Load { .. } => &mut passes.loaded,
                    Op::Constant { .. } | Op::Zero { .. } => &mut passes.constants,
                    _ => &mut passes.sampled,
                } += made.len();
                made
            }
            Op::Store { value, name } => {
                let Value { ty, limbs } = frame.value(*value).clone();
                self.counts.passes.stored += limbs.len() as u64;
                outside.store(name, &ty, limbs)?;
                return Ok(Vec::new());
            }
            Op::Dot { left, right } => self.dot(&operands(frame, left), &operands(frame, right)),
            Op::Combine { values, .. } => {
                let values = operands(frame, values);
                return Ok(self.combine(op, &types[0], &values));
            }
            Op::Convert { value, to } => self.convert(frame.value(*value), to),
            Op::Select { value, .. } => gather(&types[0], &[frame.value(*value)]),
            Op::Join(values) => gather(&types[0], &operands(frame, values)),
            _ => {
                let (made, pass) = self.one_pass(op, &types[0], frame);
                *pass(&mut self.counts.passes) += made.len();
                made
            }
        };
        Ok(vec![made])
    }

    /// Executes an operation that takes one pass over each limb of its result.
    fn one_pass(&self, op: &Op, ty: &Type, frame: &Frame) -> (Value, Pass) {
        let mut operands = Vec::new();
        op.for_each_operand(|value| operands.push(frame.value(value)));
        let exponent = match op {
            Op::Turn { by, .. } => {
                operands.pop();
                Some(frame.value(*by).limbs[0][0])
            }
            _ => None,
        };
        let places = self.places(op, ty.domain, exponent);
        let from = operands[0].ty.limbs.ranges()[0].start;
        let made = Value::each(ty, |i, id| {
            let limbs = slices(&operands, i);
            self.limb(op, (i, id), (from, &limbs), &places)
        });
        (made, pass(op))
    }

    fn dot(&mut self, left: &[&Value], right: &[&Value]) -> Value {
        let made = Value::each(&left[0].ty, |i, id| {
            let q = self.modulus(id);
            let mut sum = self.spare.stale();
            let chunks = left.chunks(DOT_TERMS).zip(right.chunks(DOT_TERMS));
            for (index, (left, right)) in chunks.enumerate() {
                let (left, right) = (slices(left, i), slices(right, i));
                match index {
                    0 => kernels().dot_into(q, &mut sum, &left, &right),
                    _ => kernels().dot_add_assign(q, &mut sum, &left, &right),
                }
            }
            sum
        });
        self.counts.passes.dot_terms += left.len() as u64 * made.len();
        made
    }

    fn convert(&mut self, x: &Value, to: &Limbs) -> Value {
        let conversion = self.conversion(&x.ty.limbs, to);
        let limbs = conversion.convert(&x.limbs, &self.spare);
        let passes = &mut self.counts.passes;
        passes.scalings += x.len();
        passes.quotients += 1;
        passes.conversion_terms += (x.len() + 1) * limbs.len() as u64;
        let ty = Type::coeff(to.clone());
        Value { ty, limbs }
    }
}

/// The counter of an operation that takes one pass.
fn pass(op: &Op) -> Pass {
    match op {
        Op::Ntt(_) => |passes| &mut passes.ntt,
        Op::Intt(_) => |passes| &mut passes.intt,
        Op::Add(..) | Op::Sub(..) => |passes| &mut passes.additions,
        Op::Mul(..) => |passes| &mut passes.products,
        Op::Scale { .. } => |passes| &mut passes.scalings,
        Op::Round { .. } => |passes| &mut passes.roundings,
        Op::Digit { .. } => |passes| &mut passes.digits,
        _ => |passes| &mut passes.permutations,
    }
}
