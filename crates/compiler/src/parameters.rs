//! Chooses the modulus chain, the special moduli, the digits, and with [`Planner`] the shape of
//! every table.
//!
//! A trial with a long chain shows how many limbs each table consumes in each shape. The chain is
//! then as long as the longest table needs. Each table starts at the level from which it ends
//! exactly where the next linear layer needs it. Then the ways to cut key switching into digits
//! that stay within 128-bit security are compared, by the predicted time of the whole program.

use crate::builder::{Builder, Built};
use crate::choices::{Choices, Comparison, Cost, Cut, LayerChoices, is_of_parameters};
use crate::error::{Error, Result};
use crate::forms::{Forms, Placing};
use crate::interleaved::{self, Interleaved};
use crate::layers::{Fixed, Plans, TableUse, Writer};
use crate::planner::{Planned, Planner};
use crate::products::Next;
use crate::{Moduli, Options, WordSize};
use bfv::{Params, T_FERMAT};
use circuits::pack;
use exchange::{Layout, LoopParams, files};
use network::IntNetwork;
use program::{KeyNeeds, Op, Parameters, Patch, Prediction, Program, Step, Type};
use ring::{ntt_primes, ntt_primes_up_to};
use rlwe::ParamsSpec;
use rlwe::security::max_log_qp;
use std::collections::HashMap;
use std::rc::Rc;

/// Ring degree. All 32,768 slots exist modulo 65537.
const N: usize = 1 << 15;
/// LWE dimension. It allows 26 bits of modulus. Digits of 3 bits raise the deviation of the
/// rounding noise from 7.5 to 8.45, digits of 4 bits to 9.9.
const LWE_DIMENSION: usize = 1024;
const Q0_BITS: u32 = 26;
const LWE_DIGIT_BITS: u32 = 3;
/// Largest limb that is tried if runs would be wrong too often. With such limbs, the probability
/// that products grow at any point is 2^-200.
const LARGEST_LIMB: u32 = 36;
/// Number of limbs that [`Moduli::wider_bits`] makes larger.
const WIDER_LIMBS: usize = 2;
/// Number of bits by which [`choose`] makes each of these limbs larger if floods hide the noise of
/// outputs. After a dense layer from slots, a flood for 2^20 answers needs 103 bits, and the lowest
/// three limbs have 94. With 12 bits more in two limbs, and smaller special moduli, MNIST w7a7
/// takes 4.68 s instead of 7.08 s with another limb (one thread, predicted; 4.54 s without floods).
const WIDER_BITS: u32 = 6;
/// Largest number of limbs by which a tried chain may be shorter than the cheapest shapes of tables
/// need.
const SHORTER_LIMBS: usize = 2;
/// As [`SHORTER_LIMBS`], for words that are smaller than the best limbs. With such words the
/// cheapest shapes may end so low that special moduli hardly fit.
const SHORTER_LIMBS_NARROW: usize = 5;
/// Largest number of bits of a chain that is tried: 24 limbs of the default size.
const MAX_CHAIN_BITS: u32 = 24 * 34;
/// Smallest batch for which images are interleaved if that is faster.
const INTERLEAVED: usize = 256;
/// Smallest batch for which images are interleaved wherever a network allows it: to plan it the
/// other way takes minutes.
const ALWAYS_INTERLEAVED: usize = 2048;

/// Compiles with the parameters `like`, or with the best ones found. With floods, larger low limbs
/// are compared with more limbs.
pub(crate) fn choose(
    network: &IntNetwork,
    options: Options,
    like: Option<&LoopParams>,
) -> Result<(Program, Choices)> {
    if let Some(like) = like {
        return choose_like(network, options, like);
    }
    let of = match options.batch < INTERLEAVED {
        true => None,
        false => Interleaved::new(network, options.batch, N)?,
    };
    let Some(of) = of else {
        return choose_way(network, options, None);
    };
    let interleaved = choose_way(network, options, Some(&of));
    if options.batch >= ALWAYS_INTERLEAVED && interleaved.is_ok() {
        return interleaved;
    }
    match (interleaved, choose_way(network, options, None)) {
        (Ok(found), Ok(other)) => Ok(cheaper(Some(found), other)),
        (Ok(found), Err(_)) => Ok(found),
        (Err(_), other) => other,
    }
}

