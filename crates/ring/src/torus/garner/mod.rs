//! Exact products by transforms in single precision and the Chinese remainder theorem.
//!
//! ATHENA's first multiplier (its algorithm 2) takes 32-bit words modulo three primes, multiplies
//! by FFT in the 32-bit floating-point units of the array, and combines the residues by Garner's
//! algorithm. As printed it cannot work: see [`published`]. It lacks a split of the residues into
//! *limbs* so short that the error of the transforms is provably below 1/2. With the split, each
//! coefficient is rounded to the integer that it stands for:
//!
//! 1. Primes `p_1 p_2 p_3 > 2 rows N max|a| max|b|`. The paper asks for more than `2^62`, the
//!    product of the two sizes, and forgets that `N` products are added: full words of 32 bits need
//!    `2^73` at `N = 1024`.
//! 2. Words modulo `p_i`, centred, in limbs of `B` bits, and digits in limbs of `A` bits, signed. A
//!    sum over the rows of products of limbs has an error of at most `rows N 2^(A-1) 2^(B-1) k`,
//!    where `k` is the relative bound of the transform in single precision. `A` and `B` are those
//!    with the fewest transforms for which the error is below 1/2.
//! 3. Each sum is rounded. The sums are added with their weights `2^(A i + B j)` in integers.
//! 4. Reduction modulo each `p_i`, then Garner's algorithm.
//!
//! The digits of a decomposition are below half of every prime. The digits are therefore their own
//! residues, and are transformed once.
//!
//! *Source.* Wu, Arafin, "ATHENA", section III-A1 and algorithm 2; the splitting: Fateman, "Exact
//! polynomial multiplication using approximate FFT", 2005, and Percival 2003 for the bound.

pub mod pipeline;
pub mod published;

use super::residues::Residues;
use super::single::{Complex, Transform, mul_add};
use super::{Multiplier, Torus};
use crate::error::{Error, Result};
use kernels::is_prime;

/// Number of primes, as in the paper.
pub const PRIMES: usize = 3;
/// Largest size of a prime. With it, sums of products of digits and residues are integers of 63
/// bits.
const MAX_PRIME_BITS: u32 = 30;

/// Exact products of words of 32 bits by FFT in single precision. See the [module](self).
pub struct Garner {
    n: usize,
    rows: usize,
    digit: u32,
    residues: Residues,
    transform: Transform,
    digit_limbs: Limbs,
    word_limbs: Limbs,
}

/// Signed limbs of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limbs {
    bits: u32,
    count: usize,
}

/// Memory that [`Garner`] reuses.
pub struct GarnerScratch {
    /// The transformed limbs, one row after the other.
    digits: Vec<Complex>,
    sum: Vec<Complex>,
    /// One column modulo each prime.
    column: Vec<u64>,
    integers: Vec<i64>,
    /// Largest distance of a sum from the integer that it was rounded to.
    worst: f32,
}

impl GarnerScratch {
    /// Largest distance of a sum from the integer that it was rounded to, over all products so far.
    pub fn worst_rounding(&self) -> f32 {
        self.worst
    }
}

impl Limbs {
    /// The limbs of `bits` bits that hold every integer of at most `largest` in size.
    fn of(bits: u32, largest: u64) -> Self {
        let half = 1u64 << (bits - 1);
        let (mut rest, mut count) = (largest, 1);
        while rest > half {
            rest = (rest + half) >> bits;
            count += 1;
        }
        Self { bits, count }
    }

    /// Limb `index` of `x`, in `[-2^(bits-1), 2^(bits-1))`. The last limb is in
    /// `[-2^(bits-1), 2^(bits-1)]`.
    fn get(self, mut x: i64, index: usize) -> f32 {
        let half = 1i64 << (self.bits - 1);
        let mut limb = x;
        for place in 0..=index {
            limb = if place + 1 == self.count {
                x
            } else {
                ((x + half) & (2 * half - 1)) - half
            };
            x = (x - limb) >> self.bits;
        }
        debug_assert!(limb.abs() <= half);
        limb as f32
    }
}

