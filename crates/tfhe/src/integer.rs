//! Small integers with carry bits, and tables.

use crate::error::{Error, Result, same};
use crate::lwe::Lwe;
use crate::params::Params;
use crate::server::ServerKey;
use crate::table::TestPolynomial;
use ring::torus::{Multiplier, Torus};
use rlwe::bytes::Fingerprint;

/// An encrypted integer, with bounds on its value and its noise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integer<T> {
    lwe: Lwe<T>,
    max: u64,
    noise: u64,
    made_for: Fingerprint,
}

impl<T: Torus> Integer<T> {
    pub(crate) fn new(lwe: Lwe<T>, max: u64, noise: u64, made_for: &Fingerprint) -> Self {
        Self {
            lwe,
            max,
            noise,
            made_for: *made_for,
        }
    }

    /// The integer of a sample that was computed elsewhere. A value `x` of `p`, at most `max`, is
    /// `x / 2p` of the torus. The noise is `noise` deviations of an output of a bootstrapping.
    ///
    /// # Errors
    /// [`Error::Encoding`], [`Error::Word`], [`Error::Carry`], [`Error::Noise`],
    /// [`Error::Parameter`] for a sample of another dimension.
    pub fn of_sample(params: &Params, lwe: Lwe<T>, max: u64, noise: u64) -> Result<Self> {
        params.check_integers()?;
        params.check_sample(&lwe)?;
        let limit = params.values() - 1;
        if max > limit {
            return Err(Error::Carry { found: max, limit });
        }
        let limit = params.max_noise();
        if noise > limit {
            return Err(Error::Noise {
                found: noise,
                limit,
            });
        }
        Ok(Self::new(lwe, max, noise, params.fingerprint()))
    }

    /// The sample.
    pub fn lwe(&self) -> &Lwe<T> {
        &self.lwe
    }

    /// The largest value that it can have.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The largest deviation of its noise, in deviations of an output of a bootstrapping.
    pub fn noise(&self) -> u64 {
        self.noise
    }

    pub(crate) fn made_for(&self) -> &Fingerprint {
        &self.made_for
    }
}

/// Tables over all values below the padding bit, ready for use.
#[derive(Clone, Debug)]
pub struct Table<T> {
    test: TestPolynomial<T>,
    max: Vec<u64>,
    made_for: Fingerprint,
}

impl<T: Torus> Table<T> {
    /// One or several tables of `2^(message_bits + carry_bits)` entries. Several tables share one
    /// bootstrapping, and the noise of its modulus switch grows with their number.
    ///
    /// # Errors
    /// [`Error::TableLength`]. [`Error::Tables`] if the boxes of so many tables have fewer than two
    /// coefficients. [`Error::Message`] for an entry that is out of range. [`Error::Encoding`],
    /// [`Error::Word`].
    pub fn new(params: &Params, tables: &[Vec<u64>]) -> Result<Self> {
        let limit = params.values() - 1;
        let entries = || tables.iter().flatten();
        if let Some(&found) = entries().find(|&&e| e > limit) {
            return Err(Error::Message { found, limit });
        }
        let signed: Vec<Vec<i64>> = tables
            .iter()
            .map(|t| t.iter().map(|&e| e as i64).collect())
            .collect();
        let max = tables
            .iter()
            .map(|t| t.iter().copied().max().unwrap_or(0))
            .collect();
        Self::signed(params, &signed, max)
    }

    /// As [`new`](Self::new), from a function on values.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of(params: &Params, f: impl Fn(u64) -> u64) -> Result<Self> {
        Self::new(params, &[(0..params.values()).map(f).collect()])
    }

    /// The test polynomial of the blind rotation.
    pub fn test(&self) -> &TestPolynomial<T> {
        &self.test
    }

    /// Tables whose entries may be negative, and for each table the largest value of its results.
    pub(crate) fn signed(params: &Params, tables: &[Vec<i64>], max: Vec<u64>) -> Result<Self> {
        params.check_integers()?;
        params.check_word::<T>()?;
        let expected = params.values() as usize;
        if let Some(found) = tables.iter().map(Vec::len).find(|&len| len != expected) {
            return Err(Error::TableLength { found, expected });
        }
        let limit = params.n() / 2 / expected;
        let found = tables.len();
        if found == 0 || found.next_power_of_two() > limit {
            return Err(Error::Tables { found, limit });
        }
        let words = |t: &Vec<i64>| t.iter().map(|&e| params.encode(e as u64)).collect();
        let words: Vec<Vec<T>> = tables.iter().map(words).collect();
        let test = TestPolynomial::of_tables(params.n(), &words);
        Ok(Self {
            test,
            max,
            made_for: *params.fingerprint(),
        })
    }
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `x < y`.
    Less,
    /// `x <= y`.
    LessOrEqual,
    /// `x == y`.
    Equal,
    /// `x != y`.
    NotEqual,
    /// `x >= y`.
    GreaterOrEqual,
    /// `x > y`.
    Greater,
}

