//! Quotients of basis conversions: how often the product of all moduli goes into a sum.

use crate::Modulus;

/// `1 / q` in fixed point. A word `y` below `q` becomes the 32 bits `y 2^shift`, and `y / q` is
/// about `(y 2^shift) factor / 2^63`.
#[derive(Clone, Copy, Debug)]
pub struct Reciprocal {
    /// 32 minus the bits of `q`. A negative shift drops low bits of the word.
    shift: i32,
    /// `2^(63 - shift) / q`, rounded down: in `[2^31, 2^32)`.
    factor: u32,
    /// `(q - 1) / 2`: the largest centred residue.
    half: u64,
}

impl Reciprocal {
    /// The reciprocal of `q`.
    pub fn new(q: &Modulus) -> Self {
        let factor = (1u128 << (31 + q.bits())) / u128::from(q.value());
        Self {
            shift: 32 - q.bits() as i32,
            factor: u32::try_from(factor).expect("q has a bit more than 2^(bits - 1)"),
            half: (q.value() - 1) / 2,
        }
    }
}

/// Bits after the binary point in a sum of quotients. With that many, 64 quotients fit a word.
const POINT: u32 = 56;
/// Most moduli of a sum.
const MAX_TERMS: usize = 64;

pub(crate) fn check(y: &[&mut [u64]], reciprocals: &[Reciprocal], out: &[u64]) {
    assert_eq!(y.len(), reciprocals.len(), "one reciprocal for each row");
    assert!(y.len() <= MAX_TERMS, "a sum of {} quotients", y.len());
    for row in y {
        assert_eq!(
            out.len(),
            row.len(),
            "slices of one operation have one length"
        );
    }
}

/// [`crate::Kernels::quotients`]. Backends compile this code for their own vectors, which multiply
/// 32 by 32 bits as fast as doubles.
#[inline(always)]
pub(crate) fn quotients(y: &[&mut [u64]], reciprocals: &[Reciprocal], out: &mut [u64]) {
    const STEP: usize = 64; // sums stay in the L1 cache, or in registers
    if let ([row], [Reciprocal { half, .. }]) = (y, reciprocals) {
        let words = out.iter_mut().zip(row.iter());
        words.for_each(|(v, y)| *v = u64::from(y > half));
        return;
    }
    for (start, out) in (0..).step_by(STEP).zip(out.chunks_mut(STEP)) {
        let mut sums = [1u64 << (POINT - 1); STEP];
        for (row, &Reciprocal { shift, factor, .. }) in y.iter().zip(reciprocals) {
            let words = sums.iter_mut().zip(&row[start..start + out.len()]);
            let quotient = |y: u64| ((y & 0xffff_ffff) * u64::from(factor)) >> (63 - POINT);
            if shift < 0 {
                words.for_each(|(sum, &y)| *sum += quotient(y >> -shift));
            } else {
                words.for_each(|(sum, &y)| *sum += quotient(y << shift));
            }
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = sum >> POINT;
        }
    }
}
