//! The paper's algorithm 2 as printed, and the size of its errors.
//!
//! The algorithm takes three primes of 21 bits, residues of 21 bits in single precision, one
//! transform of each, one product, one inverse transform, rounding, and Garner's algorithm. There
//! are two reasons why it fails. The first needs no error analysis:
//!
//! - *No room.* A coefficient of the product of polynomials with residues of up to `p/2` is a sum
//!   of `N` products. Its size is typically `sqrt(N) p^2 / 12`: about `2^43.4` for 21 bits and
//!   `N = 1024`. Numbers of that size in single precision are multiples of `2^20`, and the residue
//!   of each modulo `p < 2^21` is wanted. Even the best transform, with one rounding at its end,
//!   leaves two residues of two million to choose from.
//! - *Noise.* Each butterfly rounds. The errors of all places spread over all places, so the mean
//!   square error is a part of the whole product's mean square. Its root is about
//!   `2^-24 sqrt(3/2 log2(N/2) + 3/2)` of the size: here `2^21.4`, as large as `p`. The resulting
//!   residue carries no information.
//!
//! Garner's algorithm turns wrong residues into words unrelated to the product. Measured for random
//! words and digits of 31 bits at `N = 1024`: all residues are wrong, with an error of `2^21.5`.
//! With the 9-bit digits of a decomposition, whose products are 11 bits shorter, more than 99 % are
//! still wrong, with an error of `2^10.4`.

use super::super::single::{Transform, mul_add};
use super::PRIMES;
use crate::error::{Error, Result};
use crate::torus::residues::Residues;
use crate::torus::{Multiplier, Naive};
use kernels::is_prime;

/// The result of one product by the printed construction.
#[derive(Clone, Debug)]
pub struct Published {
    /// The primes: the largest below `2^21`. Their product is above `2^62`, as the paper asks for.
    pub primes: [u64; PRIMES],
    /// Share of residues that are wrong.
    pub wrong_residues: f64,
    /// Share of words that are wrong.
    pub wrong_words: f64,
    /// Root of the mean square error of coefficients before they are reduced.
    pub rms: f64,
    /// The estimate of [`Published::rms`] from the number of roundings.
    pub estimated_rms: f64,
    /// Distance of neighbouring numbers in single precision at the typical size of a coefficient.
    pub spacing: f64,
}

/// Multiplies digits with words by algorithm 2 as printed, and compares with the definition.
///
/// # Errors
/// [`Error::Words`] unless there are as many digits as words. [`Error::Degree`] unless their number
/// is a power of two from 16 to 2^12: the comparison takes a number of steps quadratic in it.
pub fn multiply(digits: &[i32], words: &[u32]) -> Result<Published> {
    let (n, min, max) = (words.len(), 16, 1 << 12);
    if digits.len() != n {
        return Err(Error::Words {
            found: digits.len(),
            expected: n,
        });
    }
    if !n.is_power_of_two() || !(min..=max).contains(&n) {
        return Err(Error::Degree { n, min, max });
    }
    let primes: Vec<u64> = (0..1 << 21)
        .rev()
        .filter(|&p| is_prime(p))
        .take(PRIMES)
        .collect();
    let residues = Residues::new(&primes).ok_or(Error::EmptyBasis)?;
    let transform = Transform::new(n);
    let mut found = vec![[0u64; PRIMES]; n];
    let (mut wrong, mut squares, mut size) = (0usize, 0.0, 0.0);
    for (index, p) in residues.moduli().iter().enumerate() {
        let centred = |x: i64| p.center(p.from_i64(x));
        let a: Vec<i64> = digits.iter().map(|&d| centred(d.into())).collect();
        let b: Vec<i64> = words.iter().map(|&w| centred((w as i32).into())).collect();
        let spectrum = |x: &[i64]| {
            let mut out = vec![[0.0; 2]; n / 2];
            transform.forward(&mut out, |i| x[i] as f32);
            out
        };
        let mut product = vec![[0.0; 2]; n / 2];
        mul_add(&mut product, &spectrum(&a), &spectrum(&b));
        transform.inverse(&mut product);
        for (j, found) in found.iter_mut().enumerate() {
            let exact = coefficient(&a, &b, j);
            let value = f64::from(product[j % (n / 2)][j / (n / 2)]).round();
            squares += (value - exact as f64).powi(2);
            size += (exact as f64).powi(2);
            found[index] = p.from_i64(value as i64);
            wrong += usize::from(found[index] != p.from_i64(exact));
        }
    }
    let naive = Naive::new(n);
    let mut want = vec![0u32; n];
    naive.dot_add(&mut want, digits, &naive.prepare(words), &mut ());
    let wrong_words = found.iter().zip(&want);
    let wrong_words =
        wrong_words.filter(|(found, want)| residues.centred(|i| found[i]) as u32 != **want);
    let count = (n * PRIMES) as f64;
    let size = (size / count).sqrt();
    Ok(Published {
        primes: std::array::from_fn(|i| primes[i]),
        wrong_residues: wrong as f64 / count,
        wrong_words: wrong_words.count() as f64 / n as f64,
        rms: (squares / count).sqrt(),
        estimated_rms: size * transform.relative_rms(),
        spacing: (size.log2().floor() - 23.0).exp2(),
    })
}

/// Coefficient `j` of a product in `Z[X]/(X^N + 1)`: below `2^12 2^40` in size.
fn coefficient(a: &[i64], b: &[i64], j: usize) -> i64 {
    let (low, high) = a.split_at(j + 1);
    let straight: i64 = low
        .iter()
        .zip(b[..=j].iter().rev())
        .map(|(x, y)| x * y)
        .sum();
    let turned: i64 = high
        .iter()
        .zip(b[j + 1..].iter().rev())
        .map(|(x, y)| x * y)
        .sum();
    straight - turned
}

#[cfg(test)]
mod tests {
    use super::super::super::conformance::Draw;
    use super::*;

    fn random(n: usize, digit: u32) -> Published {
        let mut draw = Draw::new(n as u64);
        let digits: Vec<i32> = (0..n).map(|_| draw.digit(digit)).collect();
        let words: Vec<u32> = (0..n).map(|_| draw.next() as u32).collect();
        multiply(&digits, &words).expect("a power of two")
    }

    #[test]
    fn full_words_come_out_without_any_meaning() {
        for n in [512, 1024, 2048] {
            let report = random(n, 1 << 30);
            assert!(report.wrong_residues > 0.999, "{report:?}");
            assert!(report.wrong_words > 0.999, "{report:?}");
            // The estimate counts roundings and treats them as independent.
            let ratio = report.rms / report.estimated_rms;
            assert!((0.8..1.25).contains(&ratio), "{ratio}: {report:?}");
        }
    }

    #[test]
    fn even_the_digits_of_a_decomposition_are_too_much() {
        let report = random(1024, 512);
        assert!(report.wrong_words > 0.99, "{report:?}");
    }

    #[test]
    fn small_numbers_come_out_right() {
        let digits: Vec<i32> = (0..64).map(|i| i % 3 - 1).collect();
        let words: Vec<u32> = (0..64).map(|i| i % 5).collect();
        let report = multiply(&digits, &words).expect("a power of two");
        assert_eq!((report.wrong_residues, report.wrong_words), (0.0, 0.0));
    }

    #[test]
    fn lengths_are_checked() {
        assert!(multiply(&[0; 16], &[0; 32]).is_err());
        assert!(multiply(&[0; 24], &[0; 24]).is_err());
    }
}
