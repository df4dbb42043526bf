//! Functional bootstrapping: any table, applied to every slot.
//!
//! The table is a polynomial `f` modulo `t` ([`interpolate`]), and the slots hold `x`. With the
//! exponent written in three digits, `f(x) = sum_g (sum_j (sum_i a_gji x^i) X^j) Y^g` for
//! `X = x^(k_0)`, `Y = X^(k_1)`. Only the powers cost a relinearised product each. The innermost
//! sums are integer combinations. The products with `X^j` and `Y^g` are added up before a
//! relinearisation. In all there are `k_0 + k_1 + k_2` products and `k_2 + 1` further
//! relinearisations. A polynomial of degree 65536 takes 766 by the square-root method and 391 by
//! Paterson-Stockmeyer's. The depth is that of the powers plus two.
//!
//! If slots are idle, the copies of a value share the work: see `segments.rs`.
//!
//! Every product is one of residuals, followed by a modulus switch. The modulus and the cost
//! therefore get smaller along the circuit.
//!
//! Sources: Liu, Wang, ASIACRYPT 2023 (the polynomial over `Z_t`, sums before relinearisation);
//! Athena (MICRO 2025), algorithm 2; Paterson, Stockmeyer, SIAM J. Comput. 2(1), 1973.

mod interpolate;
mod scalar;
mod segments;

use crate::engine::{DryValue, Engine, Value, ValueOf};
use crate::error::{Error, Result};
use crate::operations::Operations;
use exchange::{Layout, LoopParams};
use program::TableShape;

pub use interpolate::interpolate;

const CIRCUIT: &str = "a table";

/// Products that are computed side by side: one for each thread, and at least four, since one alone
/// does not keep two threads at work. More would take more memory.
pub(crate) fn together() -> usize {
    ring::threads().clamp(4, 32)
}

/// Polynomials of all moduli that a product takes while it is computed. Measured runs took 27 to
/// 101 MB more for one and three products beside the first, at 20 limbs and 4 special ones.
const WORKING: usize = 6;

/// A table, prepared for evaluation: its polynomial and its shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lut {
    coefficients: Vec<u64>,
    shape: TableShape,
}

/// Shapes that are candidates for a polynomial of `len` coefficients in `layout`: balanced digits,
/// for each number of segments that the copies allow.
pub fn shapes(len: usize, layout: Layout) -> Vec<TableShape> {
    let powers = |max: usize| {
        std::iter::successors(Some(2usize), |k| Some(2 * k)).take_while(move |&k| k <= max)
    };
    let mut shapes = Vec::new();
    for k0 in powers(128) {
        for k1 in powers(64) {
            let k2 = len.div_ceil(k0 * k1);
            if k2 <= 64 {
                shapes.push(TableShape {
                    segments: 1,
                    digits: [k0, k1, k2],
                });
            }
            for segments in powers(layout.copies()) {
                let per_segment = len.div_ceil(segments);
                // The last factor is a power of x^(segment length), computed by squarings.
                if k0 * k1 == per_segment.next_power_of_two() && k0 >= k1 {
                    shapes.push(TableShape {
                        segments,
                        digits: [k0, k1, 1],
                    });
                }
            }
        }
    }
    shapes
}

impl Lut {
    /// Prepares the polynomial with the given coefficients, lowest first, for evaluation in the
    /// given shape.
    ///
    /// # Errors
    /// [`Error::Shape`] if the polynomial has more coefficients than the shape.
    pub fn new(coefficients: Vec<u64>, shape: TableShape) -> Result<Self> {
        let room = shape.segments * shape.segment_len();
        if coefficients.len() > room {
            return Err(Error::Shape {
                what: "the number of coefficients of a table",
                found: coefficients.len().to_string(),
                expected: format!("at most {room}"),
            });
        }
        Ok(Self {
            coefficients,
            shape,
        })
    }

    /// Shape of the table.
    pub fn shape(&self) -> TableShape {
        self.shape
    }