impl Comparison {
    /// The comparison of plain numbers.
    pub fn of(self, x: u64, y: u64) -> bool {
        match self {
            Self::Less => x < y,
            Self::LessOrEqual => x <= y,
            Self::Equal => x == y,
            Self::NotEqual => x != y,
            Self::GreaterOrEqual => x >= y,
            Self::Greater => x > y,
        }
    }
}

impl<T: Torus, M: Multiplier<T>> ServerKey<T, M> {
    /// A constant value without noise, not encrypted: everyone can read it.
    ///
    /// # Errors
    /// [`Error::Encoding`], [`Error::Message`] for a value that does not fit below the padding bit.
    pub fn constant(&self, x: u64) -> Result<Integer<T>> {
        let params = self.params();
        params.check_integers()?;
        let limit = params.values() - 1;
        if x > limit {
            return Err(Error::Message { found: x, limit });
        }
        let lwe = Lwe::trivial(params.big_dimension(), params.encode(x));
        Ok(Integer::new(lwe, x, 0, params.fingerprint()))
    }

    /// `sum factor x + constant`. The caller guarantees the range of its values.
    pub(crate) fn combination(
        &self,
        terms: &[(i64, &Integer<T>)],
        constant: i64,
        max: u64,
    ) -> Result<Integer<T>> {
        let params = self.params();
        params.check_integers()?;
        let mut lwe = Lwe::trivial(params.big_dimension(), params.encode(constant as u64));
        let mut noise = 0u64;
        for &(factor, x) in terms {
            same("an integer", &x.made_for, params.fingerprint())?;
            self.check_key(&x.lwe)?;
            lwe.key().join("ciphertext", x.lwe.key())?;
            lwe.add_scaled(&x.lwe, factor);
            noise = noise.saturating_add(x.noise.saturating_mul(factor.unsigned_abs()));
        }
        Integer::of_sample(params, lwe, max, noise)
    }

    /// `x + y`.
    ///
    /// # Errors
    /// [`Error::Carry`] if the sum may not fit below the padding bit, [`Error::Noise`],
    /// [`Error::Fingerprint`], [`Error::Encoding`], [`Error::KeyMismatch`].
    pub fn add(&self, x: &Integer<T>, y: &Integer<T>) -> Result<Integer<T>> {
        self.combination(&[(1, x), (1, y)], 0, x.max.saturating_add(y.max))
    }

