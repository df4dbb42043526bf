//! Secret keys and the evaluation keys made from them.

use crate::ciphertext::Ciphertext;
use crate::error::{Error, Result};
use crate::key_id::KeyId;
use crate::params::Params;
use rand::CryptoRng;
use ring::sample::{self, Masks, Seed};
use ring::{Basis, Coeff, Eval, PackedPoly, Poly};
use std::collections::BTreeMap;
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// Secret polynomial with small coefficients. Overwritten when dropped.
#[derive(Clone)]
pub struct SecretKey {
    params: Params,
    coefficients: Zeroizing<Vec<i64>>,
    /// The secret over all moduli and the special ones.
    eval: Zeroizing<Poly<Eval>>,
    id: KeyId,
}

impl SecretKey {
    /// A ternary secret, uniform or of the parameters' weight. The security estimate is for such
    /// secrets.
    ///
    /// # Panics
    /// If the weight exceeds the degree.
    pub fn generate(params: &Params, rng: &mut impl CryptoRng) -> Self {
        let coefficients = match params.weight() {
            None => sample::ternary(params.n(), rng),
            Some(weight) => sample::sparse_ternary(params.n(), weight, rng),
        };
        Self::from_coefficients(params, coefficients).of_key(KeyId::generate(rng))
    }