    /// Number of limbs that are held at the same time when the table is applied to `x`, from a dry
    /// run: all powers, the sums of products before they are relinearised, and the working memory
    /// of products that are computed beside another one. That of one product is not counted.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`] if the chain is too short.
    pub fn live_limbs(&self, params: &LoopParams, x: &DryValue) -> Result<usize> {
        let engine = &crate::dry_engine(params);
        let [k0, k1, k2] = self.shape.digits;
        let low = powers(engine, x, k0)?;
        let (middle, high, sums) = match self.shape.segments {
            1 => {
                let middle = powers(engine, &low[k0 - 1], k1)?;
                let high = match k2 {
                    1 => Vec::new(),
                    _ => powers(engine, &middle[k1 - 1], k2 - 1)?,
                };
                (middle, high, 3 * k2)
            }
            segments => {
                let middle = powers(engine, &low[k0 - 1], k1 - 1)?;
                let high = match engine.model().settles() {
                    true => Vec::new(),
                    false => segments::top_powers(engine, &middle, segments)?,
                };
                (middle, high, 2 * k1)
            }
        };
        let all = || low.iter().chain(&middle).chain(&high);
        let level = low.iter().chain(&middle).map(Value::level).min();
        let held: usize = all().map(|power| 2 * (power.level() + 1)).sum();
        let special = params.bfv().rlwe().special().len();
        let working = (together() - 1) * WORKING * (x.level() + 1 + special);
        Ok(held + working + sums * level.map_or(0, |level| level + 1))
    }

    fn coefficient(&self, index: usize) -> u64 {
        self.coefficients.get(index).copied().unwrap_or(0)
    }

    /// Applies the table to every slot. The result has factor 1.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`], errors for missing keys, and [`Error::Shape`] for more segments than
    /// copies.
    pub fn apply<O: Operations>(
        &self,
        engine: &Engine<O>,
        layout: Layout,
        x: &ValueOf<O>,
    ) -> Result<ValueOf<O>> {
        if self.shape.segments > layout.copies() {
            return Err(Error::Shape {
                what: "the number of segments of a table",
                found: self.shape.segments.to_string(),
                expected: format!("at most the {} copies of a value", layout.copies()),
            });
        }
        if !O::READS_PLAINTEXTS {
            return Ok(self.run(engine, layout, x, 1)?.of_factor(1));
        }
        // The factor of the result is linear in the unit of the coefficients, and depends on levels
        // alone. A dry run finds the unit to start with.
        let factor = self.run(&engine.to_dry(), layout, &x.to_dry(), 1)?.factor();
        let unit = engine.params().t().inv(factor).expect("factors are units");
        self.run(engine, layout, x, unit)
    }

    fn run<O: Operations>(
        &self,
        engine: &Engine<O>,
        layout: Layout,
        x: &ValueOf<O>,
        unit: u64,
    ) -> Result<ValueOf<O>> {
        match self.shape.segments {
            1 => scalar::apply(self, engine, x, unit),
            _ => segments::apply(self, engine, layout, x, unit),
        }
    }
}

/// `x^1, .., x^count`, each with the smallest depth.
///
/// If products leave values hot, a power is made from the highest power of two below it. Then both
/// halves may carry on the noise of that power of two. Powers from which no other is made may stay
/// hotter. The last power is excepted, because further powers may start from it.
fn powers<O: Operations>(
    engine: &Engine<O>,
    x: &ValueOf<O>,
    count: usize,
) -> Result<Vec<ValueOf<O>>> {
    let mut powers = vec![x.clone()];
    while powers.len() < count {
        // These powers have one more level of products, and need none of each other.
        let known = powers.len();
        let next = engine.each(known.min(count - known), together(), |index| {
            let k = known + 1 + index;
            let low = match engine.model().settles() {
                true => k / 2,
                false => k - k.next_power_of_two() / 2,
            };
            let (high, low) = (&powers[k - low - 1], &powers[low - 1]);
            match 2 * k > count + 1 && k < count {
                true => engine.mul_last(CIRCUIT, high, low),
                false => engine.mul(CIRCUIT, high, low),
            }
        })?;
        powers.extend(next);
    }
    Ok(powers)
}
