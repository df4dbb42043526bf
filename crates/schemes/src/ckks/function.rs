//! Polynomials of encrypted numbers, and functions by Chebyshev series.

use crate::error::{Error, Result};
use crate::scheme::Ckks;
use ::ckks::Size;
use circuits::approximate::{Arithmetic, Chebyshev, evaluate};
use circuits::operations::RunRing;

/// A polynomial `sum_k c_k T_k(u)` of `u = (2x - a - b) / (b - a)`, on the interval from `a` to
/// `b`.
///
/// `T_k` are Chebyshev's polynomials, with which high degrees lose no precision.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    polynomial: Chebyshev,
    from: f64,
    to: f64,
}

/// Approximates `f` between `a` and `b` by a polynomial of a degree: at the roots of the next
/// Chebyshev polynomial it is exact. For smooth functions the error falls exponentially with the
/// degree. [`Series::at`] tells it.
///
/// ```
/// use palladion_schemes::{Needs, ckks};
///
/// let mut rng = palladion_schemes::rng();
/// let params = ckks::Params::for_depth(14, 6, 40)?;
/// let secret = params.generate_secret(&mut rng);
/// let keys = secret.keys(&Needs::default(), &mut rng)?;
/// let x = secret.encrypt(&[-3.0, 0.0, 2.0], &mut rng)?.with_keys(&keys);
///
/// let logistic = ckks::approximate(|x| 1.0 / (1.0 + (-x).exp()), -8.0, 8.0, 27)?;
/// let y = x.evaluate(&logistic)?;
/// assert!((secret.decrypt_real(&y)?[2] - 0.8808).abs() < 1e-3);
/// assert_eq!(y.level(), x.level() - logistic.depth());
/// # Ok::<(), palladion_schemes::Error>(())
/// ```
///
/// # Errors
/// Unless `a < b` and both are finite, and for a function that is not finite somewhere.
pub fn approximate(f: impl Fn(f64) -> f64, a: f64, b: f64, degree: usize) -> Result<Series> {
    let (middle, half) = ((a + b) / 2.0, (b - a) / 2.0);
    let series = Chebyshev::interpolate(|u| f(middle + half * u), degree);
    Series::new(series.coefficients().to_vec(), a, b)
}

impl Series {
    /// The series with these coefficients, that of `T_0` first, on the interval from `a` to `b`.
    ///
    /// # Errors
    /// Unless `a < b` and all numbers are finite.
    pub fn new(coefficients: Vec<f64>, a: f64, b: f64) -> Result<Self> {
        if !(a < b && a.is_finite() && b.is_finite()) {
            let found = format!("from {a} to {b}");
            return Err(Error::argument(
                "the interval of a series",
                found,
                "a < b, both finite",
            ));
        }
        if let Some(index) = coefficients.iter().position(|c| !c.is_finite()) {
            let found = coefficients[index].to_string();
            return Err(::ckks::Error::NotFinite { index, found }.into());
        }
        Ok(Self {
            polynomial: Chebyshev::new(coefficients),
            from: a,
            to: b,
        })
    }

    /// The polynomial with these coefficients of powers of `x`, that of 1 first. It is the same
    /// polynomial for every `x`, also outside of `[-1, 1]`.
    ///
    /// # Errors
    /// For coefficients that are not finite.
    pub fn of_powers(coefficients: &[f64]) -> Result<Self> {
        // Horner's rule: `x T_0 = T_1`, and `x T_k = (T_(k-1) + T_(k+1)) / 2`. No term cancels.
        let mut series: Vec<f64> = Vec::new();
        for &coefficient in coefficients.iter().rev() {
            let mut next = vec![0.0; series.len() + 1];
            for (k, &c) in series.iter().enumerate() {
                match k {
                    0 => next[1] += c,
                    _ => {
                        next[k - 1] += c / 2.0;
                        next[k + 1] += c / 2.0;
                    }
                }
            }
            next[0] += coefficient;
            series = next;
        }
        Self::new(series, -1.0, 1.0)
    }

    /// The coefficients, that of `T_0` first. Trailing zeros are left out.
    pub fn coefficients(&self) -> &[f64] {
        self.polynomial.coefficients()
    }