impl Garner {
    /// A multiplier for sums of up to `rows` products of polynomials of `n` coefficients, with
    /// digits of at most `digit` in size.
    ///
    /// # Errors
    /// [`Error::Degree`] unless `n` is a power of two from 16 to 2^17; [`Error::TooFewPrimes`] if
    /// three primes of 30 bits are too few, or no limb is short enough.
    pub fn new(n: usize, rows: usize, digit: u32) -> Result<Self> {
        let (min, max) = (crate::Basis::MIN_DEGREE, crate::Basis::MAX_DEGREE);
        if !n.is_power_of_two() || !(min..=max).contains(&n) {
            return Err(Error::Degree { n, min, max });
        }
        let terms = u128::from(digit) * rows as u128;
        let bound = terms.checked_mul((n as u128) << 31);
        let transform = Transform::new(n);
        let made = bound.and_then(|bound| {
            let residues = primes_that_hold(bound, digit)?;
            let largest = residues.moduli().iter().map(|p| p.value() / 2).max()?;
            let limbs = shortest(&transform, (n, rows), (digit.into(), largest))?;
            Some((residues, limbs))
        });
        let (residues, (digit_limbs, word_limbs)) = made.ok_or(Error::TooFewPrimes {
            bits: MAX_PRIME_BITS,
            n,
            found: PRIMES,
            wanted: PRIMES + 1,
        })?;
        Ok(Self {
            n,
            rows,
            digit,
            residues,
            transform,
            digit_limbs,
            word_limbs,
        })
    }

    /// The primes.
    pub fn primes(&self) -> [u64; PRIMES] {
        std::array::from_fn(|i| self.residues.moduli()[i].value())
    }

    /// Bits per limb and number of limbs, for digits and for words.
    pub fn limbs(&self) -> [(u32, usize); 2] {
        [self.digit_limbs, self.word_limbs].map(|limbs| (limbs.bits, limbs.count))
    }

    /// Bound on the error of a sum before it is rounded: below 1/2.
    pub fn rounding_bound(&self) -> f64 {
        let bits = (self.digit_limbs.bits, self.word_limbs.bits);
        rounding_bound(&self.transform, (self.n, self.rows), bits)
    }

    /// Number of transforms of one product of a row with `columns`: the transforms of digits, and
    /// the inverse ones.
    pub fn transforms(&self, columns: usize) -> usize {
        self.digit_limbs.count + columns * PRIMES * self.digit_limbs.count * self.word_limbs.count
    }

    /// Sums over the rows of all products of limbs, rounded and added with their weights: one
    /// column modulo `p`. The limbs modulo `p` stand at `start` of each row and column of the
    /// matrix.
    fn integers(
        &self,
        (row, start): (usize, usize),
        matrix: &[Complex],
        scratch: &mut GarnerScratch,
    ) {
        let half = self.n / 2;
        let rows = scratch.digits.len() / (half * self.digit_limbs.count);
        scratch.integers.fill(0);
        for i in 0..self.digit_limbs.count {
            for j in 0..self.word_limbs.count {
                scratch.sum.fill([0.0; 2]);
                for r in 0..rows {
                    let digits = &scratch.digits[(r * self.digit_limbs.count + i) * half..][..half];
                    let words = &matrix[r * row + start + j * half..][..half];
                    mul_add(&mut scratch.sum, digits, words);
                }
                self.transform.inverse(&mut scratch.sum);
                let weight = self.digit_limbs.bits * i as u32 + self.word_limbs.bits * j as u32;
                for (k, &[low, high]) in scratch.sum.iter().enumerate() {
                    for (place, value) in [(k, low), (k + half, high)] {
                        let rounded = value.round();
                        scratch.worst = scratch.worst.max((value - rounded).abs());
                        scratch.integers[place] += (rounded as i64) << weight;
                    }
                }
            }
        }
    }
}

