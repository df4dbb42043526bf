//! The store of one party's material, from its generation to its use.

use std::collections::BTreeMap;
use std::fmt;

use zeroize::{Zeroize, Zeroizing};

use super::needs::{Needs, index};
use crate::cost::Role;
use crate::{Error, Result};

/// Rows of words, taken from the front. Taken words are erased in the store at once, the rest when
/// the rows are dropped.
#[derive(Default)]
pub(crate) struct Rows {
    words: Zeroizing<Vec<u64>>,
    taken: usize,
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} words, {} taken", self.words.len(), self.taken)
    }
}

impl Rows {
    pub(crate) fn new(words: Zeroizing<Vec<u64>>) -> Self {
        Self { words, taken: 0 }
    }

    fn take(&mut self, count: usize) -> Zeroizing<Vec<u64>> {
        let part = &mut self.words[self.taken..self.taken + count];
        let taken = Zeroizing::new(part.to_vec());
        part.zeroize();
        self.taken += count;
        taken
    }

    /// Adds words. Moves them to a new vector by hand, because a growing vector would leave a copy
    /// of its words behind.
    pub(crate) fn push(&mut self, words: &[u64]) {
        let needed = self.words.len() + words.len();
        if needed > self.words.capacity() {
            let room = needed.max(2 * self.words.capacity());
            let mut moved = Zeroizing::new(Vec::with_capacity(room));
            moved.extend_from_slice(&self.words);
            self.words = moved;
        }
        self.words.extend_from_slice(words);
    }

    fn left(&self) -> usize {
        self.words.len() - self.taken
    }
}

/// Random bits that are shared both ways: as bits modulo 2, and as numbers modulo `2^k`.
pub(crate) struct RandomBits {
    /// This party's shares modulo 2, 64 in a word.
    pub(crate) bits: Zeroizing<Vec<u64>>,
    /// This party's shares modulo `2^k`, one for each bit.
    pub(crate) shares: Zeroizing<Vec<u64>>,
}

/// Shares of random `a` and of `a^2` modulo `2^bits`, for [`Party::square`](crate::Party::square).
pub struct Squares {
    /// This party's shares of the random numbers.
    pub a: Zeroizing<Vec<u64>>,
    /// This party's shares of their squares.
    pub a_squared: Zeroizing<Vec<u64>>,
}

impl fmt::Debug for Squares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} squares", self.a.len())
    }
}

/// Shares of random `a` and `b` and of `a b` modulo `2^bits`, for
/// [`Party::multiply`](crate::Party::multiply).
pub struct Triples {
    /// This party's shares of the first factors.
    pub a: Zeroizing<Vec<u64>>,
    /// This party's shares of the second factors.
    pub b: Zeroizing<Vec<u64>>,
    /// This party's shares of the products.
    pub product: Zeroizing<Vec<u64>>,
}

impl fmt::Debug for Triples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} triples", self.a.len())
    }
}

/// One party's material. It cannot be copied, because every part of it is used once.
///
/// The other party holds the matching part. Both parties must use the material in the same order.
#[derive(Debug, Default)]
pub struct Material {
    /// Rows of OTs, by chooser, then by the bits of a message. If this party chooses, a row has its
    /// choices and the chosen messages; otherwise the first messages and the differences from first
    /// to second messages.
    pub(crate) transfers: [BTreeMap<usize, Rows>; 2],
    pub(crate) random_bits: BTreeMap<u32, [Rows; 2]>,
    squares: BTreeMap<u32, [Rows; 2]>,
    triples: BTreeMap<u32, [Rows; 3]>,
}

impl Material {
    /// Adds squares modulo `2^bits`, which the caller has computed.
    ///
    /// # Errors
    /// [`Error::Length`] if the vectors differ in length.
    pub fn add_squares(&mut self, bits: u32, squares: Squares) -> Result<()> {
        let Squares { a, a_squared } = squares;
        same_length("squares", [&a, &a_squared])?;
        let rows = self.squares.entry(bits).or_default();
        for (rows, words) in rows.iter_mut().zip([a, a_squared]) {
            rows.push(&words);
        }
        Ok(())
    }

