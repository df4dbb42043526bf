//! Tables: any function of a value, in every slot, exactly.

use super::Params;
use crate::ciphertext::Packing;
use crate::error::{Error, Result};
use crate::exact::residues;
use crate::scheme::Bfv;
use circuits::lut::{Lut, interpolate, shapes};
use circuits::operations::Run;
use circuits::{DryValue, EncryptedValue, Engine};
use exchange::Layout;

/// A table with an entry for each of the values `0, 1, ..`. A table is made once and used often.
///
/// The table is a polynomial modulo `t`. A table of `k` entries takes about `log2(k) + 1` levels: a
/// table of all 65,537 values takes 17, which the set `bfv-tables` has.
///
/// ```
/// use palladion_schemes::{Needs, bfv};
///
/// let mut rng = palladion_schemes::rng();
/// let params = bfv::Params::named("bfv-tables")?;
/// let secret = params.generate_secret(&mut rng);
/// let keys = secret.keys(&Needs::default(), &mut rng)?;
/// let x = secret.encrypt(&[0, 3, 15], &mut rng)?.with_keys(&keys);
///
/// let roots = bfv::Table::new(&params, &[0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3])?;
/// assert_eq!(secret.decrypt(&x.lookup(&roots)?)?[..3], [0, 1, 3]);
/// # Ok::<(), palladion_schemes::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    params: Params,
    /// The polynomial of the table, lowest coefficient first, at `x` less `centre`.
    coefficients: Vec<u64>,
    centre: i64,
}

impl Table {
    /// A table with these entries, from `-(t // 2)` to `t - 1`: the first is the result for the
    /// value 0. Results for values that have no entry mean nothing.
    ///
    /// # Errors
    /// For no entry or more than `t`, for entries outside the plaintext space, and for a `t` above
    /// 65,537.
    pub fn new(params: &Params, entries: &[i64]) -> Result<Self> {
        let (t, modulus) = (params.t(), params.exact().params().t());
        let count = entries.len();
        if count == 0 || count as u64 > t {
            let expected = format!("1 to {t}");
            return Err(Error::argument(
                "the number of entries of a table",
                count,
                expected,
            ));
        }
        let entries = residues(t, entries)?;
        // Polynomials are of odd numbers of values, on both sides of 0.
        let centre = (count / 2) as i64;
        let entry = |x: i64| {
            entries
                .get((x + centre) as usize)
                .map_or(0, |&entry| entry as i64)
        };
        Ok(Self {
            params: params.clone(),
            coefficients: interpolate(modulus, centre, entry)?,
            centre,
        })
    }

    /// The table of a function of all values from 0 to `t - 1`.
    ///
    /// # Errors
    /// As [`Table::new`].
    pub fn of(params: &Params, f: impl Fn(i64) -> i64) -> Result<Self> {
        let entries: Vec<i64> = (0..params.t() as i64).map(f).collect();
        Self::new(params, &entries)
    }

    /// The table with the shape of least predicted time for a value.
    fn shaped(&self, engine: &Engine<Run<'_>>, x: &DryValue, layout: Layout) -> Result<Lut> {
        let mut best: Option<(f64, Lut)> = None;
        let mut failure = None;
        for shape in shapes(self.coefficients.len(), layout) {
            let lut = Lut::new(self.coefficients.clone(), shape)?;
            let dry = Engine::dry(engine.params());
            match lut.apply(&dry, layout, x) {
                Ok(_) => {
                    let seconds = dry.counts().seconds(layout.slots());
                    if best.as_ref().is_none_or(|(least, _)| seconds < *least) {
                        best = Some((seconds, lut));
                    }
                }
                Err(error) => failure = Some(error),
            }
        }
        match (best, failure) {
            (Some((_, lut)), _) => Ok(lut),
            (None, Some(error)) => Err(error.into()),
            (None, None) => {
                let expected = "a size for which there is a shape";
                let count = self.coefficients.len();
                Err(Error::argument(
                    "the number of entries of a table",
                    count,
                    expected,
                ))
            }
        }
    }
}

impl crate::Ciphertext<Bfv> {
    /// The entry of a table for each slot: exact, and fresh in the sense that its noise is that of
    /// a rounding. It needs the key of products.
    ///
    /// A ciphertext that is not fresh from a secret key takes one level more: it is divided by a
    /// modulus first. One with more noise than that takes away has to be [switched
    /// down](crate::Ciphertext::switch_down) before, or decryption finds the message lost.
    ///
    /// # Errors
    /// Of the kind [`Level`](crate::ErrorKind::Level) if too few levels are left, and for a
    /// ciphertext that holds coefficients.
    pub fn lookup(&self, table: &Table) -> Result<Self> {
        self.params().check("table", &table.params)?;
        if self.packing() != Packing::Slots {
            let found = "a ciphertext that holds coefficients";
            return Err(Error::argument("the operand of a table", found, "slots"));
        }
        let key = self.needed(None)?.relinearization()?;
        let params = self.params().exact().params();
        let engine = Engine::of(params, Run::with_relinearization(params, key));
        let shifted = self.sub(table.centre)?;
        let model = engine.model();
        let ct = shifted.raw().clone();
        let value = if self.seed().is_some() {
            EncryptedValue::encrypted(ct, model.fresh())
        } else {
            // Any noise that the division by one modulus brings down to a rounding.
            let bits = params.rlwe().log_q(self.level())
                - params.rlwe().log_q(self.level().saturating_sub(1));
            let noise = model
                .rounding()
                .scaled((2.0 * bits).exp2(), (2.0 * bits).exp2());
            engine.settle("a table", EncryptedValue::encrypted(ct, noise))?
        };
        let layout = Layout::new(params.n(), params.n()).map_err(circuits::Error::from)?;
        let lut = table.shaped(&engine, &value.to_dry(), layout)?;
        let entries = lut.apply(&engine, layout, &value)?;
        Ok(self.result(entries.into_ciphertext()))
    }
}