/// The three smallest primes of one size that hold `bound`. Digits are below half of each prime.
fn primes_that_hold(bound: u128, digit: u32) -> Option<Residues> {
    let smallest = (33 - digit.leading_zeros()).max(5);
    (smallest..=MAX_PRIME_BITS).find_map(|bits| {
        let odd = (1u64 << (bits - 1)..1 << bits)
            .rev()
            .filter(|&p| is_prime(p));
        let primes: Vec<u64> = odd.take(PRIMES).collect();
        let residues = Residues::new(&primes)?;
        (primes.len() == PRIMES && residues.hold(bound)).then_some(residues)
    })
}

/// `rows N 2^(A-1) 2^(B-1) k`. The Euclidean norm of a polynomial of limbs is at most `sqrt(N)`
/// times its largest limb.
fn rounding_bound(transform: &Transform, (n, rows): (usize, usize), (a, b): (u32, u32)) -> f64 {
    let terms = (n * rows) as f64;
    terms * f64::from(a + b - 2).exp2() * transform.error(rows)
}

/// The limbs with the fewest transforms among those with an error below 1/2.
fn shortest(
    transform: &Transform,
    size: (usize, usize),
    (digit, word): (u64, u64),
) -> Option<(Limbs, Limbs)> {
    let pairs = (1..=24).flat_map(|a| (1..=24).map(move |b| (a, b)));
    let good = pairs.filter(|&bits| rounding_bound(transform, size, bits) < 0.5);
    let limbs = good.map(|(a, b)| (Limbs::of(a, digit), Limbs::of(b, word)));
    limbs.min_by_key(|(a, b)| (a.count * b.count, a.count))
}

impl Multiplier<u32> for Garner {
    type Word = Complex;
    type Scratch = GarnerScratch;

