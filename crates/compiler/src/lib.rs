//! From an integer network to a program over ciphertexts.
//!
//! *Concept.* The compiler writes the program step by step through a `Builder`, which runs every
//! step dry as it is written. A value's level and noise, the keys that it needs and its cost come
//! from the same code that will run it. `parameters` chooses the modulus chain and the shape of key
//! switching: it builds the program for each candidate and keeps the cheapest.
//!
//! *May use* the network, the program, and `circuits` with the layers below it, for planning only.
//! No key and no ciphertext is ever made here (`docs/adr/0002-plans-are-dry-runs.md`).

#![forbid(unsafe_code)]

mod builder;
mod choices;
mod error;
mod floods;
mod forms;
mod heads;
mod interleaved;
mod layers;
mod linear;
mod merge;
mod parameters;
mod planner;
mod products;
mod raster;

pub use choices::{Candidate, Choices, Cost, Cut, FormCost, FormOption, LayerChoices, TableCost};
pub use error::{Error, Result};

use exchange::LoopParams;
use network::IntNetwork;
use program::{MAX_BATCH, MAX_LOG2_FAILURE, Program};

/// Options of the compiler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Number of images in one run. They share ciphertexts.
    pub batch: usize,
    /// log2 of the largest probability that any slot of a run is wrong, at most
    /// [`MAX_LOG2_FAILURE`].
    pub log2_failure: f64,
    /// Sizes of the moduli.
    pub moduli: Moduli,
    /// Number of answers over which a flood hides the noise of the outputs, at most
    /// [`MAX_FLOODED_ANSWERS`]. `None` leaves that noise, and one answer may then show that a
    /// weight has changed.
    pub flooded_answers: Option<u64>,
}

/// Largest number of answers over which floods hide noise.
pub const MAX_FLOODED_ANSWERS: u64 = 1 << 40;

impl Default for Options {
    fn default() -> Self {
        Self {
            batch: 1,
            log2_failure: MAX_LOG2_FAILURE,
            moduli: Moduli::default(),
            flooded_answers: None,
        }
    }
}

impl Options {
    /// Returns the default options, for `batch` images in one run.
    pub fn of_batch(batch: usize) -> Self {
        Self {
            batch,
            ..Self::default()
        }
    }
}

/// Sizes of the moduli, and the noise that is carried on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moduli {
    /// Bits of each limb of the chain except the lowest.
    pub limb_bits: u32,
    /// Bits by which the two limbs above the lowest are larger. A flood over the outputs may then
    /// need a level less.
    pub wider_bits: u32,
    /// Bits of a special modulus.
    pub special_bits: u32,
    /// Bits that noise may lie above a rounding's noise before another limb is dropped.
    pub slack_bits: f64,
    /// Size of the words that every modulus must fit in.
    pub words: WordSize,
}

/// Word size of the machine that a program is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WordSize {
    /// 64 bits. Moduli have the size that is best.
    #[default]
    Any,
    /// A number of bits, from [`WordSize::LEAST`] to 64. With 32 no modulus is larger than
    /// [`WordSize::LARGEST_32`].
    Bits(u32),
}

impl WordSize {
    /// Largest modulus of 32 bits whose centred residues, up to `(q - 1) / 2`, are four signed
    /// bytes each. Four bytes of 127 are 0x7F7F7F7F. Accelerators are fastest with products of
    /// matrices of bytes.
    pub const LARGEST_32: u64 = 0xFEFE_FEFF;

    /// The fewest bits for which there are programs.
    pub const LEAST: u32 = 32;

    /// Bits of a word.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Any => u64::BITS,
            Self::Bits(bits) => bits,
        }
    }

    /// Largest modulus.
    pub const fn largest(self) -> u64 {
        match self.bits() {
            32 => Self::LARGEST_32,
            64.. => u64::MAX,
            bits => (1 << bits) - 1,
        }
    }

    /// Whether words are smaller than the limbs that are best.
    pub(crate) fn are_narrow(self) -> bool {
        self.bits() < Moduli::default().limb_bits
    }
}

