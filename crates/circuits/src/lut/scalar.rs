//! One polynomial for all slots. Its coefficients are integers, and combining powers is a product
//! of matrices over residues.

use super::{CIRCUIT, Lut, powers, together};
use crate::engine::{Engine, Value, ValueOf};
use crate::error::Result;
use crate::operations::{Combination, Operations};
use crate::residual::Residual;
use bfv::noise::Factors;

/// `f(x)`. Its factor is multiplied by `unit`.
pub(super) fn apply<O: Operations>(
    lut: &Lut,
    engine: &Engine<O>,
    x: &ValueOf<O>,
    unit: u64,
) -> Result<ValueOf<O>> {
    let [k0, k1, k2] = lut.shape().digits;
    let low = powers(engine, x, k0)?;
    let middle = powers(engine, &low[k0 - 1], k1)?;
    let high = if k2 > 1 {
        powers(engine, &middle[k1 - 1], k2 - 1)?
    } else {
        Vec::new()
    };
    // Some products drop more limbs than others, so any power may have the lowest level, not only
    // the last one.
    let used = low[..k0 - 1].iter().chain(&middle[..k1 - 1]);
    let level = used.map(Value::level).min().unwrap_or(0);
    let one = engine.one(level);
    let low: Vec<&ValueOf<O>> = std::iter::once(&one).chain(&low[..k0 - 1]).collect();
    let middle: Vec<&ValueOf<O>> = std::iter::once(&one).chain(&middle[..k1 - 1]).collect();
    let lowest = high.iter().map(Value::level).min().unwrap_or(level);
    // The products with Y^g must all have the same factor in the end.
    let units: Vec<u64> = (0..k2)
        .map(|g| match g {
            0 => unit,
            _ => invert(engine, engine.factor_at(&high[g - 1], lowest), unit),
        })
        .collect();
    let groups = combine(lut, engine, level, &low, &middle, &units)?;
    if let [only] = groups.as_slice() {
        return Ok(only.clone());
    }
    let one = engine.one(lowest);
    let high: Vec<&ValueOf<O>> = std::iter::once(&one).chain(&high).collect();
    let groups: Vec<&ValueOf<O>> = groups.iter().collect();
    engine.relinearize(CIRCUIT, &engine.tensor_sum(&groups, &high)?)
}

fn invert<O: Operations>(engine: &Engine<O>, factor: u64, unit: u64) -> u64 {
    let t = engine.params().t();
    t.mul(unit, t.inv(factor).expect("factors are units"))
}

/// `sum_j (sum_i a_gji x^i) X^j` for every `g`, relinearised. Group `g` has the factor of a product
/// times `units[g]`.
fn combine<O: Operations>(
    lut: &Lut,
    engine: &Engine<O>,
    level: usize,
    low: &[&ValueOf<O>],
    middle: &[&ValueOf<O>],
    units: &[u64],
) -> Result<Vec<ValueOf<O>>> {
    let (t, q) = (engine.params().t(), engine.params().q_mod_t(level));
    let inverse = |v: &&ValueOf<O>| invert(engine, engine.factor_at(v, level), 1);
    let middle_units: Vec<u64> = middle.iter().map(inverse).collect();
    let rows = units
        .iter()
        .flat_map(|&unit| middle_units.iter().map(move |&middle| t.mul(unit, middle)));
    let combination = Combination {
        coefficients: &lut.coefficients,
        rows: rows.collect(),
        columns: low.iter().map(inverse).collect(),
    };
    let factors: Vec<u64> = units.iter().map(|&unit| t.neg(t.mul(q, unit))).collect();
    let residual = group_residual(engine, low, middle);
    let at = (level, factors.as_slice());
    let products = engine.combine(at, &combination, (low, middle), residual)?;
    engine.each(products.len(), together(), |group| {
        engine.relinearize(CIRCUIT, &products[group])
    })
}

/// Noise of one group. Coefficients are uniform in `[0, t)`.
fn group_residual<O: Operations>(
    engine: &Engine<O>,
    low: &[&ValueOf<O>],
    middle: &[&ValueOf<O>],
) -> Residual {
    let t = engine.params().t().value() as f64;
    let sum = low.iter().fold(Residual::ZERO, |sum, v| {
        sum.plus(v.residual().scaled(t * t / 3.0, t * t))
    });
    middle.iter().fold(Residual::ZERO, |total, v| {
        let product = Residual::tensor(engine.model(), sum, v.residual(), Factors::Alike);
        total.plus(product)
    })
}
