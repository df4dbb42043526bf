//! The operations that take one pass over a limb, on the words of the limb.

use super::machine::Machine;
use super::words::{self, Source};
use kernels::{eval_automorphism_index, kernels};
use trace::{Domain, ModulusId, Op};

/// The places from which words come, for operations that move words. All limbs of a result share
/// them.
pub(super) enum Places {
    /// The operation moves no words.
    None,
    /// For each word its source.
    Sources(Vec<Source>),
    /// The index of an automorphism in the evaluation domain.
    Index(Vec<u32>),
    /// For each slot its place.
    Slots(Vec<usize>),
}

impl Machine<'_> {
    /// The places of an operation whose result is in a domain. `exponent` is the first word of the
    /// value by which `turn` turns.
    pub(super) fn places(&self, op: &Op, domain: Domain, exponent: Option<u64>) -> Places {
        let n = self.n();
        match op {
            Op::Turn { .. } => {
                let exponent = exponent.map_or(0, |exponent| exponent as usize);
                Places::Sources(words::turned(n, exponent))
            }
            Op::Shift { exponent, .. } => Places::Sources(words::turned(n, *exponent)),
            Op::Automorphism { element, .. } if domain == Domain::Eval => {
                Places::Index(eval_automorphism_index(n, *element))
            }
            Op::Slots(_) => Places::Slots(words::slot_places(n)),
            Op::Extract { at, entries, .. } => {
                let at = self.sources.words(*at);
                let entries = entries.map(|(entries, gap)| (self.sources.words(entries), gap));
                let entries = entries.as_ref().map(|(entries, gap)| (&**entries, *gap));
                Places::Sources(words::sources(&at, entries))
            }
            _ => Places::None,
        }
    }

    /// The limb at place `i`, modulo `id`, of the result of an operation that takes one pass.
    /// `limbs` are the limbs at this place of its operands, and `from` is the first modulus of the
    /// first operand.
    pub(super) fn limb(
        &self,
        op: &Op,
        (i, id): (usize, ModulusId),
        (from, limbs): (ModulusId, &[&[u64]]),
        places: &Places,
    ) -> Vec<u64> {
        let changed = |change: &dyn Fn(&mut [u64])| {
            let mut words = self.spare.copy(limbs[0]);
            change(&mut words);
            words
        };
        let q = self.arithmetic(id);
        match (op, places) {
            (Op::Ntt(_), _) => changed(&|words| kernels().ntt(self.table(id), words)),
            (Op::Intt(_), _) => changed(&|words| kernels().intt(self.table(id), words)),
            (Op::Add(..), _) => changed(&|words| q.add_assign(words, limbs[1])),
            (Op::Sub(..), _) => changed(&|words| q.sub_assign(words, limbs[1])),
            (Op::Mul(..), _) => {
                changed(&|words| kernels().mul_assign(self.modulus(id), words, limbs[1]))
            }
            (Op::Scale { factors, .. }, _) => changed(&|words| q.scale_assign(words, factors[i])),
            (_, Places::Sources(sources)) => self.spare.filled(words::extract(q, limbs, sources)),
            (_, Places::Index(index)) => {
                let mut words = self.spare.stale();
                kernels().permute_into(&mut words, limbs[0], index);
                words
            }
            (Op::Automorphism { element, .. }, _) => {
                let mut words = self.spare.stale();
                q.automorphism_into(&mut words, limbs[0], *element);
                words
            }
            (_, Places::Slots(places)) => {
                let mut words = self.spare.stale();
                let slots = limbs[0].iter().zip(places);
                slots.for_each(|(&slot, &place)| words[place] = slot);
                words
            }
            (Op::Round { .. }, _) => {
                let (q, t) = (self.arithmetic(from).value(), q.value());
                let rounded = limbs[0].iter().map(|&c| words::round(c, q, t));
                self.spare.filled(rounded)
            }
            (
                &Op::Digit {
                    index, bits, count, ..
                },
                _,
            ) => {
                let digit = |&c: &u64| words::digit(q, c, index, (bits, count));
                self.spare.filled(limbs[0].iter().map(digit))
            }
            _ => unreachable!("{} takes no single pass", op.name()),
        }
    }
}
