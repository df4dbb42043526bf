//! The circuit that reads a row of a table by an encrypted key.
//!
//! Rows lie in slots. A key is one or more words modulo `t`. Modulo a prime, `x^(t-1)` is 0 for
//! `x = 0` and 1 for every other `x` (Fermat). Hence `(q - k)^(t-1) - 1` compares the word `k` of
//! the row in each slot with the query's word `q`: it is -1 if they are equal, and 0 if not. The
//! product of this selection and the table is the selected row, and does not tell where the row is.
//! A key that no row has gives zeros.
//!
//! Several words are compared at once. The differences `x` and `y` of two words become
//! `x^2 + x y + c y^2`, where `1 - 4 c` is not a square modulo `t`. Four times this form is
//! `(2 x + y)^2 - (1 - 4 c) y^2`, which is 0 for `x = y = 0` alone: the norm of a number of the
//! field of `t^2` elements. One power is therefore enough for all words.
//!
//! The table of `rows` times `columns` is read by its diagonals: the selection times diagonal `k`,
//! rotated by `k`, has in slot `j` a value of column `j mod p`. The period `p` is the number of
//! columns, rounded up to a power of two. The sum over `k` is computed by halves. Its rotation keys
//! also serve the sum over the slots of a column. Both sums take `p - 1 + log2(slots / p)`
//! rotations in all. Separate sums would take `log2 slots` rotations for each column.
//!
//! Depth: a product for each doubling of the words, `log2 t` squarings for `t = 2^16 + 1`, or up to
//! twice as many products for another `t`. Then one product with a diagonal, and sums of slots.
//!
//! Source of the diagonals: Halevi and Shoup, "Algorithms in HElib", CRYPTO 2014, section 4.3.
//!
//! Source of the program: F1 (MICRO 2021) has it as its BGV benchmark, after HElib's example of the
//! same name.

use crate::error::{Error, Result};
use program::circuit::{Arithmetic, Circuit, CircuitBuilder, Type, ValueId, sum_strided};
use ring::Modulus;

/// The server's database: a table of integers in the clear.
#[derive(Clone, Debug, Default)]
pub struct Database {
    /// For each word of a key, its values in all rows: residues modulo `t`.
    pub keys: Vec<Vec<u64>>,
    /// For each column, its values in all rows: residues modulo `t`.
    pub columns: Vec<Vec<u64>>,
    /// The products of the power, counted from 1, after which a second limb is divided away.
    pub cooled: Vec<usize>,
}

