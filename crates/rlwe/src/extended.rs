//! Ciphertexts over `Q_l P`, before the division by `P` that ends a key switch.
//!
//! A sum of rotated ciphertexts times plaintexts divides once, instead of once per rotation. A
//! rotation of such a sum divides only one component.
//!
//! Source: Bossuat, Mouchet, Troncoso-Pastoriza, Hubaux, "Efficient Bootstrapping for Approximate
//! Homomorphic Encryption with Non-sparse Keys", EUROCRYPT 2021, section 4 (double hoisting).

use crate::ciphertext::Ciphertext;
use crate::error::{Error, Result};
use crate::key_id::KeyId;
use crate::keys::GaloisKeys;
use crate::params::Params;
use crate::switch::{Decomposed, check};
use ring::{Eval, Modulus, Pair, Poly, block_combinations, dot_pairs_filled};

/// A ciphertext of degree 1 times `P`, over `Q_l P`.
#[derive(Clone)]
pub struct Extended {
    params: Params,
    level: usize,
    parts: [Poly<Eval>; 2],
    key: KeyId,
}

impl Extended {
    /// `P` times a ciphertext.
    ///
    /// # Errors
    /// [`Error::Components`] for a degree other than 1.
    pub fn new(params: &Params, ct: &Ciphertext) -> Result<Self> {
        let level = ct.level();
        let (basis, tables) = (params.extended(level), params.switch_tables(level));
        let raise = |c: &Poly<Eval>| {
            let mut out = Poly::zero(&basis);
            out.add_scaled_prefix(c, |i| tables.special_product[i]);
            out
        };
        let (c0, c1) = ct.pair()?;
        Ok(Self {
            params: params.clone(),
            level,
            parts: [raise(c0), raise(c1)],
            key: ct.key(),
        })
    }

    /// `P` times `X -> X^element` of a ciphertext whose second component is `decomposed`.
    ///
    /// # Errors
    /// As [`Ciphertext::automorphism_hoisted`].
    pub fn automorphism_of(
        ct: &Ciphertext,
        decomposed: &Decomposed,
        element: usize,
        keys: &GaloisKeys,
    ) -> Result<Self> {
        let (params, level) = (decomposed.params(), ct.level());
        if element == 1 {
            return Self::new(params, ct);
        }
        let (key, index) = keys.get(element)?;
        check(key, level, 0)?;
        let id = key.check_key(ct)?;
        let tables = params.switch_tables(level);
        let mut sums = decomposed.inner_products(key);
        sums[0].add_scaled_prefix(ct.pair()?.0, |i| tables.special_product[i]);
        Ok(Self {
            params: params.clone(),
            level,
            parts: sums.map(|sum| sum.permuted(index)),
            key: id,
        })
    }

    /// Identity of its secret.
    pub fn key(&self) -> KeyId {
        self.key
    }

    /// The level of the ciphertext: its limbs minus one, not counting the special ones.
    pub fn level(&self) -> usize {
        self.level
    }

    /// `sum_k p_k terms[k]`, with plaintexts `p_k` over `Q_l P` in the evaluation domain.
    /// `fill(k, i, words)` writes limb `i` of plaintext `k`. The special limbs come after those of
    /// `Q_l`.
    ///
    /// # Panics
    /// If there are no terms, or their levels or secrets differ.
    pub fn dot(terms: &[&Self], fill: impl Fn(usize, usize, &mut [u64]) + Sync) -> Self {
        let first = terms.first().expect("a sum has a term");
        assert!(
            terms.iter().all(|term| term.level == first.level),
            "terms at one level"
        );
        let basis = first.parts[0].basis();
        let fill = |_: usize, k: usize, i: usize, words: &mut [u64]| fill(k, i, words);
        let rows = dot_pairs_filled(basis, 1, terms.len(), fill, |i| {
            [0, 1].map(|part| terms.iter().map(|term| term.parts[part].limb(i)).collect())
        });
        let [parts] = <[_; 1]>::try_from(rows).expect("one row");
        Self {
            params: first.params.clone(),
            level: first.level,
            parts,
            key: common_key(terms),
        }
    }