/// The program with images apart, or interleaved.
fn choose_way(
    network: &IntNetwork,
    options: Options,
    of: Option<&Interleaved>,
) -> Result<(Program, Choices)> {
    let found = choose_limbs(network, options, of);
    let widest = options.moduli.limb_bits + WIDER_BITS;
    if options.flooded_answers.is_none() || widest > options.moduli.words.bits() {
        return found;
    }
    let mut wider = options;
    wider.moduli.wider_bits = WIDER_BITS;
    match (found, choose_limbs(network, wider, of)) {
        (Ok(found), Ok(other)) => Ok(cheaper(Some(found), other)),
        (Err(_), Ok(other)) => Ok(other),
        (found, Err(_)) => found,
    }
}

/// The program of fewer predicted seconds. If they are equal, the first.
fn cheaper(first: Option<(Program, Choices)>, second: (Program, Choices)) -> (Program, Choices) {
    let seconds = |program: &Program| -> f64 { program.steps.iter().map(|s| s.seconds).sum() };
    match first {
        Some(first) if seconds(&first.0) <= seconds(&second.0) => first,
        _ => second,
    }
}

/// Compiles with the best parameters found. If runs would be wrong too often with limbs of the size
/// asked for, larger limbs are tried.
fn choose_limbs(
    network: &IntNetwork,
    options: Options,
    of: Option<&Interleaved>,
) -> Result<(Program, Choices)> {
    let largest = LARGEST_LIMB.min(options.moduli.words.bits());
    let (mut options, mut first) = (options, None);
    loop {
        match choose_with(network, options, of) {
            Err(error @ Error::Failure { .. }) if options.moduli.limb_bits < largest => {
                first.get_or_insert(error);
                options.moduli.limb_bits += 1;
            }
            // If larger limbs fit no chain, the error of the smaller limbs is reported.
            Err(error) => return Err(options.moduli.words.explain(first.unwrap_or(error))),
            found => return found,
        }
    }
}

/// Compiles with limbs of the given size.
///
/// If a chain is long, keys of 128-bit security add much noise in key switching. Then a table may
/// end too noisy for a dense layer from slots, but not for coefficients, because slots to
/// coefficients drops a limb. The second attempt therefore has no dense layers from slots.
fn choose_with(
    network: &IntNetwork,
    options: Options,
    of: Option<&Interleaved>,
) -> Result<(Program, Choices)> {
    let trial = trial(options.moduli)?;
    let fixed = &Fixed::new(network, options, &trial)?;
    let (mut first, mut best) = (None, None);
    for special in [Sizes::Fast, Sizes::Fitting] {
        for dense in [true, false] {
            match choose_for(network, options, (fixed, &trial), (special, dense), of) {
                Err(error @ Error::NoParameters { .. }) => first = first.or(Some(error)),
                // A flood leaves little room for special moduli, so both kinds are compared.
                Ok(found) if fixed.floods.is_some() => {
                    best = Some(cheaper(best, found));
                    break;
                }
                found => return found,
            }
        }
    }
    if let Some(best) = best {
        return Ok(best);
    }
    match first.expect("every attempt ended in an error") {
        Error::NoParameters { reason } if !is_of_parameters(&reason) => Err(*reason),
        error => Err(error),
    }
}

/// Compiles with the moduli, the digits and the baby steps of `like`, so that keys made for them
/// serve the program too. The chain may be longer than the network needs.
fn choose_like(
    network: &IntNetwork,
    options: Options,
    like: &LoopParams,
) -> Result<(Program, Choices)> {
    let (found, expected) = ([like.bfv().n(), like.dimension()], [N, LWE_DIMENSION]);
    if found != expected {
        return Err(Error::Profile {
            what: "its degree and its LWE dimension",
            found: format!("{found:?}"),
            expected: format!("{expected:?}"),
        });
    }
    let options = Options {
        moduli: sizes_of(like.bfv().rlwe().spec(), options.moduli),
        ..options
    };
    let trial = trial(options.moduli)?;
    let fixed = &Fixed::new(network, options, &trial)?;
    let mut reason = None;
    for dense in [true, false] {
        let sizes = (Sizes::Like(like), dense);
        match choose_for(network, options, (fixed, &trial), sizes, None) {
            Err(error @ Error::NoParameters { .. }) => reason = reason.or(Some(error)),
            outcome => return outcome,
        }
    }
    let reason = reason.map_or_else(String::new, |error| error.to_string());
    Err(Error::Profile {
        what: "its chain",
        found: format!("too short or too noisy: {reason}"),
        expected: "the profile of a larger network".into(),
    })
}