    /// The value at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.polynomial
            .at((2.0 * x - self.from - self.to) / (self.to - self.from))
    }

    /// The number of levels that [`Ciphertext::evaluate`](crate::Ciphertext::evaluate) takes.
    pub fn depth(&self) -> usize {
        match self.polynomial.degree() {
            0 => 0,
            _ => self.polynomial.depth() + usize::from(self.factor().fract() != 0.0),
        }
    }

    /// The factor of `x` in `u`.
    fn factor(&self) -> f64 {
        2.0 / (self.to - self.from)
    }

    /// Bounds on the size of the result, from bounds on the size of `u`.
    fn size(&self, u: Size) -> Size {
        let (one, two) = (Size::of_slots(&[1.0.into()]), 2.0);
        let (mut previous, mut current, mut sum) = (one, u, one.scaled(self.first()));
        // For an input that is known to be in the interval, every `T_k` is at most 1.
        let inside = u.largest() <= 1.0;
        for &c in self.coefficients().iter().skip(1) {
            let term = if inside { Size::at_most(1.0) } else { current };
            sum = sum.plus(term.scaled(c));
            (previous, current) = (current, u.times(current).scaled(two).minus(previous));
        }
        sum
    }

    fn first(&self) -> f64 {
        self.coefficients().first().copied().unwrap_or(0.0)
    }
}

impl crate::Ciphertext<Ckks> {
    /// The value of a series at every slot. Slots must be within the interval of the series.
    /// Outside of the interval the series is far from the function that it approximates. The
    /// evaluation takes [`Series::depth`] levels, and needs the key of products.
    ///
    /// # Errors
    /// If too few levels are left, [`Error::NoKeys`] and [`Error::MissingKey`].
    pub fn evaluate(&self, series: &Series) -> Result<Self> {
        if series.polynomial.degree() == 0 {
            return self.mul(0)?.add(series.first());
        }
        let (need, have) = (series.depth(), self.level());
        if need > have {
            return Err(::ckks::Error::LevelExhausted { need, have }.into());
        }
        let (factor, shift) = (series.factor(), series.from + series.to);
        let scaled = match factor {
            1.0 => self.clone(),
            factor if factor.fract() == 0.0 => self.mul(factor as i64)?,
            factor => self.mul(factor)?,
        };
        let u = match shift {
            0.0 => scaled,
            shift => scaled.sub(shift / (series.to - series.from))?,
        };
        let key = self.needed(None)?.relinearization()?;
        let params = self.params().evaluator().params();
        let none = rlwe::GaloisKeys::new();
        let operations = RunRing::new(params.rlwe(), Some(key), &none);
        let arithmetic = Arithmetic::of(params, &operations);
        let scale = params.scale_at(have - need);
        let value = evaluate(
            &arithmetic,
            &series.polynomial,
            &arithmetic.open(u.raw())?,
            scale,
        )?;
        let mut ct = arithmetic.close(value);
        ct.set_size(series.size(u.raw().size()));
        Ok(self.result(ct))
    }

    /// The polynomial `c_0 + c_1 x + c_2 x^2 + ..` at every slot, in `ceil(log2(d + 1))` levels for
    /// the degree `d`.
    ///
    /// ```
    /// # use palladion_schemes::{Needs, ckks};
    /// # let mut rng = palladion_schemes::rng();
    /// # let params = ckks::Params::for_depth(13, 2, 30)?;
    /// # let secret = params.generate_secret(&mut rng);
    /// # let keys = secret.keys(&Needs::default(), &mut rng)?;
    /// let x = secret.encrypt(&[0.5, 2.0], &mut rng)?.with_keys(&keys);
    /// let y = x.polynomial(&[1.0, 0.0, -3.0, 1.0])?; // 1 - 3 x^2 + x^3
    /// assert!((secret.decrypt_real(&y)?[1] + 3.0).abs() < 1e-3);
    /// # Ok::<(), palladion_schemes::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Ciphertext::evaluate`](crate::Ciphertext::evaluate), and for coefficients that are not
    /// finite.
    pub fn polynomial(&self, coefficients: &[f64]) -> Result<Self> {
        self.evaluate(&Series::of_powers(coefficients)?)
    }
}