    /// For each row `r`, `sum_k p_(r,k) terms[k]`, with plaintexts `p` over `Q_l P` whose words
    /// stand `gap` times in a row. [`ring::block_combinations`] describes the layout of `matrix`.
    ///
    /// # Panics
    /// If there are no terms, their levels or secrets differ, or the matrix has another size.
    pub fn combinations(terms: &[&Self], matrix: &[u64], (gap, rows): (usize, usize)) -> Vec<Self> {
        let first = terms.first().expect("a sum has a term");
        assert!(
            terms.iter().all(|term| term.level == first.level),
            "terms at one level"
        );
        let pairs: Vec<Pair> = terms.iter().map(|t| t.parts.each_ref()).collect();
        let sums = block_combinations(first.parts[0].basis(), matrix, (gap, rows), &pairs);
        let key = common_key(terms);
        let sum = |parts| Self {
            params: first.params.clone(),
            level: first.level,
            parts,
            key,
        };
        sums.into_iter().map(sum).collect()
    }

    /// `self += other`.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`], [`Error::KeyMismatch`].
    pub fn add_assign(&mut self, other: &Self) -> Result<()> {
        let (left, right) = (self.level, other.level);
        if left != right {
            return Err(Error::LevelMismatch { left, right });
        }
        self.key = self.key.join("ciphertext", other.key)?;
        for (a, b) in self.parts.iter_mut().zip(&other.parts) {
            a.add_assign(b);
        }
        Ok(())
    }

    /// `self *= c`, where `residue` gives the number `c` modulo each modulus.
    pub fn scale_assign(&mut self, residue: impl Fn(&Modulus) -> u64 + Sync) {
        for part in &mut self.parts {
            let basis = part.basis().clone();
            part.scalar_mul_assign(|i| residue(basis.modulus(i)));
        }
    }

    /// The automorphism `X -> X^element`. One component is divided by `P` and switched. The result
    /// stays over `Q_l P`.
    ///
    /// # Errors
    /// [`Error::MissingGaloisKey`], [`Error::KeyLevel`] and [`Error::KeyMismatch`].
    pub fn automorphism(self, element: usize, keys: &GaloisKeys) -> Result<Self> {
        if element == 1 {
            return Ok(self);
        }
        let (key, index) = keys.get(element)?;
        check(key, self.level, 0)?;
        let id = self.key.join("evaluation key", key.ids()[0])?;
        let [c0, c1] = self.parts;
        let c1 = self.params.special_divider(self.level, 0).divide(c1);
        let tables = self.params.switch_tables(self.level);
        let mut sums = tables.product(c1.to_coeff(), (Some(&c1), [None; 2]), key);
        sums[0].add_assign(&c0);
        Ok(Self {
            parts: sums.map(|sum| sum.permuted(index)),
            key: id,
            ..self
        })
    }

    /// Divides by `P` and by the last `dropped` moduli of the level.
    ///
    /// # Errors
    /// [`Error::LevelTooLow`] if no limb would be left.
    pub fn divide(self, dropped: usize) -> Result<Ciphertext> {
        if dropped > self.level {
            return Err(Error::LevelTooLow {
                need: dropped,
                have: self.level,
            });
        }
        let divider = self.params.special_divider(self.level, dropped);
        let parts = self.parts.into_iter().map(|part| divider.divide(part));
        Ok(Ciphertext::new(parts.collect()).of_key(self.key))
    }
}

/// The identity that terms have in common.
fn common_key(terms: &[&Extended]) -> KeyId {
    terms.iter().fold(KeyId::ANY, |key, term| {
        let joined = key.join("term of a sum", term.key);
        joined.expect("terms of one secret")
    })
}

impl std::fmt::Debug for Extended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Extended(level {})", self.level)
    }
}