/// Sizes of the moduli of a ring.
fn sizes_of(spec: &ParamsSpec, others: Moduli) -> Moduli {
    let bits = |q: Option<&u64>| q.map_or(0, |q| 64 - q.leading_zeros());
    let limb_bits = bits(spec.q.last());
    let largest = spec.q.iter().chain(&spec.p).max();
    let narrow = WordSize::Bits(32);
    let fits = largest.is_some_and(|&q| q <= narrow.largest());
    Moduli {
        limb_bits,
        wider_bits: bits(spec.q.get(1)).saturating_sub(limb_bits),
        special_bits: bits(spec.p.first()),
        words: match fits {
            true => narrow,
            false => WordSize::Any,
        },
        ..others
    }
}

/// Parameters with a long chain. Nothing is encrypted with them.
fn trial(moduli: Moduli) -> Result<LoopParams> {
    let spec = spec(moduli, max_limbs(moduli), (special_limbs(moduli, 5), 5))?;
    loop_params(&spec, moduli, true)
}

/// Which moduli are tried.
#[derive(Clone, Copy, Debug)]
enum Sizes<'a> {
    /// Chains as long as the network needs, and special moduli of [`Moduli::special_bits`].
    Fast,
    /// The same chains, and special moduli as large as 128-bit security allows beside the chain, at
    /// most as large as the fast ones.
    Fitting,
    /// The moduli, digits and baby steps of these parameters.
    Like(&'a LoopParams),
}