    /// The secret with the given coefficients. It has no identity of its own, and fits everything,
    /// until [`of_key`](Self::of_key) gives it one.
    ///
    /// # Panics
    /// If there are not `N` coefficients.
    pub fn from_coefficients(
        params: &Params,
        coefficients: impl Into<Zeroizing<Vec<i64>>>,
    ) -> Self {
        let coefficients = coefficients.into();
        let basis = params.extended(params.max_level());
        let eval = Zeroizing::new(Poly::from_signed(&basis, &coefficients).into_eval());
        Self {
            params: params.clone(),
            id: KeyId::ANY,
            coefficients,
            eval,
        }
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The coefficients.
    pub fn coefficients(&self) -> &[i64] {
        &self.coefficients
    }

    /// This secret, with the given identity.
    #[must_use]
    pub fn of_key(mut self, id: KeyId) -> Self {
        self.id = id;
        self
    }

    /// Identity of the secret. All keys and ciphertexts under the secret carry it.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// Checks that a ciphertext belongs to this secret.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`].
    pub fn check_key(&self, ct: &Ciphertext) -> Result<()> {
        ct.key().join("secret key", self.id)?;
        Ok(())
    }

    /// The secret in the evaluation domain, over the basis of a level.
    pub fn at_level(&self, level: usize) -> Zeroizing<Poly<Eval>> {
        self.eval.prefix(level + 1).into()
    }

    /// Encrypts zero at `level`: `(-a s + e, a)`, where `a` is the next mask.
    pub fn encrypt_zero(
        &self,
        level: usize,
        masks: &mut Masks,
        rng: &mut impl CryptoRng,
    ) -> Ciphertext {
        let basis = self.params.basis(level);
        let a: Poly<Eval> = masks.draw(basis);
        let errors = sample::gaussian(self.params.n(), rng);
        let mut b = Poly::from_signed(basis, &errors).into_eval();
        b.sub_assign(&Zeroizing::new(a.mul(&self.at_level(level))));
        Ciphertext::new(vec![b, a]).of_key(self.id)
    }

    /// Returns true if `basis` belongs to one of the key's levels, at which it can encrypt and
    /// decrypt.
    pub fn is_over(&self, basis: &Basis) -> bool {
        let level = basis.len().wrapping_sub(1);
        level <= self.params.max_level() && self.params.basis(level) == basis
    }

    /// Phase `c_0 + c_1 s + ..` of a ciphertext. Whoever has it and the ciphertext can compute the
    /// secret.
    pub fn phase(&self, ct: &Ciphertext) -> Zeroizing<Poly<Coeff>> {
        self.phase_eval(ct).to_coeff().into()
    }

    /// As [`SecretKey::phase`], in the evaluation domain.
    #[expect(clippy::missing_panics_doc, reason = "a ciphertext has a component")]
    pub fn phase_eval(&self, ct: &Ciphertext) -> Zeroizing<Poly<Eval>> {
        let s = self.at_level(ct.level());
        let (last, rest) = ct
            .components()
            .split_last()
            .expect("a ciphertext has a component");
        let sum = rest.iter().rev().fold(last.clone(), |mut acc, c| {
            acc.mul_assign(&s);
            acc.add_assign(c);
            acc
        });
        sum.into()
    }

    /// Key from the secret `from` to this one, for levels up to `level`.
    ///
    /// # Panics
    /// If the secrets have different degrees, or if `level` is above the highest level.
    pub fn switch_key(&self, from: &Self, level: usize, rng: &mut impl CryptoRng) -> SwitchKey {
        let basis = self.params.extended(self.params.max_level());
        let from_eval = Zeroizing::new(Poly::from_signed(&basis, &from.coefficients).into_eval());
        SwitchKey::generate(&self.params, level, &from_eval, &self.eval, rng)
            .of_keys(from.id, self.id)
    }

    /// Two keys: one to a fresh secret of the given parameters, which is not kept, and one back.
    /// The first is for the highest level of `sparse`, the second for the highest level of this
    /// key's parameters.
    ///
    /// # Panics
    /// If the parameters have another degree.
    pub fn sparse_keys(&self, sparse: &Params, rng: &mut impl CryptoRng) -> [SwitchKey; 2] {
        let below = Self::generate(sparse, rng);
        let small = Zeroizing::new(below.coefficients().to_vec());
        let above = Self::from_coefficients(&self.params, small).of_key(below.id);
        [
            below.switch_key(self, sparse.max_level(), rng),
            self.switch_key(&above, self.params.max_level(), rng),
        ]
    }

    /// Key from `s^2` to `s`, for levels up to `level`.
    ///
    /// # Panics
    /// If `level` is above the highest level.
    pub fn relinearization_key(&self, level: usize, rng: &mut impl CryptoRng) -> SwitchKey {
        let square = Zeroizing::new(self.eval.mul(&self.eval));
        SwitchKey::generate(&self.params, level, &square, &self.eval, rng).of_keys(self.id, self.id)
    }

    /// Keys from `m` and from `m s` to `s`, for levels up to `level`.
    pub(crate) fn keys_from_multiples(
        &self,
        m: &[i64],
        level: usize,
        rng: &mut impl CryptoRng,
    ) -> [SwitchKey; 2] {
        let basis = self.params.extended(self.params.max_level());
        let m = Zeroizing::new(Poly::from_signed(&basis, m).into_eval());
        let product = Zeroizing::new(m.mul(&self.eval));
        [m, product].map(|from| {
            SwitchKey::generate(&self.params, level, &from, &self.eval, rng)
                .of_keys(self.id, self.id)
        })
    }

    /// Galois key of `element`, for levels up to `level`.
    ///
    /// # Panics
    /// If `level` is above the highest level, or if `element` is even: only odd numbers are Galois
    /// elements.
    pub fn galois_key(&self, element: usize, level: usize, rng: &mut impl CryptoRng) -> SwitchKey {
        assert!(element % 2 == 1, "a Galois element is odd");
        // Switching to s(X^(1/g)) and then mapping X -> X^g gives s again. The decomposition need
        // not be permuted, so many rotations can share it.
        let inverse = inverse_mod_power_of_two(element, 2 * self.params.n());
        let index = ring::eval_automorphism_index(self.params.n(), inverse);
        let target = Zeroizing::new(self.eval.permuted(&index));
        SwitchKey::generate(&self.params, level, &self.eval, &target, rng).of_keys(self.id, self.id)
    }
}

impl ZeroizeOnDrop for SecretKey {}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

/// `g^{-1}` modulo a power of two.
fn inverse_mod_power_of_two(g: usize, modulus: usize) -> usize {
    debug_assert!(g % 2 == 1 && modulus.is_power_of_two());
    // Newton's method: each step doubles the number of correct bits, starting from three.
    let mut x = g;
    for _ in 0..6 {
        x = x.wrapping_mul(2usize.wrapping_sub(g.wrapping_mul(x)));
    }
    x & (modulus - 1)
}

/// Evaluation key that turns phases under one secret into phases under another. Two keys are equal
/// if their words are.
#[derive(Clone)]
pub struct SwitchKey {
    params: Params,
    level: usize,
    seed: Seed,
    /// Identities of the secret from which the key switches, and of the secret to which it
    /// switches. In keys of products and of automorphisms, both are the identity of one secret.
    ids: [KeyId; 2],
    /// The pair `(b_j, a_j)` of each digit, over `Q_level P`. `a_j` expands from the seed.
    digits: Vec<[PackedPoly; 2]>,
}

impl SwitchKey {
    fn generate(
        params: &Params,
        level: usize,
        from: &Poly<Eval>,
        to: &Poly<Eval>,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let basis = params.extended(level);
        let whole = from.limbs() - params.special().len();
        // The limbs of q_0 .. q_level and of the special moduli, among those of the whole chain.
        let limb_of = |i: usize| {
            if i <= level {
                i
            } else {
                i - (level + 1) + whole
            }
        };
        let to = Zeroizing::new(to.select(&basis, limb_of));
        let from = Zeroizing::new(from.select(&basis, limb_of));
        let special: Vec<u64> = basis
            .moduli()
            .map(|q| params.special().product_mod(q))
            .collect();
        let seed = Seed::random(rng);
        let bodies = params
            .digits(level)
            .enumerate()
            .map(|(j, own)| {
                let a: Poly<Eval> = sample::uniform_from_seed(&basis, &seed, j as u32);
                let errors = sample::gaussian(params.n(), rng);
                let mut b = Poly::from_signed(&basis, &errors).into_eval();
                b.sub_assign(&Zeroizing::new(a.mul(&to)));
                b.add_scaled_prefix(&from, |i| if own.contains(&i) { special[i] } else { 0 });
                [&b, &a].map(PackedPoly::from)
            })
            .collect();
        Self {
            params: params.clone(),
            level,
            seed,
            ids: [KeyId::ANY; 2],
            digits: bodies,
        }
    }

