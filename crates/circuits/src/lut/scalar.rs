//! One polynomial for all slots: its coefficients are integers, and combining powers is a matrix
//! product over residues.

use super::{CIRCUIT, Lut, powers};
use crate::engine::{Engine, Product, Value};
use crate::error::Result;
use crate::residual::Residual;
use bfv::Ciphertext;
use bfv::noise::Factors;

/// `f(x)`, its factor multiplied by `unit`.
pub(super) fn apply(lut: &Lut, engine: &Engine<'_>, x: &Value, unit: u64) -> Result<Value> {
    let [k0, k1, k2] = lut.shape().digits;
    let low = powers(engine, x, k0)?;
    let middle = powers(engine, &low[k0 - 1], k1)?;
    let high = if k2 > 1 {
        powers(engine, &middle[k1 - 1], k2 - 1)?
    } else {
        Vec::new()
    };
    let level = low[k0 - 2]
        .level()
        .min(middle[k1 - 2].level())
        .min(low[0].level());
    let one = engine.one(level);
    let low: Vec<&Value> = std::iter::once(&one).chain(&low[..k0 - 1]).collect();
    let middle: Vec<&Value> = std::iter::once(&one).chain(&middle[..k1 - 1]).collect();
    let lowest = high.iter().map(Value::level).min().unwrap_or(level);
    // The products with Y^g must carry one factor in the end.
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
    let high: Vec<&Value> = std::iter::once(&one).chain(&high).collect();
    let groups: Vec<&Value> = groups.iter().collect();
    engine.relinearize(CIRCUIT, &engine.tensor_sum(&groups, &high)?)
}

fn invert(engine: &Engine<'_>, factor: u64, unit: u64) -> u64 {
    let t = engine.params().t();
    t.mul(unit, t.inv(factor).expect("factors are units"))
}

/// `sum_j (sum_i a_gji x^i) X^j` for every `g`, relinearised; group `g` carries the factor of a
/// product times `units[g]`.
fn combine(
    lut: &Lut,
    engine: &Engine<'_>,
    level: usize,
    low: &[&Value],
    middle: &[&Value],
    units: &[u64],
) -> Result<Vec<Value>> {
    let (t, q) = (engine.params().t(), engine.params().q_mod_t(level));
    let residual = group_residual(engine, low, middle);
    let hot = low
        .iter()
        .chain(middle)
        .any(|v| engine.is_hot(v.residual()));
    let factor = |unit: u64| t.neg(t.mul(q, unit));
    {
        let counts = &mut engine.log().counts;
        let sums = middle.len() * units.len();
        counts.tensors(level + 1, sums);
        counts.scalar_products += low.len() * sums;
        counts.limb_combinations += 2 * low.len() * sums * (level + 1);
    }
    let dry = |unit: u64| Product {
        ct: None,
        level,
        factor: factor(unit),
        residual,
        hot,
    };
    let cts: Option<(Vec<&Ciphertext>, Vec<&Ciphertext>)> = low
        .iter()
        .map(|v| v.ciphertext())
        .collect::<Option<Vec<_>>>()
        .zip(middle.iter().map(|v| v.ciphertext()).collect());
    let products: Vec<Product> = match cts {
        None => units.iter().map(|&u| dry(u)).collect(),
        Some((x, y)) => {
            let inverse = |v: &&Value| invert(engine, engine.factor_at(v, level), 1);
            let low_units: Vec<u64> = low.iter().map(inverse).collect();
            let middle_units: Vec<u64> = middle.iter().map(inverse).collect();
            let (k0, k1) = (low.len(), middle.len());
            let mut matrix = Vec::with_capacity(units.len() * k0 * k1);
            for (g, &unit) in units.iter().enumerate() {
                for (j, &middle) in middle_units.iter().enumerate() {
                    let row = t.mul(unit, middle);
                    for (i, &low) in low_units.iter().enumerate() {
                        let a = lut.coefficient((g * k1 + j) * k0 + i);
                        matrix.push(t.mul(a, t.mul(row, low)));
                    }
                }
            }
            let sums = engine
                .evaluator()
                .tensor_combinations(level, &matrix, &x, &y)?;
            sums.into_iter()
                .zip(units)
                .map(|(ct, &unit)| Product {
                    ct: Some(Ciphertext::new(ct, factor(unit))),
                    ..dry(unit)
                })
                .collect()
        }
    };
    products
        .iter()
        .map(|p| engine.relinearize(CIRCUIT, p))
        .collect()
}

/// Noise of one group: coefficients are uniform in `[0, t)`.
fn group_residual(engine: &Engine<'_>, low: &[&Value], middle: &[&Value]) -> Residual {
    let t = engine.params().t().value() as f64;
    let sum = low.iter().fold(Residual::ZERO, |sum, v| {
        sum.plus(v.residual().times(t * t / 3.0))
    });
    middle.iter().fold(Residual::ZERO, |total, v| {
        let product = Residual::tensor(engine.model(), sum, v.residual(), Factors::Alike);
        total.plus(product)
    })
}
