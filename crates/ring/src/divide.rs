//! Division by the last moduli of a basis, rounded. Mod down, modulus switch and rescale are all
//! this one step.

use crate::basis::Basis;
use crate::convert::BasisConverter;
use crate::par::for_each_item;
use crate::poly::{Coeff, Eval, Poly};
use kernels::kernels;

/// `c -> round(c / D)`, from modulo `Q D` to modulo `Q`, where `D` is the product of the last
/// moduli.
pub struct Divider {
    whole: Basis,
    keep: Basis,
    drop: Basis,
    converter: BasisConverter,
    /// `-D^{-1} mod q_i`.
    minus_inverse: Vec<u64>,
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
        let minus_inverse = keep
            .moduli()
            .map(|q| {
                let inverse = q.inv(drop.product_mod(q));
                q.neg(inverse.expect("moduli are pairwise coprime"))
            })
            .collect();
        Self {
            whole: whole.clone(),
            converter: BasisConverter::new(&drop, &keep),
            keep,
            drop,
            minus_inverse,
        }
    }

    /// Basis of the result.
    pub fn keep(&self) -> &Basis {
        &self.keep
    }

    /// `round(c / D)`. The error is at most 1/2 per coefficient for one dropped modulus, and at
    /// most `1/2 + l 2^-30` for `l > 1` dropped moduli.
    ///
    /// # Panics
    /// If `c` is not over the whole basis.
    pub fn divide(&self, c: Poly<Eval>) -> Poly<Eval> {
        self.divide_eval(c, None)
    }

    /// As [`Divider::divide`], without consuming the polynomial. Only the limbs that are dropped
    /// are copied.
    ///
    /// # Panics
    /// If `c` is not over the whole basis.
    pub fn divided(&self, c: &Poly<Eval>) -> Poly<Eval> {
        assert_eq!(c.basis(), &self.whole, "input over the whole basis");
        let kept = self.keep.len();
        let mut tail = c.select(&self.drop, |i| kept + i).into_coeff();
        let remainder = self.converter.exact_consuming(tail.limbs_mut());
        self.finish(remainder, c, None)
    }

    /// `round(c / D) + x`, where `minus_dx` is `-D x`.
    ///
    /// Takes no more transforms than [`Divider::divide`], although `x` is in the coefficient
    /// domain.
    ///
    /// # Panics
    /// If `c` is not over the whole basis, or `minus_dx` is not over the moduli kept.
    pub fn divide_plus(&self, c: Poly<Eval>, minus_dx: &Poly<Coeff>) -> Poly<Eval> {
        assert_eq!(minus_dx.basis(), &self.keep, "addend over the kept moduli");
        self.divide_eval(c, Some(minus_dx))
    }

    fn divide_eval(&self, mut c: Poly<Eval>, addend: Option<&Poly<Coeff>>) -> Poly<Eval> {
        assert_eq!(c.basis(), &self.whole, "input over the whole basis");
        let kept = self.keep.len();
        let tail: Vec<_> = c.limbs_mut().skip(kept).collect();
        for_each_item(tail, |i, a| kernels().intt(&self.drop.tables()[i], a));
        let remainder = self.converter.exact_consuming(c.limbs_mut().skip(kept));
        self.finish(remainder, &c, addend)
    }

    /// The quotient of `c` from its remainder.
    ///
    /// Transforms the remainder, not the quotient, so that only dropped limbs leave the evaluation
    /// domain. Four limbs that are converted, transformed and finished together are no faster, and
    /// take 5 % more of a table on one thread (Xeon, 2026-11-30): the dropped limbs do not stay in
    /// the cache.
    fn finish(
        &self,
        mut remainder: Poly<Coeff>,
        c: &Poly<Eval>,
        addend: Option<&Poly<Coeff>>,
    ) -> Poly<Eval> {
        remainder.for_each_limb(|i, a| {
            if let Some(addend) = addend {
                kernels().add_assign(self.keep.modulus(i), a, addend.limb(i));
            }
            kernels().ntt(&self.keep.tables()[i], a);
            self.finish_limb(i, a, c.limb(i));
        });
        remainder.relabel()
    }

    /// As [`Divider::divide`], in the coefficient domain.
    ///
    /// # Panics
    /// If `c` is not over the whole basis.
    pub fn divide_coeff(&self, mut c: Poly<Coeff>) -> Poly<Coeff> {
        assert_eq!(c.basis(), &self.whole, "input over the whole basis");
        let kept = self.keep.len();
        let mut remainder = self.converter.exact_consuming(c.limbs_mut().skip(kept));
        remainder.for_each_limb(|i, a| self.finish_limb(i, a, c.limb(i)));
        remainder
    }

    /// Computes the quotient from the remainder `a`: `(c - a) / D = (a - c) (-1 / D)`.
    fn finish_limb(&self, i: usize, a: &mut [u64], c: &[u64]) {
        kernels().sub_scalar_mul_assign(self.keep.modulus(i), a, c, self.minus_inverse[i]);
    }
}
