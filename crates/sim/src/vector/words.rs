//! A check that the moduli of a program fit the words of a machine, with advice if they do not.

use super::machine::Machine;
use super::work::Work;
use crate::error::{Error, Result};

/// Bits of the smallest words for which networks are compiled: see docs/adr/0020.
const SMALLEST: u64 = 32;

/// Refuses work whose largest modulus has more bits than a word of the machine. Moduli are never
/// split over several words.
///
/// # Errors
/// [`Error::Unfit`]. Its text says how to compile a program for smaller words.
pub(super) fn check_words(machine: &Machine, work: &Work) -> Result<()> {
    let (found, words) = (u64::from(work.bits()), machine.word_bits());
    if found <= words {
        return Ok(());
    }
    let circuits = format!(
        "a circuit needs parameters whose moduli have at most {words} bits, as `ckks.Params.in_words` makes them"
    );
    let way = if words >= SMALLEST {
        format!(
            "`palladion compile --words {words}` makes programs of networks in words of {words} bits, which fit; {circuits}"
        )
    } else {
        format!(
            "a network needs words of 32 bits, since a product of its residuals takes that much (docs/adr/0020), so \
             such a machine runs circuits alone; {circuits}"
        )
    };
    Err(Error::Unfit {
        machine: machine.name().to_owned(),
        what: "the largest modulus".into(),
        found: format!("of {found} bits"),
        expected: format!("at most word_bits = {words}: {way}"),
    })
}
