//! Bootstrapping: a ciphertext at level 0 becomes one at a high level, with the same message.
//!
//! 1. *Raise*: read modulo the whole `Q`, the phase is `Delta m + q_0 I` with a small integer polynomial `I`. While it is
//!    raised the ciphertext is under a sparse secret, so that `I` is small; that secret only ever protects the small
//!    modulus `q_0 p`.
//! 2. *Coefficients to slots*: the inverse of the slot transform as a few sparse matrices.
//! 3. *Reduction modulo `q_0`* of each slot, as `sin(2 pi x) / 2 pi`: a polynomial for `cos((2 pi x - pi/2) / 2^r)`, then `r` times
//!    `2 c^2 - 1`. The polynomial interpolates at the integers alone, as its arguments are near them.
//! 4. *Slots to coefficients*.
//!
//! Vectors stay bit-reversed between 2 and 4, and rotated by what saves keys: with all diagonals at non-negative
//! multiples of a step, the transforms need baby steps of one sign and one giant step, and 4 uses the keys of 2.
//!
//! Sources: Cheon, Han, Kim, Kim, Song, EUROCRYPT 2018; Han, Ki, CT-RSA 2020 (cosine, double angles, interpolation near
//! integers); Bossuat, Mouchet, Troncoso-Pastoriza, Hubaux, EUROCRYPT 2021; Bossuat, Troncoso-Pastoriza, Hubaux, ACNS 2022 (sparse-secret
//! encapsulation).

use crate::approximate::{Chebyshev, LinearTransform, Matrix, evaluate};
use crate::error::{Error, Result};
use ckks::{Ciphertext, Encoder, Evaluator, Params, ParamsSpec};
use rand::CryptoRng;
use ring::{BasisConverter, Eval, Poly, ntt_primes, sample};
use rlwe::{GaloisKeys, SecretKey, SwitchKey, switch_poly};
use std::collections::BTreeSet;
use std::f64::consts::PI;

/// Stages of the slot transform in each matrix from slots to coefficients, the first stage (blocks of 2) first.
const STAGES: usize = 4;

/// What a caller chooses of a bootstrapping.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrapSpec {
    /// The reduction is right for `|I| <= range`.
    pub range: usize,
    /// Double angles `r`.
    pub doublings: usize,
    /// log2 of `q_0` over the largest coefficient of the message times its scale.
    pub log_ratio: f64,
    /// Nonzero coefficients of the sparse secret.
    pub weight: usize,
    /// Baby steps of the linear transforms: fewer need fewer keys and more time.
    pub babies: usize,
}

impl Default for BootstrapSpec {
    fn default() -> Self {
        Self {
            range: 15,
            doublings: 3,
            log_ratio: 8.0,
            weight: 32,
            babies: 8,
        }
    }
}

impl BootstrapSpec {
    /// Levels of the reduction.
    fn reduction_levels(&self) -> usize {
        self.reduction().depth() + self.doublings
    }

    /// `cos(2 pi (x (range + 1) - 1/4) / 2^r)` at the integers `x (range + 1)` up to `range`.
    fn reduction(&self) -> Chebyshev {
        let range = self.range as isize;
        let wide = (range + 1) as f64;
        let period = (self.doublings as f64).exp2();
        let nodes: Vec<f64> = (-range..=range).map(|i| i as f64 / wide).collect();
        let values: Vec<f64> = nodes
            .iter()
            .map(|x| (2.0 * PI * (x * wide - 0.25) / period).cos())
            .collect();
        Chebyshev::new(interpolate(&nodes, values))
    }
}

/// Chebyshev coefficients of the polynomial through the given points.
fn interpolate(nodes: &[f64], mut values: Vec<f64>) -> Vec<f64> {
    let n = nodes.len();
    let mut rows: Vec<Vec<f64>> = nodes
        .iter()
        .map(|x| (0..n).map(|k| (k as f64 * x.acos()).cos()).collect())
        .collect();
    // Gaussian elimination with row pivots.
    for k in 0..n {
        let pivot = (k..n)
            .max_by(|&a, &b| rows[a][k].abs().total_cmp(&rows[b][k].abs()))
            .expect("a row is left");
        rows.swap(k, pivot);
        values.swap(k, pivot);
        for i in k + 1..n {
            let (above, below) = rows.split_at_mut(i);
            let (pivot, row) = (&above[k], &mut below[0]);
            let factor = row[k] / pivot[k];
            for (x, p) in row.iter_mut().zip(pivot).skip(k) {
                *x -= factor * p;
            }
            values[i] -= factor * values[k];
        }
    }
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|j| rows[k][j] * values[j]).sum();
        values[k] = (values[k] - known) / rows[k][k];
    }
    values
}