impl WordSize {
    /// Replaces an error that larger moduli may avoid by one that says so.
    fn explain(self, error: Error) -> Error {
        match (self, error) {
            (
                Self::Bits(bits),
                reason @ (Error::NoParameters { .. }
                | Error::Failure { .. }
                | Error::Layer { .. }
                | Error::Circuits(circuits::Error::OutOfLevels { .. })),
            ) => Error::Words {
                bits,
                reason: Box::new(reason),
            },
            (_, error) => error,
        }
    }
}

impl Moduli {
    /// Returns the sizes that are best for words of this size.
    ///
    /// With limbs of 32 bits, a product of residuals has points that are much larger than on
    /// average. Therefore two or three products follow each other with one limb dropped after each,
    /// and the next product drops two limbs (`docs/adr/0020-words-of-32-bits.md`).
    pub fn of_words(words: WordSize) -> Self {
        let best = Self::default();
        Self {
            limb_bits: best.limb_bits.min(words.bits()),
            special_bits: best.special_bits.min(words.bits()),
            words,
            ..best
        }
    }
}

impl Default for Moduli {
    /// A product of two residuals of rounding size, squares of one ciphertext included, is 30 bits
    /// above rounding size, and a limb is dropped after each product. Limbs have four bits more
    /// because some points are much larger than on average. This keeps the rest of a product from
    /// growing from product to product (`docs/adr/0015-noise-at-single-points.md`). Special moduli
    /// are as large as the fastest path of the kernels allows.
    fn default() -> Self {
        Self {
            limb_bits: 34,
            wider_bits: 0,
            special_bits: 49,
            slack_bits: 1.5,
            words: WordSize::Any,
        }
    }
}

/// Compiles `network`.
///
/// # Errors
/// [`Error`] names the layer that cannot be compiled, the property that is wrong, and the possible
/// values.
pub fn compile(network: &IntNetwork, options: Options) -> Result<Program> {
    compile_with_choices(network, options).map(|(program, _)| program)
}

/// Compiles `network`, and also returns the candidates that were compared.
///
/// # Errors
/// As [`compile`].
pub fn compile_with_choices(network: &IntNetwork, options: Options) -> Result<(Program, Choices)> {
    compile_from(network, options, None)
}

/// Compiles `network` with the moduli, the digits and the baby steps of `like`, so that evaluation
/// keys made for them serve the program. Keys that they do not have can be made later. The sizes of
/// moduli in `options` are not used.
///
/// # Errors
/// As [`compile`], and [`Error::Profile`] if these parameters do not hold the network.
pub fn compile_like(
    network: &IntNetwork,
    options: Options,
    like: &LoopParams,
) -> Result<(Program, Choices)> {
    compile_from(network, options, Some(like))
}

fn compile_from(
    network: &IntNetwork,
    options: Options,
    like: Option<&LoopParams>,
) -> Result<(Program, Choices)> {
    network.check()?;
    if options.batch == 0 {
        return Err(Error::EmptyBatch);
    }
    if options.batch > MAX_BATCH {
        return Err(Error::Batch {
            batch: options.batch,
            most: MAX_BATCH,
        });
    }
    if !options.log2_failure.is_finite() || options.log2_failure > MAX_LOG2_FAILURE {
        return Err(Error::Target {
            found: options.log2_failure,
        });
    }
    if let Some(answers) = options.flooded_answers
        && !(1..=MAX_FLOODED_ANSWERS).contains(&answers)
    {
        return Err(Error::Answers { found: answers });
    }
    match (
        parameters::choose(network, options, like),
        options.flooded_answers,
    ) {
        (Err(reason), Some(answers))
            if like.is_none() && holds_without_floods(network, options) =>
        {
            Err(Error::Flood {
                answers,
                reason: Box::new(reason),
            })
        }
        (found, _) => found,
    }
}

fn holds_without_floods(network: &IntNetwork, options: Options) -> bool {
    let options = Options {
        flooded_answers: None,
        ..options
    };
    parameters::choose(network, options, None).is_ok()
}
