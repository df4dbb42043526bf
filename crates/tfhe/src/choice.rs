//! The set for a layout, and what the fast multiplier does to failures.

use crate::error::{Error, Result};
use crate::noise::{Model, Rounding};
use crate::params::{KeySwitch, Layout, Params};
use crate::sets;
use ring::torus::{Decomposition, Fft};

impl Params {
    /// The noise formulas at these parameters, with what the [`Fft`] rounds.
    ///
    /// A coefficient of every component is off by as much; those of masks meet the binary secret, half of whose bits
    /// are 1.
    ///
    /// # Errors
    /// [`Error::Ring`] for a ring degree that it is not made for.
    pub fn noise_with_fft(&self) -> Result<Model> {
        let fft = Fft::new(self.n())?;
        let square = |digits: Decomposition| {
            let base = f64::from(digits.base_log()).exp2();
            (base * base + 2.0) / 12.0
        };
        let phase = |rows: usize, digits: Decomposition, secret: usize| {
            (1.0 + secret as f64 / 2.0) * fft.error_variance(rows, square(digits))
        };
        let bootstrap = self.spec().bootstrap;
        let rows = (self.rank() + 1) * bootstrap.levels() as usize;
        let rounding = Rounding {
            bootstrap: phase(rows, bootstrap, self.big_dimension()),
            key_switch: match self.spec().key_switch {
                KeySwitch::Lwe(_) => 0.0,
                KeySwitch::Ring(digits) => {
                    let rows = self.rank() * digits.levels() as usize;
                    phase(rows, digits, self.lwe_dimension())
                }
            },
        };
        Ok(Model {
            rounding,
            ..self.noise()
        })
    }

    /// As [`log2_failure`](Self::log2_failure), with what the [`Fft`] rounds.
    ///
    /// # Errors
    /// As [`noise_with_fft`](Self::noise_with_fft).
    pub fn log2_failure_with_fft(&self) -> Result<f64> {
        let model = self.noise_with_fft()?;
        Ok(match self.layout() {
            Layout::Gates => model.log2_failure(8.0, 0.125, 0),
            Layout::Integers { .. } => {
                let norm = self.max_noise() as f64;
                model.log2_failure(norm * norm, 0.25 / self.values() as f64, 0)
            }
        })
    }

    /// Operations of one bootstrapping with the [`Fft`], by count: for comparing sets. Not a time.
    fn work(&self) -> f64 {
        let (n, components) = (self.n() as f64, self.rank() as f64 + 1.0);
        let product = |rows: f64, columns: f64| n * ((rows + columns) * n.log2() + rows * columns);
        let levels = f64::from(self.spec().bootstrap.levels());
        let rotation = self.lwe_dimension() as f64 * product(components * levels, components);
        let switch = match self.spec().key_switch {
            KeySwitch::Lwe(digits) => {
                let digits = self.big_dimension() as f64 * f64::from(digits.levels());
                digits * self.lwe_dimension() as f64
            }
            KeySwitch::Ring(digits) => {
                let rows = self.rank() as f64 * f64::from(digits.levels());
                product(rows, self.partial_rank() as f64 + 1.0)
            }
        };
        rotation + switch
    }
}

/// The named set of 128 bits with the least work among those of a layout whose bootstrappings fail with a probability
/// of at most `2^log2_failure`, as predicted for the [`Fft`].
///
/// # Errors
/// [`Error::Parameter`] if there is none.
pub fn fastest(layout: Layout, log2_failure: f64) -> Result<(&'static str, Params)> {
    let of_layout = sets::all()
        .into_iter()
        .filter(|(_, params)| params.layout() == layout && Params::new(params.spec()).is_ok());
    let mut failures = Vec::new();
    let mut found: Option<(&'static str, Params)> = None;
    for (name, params) in of_layout {
        let failure = params.log2_failure_with_fft()?;
        failures.push(format!("{failure:.1}"));
        let fits = failure <= log2_failure;
        if fits
            && found
                .as_ref()
                .is_none_or(|(_, best)| params.work() < best.work())
        {
            found = Some((name, params));
        }
    }
    found.ok_or_else(|| Error::Parameter {
        what: "log2 of the failure probability of a set",
        found: format!("{log2_failure} for {layout:?}"),
        expected: if failures.is_empty() {
            "a layout that a named set has".to_owned()
        } else {
            format!("at least one of {}", failures.join(", "))
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_secure_set_is_as_good_as_the_one_chosen_in_its_place() {
        for (name, params) in sets::all() {
            if Params::new(params.spec()).is_err() {
                continue;
            }
            let asked = params
                .log2_failure_with_fft()
                .expect("a degree of the transform");
            let (chosen, better) = fastest(params.layout(), asked).expect("itself at least");
            println!("{name}: 2^{asked:.1}, in its place {chosen}");
            assert!(better.work() <= params.work(), "{name}: {chosen}");
            assert!(
                better.log2_failure_with_fft().expect("a degree") <= asked,
                "{name}: {chosen}"
            );
        }
    }

    #[test]
    fn what_no_set_has_is_refused() {
        let error = fastest(Layout::Gates, -5000.0).expect_err("none so good");
        assert!(matches!(error, Error::Parameter { .. }), "{error}");
        let strange = Layout::Integers {
            message_bits: 1,
            carry_bits: 7,
        };
        let error = fastest(strange, 0.0).expect_err("none of these bits");
        assert!(
            error.to_string().contains("a layout that a named set has"),
            "{error}"
        );
    }

    #[test]
    fn rounding_of_the_fft_makes_failures_no_rarer() {
        for (name, params) in sets::all() {
            let (exact, fft) = (params.log2_failure(), params.log2_failure_with_fft());
            let fft = fft.expect("a degree of the transform");
            println!("{name}: 2^{exact:.2}, with the fft 2^{fft:.2}");
            assert!(fft >= exact, "{name}");
        }
    }
}