/// Tables of bootstrapping for one set of parameters.
pub struct Bootstrapper {
    evaluator: Evaluator,
    spec: BootstrapSpec,
    /// Parameters of the sparse secret: modulus `q_0`, one special modulus.
    sparse: rlwe::Params,
    raise: BasisConverter,
    to_coefficients: Vec<LinearTransform>,
    reduction: Chebyshev,
    to_slots: Vec<LinearTransform>,
}

/// Evaluation keys of bootstrapping.
pub struct BootstrapKeys {
    /// From the secret to the sparse one.
    encapsulate: SwitchKey,
    /// And back.
    release: SwitchKey,
    relinearization: SwitchKey,
    galois: GaloisKeys,
}

impl BootstrapKeys {
    /// The relinearisation key, of the highest level.
    pub fn relinearization(&self) -> &SwitchKey {
        &self.relinearization
    }

    /// The Galois keys, of the highest level.
    pub fn galois(&self) -> &GaloisKeys {
        &self.galois
    }

    /// Bytes in memory.
    pub fn byte_len(&self) -> usize {
        let others = [&self.encapsulate, &self.release, &self.relinearization];
        self.galois.byte_len() + others.map(SwitchKey::byte_len).iter().sum::<usize>()
    }
}

impl Bootstrapper {
    /// 128-bit parameters at `N = 2^16` for all `2^15` slots: 9 levels of 40 bits are left after a bootstrapping.
    ///
    /// Levels from the bottom: `q_0` of 60 bits, 9 of 40, 4 of 42 for slots to coefficients, 8 of 60 for the reduction, 4 of
    /// 56 for coefficients to slots; 60 and 56 bits are two limbs. log2(QP) = 1733.
    ///
    /// # Errors
    /// None: the parameters pass every check.
    pub fn params_2_16() -> Result<Params> {
        let n = 1 << 16;
        let primes = |bits, count| ntt_primes(bits, n, count).map_err(ckks::Error::from);
        let singles = |primes: Vec<u64>| primes.into_iter().map(|q| vec![q]);
        let pairs = |primes: &[u64]| {
            primes
                .chunks_exact(2)
                .map(<[u64]>::to_vec)
                .collect::<Vec<_>>()
        };
        let thirties = primes(30, 18)?;
        let mut levels = pairs(&thirties[..2]);
        levels.extend(singles(primes(40, 9)?));
        levels.extend(singles(primes(42, 4)?));
        levels.extend(pairs(&thirties[2..]));
        levels.extend(pairs(&primes(28, 8)?));
        Ok(Params::new(&ParamsSpec {
            n,
            levels,
            special: primes(49, 9)?,
            digit_limbs: 15,
            log_scale: 40.0,
        })?)
    }

    /// Tables for `params`, of which the upper levels are bootstrapping's.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are too few levels, and those of the parameters of the sparse secret.
    pub fn new(params: &Params, spec: &BootstrapSpec) -> Result<Self> {
        let (matrices_in, matrices_out) = transforms(params.encoder(), params.slots());
        let reduction = spec.reduction();
        let top = params.max_level();
        let taken = matrices_in.len() + spec.reduction_levels() + matrices_out.len();
        if top <= taken {
            return Err(Error::Shape {
                what: "the number of levels",
                found: top.to_string(),
                expected: format!("more than {taken}, which bootstrapping takes"),
            });
        }
        // Slots hold coefficients over (range + 1) q_0; halves, as real and imaginary parts are sums with the conjugate.
        let wide = (spec.range + 1) as f64;
        let start = params.level_modulus(0) * wide;
        let reduced = top - matrices_in.len();
        let encode = |matrices: Vec<Matrix>, top: usize, ratio: f64| {
            let each = ratio.powf(1.0 / matrices.len() as f64);
            let encoded = matrices.into_iter().enumerate().map(|(i, matrix)| {
                let level = top - i;
                let scale = params.level_modulus(level) * each;
                LinearTransform::new(params, &matrix, level, scale, spec.babies)
            });
            encoded.collect::<Result<Vec<_>>>()
        };
        let to_coefficients = encode(
            matrices_in
                .into_iter()
                .enumerate()
                .map(|(i, m)| if i == 0 { m.scaled(0.5) } else { m })
                .collect(),
            top,
            params.level_modulus(reduced) / start,
        )?;
        // What the reduction's scale will be: each double angle squares it and divides by a level.
        let mut scale = params.level_modulus(reduced);
        let first = reduced - reduction.depth();
        for level in (first - spec.doublings + 1..=first).rev() {
            scale = scale * scale / params.level_modulus(level);
        }
        let after = scale * 2.0 * PI / spec.log_ratio.exp2();
        let to_slots = encode(matrices_out, first - spec.doublings, params.scale() / after)?;
        let q0 = params.rlwe().basis(params.ring_level(0));
        let rest = params.rlwe().basis(params.rlwe().max_level());
        let rest = rest.slice(q0.len()..rest.len());
        let sparse = rlwe::ParamsSpec {
            n: params.n(),
            q: q0.values(),
            p: params.spec().special[..1].to_vec(),
            digit_limbs: 1,
        };
        // The table of this check is for uniform secrets: what the sparse one rests on is in SECURITY.md.
        let secure = params.rlwe().is_secure();
        let sparse = if secure {
            rlwe::Params::new(&sparse)
        } else {
            rlwe::Params::new_insecure(&sparse)
        };
        Ok(Self {
            evaluator: Evaluator::new(params),
            spec: spec.clone(),
            sparse: sparse.map_err(ckks::Error::from)?,
            raise: BasisConverter::new(q0, &rest),
            to_coefficients,
            reduction,
            to_slots,
        })
    }