    fn name(&self) -> &'static str {
        "garner"
    }

    fn n(&self) -> usize {
        self.n
    }

    fn prepared_len(&self) -> usize {
        PRIMES * self.word_limbs.count * self.n / 2
    }

    fn scratch(&self, rows: usize, _columns: usize) -> GarnerScratch {
        GarnerScratch {
            digits: vec![[0.0; 2]; rows * self.digit_limbs.count * self.n / 2],
            sum: vec![[0.0; 2]; self.n / 2],
            column: vec![0; PRIMES * self.n],
            integers: vec![0; self.n],
            worst: 0.0,
        }
    }

    fn prepare(&self, polys: &[u32]) -> Vec<Complex> {
        assert_eq!(polys.len() % self.n, 0, "whole polynomials");
        let mut out = vec![[0.0; 2]; polys.len() / self.n * self.prepared_len()];
        let mut spectra = out.chunks_exact_mut(self.n / 2);
        for poly in polys.chunks_exact(self.n) {
            for p in self.residues.moduli() {
                for limb in 0..self.word_limbs.count {
                    let out = spectra.next().expect("one for each prime and limb");
                    let centred = |i: usize| p.center(p.from_i64(poly[i].to_centred()));
                    self.transform
                        .forward(out, |i| self.word_limbs.get(centred(i), limb));
                }
            }
        }
        out
    }

    /// # Panics
    /// Also if there are more rows or larger digits than the limbs were chosen for.
    fn dot_add(
        &self,
        out: &mut [u32],
        digits: &[i32],
        matrix: &[Complex],
        scratch: &mut GarnerScratch,
    ) {
        let (n, half, len) = (self.n, self.n / 2, self.prepared_len());
        let (columns, rows) = (out.len() / n, digits.len() / n);
        assert_eq!(
            matrix.len(),
            rows * columns * len,
            "a polynomial for each row and column"
        );
        let largest = digits.iter().map(|d| d.unsigned_abs()).max().unwrap_or(0);
        assert!(
            rows <= self.rows && largest <= self.digit,
            "{rows} rows of digits up to {largest}, made for {} up to {}",
            self.rows,
            self.digit
        );
        let limbs = self.digit_limbs;
        scratch.digits.resize(rows * limbs.count * half, [0.0; 2]);
        for (index, spectrum) in scratch.digits.chunks_exact_mut(half).enumerate() {
            let (row, limb) = (index / limbs.count, index % limbs.count);
            let digits = &digits[row * n..][..n];
            self.transform
                .forward(spectrum, |i| limbs.get(digits[i].into(), limb));
        }
        for (c, out) in out.chunks_exact_mut(n).enumerate() {
            for (i, p) in self.residues.moduli().iter().enumerate() {
                let start = c * len + i * self.word_limbs.count * half;
                self.integers((columns * len, start), matrix, scratch);
                let column = scratch.column[i * n..].iter_mut();
                for (residue, &integer) in column.zip(&scratch.integers) {
                    *residue = p.from_i64(integer);
                }
            }
            for (i, word) in out.iter_mut().enumerate() {
                let sum = self.residues.centred(|k| scratch.column[k * n + i]);
                *word = word.wrapping_add(sum as u32);
            }
        }
    }

    fn error_bound(&self, _rows: usize, _digit: f64) -> f64 {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::conformance::{Draw, compare_with_naive, extremes};
    use super::*;

    #[test]
    fn products_are_those_of_the_definition() {
        for (n, rows, columns, digit) in [(512, 6, 3, 128), (1024, 6, 2, 512), (64, 2, 1, 1 << 20)]
        {
            let multiplier = Garner::new(n, rows, digit).expect("short limbs");
            compare_with_naive(&multiplier, (rows, columns), digit);
            extremes(&multiplier, rows, digit);
        }
    }

    #[test]
    fn errors_stay_below_the_bound_that_is_proven() {
        for (n, rows, digit) in [(512, 6, 128), (1024, 6, 512), (2048, 1, 1 << 12)] {
            let multiplier = Garner::new(n, rows, digit).expect("short limbs");
            let bound = multiplier.rounding_bound();
            assert!(bound < 0.5, "{bound}");
            let mut draw = Draw::new(n as u64);
            let mut scratch = multiplier.scratch(rows, 1);
            for worst in [false, true] {
                let digits: Vec<i32> = match worst {
                    true => vec![digit as i32; rows * n],
                    false => (0..rows * n).map(|_| draw.digit(digit)).collect(),
                };
                let words: Vec<u32> = match worst {
                    true => vec![1 << 31; rows * n],
                    false => (0..rows * n).map(|_| draw.next() as u32).collect(),
                };
                let matrix = multiplier.prepare(&words);
                multiplier.dot_add(&mut vec![0; n], &digits, &matrix, &mut scratch);
            }
            let found = f64::from(scratch.worst_rounding());
            assert!(found > 0.0 && found < bound, "{found} of {bound}, N = {n}");
        }
    }

    #[test]
    fn limbs_add_up() {
        for bits in 1..8 {
            for largest in [1i64, 2, 100, 512, (1 << 20) + 1] {
                let limbs = Limbs::of(bits, largest as u64);
                for x in [-largest, 1 - largest, -1, 0, 1, largest / 2, largest] {
                    let values =
                        (0..limbs.count).map(|i| (limbs.get(x, i) as i64) << (bits * i as u32));
                    assert_eq!(values.sum::<i64>(), x, "{limbs:?}");
                }
            }
        }
    }

    #[test]
    fn the_primes_hold_the_sums_and_smaller_ones_do_not() {
        let multiplier = Garner::new(1024, 6, 512).expect("short limbs");
        let product: u128 = multiplier.primes().iter().map(|&p| u128::from(p)).product();
        let bound = 6 * 1024 * 512 * (1u128 << 31);
        assert!(product > 2 * bound && product >> 3 < 2 * bound);
        assert!(Garner::new(1024, 1, u32::MAX).is_err());
        assert!(Garner::new(1000, 1, 1).is_err());
    }
}
