//! The mode that computes operations on ciphertexts of a ring.

use super::{BlockMatrix, RingOperations, residue};
use crate::approximate::Diagonal;
use crate::error::{Error, Result};
use exchange::circuit::SparseKeys;
use program::recording::{Rgsw, Scalar, Secret};
use ring::{BasisConverter, Eval, Poly};
use rlwe::{Ciphertext, Decomposed, Extended, GaloisKeys, Params, SwitchKey};
use std::collections::BTreeMap;

/// The mode that computes with ciphertexts and keys.
pub struct RunRing<'k> {
    params: Params,
    relinearization: Option<&'k SwitchKey>,
    galois: &'k GaloisKeys,
    secrets: Vec<(Secret, &'k SwitchKey)>,
    /// RGSW ciphertexts by name.
    rgsw: Option<&'k BTreeMap<String, rlwe::Rgsw>>,
}

impl<'k> RunRing<'k> {
    /// Makes operations with the given keys.
    pub fn new(
        params: &Params,
        relinearization: Option<&'k SwitchKey>,
        galois: &'k GaloisKeys,
    ) -> Self {
        Self {
            params: params.clone(),
            relinearization,
            galois,
            secrets: Vec::new(),
            rgsw: None,
        }
    }

    /// Adds RGSW ciphertexts, by name.
    pub fn add_rgsw(&mut self, rgsw: &'k BTreeMap<String, rlwe::Rgsw>) {
        self.rgsw = Some(rgsw);
    }

    /// Adds the key to the sparse secret and the key back.
    pub fn add_sparse(&mut self, keys: &'k SparseKeys) {
        let [to, back] = keys.both();
        self.secrets = vec![(Secret::Sparse, to), (Secret::Dense, back)];
    }
}