/// As [`choose_with`], with moduli of one kind, with or without dense layers from slots.
fn choose_for(
    network: &IntNetwork,
    options: Options,
    (fixed, trial): (&Fixed, &LoopParams),
    (sizes, dense): (Sizes<'_>, bool),
    of: Option<&Interleaved>,
) -> Result<(Program, Choices)> {
    let mut planner = Planner::new(network, fixed, trial, of.is_some());
    let arrangement = &match of {
        Some(of) => Arrangement::Interleaved(of),
        None => Arrangement::Apart(choose_forms(&mut planner, options, dense)?),
    };
    let planned = planner.plan_all(arrangement.uses(network)?)?;
    let packings = arrangement.packings(network, options.batch)?;
    let baby_steps = match sizes {
        Sizes::Like(params) => params.baby_steps(),
        _ => pack::cheapest_baby_steps(LWE_DIMENSION, &packings),
    };
    let limbs = planned
        .values()
        .map(|p| p.plan.start_level)
        .chain([fixed.input_level(trial)?])
        .max()
        .map_or(2, |level| level + 1);
    // Only the tables rank the ways to cut digits, because they take nearly all of the time.
    let mut comparison = Comparison::new();
    // The shapes that are cheapest in a chain of any length may leave little security for special
    // moduli. They are therefore compared with shapes for shorter chains. This makes the keys of
    // LeNet-5 a fifth smaller, and its tables a twentieth faster.
    let shorter = match options.moduli.words.are_narrow() {
        false => SHORTER_LIMBS,
        true => SHORTER_LIMBS_NARROW,
    };
    let shortest = limbs.saturating_sub(shorter).max(2);
    let candidates: Vec<ParamsSpec> = match sizes {
        Sizes::Like(params) => vec![params.bfv().rlwe().spec().clone()],
        _ => {
            let lengths = (shortest..=limbs).rev();
            let cuts = lengths.flat_map(|limbs| {
                let cuts = cuts(options.moduli, limbs).into_iter();
                cuts.map(move |cut| (limbs, cut))
            });
            let specs = cuts.map(|(limbs, (special, digit))| {
                let moduli = match sizes {
                    Sizes::Fitting => fitting(options.moduli, limbs, special),
                    _ => options.moduli,
                };
                spec(moduli, limbs, (special, digit))
            });
            specs.collect::<Result<_>>()?
        }
    };
    for spec in candidates {
        let (limbs, special_limbs) = (spec.q.len(), spec.p.len());
        let digit_limbs = spec.digit_limbs;
        let moduli = spec.q.iter().chain(&spec.p);
        let cut = Cut {
            limbs,
            special_limbs,
            digit_limbs,
            log_qp: moduli.map(|&q| (q as f64).log2()).sum(),
        };
        let attempt = loop_params(&spec, options.moduli, false).and_then(|params| {
            let params = params.with_baby_steps(baby_steps)?;
            let mut planner = Planner::new(network, fixed, &params, of.is_some());
            let planned = planner.plan_all(arrangement.uses(network)?)?;
            let tables = arrangement.tables(network, options.batch)?;
            let seconds = tables
                .iter()
                .map(|(table, count)| planned[table].plan.seconds * *count as f64);
            Ok(Attempt {
                seconds: seconds.sum(),
                params,
                planned,
            })
        });
        comparison.add(cut, attempt);
    }
    while let Some((index, attempt)) = comparison.cheapest() {
        match build(network, options, fixed, arrangement, attempt) {
            Ok(program) => {
                let layers = layer_choices(network, arrangement, &attempt.planned)?;
                let choices = Choices {
                    trial_limbs: max_limbs(options.moduli),
                    layers,
                    cuts: comparison.choose(index, |attempt| attempt.seconds),
                };
                return Ok((program, choices));
            }
            // Other digits would not help: the size of the limbs or a border is the cause.
            Err(error @ Error::Failure { .. }) => return Err(error),
            Err(error) => comparison.refuse(index, error),
        }
    }
    let reason = comparison.reason();
    Err(Error::NoParameters {
        reason: Box::new(reason.expect("there is a way to cut digits")),
    })
}

/// The places of the values of a batch.
enum Arrangement<'a> {
    /// Each image has places of its own.
    Apart(Forms),
    /// The images of a value lie side by side.
    Interleaved(&'a Interleaved),
}

impl Arrangement<'_> {
    /// All evaluations of tables, each with the number of ciphertexts of a batch.
    fn tables(&self, network: &IntNetwork, batch: usize) -> Result<Vec<(TableUse, usize)>> {
        match self {
            Self::Apart(forms) => forms.tables(network, N, batch),
            Self::Interleaved(of) => of.tables(network),
        }
    }

    /// The different evaluations of tables.
    fn uses(&self, network: &IntNetwork) -> Result<Vec<TableUse>> {
        let tables = self.tables(network, 1)?.into_iter();
        Ok(tables.map(|(table, _)| table).collect())
    }

    /// All packings of chosen samples, by layout.
    fn packings(&self, network: &IntNetwork, batch: usize) -> Result<Vec<(Layout, usize)>> {
        Ok(match self {
            Self::Apart(forms) => {
                let tables = forms.tables(network, N, batch)?.into_iter();
                tables
                    .map(|((_, layout, _), count)| (layout, count))
                    .collect()
            }
            Self::Interleaved(_) => Vec::new(),
        })
    }
}

/// The cheapest form of each layer's values, with images apart.
fn choose_forms(planner: &mut Planner<'_>, options: Options, dense: bool) -> Result<Forms> {
    let (network, room) = (planner.network, [N, LWE_DIMENSION]);
    Forms::choose(network, options.batch, room, |index, form, next| {
        if next == Next::Dense && !dense {
            return Err(Error::Layer {
                layer: network.layers[index].name.clone(),
                what: "the noise of a dense layer from its slots",
                found: "too much in every chain".into(),
                expected: "coefficients".into(),
            });
        }
        Ok(planner.plan((index, form.layout(N)?, next))?.plan.seconds)
    })
}

/// A way to cut digits that is feasible.
struct Attempt {
    /// Predicted seconds of all tables.
    seconds: f64,
    params: LoopParams,
    planned: HashMap<TableUse, Rc<Planned>>,
}

impl Cost for Attempt {
    fn seconds(&self) -> f64 {
        self.seconds
    }
}

