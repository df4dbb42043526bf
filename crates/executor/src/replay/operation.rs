//! The operations, limb by limb.

use super::frame::Frame;
use super::machine::Machine;
use super::value::{Value, gather, operands, slices};
use super::words;
use crate::error::Result;
use crate::outside::Outside;
use kernels::{eval_automorphism_index, kernels};
use trace::{Domain, Limbs, ModulusId, Op, Passes, Type, ValueId};

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
        let value = |id: ValueId| frame.value(id);
        match op {
            Op::Ntt(x) => {
                let made = self.changed(value(*x), ty, |words, _, id| {
                    kernels().ntt(self.table(id), words);
                });
                (made, |passes| &mut passes.ntt)
            }
            Op::Intt(x) => {
                let made = self.changed(value(*x), ty, |words, _, id| {
                    kernels().intt(self.table(id), words);
                });
                (made, |passes| &mut passes.intt)
            }
            Op::Add(a, b) => {
                let made = self.changed(value(*a), ty, |words, i, id| {
                    self.arithmetic(id).add_assign(words, &value(*b).limbs[i]);
                });
                (made, |passes| &mut passes.additions)
            }
            Op::Sub(a, b) => {
                let made = self.changed(value(*a), ty, |words, i, id| {
                    self.arithmetic(id).sub_assign(words, &value(*b).limbs[i]);
                });
                (made, |passes| &mut passes.additions)
            }
            Op::Mul(a, b) => {
                let made = self.changed(value(*a), ty, |words, i, id| {
                    kernels().mul_assign(self.modulus(id), words, &value(*b).limbs[i]);
                });
                (made, |passes| &mut passes.products)
            }
            Op::Scale { value: x, factors } => {
                let made = self.changed(value(*x), ty, |words, i, id| {
                    self.arithmetic(id).scale_assign(words, factors[i]);
                });
                (made, |passes| &mut passes.scalings)
            }
            Op::Turn { value: x, by } => {
                let exponent = value(*by).limbs[0][0] as usize;
                let made = self.shifted(value(*x), ty, exponent);
                (made, |passes| &mut passes.permutations)
            }
            Op::Shift { value: x, exponent } => {
                let made = self.shifted(value(*x), ty, *exponent);
                (made, |passes| &mut passes.permutations)
            }
            Op::Automorphism { value: x, element } => {
                let made = self.automorphism(value(*x), *element);
                (made, |passes| &mut passes.permutations)
            }
            Op::Slots(x) => {
                let (x, places) = (value(*x), words::slot_places(self.n()));
                let made = Value::each(ty, |i, _| {
                    let mut words = self.spare.stale();
                    let slots = x.limbs[i].iter().zip(&places);
                    slots.for_each(|(&slot, &place)| words[place] = slot);
                    words
                });
                (made, |passes| &mut passes.permutations)
            }
            Op::Extract {
                values,
                at,
                entries,
            } => {
                let (x, at) = (operands(frame, values), self.sources.words(*at));
                let entries = entries.map(|(entries, gap)| (self.sources.words(entries), gap));
                let entries = entries.as_ref().map(|(entries, gap)| (&**entries, *gap));
                let sources = words::sources(&at, entries);
                let made = Value::each(ty, |i, id| {
                    let limbs = slices(&x, i);
                    let words = words::extract(self.arithmetic(id), &limbs, &sources);
                    self.spare.filled(words)
                });
                (made, |passes| &mut passes.permutations)
            }
            Op::Round { value: x, .. } => {
                let x = value(*x);
                let q = self.arithmetic(x.ty.limbs.ranges()[0].start).value();
                let made = Value::each(ty, |i, to| {
                    let t = self.arithmetic(to).value();
                    let rounded = x.limbs[i].iter().map(|&c| words::round(c, q, t));
                    self.spare.filled(rounded)
                });
                (made, |passes| &mut passes.roundings)
            }
            &Op::Digit {
                value: x,
                index,
                bits,
                count,
            } => {
                let x = value(x);
                let made = Value::each(ty, |i, id| {
                    let q = self.arithmetic(id);
                    let digit = |&c: &u64| words::digit(q, c, index, (bits, count));
                    self.spare.filled(x.limbs[i].iter().map(digit))
                });
                (made, |passes| &mut passes.digits)
            }
            _ => unreachable!("{} takes no single pass", op.name()),
        }
    }

    /// A value whose limbs are changed copies of another value's limbs. `work` receives place and
    /// modulus.
    fn changed(
        &self,
        x: &Value,
        ty: &Type,
        change: impl Fn(&mut [u64], usize, ModulusId) + Sync,
    ) -> Value {
        Value::each(ty, |i, id| {
            let mut words = self.spare.copy(&x.limbs[i]);
            change(&mut words, i, id);
            words
        })
    }

    /// `X^exponent` times a value of coefficients.
    fn shifted(&self, x: &Value, ty: &Type, exponent: usize) -> Value {
        let sources = words::turned(self.n(), exponent);
        Value::each(ty, |i, id| {
            let limb: [&[u64]; 1] = [&x.limbs[i]];
            let words = words::extract(self.arithmetic(id), &limb, &sources);
            self.spare.filled(words)
        })
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

    fn automorphism(&self, x: &Value, element: usize) -> Value {
        let index = match x.ty.domain {
            Domain::Coeff => Vec::new(),
            Domain::Eval => eval_automorphism_index(self.n(), element),
        };
        Value::each(&x.ty, |i, id| {
            let mut words = self.spare.stale();
            match x.ty.domain {
                Domain::Coeff => {
                    let q = self.arithmetic(id);
                    q.automorphism_into(&mut words, &x.limbs[i], element);
                }
                Domain::Eval => kernels().permute_into(&mut words, &x.limbs[i], &index),
            }
            words
        })
    }

    fn convert(&mut self, x: &Value, to: &Limbs) -> Value {
        let conversion = self.conversion(&x.ty.limbs, to);
        let limbs = conversion.convert(&x.limbs, &self.spare);
        let passes = &mut self.counts.passes;
        let several = x.len() > 1;
        passes.scalings += if several { x.len() } else { 0 };
        passes.quotients += u64::from(several);
        passes.conversion_terms += (x.len() + 1) * limbs.len() as u64;
        let ty = Type::coeff(to.clone());
        Value { ty, limbs }
    }
}
