//! The rehearsal: every step run dry before anything runs on ciphertexts.
//!
//! A program from a file states level and noise of every value, and which keys it needs. The
//! rehearsal runs the circuits dry to check this. A program that passes does not run out of levels
//! or keys halfway, and has at least the margin that it claims. One that states more noise than
//! there will be, as an older version predicted, passes too.

use crate::error::Result;
use crate::prepared::work;
use circuits::operations::Dry;
use circuits::steps::{Action, StepValue, StepValueOf};
use circuits::{
    Counts, DryValue, PublicRun, Value, dry_engine, log2_flood_distance, total_failure,
};
use exchange::{LoopParams, Needs};
use program::{Error, MAX_LOG2_DISTANCE, Op, Program, Type};
use std::fmt::Debug;

/// Noise in bits may exceed the stated one by this much, because logarithms of machines round
/// differently.
const ROUNDING_BITS: f64 = 0.01;

/// A predicted failure may differ by this share of its logarithm. The logarithm grows with the
/// square of a number of deviations.
const FAILURE_PART: f64 = 0.02;

/// Results of a rehearsal.
pub(crate) struct Rehearsed {
    /// For each step, level and noise of the ciphertext that it makes. `None` for samples.
    pub(crate) values: Vec<Option<DryValue>>,
    /// log2 of the probability that each step is wrong.
    pub(crate) failure: Vec<f64>,
    /// The run with inputs under a public key.
    pub(crate) public: PublicRun,
    /// The work of a run.
    pub(crate) counts: Counts,
}

/// Runs `program` dry.
///
/// # Errors
/// [`Error::Step`] for more noise than stated or another level, [`Error::Parameters`] for keys
/// other than those that the steps use, for a stated probability of failure that is too small or
/// for a promise of public inputs that the steps do not keep, and errors of the circuits.
pub(crate) fn rehearse(
    program: &Program,
    params: &LoopParams,
    actions: &[Action],
) -> Result<Rehearsed> {
    let engine = dry_engine(params);
    let mut values: Vec<StepValueOf<Dry>> = Vec::with_capacity(actions.len());
    let mut failure = Vec::with_capacity(actions.len());
    for (index, step) in program.steps.iter().enumerate() {
        let level = match step.ty {
            Type::Ciphertext { level, .. } => level,
            Type::Samples => 0,
        };
        let input = |_| Value::dry(level, engine.model().fresh());
        let work = work(program, params, actions, index);
        let made = work.run(&engine, |id| values.get(id), input)?;
        if let Some(value) = made.value() {
            compare(program, index, value)?;
        }
        values.push(made);
        failure.push(engine.take_failure());
    }
    let of = (&program.constants[..], &program.steps[..]);
    let public = PublicRun::new(params, of, &values, &failure)?;
    check_public(program, &public)?;
    let values = values.into_iter().map(|made| match made {
        StepValue::Ciphertext(value) => Some(*value),
        StepValue::Samples(_) => None,
    });
    let values: Vec<Option<DryValue>> = values.collect();
    let found = program.prediction.log2_failure;
    let expected = total_failure(&failure);
    if found < expected - FAILURE_PART * expected.abs() {
        return Err(Error::Parameters {
            what: "the probability that a run is wrong",
            found: format!("2^{found:.1}"),
            expected: format!("2^{expected:.1}, which the steps have"),
        }
        .into());
    }
    check_floods(program, &values)?;
    let (used, listed) = (engine.needs(), &program.keys);
    let listed = Needs::new(listed.relinearization, &listed.galois, &listed.packing);
    same(
        "the relinearization key's level",
        listed.relinearization(),
        used.relinearization(),
    )?;
    same(
        "the list of Galois elements and levels",
        listed.galois_elements(),
        used.galois_elements(),
    )?;
    same(
        "the list of packings and levels",
        listed.packings(),
        used.packings(),
    )?;
    Ok(Rehearsed {
        values,
        failure,
        public,
        counts: engine.counts(),
    })
}

/// Checks that the floods of a program's outputs hide their noise, where it is largest.
fn check_floods(program: &Program, values: &[Option<DryValue>]) -> Result<()> {
    let value = |index: usize| values[index].clone();
    let found = log2_flood_distance(program.parameters.t, &program.steps, value);
    if found <= MAX_LOG2_DISTANCE {
        return Ok(());
    }
    Err(Error::Parameters {
        what: "the statistical distance that the floods leave",
        found: format!("2^{found:.1}"),
        expected: format!("at most 2^{MAX_LOG2_DISTANCE}"),
    }
    .into())
}

/// Checks what a program promises of inputs under a public key.
fn check_public(program: &Program, run: &PublicRun) -> Result<()> {
    let Some(stated) = program.prediction.public_inputs else {
        return Ok(());
    };
    let problem = |what, found: String, expected: String| Error::Parameters {
        what,
        found,
        expected,
    };
    if let Some(refusal) = &run.refusal {
        return Err(problem(
            "a promise for inputs under a public key",
            "stated".into(),
            format!("none: {refusal}"),
        )
        .into());
    }
    let (found, expected) = (f64::from(stated.log2_failure), run.log2_failure);
    if found < expected - FAILURE_PART * expected.abs() {
        return Err(problem(
            "the probability that a run with inputs under a public key is wrong",
            format!("2^{found}"),
            format!("2^{expected:.1}, which the steps have"),
        )
        .into());
    }
    // Machines round logarithms differently, so the next whole number may be another one.
    if stated.rise_bits + 1 < run.rise_bits {
        return Err(problem(
            "the rise of noise by inputs under a public key",
            format!("{} bits", stated.rise_bits),
            format!("{} bits, which the steps have", run.rise_bits),
        )
        .into());
    }
    Ok(())
}

/// Checks that the level is the one that the step states, and the noise at most the stated one. The
/// factor must be 1, except for products, which slots to coefficients accepts with any factor, and
/// for merges, which only outputs read.
fn compare(program: &Program, index: usize, value: &DryValue) -> Result<()> {
    let step = &program.steps[index];
    let Type::Ciphertext {
        level, noise_bits, ..
    } = step.ty
    else {
        return Ok(());
    };
    let problem = |what, found: String, expected: String| Error::Step {
        step: index,
        op: step.op.name(),
        what,
        found,
        expected,
    };
    let bits = value.noise().bits();
    if level != value.level() {
        let expected = value.level().to_string();
        return Err(problem("the level", level.to_string(), expected).into());
    }
    if bits > noise_bits + ROUNDING_BITS {
        let expected = format!("2^{bits:.2} or more, which the steps have");
        let found = format!("2^{noise_bits:.2}");
        return Err(problem("the noise", found, expected).into());
    }
    assert!(
        value.factor() == 1
            || matches!(
                step.op,
                Op::Product { .. } | Op::Merge { .. } | Op::Output { .. }
            ),
        "every operation but a product, a merge and its output gives values of factor 1"
    );
    Ok(())
}

fn same<T: Debug + PartialEq>(what: &'static str, found: T, expected: T) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Parameters {
        what,
        found: format!("{found:?}"),
        expected: format!("{expected:?}, which the steps use"),
    }
    .into())
}