    /// Adds triples modulo `2^bits`, which the caller has computed.
    ///
    /// # Errors
    /// [`Error::Length`] if the vectors differ in length.
    pub fn add_triples(&mut self, bits: u32, triples: Triples) -> Result<()> {
        let Triples { a, b, product } = triples;
        same_length("triples", [&a, &b])?;
        same_length("triples", [&a, &product])?;
        let rows = self.triples.entry(bits).or_default();
        for (rows, words) in rows.iter_mut().zip([a, b, product]) {
            rows.push(&words);
        }
        Ok(())
    }

    /// Checks that this material covers `needs`, before a call uses any of it.
    ///
    /// # Errors
    /// [`Error::Exhausted`] if one kind of material is too little.
    pub fn check(&self, role: Role, needs: &Needs) -> Result<()> {
        for chooser in [Role::Server, Role::Client] {
            for (&width, &words) in &needs.transfers[index(chooser)] {
                let rows = self.transfers[index(chooser)].get(&width);
                let left = rows.map_or(0, Rows::left) / stride(chooser == role, width);
                enough(
                    || format!("oblivious transfers of {width} bits"),
                    words,
                    left,
                    64,
                )?;
            }
        }
        for (bits, &words) in &needs.random_bits {
            let left = self.random_bits.get(bits).map_or(0, |rows| rows[0].left());
            enough(|| format!("random bits modulo 2^{bits}"), words, left, 64)?;
        }
        for (bits, &count) in needs.squares() {
            let left = self.squares.get(bits).map_or(0, |rows| rows[0].left());
            enough(|| format!("squares modulo 2^{bits}"), count, left, 1)?;
        }
        for (bits, &count) in needs.triples() {
            let left = self.triples.get(bits).map_or(0, |rows| rows[0].left());
            enough(|| format!("triples modulo 2^{bits}"), count, left, 1)?;
        }
        Ok(())
    }

    /// Takes `words` words of each of `width` rows of OTs. [`Material::check`] must have passed.
    pub(crate) fn take_transfers(
        &mut self,
        chooser: Role,
        is_own: bool,
        width: usize,
        words: usize,
    ) -> Zeroizing<Vec<u64>> {
        let rows = self.transfers[index(chooser)].get_mut(&width);
        let rows = rows.expect("checked before the call began");
        rows.take(words * stride(is_own, width))
    }

    pub(crate) fn take_random_bits(&mut self, bits: u32, words: usize) -> RandomBits {
        let rows = self.random_bits.get_mut(&bits);
        let [of_bits, of_shares] = rows.expect("checked before the call began");
        RandomBits {
            bits: of_bits.take(words),
            shares: of_shares.take(64 * words),
        }
    }

    pub(crate) fn take_squares(&mut self, bits: u32, count: usize) -> [Zeroizing<Vec<u64>>; 2] {
        match self.squares.get_mut(&bits) {
            Some(rows) => rows.each_mut().map(|rows| rows.take(count)),
            None => Default::default(),
        }
    }

    pub(crate) fn take_triples(&mut self, bits: u32, count: usize) -> [Zeroizing<Vec<u64>>; 3] {
        match self.triples.get_mut(&bits) {
            Some(rows) => rows.each_mut().map(|rows| rows.take(count)),
            None => Default::default(),
        }
    }
}

/// Number of words of a row, for 64 OTs with messages of `width` bits.
pub(crate) fn stride(is_chooser: bool, width: usize) -> usize {
    if is_chooser { 1 + width } else { 2 * width }
}

fn enough(what: impl Fn() -> String, needed: usize, left: usize, unit: usize) -> Result<()> {
    if left < needed {
        return Err(Error::Exhausted {
            what: what(),
            needed: needed * unit,
            left: left * unit,
        });
    }
    Ok(())
}

fn same_length(what: &'static str, [a, b]: [&[u64]; 2]) -> Result<()> {
    if a.len() != b.len() {
        return Err(Error::Length {
            what,
            found: b.len(),
            expected: a.len().to_string(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_erased_here() {
        let mut rows = Rows::default();
        rows.push(&[1, 2, 3]);
        rows.push(&[4, 5]);
        assert_eq!(*rows.take(3), [1, 2, 3]);
        assert_eq!(*rows.words, [0, 0, 0, 4, 5]);
        assert_eq!(rows.left(), 2);
        assert_eq!(format!("{rows:?}"), "5 words, 3 taken");
    }
}