fn layer_choices(
    network: &IntNetwork,
    arrangement: &Arrangement<'_>,
    planned: &HashMap<TableUse, Rc<Planned>>,
) -> Result<Vec<LayerChoices>> {
    let tables = arrangement.tables(network, 1)?;
    let of = |index: usize| {
        let own = tables
            .iter()
            .filter(move |((layer, ..), _)| *layer == index);
        own.flat_map(|(table, _)| planned[table].compared.clone())
            .collect::<Vec<_>>()
    };
    let forms = |index: usize| match arrangement {
        Arrangement::Apart(forms) => forms.compared[index].clone(),
        Arrangement::Interleaved(_) => Vec::new(),
    };
    let layers = network.layers.iter().enumerate();
    let with_tables = layers.filter(|(_, layer)| layer.lut.is_some());
    Ok(with_tables
        .map(|(index, layer)| LayerChoices {
            name: layer.name.clone(),
            forms: forms(index),
            tables: of(index),
        })
        .collect())
}

/// Number of limbs of the longest chain tried.
fn max_limbs(moduli: Moduli) -> usize {
    MAX_CHAIN_BITS.div_ceil(moduli.limb_bits) as usize
}

/// Number of special moduli whose product is as large as a digit of `digit_limbs` limbs.
fn special_limbs(moduli: Moduli, digit_limbs: usize) -> usize {
    let bits = digit_limbs as u32 * moduli.limb_bits;
    bits.div_ceil(moduli.special_bits) as usize
}

/// The pairs that are compared for a chain of `limbs` limbs: number of special moduli, limbs per
/// digit.
fn cuts(moduli: Moduli, limbs: usize) -> Vec<(usize, usize)> {
    let mut cuts = Vec::new();
    // Digits of single limbs are slow. But they leave most room for limbs, which narrow words may
    // need.
    let shortest = match moduli.words.are_narrow() {
        false => 2,
        true => 1,
    };
    for digit_limbs in shortest..=limbs {
        let digits = limbs.div_ceil(digit_limbs);
        if digit_limbs > 2 && limbs.div_ceil(digit_limbs - 1) == digits {
            continue; // as many digits as with shorter ones
        }
        let bits = digit_limbs as u32 * moduli.limb_bits;
        // As large as a digit, or up to twenty bits smaller: products tolerate that noise.
        let special = |bits: u32| bits.div_ceil(moduli.special_bits).max(1);
        for special in special(bits.saturating_sub(20))..=special(bits) {
            cuts.push((special as usize, digit_limbs));
        }
    }
    cuts
}

/// Sizes of moduli, with the special moduli made small enough for 128-bit security beside a chain
/// of `limbs` limbs. Special moduli that are too small for their digits show in the predicted
/// noise.
fn fitting(moduli: Moduli, limbs: usize, special: usize) -> Moduli {
    let wider = WIDER_LIMBS as u32 * moduli.wider_bits;
    let chain = Q0_BITS + (limbs as u32 - 1) * moduli.limb_bits + wider;
    let room = max_log_qp(N).unwrap_or(0).saturating_sub(chain) / special as u32;
    Moduli {
        special_bits: moduli.special_bits.min(room.max(moduli.limb_bits - 10)),
        ..moduli
    }
}

fn spec(
    moduli: Moduli,
    limbs: usize,
    (special, digit_limbs): (usize, usize),
) -> Result<ParamsSpec> {
    let mut q = ntt_primes(Q0_BITS, N, 1)?;
    let largest = moduli.words.largest();
    let primes = |bits, count, avoid: &[u64]| ntt_primes_up_to(largest, bits, N, count, avoid);
    let wider = match moduli.wider_bits {
        0 => 0,
        _ => WIDER_LIMBS.min(limbs - 1),
    };
    q.extend(primes(moduli.limb_bits + moduli.wider_bits, wider, &[])?);
    q.extend(primes(moduli.limb_bits, limbs - 1 - wider, &[])?);
    let p = primes(moduli.special_bits, special, &q)?;
    Ok(ParamsSpec {
        n: N,
        q,
        p,
        digit_limbs,
    })
}

fn loop_params(spec: &ParamsSpec, moduli: Moduli, trial: bool) -> Result<LoopParams> {
    // A trial only measures how many limbs are consumed. Nothing is encrypted with it.
    let params = if trial {
        Params::new_insecure(spec, T_FERMAT)?
    } else {
        Params::new(spec, T_FERMAT)?
    };
    let params = LoopParams::new(&params, LWE_DIMENSION, LWE_DIGIT_BITS)?;
    Ok(params.with_slack(moduli.slack_bits))
}

