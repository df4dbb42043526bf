//! Chooses modulus chain, special moduli, digits, and the shape of every table.
//!
//! A trial with a generous chain says how many limbs each table consumes in each shape; the chain is then as
//! long as the longest needs, and each table starts at the level that lets it end just where the next linear
//! layer wants it. Then the ways to cut key switching into digits that stay within 128-bit security
//! are compared by the predicted time of the whole program.

use crate::Options;
use crate::builder::{Builder, Built};
use crate::error::{Error, Result};
use crate::layers::{self, Placement, TablePlan};
use bfv::{Params, T_FERMAT};
use circuits::lut::{Lut, Shape};
use circuits::{Engine, Layout, LoopParams, Value, pack};
use network::{IntNetwork, Layer};
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
/// Longest chain tried.
const MAX_LIMBS: usize = 24;

/// What depends on no parameters: the placement of the images, and the tables' polynomials by layer.
type Fixed<'a> = (&'a Placement, &'a [Vec<i64>]);

/// Compiles with the best parameters found.
pub(crate) fn choose(network: &IntNetwork, options: Options) -> Result<Program> {
    let placement = layers::placement(network, N)?;
    let trial = loop_params(MAX_LIMBS, 4, 5, true)?;
    let tables = layers::tables(network, &trial)?;
    let fixed = (&placement, tables.as_slice());
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
    network: &IntNetwork,
    batch: usize,
    fixed: Fixed<'_>,
    params: &LoopParams,
) -> Result<Vec<TablePlan>> {
    let mut plans = Vec::new();
    let mut builder = Builder::new(params);
    layers::network(&mut builder, network, batch, fixed, |index, layout| {
        let plan = plan_table(&network.layers[index], layout, params, fixed.1[index].len())?;
        plans.push(plan);
        Ok(plan)
    })?;
    Ok(plans)
}

fn plan_table(layer: &Layer, layout: Layout, params: &LoopParams, len: usize) -> Result<TablePlan> {
    let top = params.bfv().rlwe().max_level();
    let mut best: Option<(f64, TablePlan)> = None;
    let mut last = None;
    for shape in Shape::candidates(len, layout) {
        let lut = Lut::new(vec![0; len], shape)?;
        // Started at the top it ends somewhere; started as much lower as it ended too high, it
        // ends where it should, but for digits of key switching that fall differently.
        let attempt = run_dry(params, layout, &lut, top).and_then(|(end, _)| {
            let start_level = (top + END_LEVEL).saturating_sub(end);
            if start_level > top {
                return Err(Error::Layer {
                    layer: layer.name.clone(),
                    what: "the number of limbs of its table",
                    found: (start_level + 1).to_string(),
                    expected: format!("at most {}", top + 1),
                });
            }
            let (end, seconds) = run_dry(params, layout, &lut, start_level)?;
            debug_assert!(end >= END_LEVEL);
            Ok((seconds, TablePlan { start_level, shape }))
        });
        match attempt {
            Ok(found) if best.as_ref().is_none_or(|(least, _)| found.0 < *least) => {
                best = Some(found)
            }
            Ok(_) => {}
            Err(error) => last = Some(error),
        }
    }
    best.map(|(_, plan)| plan).ok_or_else(|| {
        last.unwrap_or_else(|| Error::Layer {
            layer: layer.name.clone(),
            what: "the size of its table",
            found: len.to_string(),
            expected: "at most 65537".into(),
        })
    })
}

/// Level at which a table ends, and its predicted seconds, packing included.
fn run_dry(
    params: &LoopParams,
    layout: Layout,
    lut: &Lut,
    start_level: usize,
) -> Result<(usize, f64)> {
    let engine = Engine::dry(params.bfv());
    let packed: Value = pack::pack(&engine, params, layout, &[], start_level)?;
    let result = lut.apply(&engine, layout, &packed)?;
    Ok((result.level(), engine.counts().seconds(N)))
}

fn build(
    network: &IntNetwork,
    options: Options,
    fixed: Fixed<'_>,
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
    let placement = fixed.0.starts(options.batch);
    let spec = params.bfv().rlwe().spec();
    let program = Program {
        format: String::new(),
        name: network.name.clone(),
        batch: options.batch,
        input: network.input.shape,
        input_max: network.input.max,
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