    /// `x + constant`.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_constant(&self, x: &Integer<T>, constant: u64) -> Result<Integer<T>> {
        self.combination(&[(1, x)], constant as i64, x.max.saturating_add(constant))
    }

    /// `x factor`.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn scale(&self, x: &Integer<T>, factor: u64) -> Result<Integer<T>> {
        let max = x.max.saturating_mul(factor);
        // A factor too large for its noise is too large for the other bounds too, or x is the
        // constant 0.
        self.combination(&[(factor.min(1 << 32) as i64, x)], 0, max)
    }

    /// `-x` modulo `2^message_bits`: the smallest multiple of `2^message_bits` that is not below
    /// the largest value of `x`, minus `x`.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn neg(&self, x: &Integer<T>) -> Result<Integer<T>> {
        let above = x.max.next_multiple_of(self.params().messages());
        self.combination(&[(-1, x)], above as i64, above)
    }

    /// `x - y` modulo `2^message_bits`, as [`neg`](Self::neg).
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn sub(&self, x: &Integer<T>, y: &Integer<T>) -> Result<Integer<T>> {
        let above = y.max.next_multiple_of(self.params().messages());
        self.combination(
            &[(1, x), (-1, y)],
            above as i64,
            x.max.saturating_add(above),
        )
    }

    /// The entry of the first table at `x`, by one bootstrapping.
    ///
    /// # Errors
    /// [`Error::Fingerprint`], [`Error::KeyMismatch`].
    pub fn apply(&self, x: &Integer<T>, table: &Table<T>) -> Result<Integer<T>> {
        Ok(self.apply_tables(x, table)?.remove(0))
    }

    /// The entries of all tables at `x`, by one bootstrapping.
    ///
    /// # Errors
    /// [`Error::Fingerprint`], [`Error::KeyMismatch`].
    pub fn apply_tables(&self, x: &Integer<T>, table: &Table<T>) -> Result<Vec<Integer<T>>> {
        Ok(self.apply_all(&[(x, table)])?.remove(0))
    }

    /// Looks up values in tables, each in its own, on the threads of the pool.
    ///
    /// # Errors
    /// [`Error::Fingerprint`], [`Error::KeyMismatch`].
    pub fn apply_all(&self, jobs: &[(&Integer<T>, &Table<T>)]) -> Result<Vec<Vec<Integer<T>>>> {
        let made_for = self.params().fingerprint();
        for (x, table) in jobs {
            same("an integer", &x.made_for, made_for)?;
            self.check_key(&x.lwe)?;
            same("a table", &table.made_for, made_for)?;
        }
        let out = ring::par_map(jobs.len(), |i| {
            self.bootstrap(&jobs[i].0.lwe, &jobs[i].1.test)
        });
        let named = |(out, (_, table)): (Vec<Lwe<T>>, &(_, &Table<T>))| {
            let pairs = out.into_iter().zip(&table.max);
            pairs
                .map(|(lwe, &max)| Integer::new(lwe, max, 1, made_for))
                .collect()
        };
        Ok(out.into_iter().zip(jobs).map(named).collect())
    }

    /// `x 2^message_bits + y`, the index of a table of two values. `y` must be a message, and `x`
    /// at most the largest carry.
    ///
    /// # Errors
    /// As [`add`](Self::add). [`Error::Carry`] also if `y` may exceed a message.
    pub fn pair(&self, x: &Integer<T>, y: &Integer<T>) -> Result<Integer<T>> {
        let messages = self.params().messages();
        if y.max >= messages {
            return Err(Error::Carry {
                found: y.max,
                limit: messages - 1,
            });
        }
        let max = x.max.saturating_mul(messages).saturating_add(y.max);
        self.combination(&[(messages as i64, x), (1, y)], 0, max)
    }

    /// `f(x, y)` of two messages, by one bootstrapping.
    ///
    /// # Errors
    /// As [`pair`](Self::pair) and [`Table::of`].
    pub fn apply_pair(
        &self,
        x: &Integer<T>,
        y: &Integer<T>,
        f: impl Fn(u64, u64) -> u64,
    ) -> Result<Integer<T>> {
        let messages = self.params().messages();
        let table = Table::of(self.params(), |v| f(v / messages, v % messages))?;
        self.apply(&self.pair(x, y)?, &table)
    }

    /// The result of a comparison of two messages, 0 or 1, by one bootstrapping.
    ///
    /// # Errors
    /// As [`pair`](Self::pair).
    pub fn compare(
        &self,
        comparison: Comparison,
        x: &Integer<T>,
        y: &Integer<T>,
    ) -> Result<Integer<T>> {
        self.apply_pair(x, y, |x, y| comparison.of(x, y).into())
    }

    /// The low bits of a value, `x` modulo `2^message_bits`.
    ///
    /// # Errors
    /// [`Error::Fingerprint`], [`Error::Encoding`].
    pub fn message(&self, x: &Integer<T>) -> Result<Integer<T>> {
        let messages = self.params().messages();
        self.apply(x, &Table::of(self.params(), |v| v % messages)?)
    }

    /// The high bits of a value, `x` divided by `2^message_bits`.
    ///
    /// # Errors
    /// [`Error::Fingerprint`], [`Error::Encoding`].
    pub fn carry(&self, x: &Integer<T>) -> Result<Integer<T>> {
        let messages = self.params().messages();
        self.apply(x, &Table::of(self.params(), |v| v / messages)?)
    }
}
