//! The operations on slots and on samples of their errors.

use super::{Sampled, SampledRing};
use crate::approximate::Diagonal;
use crate::error::{Error, Result};
use crate::operations::{BlockMatrix, Rgsw, RingOperations, Secret};
use ckks::Complex64;
use program::recording::Scalar;
use ring::{Eval, Poly};
use rlwe::noise::switch_variance;
use rlwe::security::SPARSE_WEIGHT;

fn number(c: Scalar) -> f64 {
    c.integer as f64 * f64::from(c.shift).exp2() / c.over as f64
}

fn unknown<T>(found: &'static str) -> Result<T> {
    Err(Error::Shape {
        what: "an operation whose errors are sampled",
        found: found.into(),
        expected: "one of bootstrapping".into(),
    })
}

impl RingOperations for SampledRing {
    type Ciphertext = Sampled;
    type Extended = Sampled;
    type Decomposed = ();

    fn level(&self, a: &Sampled) -> usize {
        a.level
    }

    fn components(&self, a: &Sampled) -> usize {
        a.components
    }

    fn add_assign(&self, a: &mut Sampled, b: &Sampled) -> Result<()> {
        a.add(b, 1.0);
        Ok(())
    }

    fn sub_assign(&self, a: &mut Sampled, b: &Sampled) -> Result<()> {
        a.add(b, -1.0);
        Ok(())
    }

    fn add_scaled(&self, a: &mut Sampled, b: &Sampled, c: Scalar) -> Result<()> {
        a.add(b, number(c));
        Ok(())
    }

    fn scale_assign(&self, a: &mut Sampled, c: Scalar) {
        a.map(|x| x * number(c));
    }

    fn add_term(&self, a: &mut Sampled, term: &Poly<Eval>, _: u64) -> Result<()> {
        a.add(&Sampled::exact(a.level, self.slots(term)?), 1.0);
        Ok(())
    }

    fn sub_term(&self, a: &mut Sampled, term: &Poly<Eval>, _: u64) -> Result<()> {
        a.add(&Sampled::exact(a.level, self.slots(term)?), -1.0);
        Ok(())
    }

    fn add_integer(&self, a: &mut Sampled, c: Scalar) {
        a.values.iter_mut().for_each(|x| *x += number(c));
    }

    fn switch_secret(&self, a: &Sampled, to: Secret) -> Result<Sampled> {
        let variance = match to {
            Secret::Sparse => {
                let weight = SPARSE_WEIGHT as f64;
                switch_variance(&self.sparse, a.level) + self.rounding(weight)
            }
            Secret::Dense => {
                switch_variance(self.params.rlwe(), a.level) + self.rounding(self.dense())
            }
        };
        let mut out = a.clone();
        self.add_noise(&mut out, variance);
        Ok(out)
    }

    fn external_product(&self, _: &Sampled, _: &Rgsw) -> Result<Sampled> {
        unknown("an external product")
    }

    fn raise(&self, a: &Sampled, level: usize) -> Result<Sampled> {
        let q0: f64 = self.params.rlwe().spec().q[..=a.level]
            .iter()
            .map(|&q| q as f64)
            .product();
        let overflow: Vec<f64> = (0..self.params.n()).map(|_| q0 * self.overflow()).collect();
        let encoder = self.params.encoder();
        let overflow = encoder.slots_of(&overflow, self.params.slots())?;
        let mut out = Sampled { level, ..a.clone() };
        let values = out.values.iter_mut();
        values.zip(overflow).for_each(|(x, more)| *x += more);
        Ok(out)
    }

    fn tensor_sum(&self, left: &[&Sampled], right: &[&Sampled], _: Option<u64>) -> Result<Sampled> {
        let mut sum = Sampled::exact(left[0].level, vec![Complex64::ZERO; self.params.slots()]);
        sum.components = 3;
        for (a, b) in left.iter().zip(right) {
            for j in 0..sum.values.len() {
                let (x, e, y, f) = (a.values[j], a.errors[j], b.values[j], b.errors[j]);
                sum.values[j] += x * y;
                sum.errors[j] += x * f + e * y + e * f;
            }
        }
        Ok(sum)
    }

    fn relinearize(&self, product: &Sampled, dropped: usize) -> Result<Sampled> {
        let mut out = product.clone();
        out.components = 2;
        self.add_noise(&mut out, switch_variance(self.params.rlwe(), product.level));
        self.divide(out, dropped)
    }

    fn mul_plain_sum(&self, values: &[&Sampled], factors: &[&Poly<Eval>]) -> Result<Sampled> {
        let terms = values.iter().zip(factors);
        self.products(terms.map(|(&value, factor)| (value, self.slots(factor))))
    }

    fn combine(&self, _: &BlockMatrix, _: &[&Sampled]) -> Result<Vec<Sampled>> {
        unknown("a product of matrices")
    }

    fn switch_to(&self, a: Sampled, level: usize) -> Result<Sampled> {
        Ok(self.switched(a, level))
    }

    fn drop_to(&self, a: Sampled, level: usize) -> Result<Sampled> {
        Ok(Sampled { level, ..a })
    }

    fn decompose(&self, _: &Sampled) -> Result<()> {
        Ok(())
    }

    fn automorphism(&self, a: &Sampled, element: usize) -> Result<Sampled> {
        Ok(self.automorphed(a, element, true))
    }

    fn automorphism_hoisted(&self, a: &Sampled, (): &(), element: usize) -> Result<Sampled> {
        self.automorphism(a, element)
    }

    fn automorphism_extended(&self, a: &Sampled, (): &(), element: usize) -> Result<Sampled> {
        Ok(self.automorphed(a, element, false))
    }

    fn extend(&self, a: &Sampled) -> Result<Sampled> {
        Ok(a.clone())
    }

    fn turn(&self, a: Sampled, element: usize) -> Result<Sampled> {
        self.automorphism(&a, element)
    }

    fn dot(&self, terms: &[&Sampled], factors: &[&Diagonal]) -> Result<Sampled> {
        let terms = terms.iter().zip(factors);
        self.products(terms.map(|(&value, factor)| (value, self.factor(factor))))
    }

    fn combine_extended(&self, _: &BlockMatrix, _: &[&Sampled]) -> Result<Vec<Sampled>> {
        unknown("a product of matrices")
    }

    fn add_extended(&self, a: &mut Sampled, b: &Sampled) -> Result<()> {
        self.add_assign(a, b)
    }

    fn scale_extended(&self, a: &mut Sampled, c: Scalar) {
        self.scale_assign(a, c);
    }

    fn divide(&self, a: Sampled, dropped: usize) -> Result<Sampled> {
        let level = a.level - dropped;
        if dropped > 0 {
            return Ok(self.switched(a, level));
        }
        let mut out = a;
        self.add_noise(&mut out, self.rounding(self.dense()));
        Ok(out)
    }
}
