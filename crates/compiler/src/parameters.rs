//! Chooses modulus chain, special moduli, digits, and the shape of every table.
//!
//! A trial with a generous chain says how many limbs each table consumes in each shape; the chain is then as
//! long as the longest needs, and each table starts at the level that lets it end just where the next linear
//! layer wants it. Then the ways to cut key switching into digits that stay within 128-bit security
//! are compared by the predicted time of the whole program.

use crate::Options;
use crate::builder::{Builder, Built};
use crate::chain::Chain;
use crate::error::{Error, Result};
use crate::layers::{self, Fixed, TablePlan};
use crate::linear::{self, Route};
use bfv::{Params, T_FERMAT};
use circuits::lut::{Lut, Shape};
use circuits::transform::SlotsToCoeffs;
use circuits::{Engine, Layout, LoopParams, pack};
use program::{KeyNeeds, Parameters, Prediction, Program, Step};
use ring::{ntt_primes, ntt_primes_avoiding};
use rlwe::{ParamsSpec, SwitchKey};

/// Ring degree: all 32,768 slots exist modulo 65537.
const N: usize = 1 << 15;
/// LWE dimension and its moduli: 26 + 27 bits, within the 53 that dimension 2048 allows.
const LWE_DIMENSION: usize = 2048;
const Q0_BITS: u32 = 26;
const LWE_P_BITS: u32 = 27;
/// A product of two residuals of rounding size, squares of one ciphertext included, is 33 bits above
/// rounding size: a limb of that size is dropped after each.
const LIMB_BITS: u32 = 33;
/// Special moduli are as large as the fast path of the kernels allows at its best.
const SPECIAL_BITS: u32 = 49;
/// Level at which the result of a table meets the next linear layer.
const END_LEVEL: usize = 1;
/// The same where slots go through coefficients: their noise is up to a limb larger then.
const END_LEVEL_OF_TRANSFORM: usize = 2;
/// Longest chain tried.
const MAX_LIMBS: usize = 24;

/// Compiles with the best parameters found.
pub(crate) fn choose(network: &Chain, options: Options) -> Result<Program> {
    let trial = loop_params(MAX_LIMBS, 4, 5, true)?;
    let fixed = &Fixed::new(network, options.batch, &trial)?;
    let plans = plan_tables(network, options.batch, fixed, &trial)?;
    let limbs = plans
        .iter()
        .map(|p| p.start_level + 1)
        .max()
        .unwrap_or(2)
        .max(2);
    let mut best: Option<(f64, Program)> = None;
    let mut last = None;
    for (special, digit_limbs) in cuts(limbs) {
        let attempt = loop_params(limbs, special, digit_limbs, false).and_then(|params| {
            let plans = plan_tables(network, options.batch, fixed, &params)?;
            build(network, options, fixed, &params, &plans)
        });
        match attempt {
            Ok(program) => {
                let seconds = program.steps.iter().map(|s| s.seconds).sum();
                if best.as_ref().is_none_or(|(least, _)| seconds < *least) {
                    best = Some((seconds, program));
                }
            }
            Err(error) => last = Some(error),
        }
    }
    match (best, last) {
        (Some((_, program)), _) => Ok(program),
        (None, Some(last)) => Err(Error::NoParameters {
            last: Box::new(last),
        }),
        (None, None) => unreachable!("there is a way to cut digits"),
    }
}

/// Numbers of special moduli and limbs per digit worth comparing for a chain of `limbs` limbs.
fn cuts(limbs: usize) -> Vec<(usize, usize)> {
    let mut cuts = Vec::new();
    for digit_limbs in 2..=limbs {
        let digits = limbs.div_ceil(digit_limbs);
        if limbs.div_ceil(digit_limbs - 1) == digits && digit_limbs > 2 {
            continue; // as many digits as with shorter ones
        }
        let bits = digit_limbs as u32 * LIMB_BITS;
        // As large as a digit, or up to twenty bits smaller: products bear that noise.
        for special in
            bits.saturating_sub(20).div_ceil(SPECIAL_BITS).max(1)..=bits.div_ceil(SPECIAL_BITS)
        {
            cuts.push((special as usize, digit_limbs));
        }
    }
    cuts
}

