//! The modulus switch from `q` to `2N`, for the powers of X of a blind rotation.

use ring::torus::Torus;

/// Rounds a sample to exponents of X, in `[0, 2N)`: the words of the mask, then the body.
///
/// *Mask.* Words are rounded to multiples of `2^drop`. The rounding errors `e_i` are known and are
/// multiplied by bits of mean 1/2, so half of their sum is subtracted from the body. The remaining
/// error, `sum e_i (s_i - 1/2)`, has variance `n / 48` in squares of a step for every secret.
/// Without the subtraction it is `n / 24`. Source: de Ruijter, D'Anvers, Verbauwhede, "Don't be
/// mean: Reducing Approximation Noise in TFHE through Mean Compensation", IACR ePrint, 2025.
///
/// *Body.* It is rounded down. Boxes of a table begin at a multiple of the step, so this loses
/// nothing: the index is in a box if and only if the unrounded phase is.
///
/// # Panics
/// If `out` and `words` differ in length, or if `2N` exceeds the range of words.
pub fn modulus_switch<T: Torus>(out: &mut [usize], words: &[T], log_2n: u32, drop: u32) {
    assert_eq!(out.len(), words.len(), "an exponent for each word");
    assert!(
        drop < log_2n && log_2n < T::BITS,
        "2^{log_2n} of {} bits, {drop} dropped",
        T::BITS
    );
    let shift = T::BITS - log_2n + drop;
    let half = T::from_low_bits(1 << (shift - 1));
    let n = words.len() - 1;
    let mut sum = 0i128;
    for (o, &word) in out[..n].iter_mut().zip(words) {
        let rounded = word.plus(half).to_u64() >> shift;
        // The centred rest is at most half a step, so its wrapped difference is right.
        sum += i128::from(word.minus(T::from_low_bits(rounded << shift)).to_centred());
        *o = (rounded as usize) << drop;
    }
    let body = words[n].minus(T::from_low_bits((sum >> 1) as u64));
    out[n] = ((body.to_u64() >> shift) as usize) << drop;
}
