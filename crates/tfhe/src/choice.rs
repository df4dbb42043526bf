//! The choice of a named set for an encoding and a failure probability.

use crate::error::{Error, Result};
use crate::params::{Encoding, KeySwitch, Params};
use crate::sets;

impl Params {
    /// Number of operations of one bootstrapping with products by transforms, for comparing sets.
    /// It is not a time.
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

/// The named set with the least work for an encoding and a failure probability. It has 128 bits of
/// security, and its bootstrappings fail with a probability of at most `2^log2_failure`, as
/// [predicted](Params::log2_failure).
///
/// # Errors
/// [`Error::Parameter`] if there is no such set.
pub fn fastest(encoding: Encoding, log2_failure: f64) -> Result<(&'static str, Params)> {
    let of_layout = sets::all()
        .into_iter()
        .filter(|(_, params)| params.encoding() == encoding && Params::new(params.spec()).is_ok());
    let mut failures = Vec::new();
    let mut found: Option<(&'static str, Params)> = None;
    for (name, params) in of_layout {
        let failure = params.log2_failure();
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
        found: format!("{log2_failure} for {encoding:?}"),
        expected: if failures.is_empty() {
            "an encoding that a named set has".to_owned()
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
            let asked = params.log2_failure();
            let (chosen, better) = fastest(params.encoding(), asked).expect("itself at least");
            println!("{name}: 2^{asked:.1}, in its place {chosen}");
            assert!(better.work() <= params.work(), "{name}: {chosen}");
            assert!(better.log2_failure() <= asked, "{name}: {chosen}");
        }
    }

    #[test]
    fn what_no_set_has_is_refused() {
        let error = fastest(Encoding::Gates, -5000.0).expect_err("none so good");
        assert!(matches!(error, Error::Parameter { .. }), "{error}");
        let strange = Encoding::Integers {
            message_bits: 1,
            carry_bits: 7,
        };
        let error = fastest(strange, 0.0).expect_err("none of these bits");
        assert!(
            error
                .to_string()
                .contains("an encoding that a named set has"),
            "{error}"
        );
    }
}