impl Database {
    /// Builds the circuit. Input [`word_name`]`(j)` is word `j` of the query, in all slots. The
    /// output [`ROW`] has in slot `j` the value of column `j mod p`, where `p` is
    /// [`Database::period`]. Slots from the number of columns to `p` are 0.
    ///
    /// # Errors
    /// [`Error::Shape`] for approximate arithmetic, for no words, for columns of different lengths,
    /// for two rows with one key, for no columns, and for more columns than half of the slots. The
    /// errors of [`CircuitBuilder`] for more rows than slots, for values that are not below `t`,
    /// and for too few levels.
    pub fn circuit(&self, arithmetic: Arithmetic, slots: usize) -> Result<Circuit> {
        let Arithmetic::Exact { t, .. } = arithmetic else {
            return Err(shape("the arithmetic", "approximate".into(), "exact"));
        };
        self.check()?;
        let level = arithmetic.levels() - 1;
        let mut b = CircuitBuilder::new("lookup", arithmetic, slots)?;
        let mut differences = Vec::with_capacity(self.keys.len());
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
            differences.push(b.sub(word, keys)?);
        }
        while differences.len() > 1 {
            let pairs = differences.chunks(2);
            let joined = pairs.map(|pair| match *pair {
                [x, y] => norm(&mut b, x, y, t),
                _ => Ok(pair[0]),
            });
            differences = joined.collect::<Result<_>>()?;
        }
        let unequal = self.power(&mut b, differences[0], t - 1)?;
        let one = b.constant("one", &[1.0], (b.ty(unequal).level, 1.0))?;
        // The selection: -1 in the row with the query's key, 0 in all others.
        let selection = b.sub(unequal, one)?;
        let row = self.read(&mut b, selection)?;
        b.output(ROW, row)?;
        Ok(b.finish()?)
    }

    /// Period of the columns in the slots of a result: the number of columns, rounded up to a power
    /// of two.
    pub fn period(&self) -> usize {
        self.columns.len().next_power_of_two()
    }

    /// The row that a selection of -1 and 0 selects: minus the selection times the table.
    fn read(&self, b: &mut CircuitBuilder, selection: ValueId) -> Result<ValueId> {
        let (period, slots, row) = (self.period(), b.slots(), b.row());
        if self.columns.is_empty() || period > row {
            let (what, found) = ("the number of columns", self.columns.len().to_string());
            return Err(shape(what, found, &format!("from 1 to {row}")));
        }
        let columns: Vec<Vec<f64>> = self.columns.iter().map(|one| filled(one, slots)).collect();
        let mut sums = Vec::with_capacity(period);
        for k in 0..period {
            let value = |slot: usize| {
                let column = columns.get((slot + period - k) % period);
                column.map_or(0.0, |column| -column[slot])
            };
            let name = format!("diagonal.{k}");
            let values: Vec<f64> = (0..slots.max(columns[0].len())).map(value).collect();
            let values = b.constant(&name, &values, (b.ty(selection).level, 1.0))?;
            let product = b.mul(selection, values)?;
            sums.push(b.rescale(product)?);
        }
        // The sum of the products with all diagonals, the one with diagonal `k` rotated by `k`: bit
        // by bit of `k`.
        let mut steps = 1;
        while sums.len() > 1 {
            let pairs = sums.chunks(2);
            let sum = pairs.map(|pair| {
                let rotated = b.rotate(pair[1], steps)?;
                b.add(pair[0], rotated)
            });
            sums = sum.collect::<std::result::Result<_, program::Error>>()?;
            steps *= 2;
        }
        let sum = sum_strided(b, sums[0], (steps, row / period))?;
        let other = b.swap_rows(sum)?;
        Ok(b.add(sum, other)?)
    }

    /// `x^exponent` for a positive exponent, by squarings and products from its highest bit down.
    /// Each product takes a level or two.
    fn power(&self, b: &mut CircuitBuilder, x: ValueId, exponent: u64) -> Result<ValueId> {
        let (mut result, mut products) = (x, 0);
        let mut times = |b: &mut CircuitBuilder, x, y| {
            products += 1;
            let product = product(b, x, y)?;
            match self.cooled.contains(&products) {
                true => Result::Ok(b.rescale(product)?),
                false => Ok(product),
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

/// Name of the output: the selected row.
pub const ROW: &str = "row";

/// The values as real numbers, padded with zeros to at least `slots`.
fn filled(values: &[u64], slots: usize) -> Vec<f64> {
    let mut values: Vec<f64> = values.iter().map(|&v| v as f64).collect();
    values.resize(values.len().max(slots), 0.0);
    values
}

/// `x^2 + x y + c y^2`, a level below the lower of the two operands. Modulo the prime `t` it is 0
/// only if both operands are.
fn norm(b: &mut CircuitBuilder, x: ValueId, y: ValueId, t: u64) -> Result<ValueId> {
    let levels = [b.ty(x).level, b.ty(y).level];
    let level = levels[0].min(levels[1]);
    let (x, y) = (b.drop_to(x, level)?, b.drop_to(y, level)?);
    let sum = b.add(x, y)?;
    let mut times = y;
    for _ in 1..norm_factor(t)? {
        times = b.add(times, y)?;
    }
    let norm = if levels[0] == levels[1] {
        b.dot(&[[x, sum], [times, y]])?
    } else {
        // A value that was dropped to a lower level has another factor of BGV. A sum of two values
        // corrects it.
        let products = (b.mul(x, sum)?, b.mul(times, y)?);
        b.add(products.0, products.1)?
    };
    Ok(b.rescale(norm)?)
}

/// The least `c` for which `1 - 4 c` is not a square modulo the odd prime `t` (Euler's criterion).
fn norm_factor(t: u64) -> Result<u64> {
    let odd = || shape("the plaintext modulus", t.to_string(), "an odd prime");
    let modulus = Modulus::new(t).ok_or_else(odd)?;
    let discriminant = |c: u64| (1 + 4 * (t - c % t)) % t;
    (1..t)
        .find(|&c| modulus.pow(discriminant(c), (t - 1) / 2) == t - 1)
        .ok_or_else(odd)
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