impl RingOperations for RunRing<'_> {
    type Ciphertext = Ciphertext;
    type Extended = Extended;
    type Decomposed = Decomposed;

    fn level(&self, a: &Ciphertext) -> usize {
        a.level()
    }

    fn components(&self, a: &Ciphertext) -> usize {
        a.degree() + 1
    }

    fn add_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<()> {
        Ok(a.add_assign(b)?)
    }

    fn sub_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<()> {
        Ok(a.sub_assign(b)?)
    }

    fn add_scaled(&self, a: &mut Ciphertext, b: &Ciphertext, c: Scalar) -> Result<()> {
        let (left, right) = (a.level(), b.level());
        if left > right {
            return Err(rlwe::Error::LevelMismatch { left, right }.into());
        }
        a.pair()?;
        let other = b.pair()?;
        for (part, other) in a.components_mut().iter_mut().zip([other.0, other.1]) {
            let basis = part.basis().clone();
            part.add_scaled_prefix(other, |i| residue(basis.modulus(i), c));
        }
        Ok(())
    }

    fn scale_assign(&self, a: &mut Ciphertext, c: Scalar) {
        a.components_mut().iter_mut().for_each(|part| {
            let basis = part.basis().clone();
            part.scalar_mul_assign(|i| residue(basis.modulus(i), c));
        });
    }

    fn add_term(&self, a: &mut Ciphertext, term: &Poly<Eval>, _: u64) -> Result<()> {
        a.components_mut()[0].add_assign(term);
        Ok(())
    }

    fn sub_term(&self, a: &mut Ciphertext, term: &Poly<Eval>, _: u64) -> Result<()> {
        a.components_mut()[0].sub_assign(term);
        Ok(())
    }

    fn add_integer(&self, a: &mut Ciphertext, c: Scalar) {
        let body = &mut a.components_mut()[0];
        let basis = body.basis().clone();
        body.for_each_limb(|i, limb| {
            let q = basis.modulus(i);
            let c = residue(q, c);
            limb.iter_mut().for_each(|x| *x = q.add(*x, c));
        });
    }

    fn switch_secret(&self, a: &Ciphertext, to: Secret) -> Result<Ciphertext> {
        let what = "key to the other secret";
        let key = self.secrets.iter().find(|(own, _)| *own == to);
        let (_, key) = key.ok_or(exchange::Error::MissingKey { what })?;
        Ok(a.switch_key(key)?)
    }

    fn external_product(&self, a: &Ciphertext, by: &Rgsw) -> Result<Ciphertext> {
        let rgsw = self.rgsw.and_then(|all| all.get(&by.name));
        let rgsw = rgsw.ok_or_else(|| Error::Shape {
            what: "an RGSW ciphertext",
            found: format!("none of the name {}", by.name),
            expected: "one".into(),
        })?;
        if rgsw.level() != by.level {
            return Err(Error::Shape {
                what: "the level of an RGSW ciphertext",
                found: rgsw.level().to_string(),
                expected: by.level.to_string(),
            });
        }
        Ok(rgsw.external_product(a, 0)?)
    }

    fn raise(&self, a: &Ciphertext, level: usize) -> Result<Ciphertext> {
        let (c0, c1) = a.pair()?;
        let (low, whole) = (c0.basis(), self.params.basis(level));
        let rest = whole.slice(low.len()..whole.len());
        let converter = BasisConverter::new(low, &rest);
        let raise = |c: &Poly<Eval>| {
            // The existing limbs stay as they are.
            let high: Poly<Eval> = converter.exact(&c.to_coeff()).into_eval();
            let words = [c.words(), high.words()].concat();
            Poly::from_words(whole, words).expect("a limb for each modulus")
        };
        Ok(Ciphertext::new(vec![raise(c0), raise(c1)]).of_key(a.key()))
    }

    fn tensor_sum(
        &self,
        left: &[&Ciphertext],
        right: &[&Ciphertext],
        unit: Option<u64>,
    ) -> Result<Ciphertext> {
        let id = Ciphertext::common_key(left.iter().chain(right).copied())?;
        let [a0, a1] = components(left)?;
        let [b0, b1] = components(right)?;
        let middle = Poly::dot(
            &[a0.clone(), a1.clone()].concat(),
            &[b1.clone(), b0.clone()].concat(),
        );
        let mut parts = vec![Poly::dot(&a0, &b0), middle, Poly::dot(&a1, &b1)];
        if let Some(unit) = unit {
            let parts = parts.iter_mut();
            parts.for_each(|part| part.scalar_mul_assign(|_| unit));
        }
        Ok(Ciphertext::new(parts).of_key(id))
    }

    fn relinearize(&self, product: &Ciphertext, dropped: usize) -> Result<Ciphertext> {
        let what = "relinearization key";
        let key = self
            .relinearization
            .ok_or(exchange::Error::MissingKey { what })?;
        Ok(product.relinearize(key, dropped)?)
    }

    fn mul_plain_sum(&self, values: &[&Ciphertext], factors: &[&Poly<Eval>]) -> Result<Ciphertext> {
        let id = Ciphertext::common_key(values.iter().copied())?;
        let parts = components(values)?.map(|part| Poly::dot(&part, factors));
        Ok(Ciphertext::new(parts.into()).of_key(id))
    }

    fn combine(&self, matrix: &BlockMatrix, values: &[&Ciphertext]) -> Result<Vec<Ciphertext>> {
        let pairs = values.iter().map(|value| {
            let (c0, c1) = value.pair()?;
            Ok([c0, c1])
        });
        let id = Ciphertext::common_key(values.iter().copied())?;
        let sums = matrix.narrow(&pairs.collect::<Result<Vec<_>>>()?);
        Ok(sums.into_iter().map(|sum| sum.of_key(id)).collect())
    }

    fn switch_to(&self, mut a: Ciphertext, level: usize) -> Result<Ciphertext> {
        a.switch_to(&self.params, level)?;
        Ok(a)
    }

    fn drop_to(&self, mut a: Ciphertext, level: usize) -> Result<Ciphertext> {
        a.drop_to(level)?;
        Ok(a)
    }

    fn decompose(&self, a: &Ciphertext) -> Result<Decomposed> {
        Ok(Decomposed::new(&self.params, a.pair()?.1))
    }

    fn automorphism(&self, a: &Ciphertext, element: usize) -> Result<Ciphertext> {
        Ok(a.automorphism(element, self.galois)?)
    }

    fn automorphism_hoisted(
        &self,
        a: &Ciphertext,
        decomposed: &Decomposed,
        element: usize,
    ) -> Result<Ciphertext> {
        Ok(a.automorphism_hoisted(decomposed, element, self.galois)?)
    }

    fn automorphism_extended(
        &self,
        a: &Ciphertext,
        decomposed: &Decomposed,
        element: usize,
    ) -> Result<Extended> {
        let galois = self.galois;
        Ok(Extended::automorphism_of(a, decomposed, element, galois)?)
    }

    fn extend(&self, a: &Ciphertext) -> Result<Extended> {
        Ok(Extended::new(&self.params, a)?)
    }

    fn turn(&self, a: Extended, element: usize) -> Result<Extended> {
        Ok(a.automorphism(element, self.galois)?)
    }

    fn dot(&self, terms: &[&Extended], factors: &[&Diagonal]) -> Result<Extended> {
        Ok(Extended::dot(terms, |k, i, words| {
            factors[k].write(i, words)
        }))
    }

    fn combine_extended(
        &self,
        matrix: &BlockMatrix,
        values: &[&Extended],
    ) -> Result<Vec<Extended>> {
        Ok(matrix.extended(values))
    }

    fn add_extended(&self, a: &mut Extended, b: &Extended) -> Result<()> {
        Ok(a.add_assign(b)?)
    }

    fn scale_extended(&self, a: &mut Extended, c: Scalar) {
        a.scale_assign(|q| residue(q, c));
    }

    fn divide(&self, a: Extended, dropped: usize) -> Result<Ciphertext> {
        Ok(a.divide(dropped)?)
    }
}

/// The first components, then the second components.
fn components<'a>(values: &[&'a Ciphertext]) -> Result<[Vec<&'a Poly<Eval>>; 2]> {
    let mut parts = [Vec::new(), Vec::new()];
    for value in values {
        let (c0, c1) = value.pair()?;
        parts[0].push(c0);
        parts[1].push(c1);
    }
    Ok(parts)
}
