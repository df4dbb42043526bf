//! Database lookup: the row of a table whose key equals an encrypted one.
//!
//! Rows lie in slots. A key is one or more words modulo `t`; modulo a prime, `x^(t-1)` is 0 for `x = 0` and 1
//! for every other `x` (Fermat), so that `1 - (k - q)^(t-1)` says slot by slot whether the word `k` of a
//! row is the query's `q`. The product over the words selects a row; times a column and summed over all slots, it
//! is that row's value in every slot, and says nothing on where the row lies. A key that no row has gives 0.
//!
//! Depth: `log2 t` squarings for `t = 2^16 + 1`, up to twice as many products for another `t`, then a product per
//! further word, one with a plaintext, and a sum of the slots.
//!
//! Source: F1 (MICRO 2021) takes this program, after HElib's example of the same name, as its BGV benchmark.

use crate::engine::{Engine, Value};
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::pack::sum_copies;
use bfv::{Encoder, Plaintext};

const NAME: &str = "lookup";

/// A table in the clear: what a server has.
#[derive(Clone, Debug)]
pub struct Table {
    /// Minus each word of the keys.
    minus_keys: Vec<Plaintext>,
    /// The value of each row, by column.
    columns: Vec<Vec<u64>>,
}

impl Table {
    /// A table of at most `N` rows, with different keys: `keys[j][row]` is word `j`, `columns[c][row]` a value, all modulo `t`.
    ///
    /// # Errors
    /// [`Error::Shape`] for no words, rows of different numbers, or two rows with one key; from the scheme for too many
    /// rows and values that are not below `t`.
    pub fn new(encoder: &Encoder, keys: &[Vec<u64>], columns: &[Vec<u64>]) -> Result<Self> {
        let shape = |what, found: String, expected: String| Error::Shape {
            what,
            found,
            expected,
        };
        let Some(first) = keys.first() else {
            let expected = "at least 1".into();
            return Err(shape("the number of words of a key", "0".into(), expected));
        };
        let rows = first.len();
        for column in keys.iter().chain(columns) {
            if column.len() != rows {
                let (found, expected) = (column.len().to_string(), rows.to_string());
                return Err(shape("the number of rows of a column", found, expected));
            }
            encoder.check(column)?;
        }
        let mut sorted: Vec<Vec<u64>> = (0..rows)
            .map(|row| keys.iter().map(|word| word[row]).collect())
            .collect();
        sorted.sort_unstable();
        if let Some(same) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let found = format!("{:?}, twice", same[0]);
            return Err(shape("a key", found, "one row for each".into()));
        }
        let t = encoder.modulus();
        let minus = |word: &Vec<u64>| {
            let slots: Vec<u64> = word.iter().map(|&k| t.neg(k)).collect();
            encoder.slots_to_plaintext(&slots)
        };
        Ok(Self {
            minus_keys: keys.iter().map(minus).collect(),
            columns: columns.to_vec(),
        })
    }

    /// What a client encrypts to ask for `key`: each word in all slots.
    ///
    /// # Errors
    /// From the scheme if a word is not below `t`.
    pub fn query(encoder: &Encoder, key: &[u64]) -> Result<Vec<Plaintext>> {
        let words = key.iter();
        words
            .map(|&word| Ok(encoder.encode_slots(&vec![word; encoder.slots()])?))
            .collect()
    }

    /// `(-1)^w` in the slot of the row whose key the `w` words of `query` are, 0 in all others.
    ///
    /// # Errors
    /// [`Error::Shape`] if the query has another number of words, and as [`Engine::mul`].
    pub fn find(&self, engine: &Engine<'_>, query: &[Value]) -> Result<Value> {
        if query.len() != self.minus_keys.len() {
            return Err(Error::Shape {
                what: "the number of words of a query",
                found: query.len().to_string(),
                expected: self.minus_keys.len().to_string(),
            });
        }
        let mut found: Option<Value> = None;
        for (word, minus_key) in query.iter().zip(&self.minus_keys) {
            let mut difference = word.clone();
            engine.add_plain_assign(&mut difference, || minus_key.clone());
            engine.count_sum(word.level());
            let mut unequal = power(engine, &difference, engine.params().t().value() - 1)?;
            engine.count_sum(unequal.level());
            let minus_one = || engine.params().encoder().coefficients(&[-1]);
            engine.add_plain_assign(&mut unequal, minus_one);
            found = Some(match found {
                None => unequal,
                Some(others) => engine.mul(NAME, &others, &unequal)?,
            });
        }
        Ok(found.expect("a key has a word"))
    }

    /// Column `column` in the slot of the row that [`Table::find`] found, 0 in all others.
    ///
    /// # Errors
    /// As [`Engine::settle`].
    ///
    /// # Panics
    /// If there is no such column.
    pub fn select(&self, engine: &Engine<'_>, found: &Value, column: usize) -> Result<Value> {
        let (encoder, t) = (engine.params().encoder(), engine.params().t());
        let squares = engine.model().uniform_plaintext(engine.params().n() as f64);
        let even = self.minus_keys.len().is_multiple_of(2);
        let values = &self.columns[column];
        let selected = engine.mul_plain_sum(&[found], squares, 1, |_, unit| {
            let unit = if even { unit } else { t.neg(unit) };
            let slots: Vec<u64> = values.iter().map(|&v| t.mul(unit, v)).collect();
            encoder.slots_to_plaintext(&slots)
        })?;
        engine.settle(NAME, selected)
    }

    /// The values of the row with the key of `query`, one for each column, in every slot; 0 if there is none.
    ///
    /// # Errors
    /// As [`Table::find`] and [`Table::select`], and [`Error::OutOfLevels`] where the sum of the slots would not decrypt.
    pub fn look_up(&self, engine: &Engine<'_>, query: &[Value]) -> Result<Vec<Value>> {
        let (n, found) = (engine.params().n(), self.find(engine, query)?);
        let whole = Layout::new(n, 1)?;
        (0..self.columns.len())
            .map(|column| {
                let selected = self.select(engine, &found, column)?;
                let sum = sum_copies(engine, whole, n, selected)?;
                // All noise may lie in one coefficient: see `sum_copies`.
                let peak = f64::from(n.ilog2()) / 2.0;
                if engine.margin_bits(&sum) < peak {
                    let (circuit, need) = (NAME, 1);
                    return Err(Error::OutOfLevels { circuit, need });
                }
                Ok(sum)
            })
            .collect()
    }
}

/// `x^exponent`, the exponent not 0, by squarings and products from its highest bit down.
fn power(engine: &Engine<'_>, x: &Value, exponent: u64) -> Result<Value> {
    let mut result = x.clone();
    for bit in (0..exponent.ilog2()).rev() {
        result = engine.mul(NAME, &result, &result)?;
        if (exponent >> bit) & 1 == 1 {
            result = engine.mul(NAME, &result, x)?;
        }
    }
    Ok(result)
}