fn build(
    network: &IntNetwork,
    options: Options,
    fixed: &Fixed,
    arrangement: &Arrangement<'_>,
    attempt: &Attempt,
) -> Result<Program> {
    let params = &attempt.params;
    let plans: Plans = attempt
        .planned
        .iter()
        .map(|(&table, p)| (table, p.plan))
        .collect();
    let mut builder = Builder::new(params, &fixed.maps, options.log2_failure);
    let placement = match arrangement {
        Arrangement::Apart(forms) => {
            let writer = Writer {
                b: &mut builder,
                network,
                batch: options.batch,
                fixed,
                forms,
                plans: &plans,
                factors: HashMap::new(),
            };
            writer.write()?;
            placement(&forms.input, options.batch)
        }
        Arrangement::Interleaved(of) => {
            let writer = interleaved::Writer {
                b: &mut builder,
                network,
                fixed,
                of,
                plans: &plans,
            };
            writer.write()?;
            Vec::new()
        }
    };
    let Built {
        constants,
        steps,
        mut needs,
        margin_bits,
        failure,
        public,
    } = builder.finish()?;
    let log2_failure = check_failure(&steps, &failure, options.log2_failure)?;
    needs.switch();
    for step in &steps {
        if let (Op::Output { .. }, Type::Ciphertext { level, .. }) = (&step.op, step.ty) {
            needs.public(level);
        }
    }
    let is_input = |step: &&Step| matches!(step.op, Op::Input { .. });
    let inputs = steps.iter().filter(is_input).count();
    let spec = params.bfv().rlwe().spec();
    let program = Program {
        format: String::new(),
        name: network.name.clone(),
        batch: options.batch,
        input: network.input.shape,
        input_range: [network.input.min, network.input.max],
        classes: network
            .shapes()?
            .last()
            .map_or(0, |shape| shape.iter().product()),
        interface: Some(network.for_client()),
        prediction: Prediction {
            input_bytes: query_bytes(params, &steps, inputs),
            key_bytes: files::keys_file_len(params, &needs)
                .expect("packings are planned in layouts") as u64,
            margin_bits,
            log2_failure,
            public_inputs: public.promise(options.log2_failure).ok(),
        },
        placement,
        interleaved: matches!(arrangement, Arrangement::Interleaved(_)),
        parameters: Parameters {
            n: spec.n,
            t: T_FERMAT,
            q: spec.q.clone(),
            p: spec.p.clone(),
            digit_limbs: spec.digit_limbs,
            lwe_dimension: params.dimension(),
            lwe_digit_bits: params.small().digit_bits(),
            slack_bits: params.slack_bits(),
            baby_steps: params.baby_steps(),
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

/// log2 of the probability that a run is wrong, computed from the probabilities of its steps.
/// Checked against `expected`.
fn check_failure(steps: &[Step], failure: &[f64], expected: f64) -> Result<f64> {
    let found = circuits::total_failure(failure);
    let most = failure.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match failure.iter().position(|&log2| log2 == most) {
        Some(worst) if found > expected => Err(Error::Failure {
            found,
            expected,
            layer: steps[worst].layer.clone(),
            operation: steps[worst].op.name(),
            worst: most,
        }),
        _ => Ok(found),
    }
}

/// Places of the images that the client encrypts.
fn placement(input: &Placing, batch: usize) -> Vec<Vec<Patch>> {
    let [_, channel, row] = input.raster.pitch;
    let parts = input.parts(batch).into_iter();
    let patches = parts.map(|part| {
        let first = part.images.start;
        let patch = |image: usize| Patch {
            image,
            channels: [part.channels.start, part.channels.end],
            start: input.raster.position(image - first, [0, 0, 0]),
            pitch: [channel, row],
        };
        part.images.clone().map(patch).collect()
    });
    patches.collect()
}

/// Size in bytes of the file with the client's ciphertexts.
fn query_bytes(params: &LoopParams, steps: &[Step], ciphertexts: usize) -> u64 {
    let level = steps.iter().find_map(|s| match s.ty {
        program::Type::Ciphertext { level, .. } => Some(level),
        program::Type::Samples => None,
    });
    files::query_file_len(params, level.unwrap_or(0), ciphertexts) as u64
}
