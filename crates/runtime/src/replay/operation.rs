//! The operations, limb by limb.

use super::frame::Frame;
use super::machine::Machine;
use super::value::{Value, gather};
use super::words::{self, Source};
use super::{Limb, Outside};
use crate::error::{Error, Result};
use kernels::{Modulus, eval_automorphism_index, kernels};
use program::trace::{ConstantId, Domain, Limbs, ModulusId, Op, Type, ValueId};
use ring::par_map;
use std::sync::Arc;

/// Most terms of one call to the kernel of inner products.
const DOT_TERMS: usize = 256;
impl Machine<'_> {
    /// Executes an operation other than a call. `types` are those of its results.
    pub(super) fn execute(
        &mut self,
        op: &Op,
        types: &[Type],
        frame: &Frame,
        outside: &mut impl Outside,
    ) -> Result<Vec<Value>> {
        let value = |id: ValueId| frame.value(id);
        let made = match op {
            Op::Load { name, ty } => self.load(name, ty, outside)?,
            Op::Store { value: id, name } => {
                let Value { ty, limbs } = value(*id).clone();
                self.counts.passes.stored += limbs.len() as u64;
                outside.store(name, &ty, limbs)?;
                return Ok(Vec::new());
            }
            Op::Constant { constant, .. } => {
                let words = self.words(*constant);
                let made = Value::each(&types[0], |_, id| {
                    let q = self.modulus(id);
                    let words = words.iter().map(|&word| q.from_i64(word));
                    self.spare.filled(words)
                });
                self.counts.passes.constants += made.len();
                made
            }
            Op::Zero { ty } => {
                let zero = Arc::new(vec![0; self.n]);
                let limbs = vec![zero; ty.limbs.len()];
                self.counts.passes.constants += limbs.len() as u64;
                let ty = ty.clone();
                Value { ty, limbs }
            }
            Op::Sample { seed, stream, .. } => {
                let seed = outside.seed(seed)?;
                let made = Value::each(&types[0], |i, id| {
                    let stream = (u64::from(*stream) << 32) + i as u64;
                    words::sample(&seed, stream, self.modulus(id), self.n)
                });
                self.counts.passes.sampled += made.len();
                made
            }
            Op::Ntt(x) => {
                let x = value(*x);
                let made = Value::each(&types[0], |i, id| {
                    let mut words = self.spare.copy(&x.limbs[i]);
                    kernels().ntt(self.table(id), &mut words);
                    words
                });
                self.counts.passes.ntt += made.len();
                made
            }
            Op::Intt(x) => {
                let x = value(*x);
                let made = Value::each(&types[0], |i, id| {
                    let mut words = self.spare.copy(&x.limbs[i]);
                    kernels().intt(self.table(id), &mut words);
                    words
                });
                self.counts.passes.intt += made.len();
                made
            }
            Op::Add(a, b) | Op::Sub(a, b) => {
                let (a, b) = (value(*a), value(*b));
                let is_sum = matches!(op, Op::Add(..));
                let made = Value::each(&types[0], |i, id| {
                    let mut words = self.spare.copy(&a.limbs[i]);
                    match is_sum {
                        true => kernels().add_assign(self.modulus(id), &mut words, &b.limbs[i]),
                        false => kernels().sub_assign(self.modulus(id), &mut words, &b.limbs[i]),
                    }
                    words
                });
                self.counts.passes.additions += made.len();
                made
            }
            Op::Mul(a, b) => {
                let (a, b) = (value(*a), value(*b));
                let made = Value::each(&types[0], |i, id| {
                    let mut words = self.spare.copy(&a.limbs[i]);
                    kernels().mul_assign(self.modulus(id), &mut words, &b.limbs[i]);
                    words
                });
                self.counts.passes.products += made.len();
                made
            }
            Op::Dot { left, right } => {
                let [left, right] = [left, right].map(|ids| operands(frame, ids));
                let made = Value::each(&types[0], |i, id| self.dot(id, i, &left, &right));
                self.counts.passes.dot_terms += left.len() as u64 * made.len();
                made
            }
            Op::Scale { value: x, factors } => {
                let x = value(*x);
                let made = Value::each(&types[0], |i, id| {
                    let mut words = self.spare.copy(&x.limbs[i]);
                    kernels().scalar_mul_assign(self.modulus(id), &mut words, factors[i]);
                    words
                });
                self.counts.passes.scalings += made.len();
                made
            }
            Op::Combine { values, .. } => {
                let values = operands(frame, values);
                return Ok(self.combine(op, &types[0], &values));
            }
            Op::Automorphism { value: x, element } => self.automorphism(value(*x), *element),
            Op::Slots(x) => {
                let (x, places) = (value(*x), words::slot_places(self.n));
                let made = Value::each(&types[0], |i, _| {
                    let mut words = self.spare.stale();
                    let slots = x.limbs[i].iter().zip(&places);
                    slots.for_each(|(&slot, &place)| words[place] = slot);
                    words
                });
                self.counts.passes.permutations += made.len();
                made
            }
            Op::Extract {
                value: x,
                at,
                entries,
            } => {
                let (x, sources) = (value(*x), self.sources(*at, *entries));
                let made = Value::each(&types[0], |i, id| {
                    let words = words::extract(self.modulus(id), &x.limbs[i], &sources);
                    self.spare.filled(words)
                });
                self.counts.passes.permutations += made.len();
                made
            }
            Op::Convert { value: x, to } => self.convert(value(*x), to),
            Op::Select { value: x, .. } => gather(&types[0], &[value(*x)]),
            Op::Join(joined) => gather(&types[0], &operands(frame, joined)),
            Op::Round { value: x, .. } => {
                let x = value(*x);
                let q = self.modulus(x.ty.limbs.ranges()[0].start).value();
                let made = Value::each(&types[0], |i, to| {
                    let t = self.modulus(to).value();
                    let rounded = x.limbs[i].iter().map(|&c| words::round(c, q, t));
                    self.spare.filled(rounded)
                });
                self.counts.passes.roundings += made.len();
                made
            }
            &Op::Digit {
                value: x,
                index,
                bits,
                count,
            } => {
                let x = value(x);
                let made = Value::each(&types[0], |i, id| {
                    let digit = |&c: &u64| words::digit(self.modulus(id), c, index, bits, count);
                    self.spare.filled(x.limbs[i].iter().map(digit))
                });
                self.counts.passes.digits += made.len();
                made
            }
            Op::Call { .. } => unreachable!("calls open a frame"),
        };
        Ok(vec![made])
    }

    /// Loads a value, and checks that it is one.
    fn load(&mut self, name: &str, ty: &Type, outside: &mut impl Outside) -> Result<Value> {
        let limbs = outside.load(name, ty)?;
        let refused = |what: &str, found: u64, expected: String| Error::Replay {
            what: format!("{what} of {name}"),
            found: found.to_string(),
            expected,
        };
        let (found, expected) = (limbs.len(), ty.limbs.len());
        if found != expected {
            let expected = expected.to_string();
            return Err(refused("the number of limbs", found as u64, expected));
        }
        let moduli: Vec<&Modulus> = ty.limbs.iter().map(|id| self.modulus(id)).collect();
        let wrong = par_map(limbs.len(), |i| {
            let (q, limb) = (moduli[i].value(), &limbs[i]);
            if limb.len() != self.n {
                let (what, expected) = (format!("the number of words of limb {i}"), self.n);
                return Err(refused(&what, limb.len() as u64, expected.to_string()));
            }
            match limb.iter().position(|&word| word >= q) {
                None => Ok(()),
                Some(at) => {
                    let (what, expected) = (format!("word {at} of limb {i}"), format!("below {q}"));
                    Err(refused(&what, limb[at], expected))
                }
            }
        });
        wrong.into_iter().collect::<Result<()>>()?;
        self.counts.passes.loaded += limbs.len() as u64;
        let ty = ty.clone();
        Ok(Value { ty, limbs })
    }

    fn dot(&self, id: ModulusId, limb: usize, left: &[&Value], right: &[&Value]) -> Vec<u64> {
        let of = |values: &[&Value]| -> Vec<Limb> {
            values.iter().map(|v| v.limbs[limb].clone()).collect()
        };
        let mut sum = self.spare.stale();
        let chunks = left.chunks(DOT_TERMS).zip(right.chunks(DOT_TERMS));
        for (index, (left, right)) in chunks.enumerate() {
            let (q, left, right) = (self.modulus(id), of(left), of(right));
            let (left, right) = (slices(&left), slices(&right));
            match index {
                0 => kernels().dot_into(q, &mut sum, &left, &right),
                _ => kernels().dot_add_assign(q, &mut sum, &left, &right),
            }
        }
        sum
    }

    fn automorphism(&mut self, x: &Value, element: usize) -> Value {
        let index = match x.ty.domain {
            Domain::Coeff => Vec::new(),
            Domain::Eval => eval_automorphism_index(self.n, element),
        };
        let made = Value::each(&x.ty, |i, id| {
            let mut words = self.spare.stale();
            match x.ty.domain {
                Domain::Coeff => {
                    let q = self.modulus(id);
                    kernels().automorphism_into(q, &mut words, &x.limbs[i], element);
                }
                Domain::Eval => kernels().permute_into(&mut words, &x.limbs[i], &index),
            }
            words
        });
        self.counts.passes.permutations += made.len();
        made
    }

    /// Where the words of an extraction are read.
    fn sources(&self, at: ConstantId, entries: Option<(ConstantId, usize)>) -> Vec<Source> {
        let n = self.n;
        let at = self.words(at);
        let Some((entries, gap)) = entries else {
            return at.iter().map(|&at| words::source(n, at, 0)).collect();
        };
        let exponent = |entry: i64| (entry as u64 % (2 * n as u64)) as usize * gap % (2 * n);
        let both = at.iter().zip(self.words(entries).into_owned());
        both.map(|(&at, entry)| words::source(n, at, exponent(entry)))
            .collect()
    }

    fn convert(&mut self, x: &Value, to: &Limbs) -> Value {
        let limbs = self
            .conversion(&x.ty.limbs, to)
            .convert(&x.limbs, &self.spare);
        let passes = &mut self.counts.passes;
        passes.scalings += x.len();
        passes.quotients += 1;
        passes.conversion_terms += (x.len() + 1) * limbs.len() as u64;
        let ty = Type::coeff(to.clone());
        Value { ty, limbs }
    }
}

fn operands<'a>(frame: &'a Frame, ids: &[ValueId]) -> Vec<&'a Value> {
    ids.iter().map(|&id| frame.value(id)).collect()
}

fn slices(limbs: &[Limb]) -> Vec<&[u64]> {
    limbs.iter().map(|limb| limb.as_slice()).collect()
}
