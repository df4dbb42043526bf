//! Division by the last moduli of a basis, rounded: mod down, modulus switch and rescale are
//! all this one step.

use crate::basis::Basis;
use crate::convert::BasisConverter;
use crate::par::for_each_limb;
use crate::poly::{Coeff, Eval, Poly};
use kernels::kernels;

/// `c -> round(c / D)`, from modulo `Q D` to modulo `Q`, `D` the product of the last moduli.
pub struct Divider {
    whole: Basis,
    keep: Basis,
    drop: Basis,
    converter: BasisConverter,
    /// `D^{-1} mod q_i`.
    inverse: Vec<u64>,
}

impl Divider {
    /// Tables for dividing by the last `dropped` moduli of `whole`.
    ///
    /// # Panics
    /// If `dropped` is zero or leaves no modulus.
    pub fn new(whole: &Basis, dropped: usize) -> Self {
        assert!(
            0 < dropped && dropped < whole.len(),
            "something is dropped, something kept"
        );
        let kept = whole.len() - dropped;
        let (keep, drop) = (whole.prefix(kept), whole.slice(kept..whole.len()));
        let inverse = keep
            .moduli()
            .map(|q| {
                q.inv(drop.product_mod(q))
                    .expect("moduli are pairwise coprime")
            })
            .collect();
        Self {
            whole: whole.clone(),
            converter: BasisConverter::new(&drop, &keep),
            keep,
            drop,
            inverse,
        }
    }

    /// Basis of the result.
    pub fn keep(&self) -> &Basis {
        &self.keep
    }

    /// `round(c / D)` exactly: the error is at most 1/2 per coefficient.
    ///
    /// # Panics
    /// If `c` is not over the whole basis.
    pub fn divide(&self, c: Poly<Eval>) -> Poly<Eval> {
        assert_eq!(c.basis(), &self.whole, "input over the whole basis");
        let n = c.n();
        let mut words = c.into_words();
        let mut tail = words[self.keep.len() * n..].to_vec();
        for_each_limb(n, &mut tail, |i, a| {
            kernels().intt(&self.drop.tables()[i], a)
        });
        let remainder = self
            .converter
            .exact(&Poly::<Coeff>::wrap(&self.drop, tail))
            .into_eval();
        words.truncate(self.keep.len() * n);
        let mut out = Poly::<Eval>::wrap(&self.keep, words);
        self.finish(&mut out, remainder.words());
        out
    }

    /// As [`Divider::divide`], in the coefficient domain.
    ///
    /// # Panics
    /// If `c` is not over the whole basis.
    pub fn divide_coeff(&self, c: Poly<Coeff>) -> Poly<Coeff> {
        assert_eq!(c.basis(), &self.whole, "input over the whole basis");
        let n = c.n();
        let mut words = c.into_words();
        let tail = Poly::<Coeff>::wrap(&self.drop, words[self.keep.len() * n..].to_vec());
        let remainder = self.converter.exact(&tail);
        words.truncate(self.keep.len() * n);
        let mut out = Poly::<Coeff>::wrap(&self.keep, words);
        self.finish(&mut out, remainder.words());
        out
    }

    fn finish<D: crate::Domain>(&self, out: &mut Poly<D>, remainder: &[u64]) {
        let n = out.n();
        out.for_each_limb(|i, a| {
            let r = &remainder[i * n..][..n];
            kernels().sub_scalar_mul_assign(self.keep.modulus(i), a, r, self.inverse[i]);
        });
    }
}