    /// Level of the results.
    pub fn output_level(&self) -> usize {
        let last = self.to_slots.last().expect("a matrix");
        last.level() - 1
    }

    /// The rotations whose keys it needs.
    pub fn rotations(&self) -> BTreeSet<usize> {
        let all = self.to_coefficients.iter().chain(&self.to_slots);
        all.flat_map(LinearTransform::rotations).collect()
    }

    /// Bytes of the encoded matrices.
    pub fn byte_len(&self) -> usize {
        let all = self.to_coefficients.iter().chain(&self.to_slots);
        all.map(LinearTransform::byte_len).sum()
    }

    /// The keys, of all levels; relinearisation and rotation keys serve other circuits as well.
    pub fn generate_keys(&self, secret: &SecretKey, rng: &mut impl CryptoRng) -> BootstrapKeys {
        let params = self.evaluator.params();
        let (encoder, top) = (params.encoder(), params.rlwe().max_level());
        let small = sample::sparse_ternary(params.n(), self.spec.weight, rng);
        let below = SecretKey::from_coefficients(&self.sparse, small.clone());
        let above = SecretKey::from_coefficients(params.rlwe(), small);
        let mut galois = GaloisKeys::new();
        let rotations = self.rotations();
        let rotations = rotations
            .iter()
            .map(|&k| encoder.rotation_element(k as isize));
        for element in rotations.chain([encoder.conjugation_element()]) {
            galois.insert(element, secret.galois_key(element, top, rng));
        }
        BootstrapKeys {
            encapsulate: below.switch_key(secret, self.sparse.max_level(), rng),
            release: secret.switch_key(&above, top, rng),
            relinearization: secret.relinearization_key(top, rng),
            galois,
        }
    }

    /// The message of `x`, which is read at level 0, at [`Bootstrapper::output_level`] and the default scale.
    ///
    /// Right for messages whose coefficients times the scale stay below `q_0` over the spec's ratio; slots up to 1 at the
    /// default scale do.
    ///
    /// # Errors
    /// If `x` is of other parameters or has not two components.
    pub fn bootstrap(&self, x: &Ciphertext, keys: &BootstrapKeys) -> Result<Ciphertext> {
        let evaluator = &self.evaluator;
        let params = evaluator.params();
        let mut x = x.clone();
        evaluator.drop_to(&mut x, 0)?;
        // The message takes all the room below q_0 that the ratio leaves.
        let q0 = params.level_modulus(0);
        let room = (q0 / self.spec.log_ratio.exp2() / x.scale())
            .floor()
            .max(1.0);
        evaluator.mul_const_assign(&mut x, room, 1.0)?;
        let message_scale = x.scale() * room;
        let mut y = self.raise(&x, keys)?;
        y.set_scale(q0 * (self.spec.range + 1) as f64);
        for matrix in &self.to_coefficients {
            y = matrix.apply(&y, &keys.galois)?;
        }
        let conjugate = evaluator.conjugate(&y, &keys.galois)?;
        let mut real = y.clone();
        evaluator.add_assign(&mut real, &conjugate)?;
        let mut imaginary = conjugate;
        evaluator.sub_assign(&mut imaginary, &y)?;
        evaluator.mul_i_assign(&mut imaginary);
        drop(y);
        let mut sum = self.reduce(&real, keys)?;
        drop(real);
        let mut imaginary = self.reduce(&imaginary, keys)?;
        evaluator.mul_i_assign(&mut imaginary);
        evaluator.add_assign(&mut sum, &imaginary)?;
        sum.set_scale(sum.scale() * 2.0 * PI * message_scale / q0);
        for matrix in &self.to_slots {
            sum = matrix.apply(&sum, &keys.galois)?;
        }
        Ok(sum)
    }

