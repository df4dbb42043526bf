//! Changes of one instruction of a trace.

use rand::Rng;
use rand_chacha::ChaCha20Rng;
use trace::{Body, Op, Trace};

/// Drops, swaps or alters one instruction; `None` if that changes nothing.
pub(crate) fn mutated(trace: &Trace, rng: &mut ChaCha20Rng) -> Option<Trace> {
    let mut mutant = trace.clone();
    let count = mutant.subs.len() + 1;
    let body: &mut Body = match rng.random_range(0..count) {
        0 => &mut mutant.main,
        sub => &mut mutant.subs[sub - 1],
    };
    let index = rng.random_range(0..body.instructions.len());
    let other = rng.random_range(0..body.instructions.len());
    match rng.random_range(0..3) {
        0 => drop(body.instructions.remove(index)),
        1 => body.instructions.swap(index, other),
        _ => match &mut body.instructions[index].op {
            Op::Add(a, b) | Op::Sub(a, b) => std::mem::swap(a, b),
            Op::Dot { left, right } => std::mem::swap(&mut left[0], &mut right[0]),
            Op::Scale { factors, .. } => factors[0] ^= 1,
            Op::Automorphism { element, .. } => *element ^= 2,
            Op::Turn { value, by } => std::mem::swap(value, by),
            Op::Shift { exponent, .. } => *exponent ^= 1,
            Op::Ntt(value) | Op::Intt(value) | Op::Round { value, .. } => *value ^= 1,
            Op::Digit { index, .. } => *index ^= 1,
            Op::Select { value, .. } | Op::Convert { value, .. } => *value ^= 1,
            Op::Call { arguments, .. } => arguments.reverse(),
            Op::Load { name, .. } | Op::Store { name, .. } => name.push('1'),
            Op::Sample { stream, .. } => *stream += 1,
            _ => {}
        },
    }
    (mutant != *trace).then_some(mutant)
}