fn loop_params(
    limbs: usize,
    special: usize,
    digit_limbs: usize,
    trial: bool,
) -> Result<LoopParams> {
    let mut q = ntt_primes(Q0_BITS, N, 1)?;
    q.extend(ntt_primes(LIMB_BITS, N, limbs - 1)?);
    let p = ntt_primes_avoiding(SPECIAL_BITS, N, special, &q)?;
    let lwe_p = ntt_primes(LWE_P_BITS, N, 1)?[0];
    let spec = ParamsSpec {
        n: N,
        q,
        p,
        digit_limbs,
    };
    // A trial only measures how many limbs are consumed; nothing is ever encrypted with it.
    let params = if trial {
        Params::new_insecure(&spec, T_FERMAT)?
    } else {
        Params::new(&spec, T_FERMAT)?
    };
    Ok(LoopParams::new(&params, lwe_p, LWE_DIMENSION)?)
}

/// The cheapest plan of each table.
fn plan_tables(
    network: &Chain,
    batch: usize,
    fixed: &Fixed,
    params: &LoopParams,
) -> Result<Vec<TablePlan>> {
    let mut plans = Vec::new();
    let mut builder = Builder::new(params);
    layers::network(&mut builder, network, batch, fixed, |index, layout| {
        let task = Task {
            layer: &network.layers[index].name,
            len: fixed.tables[index].len(),
            layout,
            transform: match linear::route(layout, &network.layers[index + 1].linear, batch) {
                Route::Direct => None,
                Route::Coefficients => Some(fixed.transform()),
            },
        };
        let plan = plan_table(&task, params)?;
        plans.push(plan);
        Ok(plan)
    })?;
    Ok(plans)
}

/// A table to be planned.
struct Task<'a> {
    layer: &'a str,
    /// Coefficients of its polynomial.
    len: usize,
    layout: Layout,
    /// The map that follows it, if the next layer reads coefficients.
    transform: Option<&'a SlotsToCoeffs>,
}

impl Task<'_> {
    /// Level at which it must end.
    fn end_level(&self) -> usize {
        match self.transform {
            None => END_LEVEL,
            Some(_) => END_LEVEL_OF_TRANSFORM,
        }
    }

    /// Level at which it ends, and its predicted seconds, packing included.
    fn run_dry(&self, params: &LoopParams, lut: &Lut, start_level: usize) -> Result<(usize, f64)> {
        let engine = Engine::dry(params.bfv());
        let packed = pack::pack(&engine, params, self.layout, &[], start_level)?;
        let mut result = lut.apply(&engine, self.layout, &packed)?;
        if let Some(transform) = self.transform {
            result = transform.apply(&engine, &result)?;
        }
        Ok((result.level(), engine.counts().seconds(N)))
    }
}

fn plan_table(task: &Task<'_>, params: &LoopParams) -> Result<TablePlan> {
    let top = params.bfv().rlwe().max_level();
    let too_long = |what, found: usize, expected: usize| Error::Layer {
        layer: task.layer.into(),
        what,
        found: found.to_string(),
        expected: format!("at most {expected}"),
    };
    let mut best: Option<(f64, TablePlan)> = None;
    let mut last = too_long("the size of its table", task.len, 65537);
    for shape in Shape::candidates(task.len, task.layout) {
        let lut = Lut::new(vec![0; task.len], shape)?;
        // Started at the top it ends somewhere; started as much lower as it ended too high, it
        // ends where it should, but for digits of key switching that fall differently.
        let attempt = task.run_dry(params, &lut, top).and_then(|(end, _)| {
            let start_level = (top + task.end_level()).saturating_sub(end);
            if start_level > top {
                return Err(too_long(
                    "the number of limbs of its table",
                    start_level + 1,
                    top + 1,
                ));
            }
            let (end, seconds) = task.run_dry(params, &lut, start_level)?;
            if end < task.end_level() {
                return Err(too_long(
                    "the number of limbs of its table",
                    start_level + 2,
                    top + 1,
                ));
            }
            Ok((seconds, TablePlan { start_level, shape }))
        });
        match attempt {
            Ok(found) if best.as_ref().is_none_or(|(least, _)| found.0 < *least) => {
                best = Some(found)
            }
            Ok(_) => {}
            Err(error) => last = error,
        }
    }
    best.map(|(_, plan)| plan).ok_or(last)
}