    /// A key from its bodies `b_j` and the seed of its masks `a_j`.
    ///
    /// # Panics
    /// If there is not one body per digit of `level`, each over `Q_level P`.
    pub fn from_parts(params: &Params, level: usize, seed: Seed, bodies: Vec<Poly<Eval>>) -> Self {
        assert_eq!(
            bodies.len(),
            Self::digit_count(params, level),
            "one body per digit"
        );
        let basis = params.extended(level);
        let digits = bodies
            .into_iter()
            .enumerate()
            .map(|(j, b)| {
                assert_eq!(b.basis(), &basis, "bodies over Q_level P");
                let a = sample::uniform_from_seed(&basis, &seed, j as u32);
                [&b, &a].map(PackedPoly::from)
            })
            .collect();
        Self {
            params: params.clone(),
            level,
            seed,
            ids: [KeyId::ANY; 2],
            digits,
        }
    }

    /// This key, marked as switching from the secret `from` to the secret `to`, which may be the
    /// same.
    #[must_use]
    pub fn of_keys(mut self, from: KeyId, to: KeyId) -> Self {
        self.ids = [from, to];
        self
    }

    /// Identities of the secret that it switches from, and of the one that it switches to.
    pub fn ids(&self) -> [KeyId; 2] {
        self.ids
    }

    /// The identity of the result of switching a ciphertext.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] if the ciphertext does not belong to the secret that it switches
    /// from.
    pub fn check_key(&self, ct: &Ciphertext) -> Result<KeyId> {
        let [from, to] = self.ids;
        let joined = ct.key().join("evaluation key", from)?;
        Ok(if from == to { joined } else { to })
    }

    /// Number of digits of a key for levels up to `level`.
    pub fn digit_count(params: &Params, level: usize) -> usize {
        params.digits(level).count()
    }

    /// Parameters of the key.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The highest level at which the key switches.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Seed of the masks.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// Component `part` of digit `j`. Part 0 is the body, part 1 the mask.
    pub fn digit(&self, j: usize, part: usize) -> &PackedPoly {
        &self.digits[j][part]
    }

    /// Number of digits.
    pub fn digits(&self) -> usize {
        self.digits.len()
    }

    /// Bytes in memory.
    pub fn byte_len(&self) -> usize {
        self.digits.iter().flatten().map(PackedPoly::byte_len).sum()
    }

    /// As [`SwitchKey::byte_len`], of a key for levels up to `level`.
    pub fn byte_len_at(params: &Params, level: usize) -> usize {
        let pair = 2 * PackedPoly::bytes_over(&params.extended(level));
        Self::digit_count(params, level) * pair
    }
}

impl PartialEq for SwitchKey {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            params,
            level,
            seed,
            ids: _,
            digits,
        } = self;
        (params, level, seed, digits) == (&other.params, &other.level, &other.seed, &other.digits)
    }
}

impl Eq for SwitchKey {}

impl std::fmt::Debug for SwitchKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (level, digits) = (self.level, self.digits.len());
        write!(f, "SwitchKey(level {level}, {digits} digits)")
    }
}

/// Galois keys by Galois element, each with the permutation of its automorphism.
#[derive(Clone, Default)]
pub struct GaloisKeys {
    keys: BTreeMap<usize, (SwitchKey, Vec<u32>)>,
}

impl GaloisKeys {
    /// An empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the key of `element`.
    pub fn insert(&mut self, element: usize, key: SwitchKey) {
        let index = ring::eval_automorphism_index(key.params().n(), element);
        self.keys.insert(element, (key, index));
    }

    /// The key of `element` and the permutation of `X -> X^element` in the evaluation domain.
    ///
    /// # Errors
    /// [`Error::MissingGaloisKey`].
    pub fn get(&self, element: usize) -> Result<(&SwitchKey, &[u32])> {
        self.keys
            .get(&element)
            .map(|(key, index)| (key, index.as_slice()))
            .ok_or(Error::MissingGaloisKey { element })
    }

    /// These keys, marked as belonging to the secret with the given identity.
    #[must_use]
    pub fn of_key(mut self, id: KeyId) -> Self {
        let keys = std::mem::take(&mut self.keys).into_iter();
        let of_key = keys.map(|(element, (key, index))| (element, (key.of_keys(id, id), index)));
        self.keys = of_key.collect();
        self
    }

    /// The keys by themselves, ordered by element.
    pub fn into_keys(self) -> impl Iterator<Item = (usize, SwitchKey)> {
        let keys = self.keys.into_iter();
        keys.map(|(element, (key, _))| (element, key))
    }

    /// The keys, ordered by element.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (usize, &SwitchKey)> {
        self.keys.iter().map(|(&element, (key, _))| (element, key))
    }

    /// Bytes in memory.
    pub fn byte_len(&self) -> usize {
        self.iter().map(|(_, key)| key.byte_len()).sum()
    }
}
