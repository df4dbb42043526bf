//! Applications of one bootstrapping, in CKKS and in BGV.

use crate::error::Result;
use circuits::approximate::{BootstrapSpec, Bootstrapper, arithmetic_of};
use circuits::bootstrap::Bootstrap;
use ckks::{Params, ParamsSpec};
use program::circuit::{Circuit, CircuitBuilder, Type};
use ring::ntt_primes_avoiding;
use rlwe::Words;

/// Bits of the lowest modulus, which holds messages. It is one or two words.
const FIRST: u32 = 60;
/// Bits of a level of the modular reduction. Fewer bits leave less precision. More bits leave fewer
/// for the matrix after the reduction, which divides by the difference.
const REDUCTION: u32 = 58;
/// Bits of a level of the matrices before the reduction.
const MATRICES: u32 = 56;
/// Smallest number of bits of a level for which every ring here has primes.
const UNUSED: u32 = 28;

/// The circuit of one CKKS bootstrapping: from the input `low` at level 0 to the output `high`.
///
/// # Errors
/// Errors of the builder, and [`circuits::Error::Shape`] for too few levels.
pub fn ckks(params: &Params, spec: &BootstrapSpec) -> Result<Circuit> {
    let slots = spec.slots.unwrap_or(params.slots());
    let mut b = CircuitBuilder::new("bootstrapping", arithmetic_of(params), slots)?;
    b.set_bootstrapping(Bootstrapper::stated(params, spec)?)?;
    let ty = Type {
        encrypted: true,
        level: 0,
        scale: params.scale_at(0),
    };
    let low = b.input("low", ty)?;
    let high = b.bootstrap(low)?;
    b.output("high", high)?;
    Ok(b.finish()?)
}

/// The specification for messages of a single number ("unpacked"), which is in all slots.
pub fn unpacked() -> BootstrapSpec {
    BootstrapSpec {
        babies: 1,
        ..BootstrapSpec::for_slots(1)
    }
}

/// Parameters for [`unpacked`] messages in a machine's words. `left` levels of one word remain
/// after a bootstrapping.
///
/// Levels from the bottom: 60 bits, `left` levels of a word, a word for slots to coefficients,
/// eight levels of 58 bits for the reduction, two of 56 bits for coefficients to slots. With words
/// of 32 bits, these are `23 + left` limbs. Above are limbs that an unpacked bootstrapping does not
/// use, two for degrees of 2^14 and 2^15: [`Bootstrapper`] counts levels for all slots.
///
/// # Errors
/// The errors of [`Words::primes`].
pub fn unpacked_spec(n: usize, left: usize, words: Words) -> Result<ParamsSpec> {
    let word = words.bits.min(MATRICES);
    let mut levels = vec![FIRST];
    levels.extend(vec![word; left + 1]);
    levels.extend(vec![REDUCTION; unpacked().reduction_levels()]);
    // The levels of the matrix and of its divisor.
    levels.extend([MATRICES; 2]);
    let counted = Bootstrapper::transform_levels(n / 2).max(2);
    levels.extend(vec![UNUSED.min(word); counted - 2]);
    Ok(ParamsSpec::in_words(n, &levels, words, f64::from(word))?)
}

/// A BGV bootstrapping over `limbs` words of a machine.
///
/// # Errors
/// The errors of [`Bootstrap::moduli`] and [`Bootstrap::new`].
pub fn bgv(
    n: usize,
    limbs: usize,
    words: Words,
    check: impl Fn(&rlwe::ParamsSpec) -> rlwe::Result<rlwe::Params>,
) -> Result<Bootstrap> {
    let q = Bootstrap::moduli(n, words.bits, limbs)?;
    let p = ntt_primes_avoiding(words.bits, n, words.digit_limbs, &q).map_err(rlwe::Error::from);
    let spec = rlwe::ParamsSpec {
        n,
        q,
        p: p.map_err(bgv::Error::from)?,
        digit_limbs: words.digit_limbs,
    };
    let rlwe = check(&spec).map_err(bgv::Error::from)?;
    Ok(Bootstrap::new(&rlwe)?)
}
