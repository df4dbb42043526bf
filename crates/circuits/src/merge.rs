//! Merges ciphertexts that have few useful coefficients each.
//!
//! Only every `m`-th coefficient of a ciphertext is useful, and up to `m` ciphertexts become one,
//! in which all coefficients are useful. A tree of `log2(m)` levels merges pairs: with `h = m/2,
//! .., 2, 1` from the leaves to the root, `E + X^h O + phi(E - X^h O)`, where
//! `phi: X -> X^(1 + N/h)` keeps `X^(2h)` and negates `X^h`. So multiples of `2h` of both double,
//! those of `O` come to odd multiples of `h`, and other multiples of `h` vanish. Coefficients
//! between the multiples of `h` are meaningless until the levels below clear them. A ciphertext
//! without a partner is `E`, and `O` is 0. Pairs in which both are missing cost nothing.
//!
//! Source: Chen, Dai, Kim, Song, "Efficient Homomorphic Conversion Between (Ring) LWE Ciphertexts",
//! ACNS 2021, algorithm 2 (`PackLWEs`). There only the constant coefficient is useful, and the
//! other ones are cleared by a trace over the rest of the ring.

use crate::engine::{Engine, ValueOf};
use crate::error::{Error, Result};
use crate::operations::Operations;

/// Number of coefficients from one useful coefficient of a source to the next: the smallest power
/// of two that is at least the number of sources.
pub fn distance(sources: usize) -> usize {
    sources.next_power_of_two()
}

/// Coefficient below [`distance`] that holds the first useful coefficient of a source: its index,
/// with the bits in reverse.
pub fn place(sources: usize, index: usize) -> usize {
    let bits = distance(sources).trailing_zeros();
    match bits {
        0 => 0,
        _ => index.reverse_bits() >> (usize::BITS - bits),
    }
}

/// Merges ciphertexts of one level and one factor, each given with the distance below `N` by which
/// its coefficients are first moved down. Coefficient `m i + place(k)` of the result is coefficient
/// `m i` of source `k` divided by `X` to the power of its distance. All others are 0. The factor is
/// `m` times that of the sources.
///
/// # Errors
/// [`Error::Shape`] if there is no source or more than `N`, and errors of the scheme.
pub fn merge<O: Operations>(
    engine: &Engine<O>,
    sources: &[(&ValueOf<O>, usize)],
) -> Result<ValueOf<O>> {
    let n = engine.params().n();
    if !(1..=n).contains(&sources.len()) {
        return Err(Error::Shape {
            what: "the number of ciphertexts to merge",
            found: sources.len().to_string(),
            expected: format!("1 to {n}"),
        });
    }
    let distance = distance(sources.len());
    let mut h = distance / 2;
    // Odd leaves are shifted by the first level's `h` as well.
    let leaf = |index: usize| {
        let &(value, back) = sources.get(index)?;
        let up = if index % 2 == 1 { h } else { 0 };
        Some(engine.mul_power(value, (2 * n + up - back) % (2 * n)))
    };
    let pairs = sources.len().div_ceil(2);
    let mut nodes = match h {
        0 => engine.each(1, 1, |index| leaf(index).expect("there is a source"))?,
        _ => engine.each(pairs, pairs, |pair| {
            let even = leaf(2 * pair).expect("a pair has an even leaf")?;
            engine.merge_pair(even, leaf(2 * pair + 1).transpose()?, 1 + n / h)
        })?,
    };
    while h > 1 {
        h /= 2;
        let pairs = nodes.len().div_ceil(2);
        nodes = engine.each(pairs, pairs, |pair| {
            let odd = nodes.get(2 * pair + 1);
            let odd = odd.map(|odd| engine.mul_power(odd, h)).transpose()?;
            engine.merge_pair(nodes[2 * pair].clone(), odd, 1 + n / h)
        })?;
    }
    let root = nodes.pop().expect("a tree has a root");
    let t = engine.params().t();
    let factor = t.mul(root.factor(), t.reduce(distance as u64));
    Ok(engine.reread(root, factor))
}
