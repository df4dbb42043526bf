//! The circuit that finds a row of a table by an encrypted key.
//!
//! Rows lie in slots. A key is one or more words modulo `t`. Modulo a prime, `x^(t-1)` is 0 for
//! `x = 0` and 1 for every other `x` (Fermat). So `(q - k)^(t-1) - 1` tells in each slot if the
//! word `k` of a row equals the query's word `q`: it is -1 if it does, 0 if not. The product over
//! the words selects a row. Times a column and summed over all slots, it is that row's value in
//! every slot, and does not tell where the row is. A key that no row has gives 0.
//!
//! Depth: `log2 t` squarings for `t = 2^16 + 1`, or up to twice as many products for another `t`.
//! Then one product for each further word, one with a column, and a sum of the slots.
//!
//! Source: F1 (MICRO 2021) takes this program, after HElib's example of the same name, as its BGV
//! benchmark.

use crate::error::{Error, Result};
use program::circuit::{Arithmetic, Circuit, CircuitBuilder, Type, ValueId, sum_strided};

/// The server's database: a table of integers in the clear.
#[derive(Clone, Debug, Default)]
pub struct Database {
    /// The words of the keys, by word: residues modulo `t`.
    pub keys: Vec<Vec<u64>>,
    /// The values, by column: residues modulo `t`.
    pub columns: Vec<Vec<u64>>,
    /// After how many products in a row a second limb is divided away; never, if 0.
    pub cooling: usize,
}

impl Database {
    /// Makes the circuit from inputs [`word_name`], each a word of the query in all slots, to
    /// outputs [`column_name`].
    ///
    /// # Errors
    /// [`Error::Shape`] for approximate arithmetic, no words, rows of different numbers, and two rows with one key; those of
    /// [`CircuitBuilder`] for more rows than slots, values that are not below `t` and too few levels.
    pub fn circuit(&self, arithmetic: Arithmetic, slots: usize) -> Result<Circuit> {
        let Arithmetic::Exact { t, .. } = arithmetic else {
            return Err(shape("the arithmetic", "approximate".into(), "exact"));
        };
        self.check()?;
        let level = arithmetic.levels() - 1;
        let mut b = CircuitBuilder::new("lookup", arithmetic, slots)?;
        let mut found = None;
        for (j, keys) in self.keys.iter().enumerate() {
            let (encrypted, scale) = (true, 1.0);
            let ty = Type {
                encrypted,
                level,
                scale,
            };
            let word = b.input(&word_name(j), ty)?;
            let keys = filled(keys, slots);
            let keys = b.constant(&word_name(j), &keys, (level, 1.0))?;
            let difference = b.sub(word, keys)?;
            let unequal = self.power(&mut b, difference, t - 1)?;
            let one = b.constant("one", &[1.0], (b.ty(unequal).level, 1.0))?;
            let equal = b.sub(unequal, one)?;
            found = Some(match found {
                None => equal,
                Some(others) => product(&mut b, others, equal)?,
            });
        }
        let found = found.expect("a key has a word");
        // Each word has a factor of -1.
        let sign = if self.keys.len().is_multiple_of(2) {
            1.0
        } else {
            -1.0
        };
        for (c, column) in self.columns.iter().enumerate() {
            let values: Vec<f64> = filled(column, slots).iter().map(|v| sign * v).collect();
            let values = b.constant(&column_name(c), &values, (b.ty(found).level, 1.0))?;
            let selected = b.mul(found, values)?;
            let selected = b.rescale(selected)?;
            let sum = (1, b.row());
            let row = sum_strided(&mut b, selected, sum)?;
            let other = b.swap_rows(row)?;
            let sum = b.add(row, other)?;
            b.output(&column_name(c), sum)?;
        }
        Ok(b.finish()?)
    }

    /// `x^exponent`, the exponent not 0, by squarings and products from its highest bit down; each takes a level or two.
    fn power(&self, b: &mut CircuitBuilder, x: ValueId, exponent: u64) -> Result<ValueId> {
        let (mut result, mut products) = (x, 0);
        let mut times = |b: &mut CircuitBuilder, x, y| {
            products += 1;
            let made = product(b, x, y)?;
            match self.cooling > 0 && products % self.cooling == 0 {
                true => Result::Ok(b.rescale(made)?),
                false => Ok(made),
            }
        };
        for bit in (0..exponent.ilog2()).rev() {
            result = times(b, result, result)?;
            if (exponent >> bit) & 1 == 1 {
                result = times(b, result, x)?;
            }
        }
        Ok(result)
    }

    fn check(&self) -> Result<()> {
        let Some(first) = self.keys.first() else {
            let what = "the number of words of a key";
            return Err(shape(what, "0".into(), "at least 1"));
        };
        let rows = first.len();
        let uneven = self.keys.iter().chain(&self.columns);
        if let Some(column) = uneven.map(Vec::len).find(|&len| len != rows) {
            let (what, expected) = ("the number of rows of a column", rows.to_string());
            return Err(shape(what, column.to_string(), &expected));
        }
        let key = |row| self.keys.iter().map(|word| word[row]).collect();
        let mut sorted: Vec<Vec<u64>> = (0..rows).map(key).collect();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(same) => {
                let found = format!("{:?}, twice", same[0]);
                Err(shape("a key", found, "one row for each"))
            }
            None => Ok(()),
        }
    }
}

/// Name of word `j` of a key.
pub fn word_name(j: usize) -> String {
    format!("key.{j}")
}

/// Name of column `c`.
pub fn column_name(c: usize) -> String {
    format!("column.{c}")
}

/// The values, padded with zeros to at least a power of two.
fn filled(values: &[u64], slots: usize) -> Vec<f64> {
    let mut values: Vec<f64> = values.iter().map(|&v| v as f64).collect();
    values.resize(values.len().max(slots), 0.0);
    values
}

/// The product of two values, a level below the lower one.
fn product(b: &mut CircuitBuilder, x: ValueId, y: ValueId) -> Result<ValueId> {
    let level = b.ty(x).level.min(b.ty(y).level);
    let (x, y) = (b.drop_to(x, level)?, b.drop_to(y, level)?);
    let product = b.mul(x, y)?;
    Ok(b.rescale(product)?)
}

fn shape(what: &'static str, found: String, expected: &str) -> Error {
    Error::Shape {
        what,
        found,
        expected: expected.into(),
    }
}
