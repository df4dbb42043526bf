//! Operations on the words of one limb, as defined.

use super::arithmetic::Arithmetic;
use kernels::Modulus;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::sample::Seed;
use rlwe::galois;

/// Uniform residues from a stream of a seed.
pub(super) fn sample(seed: &Seed, stream: u64, q: &Modulus, n: usize) -> Vec<u64> {
    let mut rng = ChaCha20Rng::from_seed(seed.0);
    rng.set_stream(stream);
    let mut raw = || match q.bits() {
        ..=32 => u64::from(rng.next_u32()),
        _ => rng.next_u64(),
    };
    let mask = (1 << q.bits()) - 1;
    let residues = std::iter::repeat_with(|| raw() & mask).filter(|&word| word < q.value());
    residues.take(n).collect()
}

/// Words of 32 or 64 bits from a stream of a seed, after the first `skip` words.
pub(super) fn expand(seed: &Seed, (stream, skip): (u32, u32), bits: u32, n: usize) -> Vec<u64> {
    let mut rng = ChaCha20Rng::from_seed(seed.0);
    rng.set_stream(stream.into());
    rng.set_word_pos(u128::from(skip) * u128::from(bits / 32));
    let word = || match bits {
        32 => u64::from(rng.next_u32()),
        _ => rng.next_u64(),
    };
    std::iter::repeat_with(word).take(n).collect()
}

/// For each slot, its place in the evaluation domain.
pub(super) fn slot_places(n: usize) -> Vec<usize> {
    let reverse = |i: usize| i.reverse_bits() >> (usize::BITS - n.ilog2());
    let exponents = galois::slot_exponents(n).into_iter();
    exponents.map(|e| reverse((e - 1) / 2)).collect()
}

/// The source of a word in an extraction.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// The word is 0.
    Zero,
    /// Coefficient of a value: index of the value, then of the coefficient.
    Plus(usize, usize),
    /// The negative of a coefficient of a value.
    Minus(usize, usize),
}

/// Source of coefficient `at mod n` of `X^exponent` times value `at / n`, for `exponent` below
/// `2n`.
fn source(n: usize, at: i64, exponent: usize) -> Source {
    let Ok(at) = usize::try_from(at) else {
        return Source::Zero;
    };
    let (value, at) = (at / n, at % n);
    match (at + 2 * n - exponent) % (2 * n) {
        from if from < n => Source::Plus(value, from),
        from => Source::Minus(value, from - n),
    }
}

/// Sources of all words of an extraction.
pub(super) fn sources(at: &[i64], entries: Option<(&[i64], usize)>) -> Vec<Source> {
    let n = at.len();
    let exponent = |s: usize| match entries {
        None => 0,
        Some((entries, gap)) => (entries[s] as u64 % (2 * n as u64)) as usize * gap % (2 * n),
    };
    let places = at.iter().enumerate();
    places.map(|(s, &at)| source(n, at, exponent(s))).collect()
}

/// Sources of the words of `X^exponent` times the only value, for `exponent` below `2n`.
pub(super) fn turned(n: usize, exponent: usize) -> Vec<Source> {
    let places = 0..n as i64;
    places.map(|at| source(n, at, exponent)).collect()
}

/// Returns the words at the sources.
pub(super) fn extract(
    q: &Arithmetic,
    values: &[&[u64]],
    sources: &[Source],
) -> impl Iterator<Item = u64> {
    let word = move |source: &Source| match *source {
        Source::Zero => 0,
        Source::Plus(value, i) => values[value][i],
        Source::Minus(value, i) => q.neg(values[value][i]),
    };
    sources.iter().map(word)
}

/// `round(c t / q) mod t`.
pub(super) fn round(c: u64, q: u128, t: u128) -> u64 {
    let rounded = (u128::from(c) * t + q / 2) / q;
    (rounded % t) as u64
}

/// Digit `index` of the centred residue, for `count` digits of `bits` bits.
pub(super) fn digit(q: &Arithmetic, c: u64, index: usize, (bits, count): (u32, usize)) -> u64 {
    let half = 1i64 << (bits - 1);
    let low = |rest: i64| (rest.wrapping_add(half) & (2 * half - 1)) - half;
    let above = |rest: i64| rest.wrapping_sub(low(rest)) >> bits;
    let centred = match q {
        Arithmetic::Prime(q) => q.center(c),
        Arithmetic::Power(power) => {
            // The digits hold all bits, so a carry out of the top digit is a multiple of the
            // modulus.
            let rest = (0..index).fold(power.center(c), |rest, _| above(rest));
            return q.residue(low(rest));
        }
    };
    let rest = (0..index).fold(centred.abs(), |rest, _| above(rest));
    let digit = if index + 1 == count { rest } else { low(rest) };
    q.residue(if centred < 0 { -digit } else { digit })
}
