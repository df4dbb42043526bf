//! The scale-invariant product `round((t/Q) c x c')`, at the whole modulus and for any noise.
//!
//! The tensor product of two ciphertexts is an integer polynomial of about `2 log Q + log N` bits.
//! Both factors are extended to an auxiliary basis `R` and multiplied over `Q` and over `R`. The
//! three components are divided by `Q/t` and rounded over `R`, where `Q` is invertible, and
//! converted back to `Q`. With phases `(Q K + r)/t` as integers, the result has the phase
//!
//! `(t/Q) (Q K + r)(Q K' + r')/t^2 = (Q K K' + K r' + K' r + r r'/Q) / t`,
//!
//! so its factor is the product of the factors, and its residual is `K r' + K' r`. The size of `K`
//! is that of the message and of the overflow `t u` of `c_0 + c_1 s = .. + Q u`: about
//! `t |s|/sqrt 12`.
//!
//! *Size of `R`.* Centred components are below `Q/2`. Components of the tensor product are below
//! `N Q^2/2`, and scaled below `t N Q/2`. `R > 2 t N Q` leaves them in `[-R/4, R/4]`, where the
//! conversion back is exact for every ciphertext, noisy or not.
//!
//! *Cost* in transforms of one limb, for `l` moduli, `r` auxiliary ones, and a relinearisation with
//! `d` digits and `k` special moduli: `4l` (factors to coefficients) `+ 4r` (their extension)
//! `+ 3(l + r)` (tensor product to coefficients) `+ d (l + k)` (digits) `+ 2k + 2l` (mod down). The
//! scaling gives the components in the coefficient domain. There `d_2` is cut into digits, and
//! `d_0` and `d_1` are added to the remainder of the mod down before its transform. None of the
//! three therefore needs transforms of its own. A square saves `2l + 2r`.
//!
//! A variant extends one factor by `R/Q` first and divides by `R/t` (Kim, Polyakov, Zucca,
//! "Revisiting Homomorphic Encryption Schemes for Finite Fields", Asiacrypt 2021). It saves the
//! three conversions back, but costs two conversions and `2l` transforms for that factor, and has
//! no squares. With these kernels both take the same time.
//!
//! Source: Halevi, Polyakov, Shoup, "An Improved RNS Variant of the BFV Homomorphic Encryption
//! Scheme", CT-RSA 2019, section 4.

use crate::evaluator::Evaluator;
use exact::{Ciphertext, Params, Result};
use ring::{
    Basis, Coeff, Modulus, Output, Poly, Scaler, ntt_primes_avoiding, tensor, tensor_coeff,
};
use rlwe::{KeyId, SwitchKey, switch_coeff};

/// Tables of the product at one level.
pub(crate) struct ProductTables {
    scaler: Scaler,
    /// The output of the scaling.
    plain: Output,
    /// The output times `-P`, as the addend of the relinearisation's mod down.
    minus_p: Output,
}

impl ProductTables {
    pub(crate) fn new(params: &Params, level: usize) -> Self {
        let (rlwe, t) = (params.rlwe(), params.t().value());
        let basis = rlwe.basis(level);
        let bits = basis.log2() + (2.0 * t as f64).log2() + f64::from(rlwe.log_n());
        let avoid = rlwe.extended(rlwe.max_level()).values();
        let scaler = Scaler::new(basis, &auxiliary(basis.n(), bits, &avoid), t);
        Self {
            plain: scaler.output(|_| 1),
            minus_p: scaler.output(|i| {
                let q = basis.modulus(i);
                q.neg(rlwe.special().product_mod(q))
            }),
            scaler,
        }
    }
}