    /// The ciphertext over all moduli: its phase gains a multiple of `q_0`.
    fn raise(&self, x: &Ciphertext, keys: &BootstrapKeys) -> Result<Ciphertext> {
        let params = self.evaluator.params().rlwe();
        let whole = params.basis(params.max_level());
        let sparse = switched(x.rlwe(), &keys.encapsulate)?;
        let raise = |c: &Poly<Eval>| {
            let low = c.to_coeff();
            let high = self.raise.exact(&low);
            let mut words = low.into_words();
            words.extend_from_slice(high.words());
            let poly = Poly::from_words(whole, words).map_err(ckks::Error::from)?;
            Ok(Poly::<ring::Coeff>::into_eval(poly))
        };
        let parts = sparse.components().iter().map(raise);
        let raised = rlwe::Ciphertext::new(parts.collect::<Result<_>>()?);
        Ok(Ciphertext::new(
            switched(&raised, &keys.release)?,
            x.scale(),
        ))
    }

    /// `sin(2 pi t)` of slots `t / (range + 1)` near integers `t`.
    fn reduce(&self, x: &Ciphertext, keys: &BootstrapKeys) -> Result<Ciphertext> {
        let evaluator = &self.evaluator;
        let key = &keys.relinearization;
        let mut y = evaluate(evaluator, &self.reduction, x, x.scale(), key)?;
        for _ in 0..self.spec.doublings {
            let square = evaluator.mul(&y, &y)?;
            y = evaluator.relinearize(&square, key)?;
            evaluator.mul_const_assign(&mut y, 2.0, 1.0)?;
            evaluator.add_const_assign(&mut y, (-1.0).into())?;
            evaluator.rescale(&mut y)?;
        }
        Ok(y)
    }
}

/// The ciphertext under the target of a key.
fn switched(x: &rlwe::Ciphertext, key: &SwitchKey) -> Result<rlwe::Ciphertext> {
    let (c0, c1) = x.pair().map_err(ckks::Error::from)?;
    let mut out = switch_poly(c1, key, None, 0).map_err(ckks::Error::from)?;
    out.components_mut()[0].add_assign(c0);
    Ok(out)
}

/// The matrices from slots to coefficients, and back, in the order of their use.
///
/// All diagonals are at non-negative multiples of a step, below `2^STAGES` steps more than the transform has: results of
/// the first part come rotated, the second part takes them so.
fn transforms(encoder: &Encoder, slots: usize) -> (Vec<Matrix>, Vec<Matrix>) {
    let bits = slots.ilog2() as usize;
    let stage = |join: bool, s: usize| {
        let len = 2 << s;
        if join {
            Matrix::join_stage(encoder, slots, len)
        } else {
            Matrix::split_stage(encoder, slots, len)
        }
    };
    // Groups of stages, the blocks of 2 first; what does not divide is in the last.
    let groups: Vec<std::ops::Range<usize>> = (0..bits)
        .step_by(STAGES)
        .map(|start| start..(start + STAGES).min(bits))
        .collect();
    let mut offset = 0;
    let mut inward = Vec::new();
    for group in groups.iter().rev() {
        let product = group.clone().rev().map(|s| stage(false, s));
        let product = product
            .reduce(|done, next| next.after(&done))
            .expect("a stage");
        let input = offset;
        offset += shift(group, bits);
        inward.push(product.rotated(offset, input));
    }
    let mut outward = Vec::new();
    for (i, group) in groups.iter().enumerate() {
        let product = group.clone().map(|s| stage(true, s));
        let product = product
            .reduce(|done, next| next.after(&done))
            .expect("a stage");
        let input = offset;
        let last = i + 1 == groups.len();
        offset = if last { 0 } else { offset + shift(group, bits) };
        outward.push(product.rotated(offset, input));
    }
    (inward, outward)
}

/// Rotation that makes the diagonals of a group of stages non-negative: `2^stages - 1` steps, and one more for the first
/// group, so that all rotations together are a multiple of the largest step. The last group wraps around.
fn shift(group: &std::ops::Range<usize>, bits: usize) -> usize {
    let (step, steps) = (1usize << group.start, 1usize << group.len());
    if group.end == bits {
        0
    } else if group.start == 0 {
        steps * step
    } else {
        (steps - 1) * step
    }
}