fn build(
    network: &Chain,
    options: Options,
    fixed: &Fixed,
    params: &LoopParams,
    plans: &[TablePlan],
) -> Result<Program> {
    let mut builder = Builder::new(params);
    layers::network(&mut builder, network, options.batch, fixed, |index, _| {
        Ok(plans[index])
    })?;
    let Built {
        constants,
        steps,
        mut needs,
        margin_bits,
    } = builder.finish();
    needs.switch();
    let placement = fixed.placement.starts(options.batch);
    let spec = params.bfv().rlwe().spec();
    let program = Program {
        format: String::new(),
        name: network.name.clone(),
        batch: options.batch,
        input: network.input,
        input_max: network.max,
        classes: network.layers.last().map_or(0, |l| l.linear.outputs()),
        prediction: Prediction {
            input_bytes: input_bytes(params, &steps, placement.len()),
            key_bytes: key_bytes(params, &needs),
            margin_bits,
        },
        placement,
        parameters: Parameters {
            n: spec.n,
            t: T_FERMAT,
            q: spec.q.clone(),
            p: spec.p.clone(),
            digit_limbs: spec.digit_limbs,
            lwe_dimension: params.dimension(),
            lwe_p: params.small().spec().p[0],
        },
        keys: KeyNeeds {
            relinearization: needs.relinearization(),
            galois: needs
                .galois_elements()
                .iter()
                .map(|(&g, &l)| (g, l))
                .collect(),
            packing: needs.packings().iter().map(|(&v, &l)| (v, l)).collect(),
        },
        constants,
        steps,
    };
    Ok(program.new()?)
}

/// Bytes of a polynomial at `level`, residues packed to their bits.
fn poly_bytes(params: &rlwe::Params, level: usize, special: bool) -> u64 {
    let basis = if special {
        params.extended(level)
    } else {
        params.basis(level).clone()
    };
    basis
        .moduli()
        .map(|q| (params.n() as u64 * u64::from(q.bits())).div_ceil(8))
        .sum()
}

/// Bytes of the client's ciphertexts: one component each, the other is a seed.
fn input_bytes(params: &LoopParams, steps: &[Step], ciphertexts: usize) -> u64 {
    let level = steps.iter().find_map(|s| match s.ty {
        program::Type::Ciphertext { level, .. } => Some(level),
        program::Type::Samples => None,
    });
    poly_bytes(params.bfv().rlwe(), level.unwrap_or(0), false) * ciphertexts as u64
}

/// Bytes of the evaluation keys: the uniform halves are seeds.
fn key_bytes(params: &LoopParams, needs: &circuits::Needs) -> u64 {
    let rlwe = params.bfv().rlwe();
    let switch =
        |level: usize| SwitchKey::digit_count(rlwe, level) as u64 * poly_bytes(rlwe, level, true);
    let packing = |(&values, &level): (&usize, &usize)| {
        let count = pack::BABY.min(params.dimension() * values / params.bfv().n());
        count as u64 * poly_bytes(rlwe, level, false)
    };
    needs.relinearization().map_or(0, switch)
        + needs
            .galois_elements()
            .values()
            .map(|&level| switch(level))
            .sum::<u64>()
        + needs.packings().iter().map(packing).sum::<u64>()
        + poly_bytes(params.small(), 0, true)
}