/// The fewest primes that the kernels take with a product above `2^bits`, and of these the
/// smallest. The smaller a prime is, the fewer reductions a transform needs.
fn auxiliary(n: usize, bits: f64, avoid: &[u64]) -> Basis {
    let fewest = (bits / f64::from(Modulus::FAST_BITS - 1)).ceil() as usize;
    (fewest..)
        .flat_map(|count| {
            let each = (bits / count as f64).ceil() as u32;
            (each..Modulus::FAST_BITS).map(move |size| (count, size))
        })
        .filter_map(|(count, size)| {
            let primes = ntt_primes_avoiding(size, n, count, avoid).ok()?;
            Some(Basis::new(n, &primes).expect("the generator gives NTT-friendly primes"))
        })
        .find(|basis| basis.log2() > bits)
        .expect("there are thousands of primes below 2^49 that split the largest ring")
}

impl Evaluator {
    /// The scale-invariant product, relinearised, at the same level.
    ///
    /// # Errors
    /// If levels differ, if an operand does not have two components, or if the key was made for
    /// lower levels.
    pub fn mul(&self, a: &Ciphertext, b: &Ciphertext, key: &SwitchKey) -> Result<Ciphertext> {
        let (tables, id) = self.check_operands(a, b)?;
        self.params().check_key(key)?;
        let joined = id.join("evaluation key", key.ids()[1]);
        let id = joined.map_err(rlwe::Error::from)?;
        if key.level() < a.level() {
            return Err(rlwe::Error::KeyLevel {
                need: a.level(),
                have: key.level(),
            }
            .into());
        }
        let outputs = [&tables.minus_p, &tables.minus_p, &tables.plain];
        let [d0, d1, d2] = scaled_tensor(&tables.scaler, a, b, outputs);
        let inner = switch_coeff(d2, key, [&d0, &d1])?.of_key(id);
        Ok(Ciphertext::new(inner, self.factor_of_product(a, b)))
    }

    /// The scale-invariant product, not relinearised: three components.
    ///
    /// # Errors
    /// If levels differ, or if an operand does not have two components.
    pub fn mul_no_relin(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        let (tables, id) = self.check_operands(a, b)?;
        let parts = scaled_tensor(&tables.scaler, a, b, [&tables.plain; 3]);
        let inner = rlwe::Ciphertext::new(parts.map(Poly::into_eval).into()).of_key(id);
        Ok(Ciphertext::new(inner, self.factor_of_product(a, b)))
    }

    fn check_operands(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
    ) -> Result<(std::sync::Arc<ProductTables>, KeyId)> {
        self.params().check_ciphertexts(&[a, b])?;
        let id = rlwe::Ciphertext::common_key([a.rlwe(), b.rlwe()])?;
        a.rlwe().pair()?;
        b.rlwe().pair()?;
        let (left, right) = (a.level(), b.level());
        if left != right {
            return Err(rlwe::Error::LevelMismatch { left, right }.into());
        }
        Ok((self.product_tables(left), id))
    }

    fn factor_of_product(&self, a: &Ciphertext, b: &Ciphertext) -> u64 {
        self.params().t().mul(a.factor(), b.factor())
    }
}

/// The three components of `round((t/Q) a x b)`, each times the factor of its output.
fn scaled_tensor(
    scaler: &Scaler,
    a: &Ciphertext,
    b: &Ciphertext,
    outputs: [&Output; 3],
) -> [Poly<Coeff>; 3] {
    let pair = |ct: &'_ Ciphertext| -> [Poly<Coeff>; 2] {
        [0, 1].map(|i| scaler.extend(ct.rlwe().components()[i].to_coeff()))
    };
    let [a0, a1] = [0, 1].map(|i| &a.rlwe().components()[i]);
    let [b0, b1] = [0, 1].map(|i| &b.rlwe().components()[i]);
    let raised = if std::ptr::eq(a, b) {
        tensor_coeff(pair(a), None)
    } else {
        tensor_coeff(pair(a), Some(pair(b)))
    };
    let mut over_q = tensor([a0, a1], [b0, b1]).into_iter();
    let mut over_r = raised.iter();
    outputs.map(|output| {
        let (d_q, d_r) = over_q.next().zip(over_r.next()).expect("three components");
        scaler.scale(d_q, d_r, output)
    })
}
