//! Carries of sums, by prefix trees of logarithmic depth.
//!
//! A run of neighbouring positions *generates* a carry out of itself, or *propagates* an incoming
//! carry. Runs are joined in pairs.
//!
//! Source: R. Brent, H. Kung, "A Regular Layout for Parallel Adders", IEEE Transactions on
//! Computers, 1982; J. Sklansky, "Conditional-Sum Addition Logic", 1960.

use super::{Bit, Builder};

/// The effect of a run of positions on carries. A run never both generates and propagates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) generate: Bit,
    pub(crate) propagate: Bit,
}

impl Run {
    /// The run of no position.
    pub(crate) const EMPTY: Self = Self {
        generate: Bit::ZERO,
        propagate: Bit::ONE,
    };
}

/// Joins a run with the run just below it.
pub(crate) fn join(builder: &mut Builder, high: Run, low: Run) -> Run {
    let both = builder.and_many(high.propagate, &[low.generate, low.propagate]);
    Run {
        generate: builder.xor(high.generate, both[0]),
        propagate: both[1],
    }
}

/// The run of all positions of `a + b`. If `carries_in` is false, no carry comes in from below, and
/// the run propagates none.
pub(crate) fn run(builder: &mut Builder, a: &[Bit], b: &[Bit], carries_in: bool) -> Run {
    let mut runs = leaves(builder, a, b, carries_in);
    while runs.len() > 1 {
        let pair = |pair: &[Run]| match *pair {
            [low, high] => join(builder, high, low),
            _ => pair[0],
        };
        runs = runs.chunks(2).map(pair).collect();
    }
    runs.first().copied().unwrap_or(Run::EMPTY)
}

/// For each position, the run of this position and all positions below it.
pub(crate) fn prefixes(builder: &mut Builder, a: &[Bit], b: &[Bit], carries_in: bool) -> Vec<Run> {
    let mut runs: Vec<Run> = a
        .iter()
        .zip(b)
        .map(|(&a, &b)| leaf(builder, a, b))
        .collect();
    if !carries_in && let Some(lowest) = runs.first_mut() {
        lowest.propagate = Bit::ZERO;
    }
    let mut width = 1;
    while width < runs.len() {
        // The upper half of each block is joined with the last run of the lower half.
        for at in (0..runs.len()).filter(|at| at & width != 0) {
            let below = at / width * width - 1;
            runs[at] = join(builder, runs[at], runs[below]);
        }
        width *= 2;
    }
    runs
}

/// All bits of `a + b`, without the carry out.
pub(crate) fn sum(builder: &mut Builder, a: &[Bit], b: &[Bit]) -> Vec<Bit> {
    add(builder, a, b).0
}

/// All bits of `a + b`, and the carry out.
pub(crate) fn add(builder: &mut Builder, a: &[Bit], b: &[Bit]) -> (Vec<Bit>, Bit) {
    let runs = prefixes(builder, a, b, false);
    let mut carry = Bit::ZERO;
    let mut bits = Vec::with_capacity(a.len());
    for ((&a, &b), run) in a.iter().zip(b).zip(runs) {
        bits.push(builder.xor_all([a, b, carry]));
        carry = run.generate;
    }
    (bits, carry)
}

fn leaf(builder: &mut Builder, a: Bit, b: Bit) -> Run {
    Run {
        generate: builder.and(a, b),
        propagate: builder.xor(a, b),
    }
}

/// The runs of single positions, or of pairs of positions where one party knows `a` and the other
/// `b`: the run of a pair is a sum of products of one party's bits with the other's, in the same
/// exchange.
fn leaves(builder: &mut Builder, a: &[Bit], b: &[Bit], carries_in: bool) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut at = 0;
    while at < a.len() {
        let pair = (a.len() - at >= 2)
            && builder.is_crossed(a[at], b[at])
            && builder.is_crossed(a[at + 1], b[at + 1]);
        let propagates = carries_in || at > 0;
        if !pair {
            let mut run = leaf(builder, a[at], b[at]);
            if !propagates {
                run.propagate = Bit::ZERO;
            }
            runs.push(run);
            at += 1;
            continue;
        }
        let (a, b) = ([a[at], a[at + 1]], [b[at], b[at + 1]]);
        // The parties take turns as chooser, so that both directions have as many OTs.
        let (a, b) = if at % 4 == 0 { (b, a) } else { (a, b) };
        runs.push(pair_run(builder, a, b, propagates));
        at += 2;
    }
    runs
}

/// The run of two positions at which one party knows `a` and the other knows `b`.
///
/// With `p = a + b` and `g = a b` at each position, modulo 2, the run generates
/// `g1 + p1 g0 = a1 b1 + (a1 a0) b0 + a0 (b1 b0)` and propagates `p1 p0`.
fn pair_run(builder: &mut Builder, a: [Bit; 2], b: [Bit; 2], propagates: bool) -> Run {
    let (a_both, b_both) = (builder.and(a[1], a[0]), builder.and(b[1], b[0]));
    let other = builder.and(a[0], b_both);
    if !propagates {
        let high = builder.and(a[1], b[1]);
        let low = builder.and(a_both, b[0]);
        return Run {
            generate: builder.xor_all([high, low, other]),
            propagate: Bit::ZERO,
        };
    }
    let high = builder.and_many(b[1], &[a[1], a[0]]);
    let low = builder.and_many(b[0], &[a_both, a[1]]);
    Run {
        generate: builder.xor_all([high[0], low[0], other]),
        propagate: builder.xor_all([a_both, b_both, high[1], low[1]]),
    }
}

/// Returns the bit that is true if `a` and `b` differ at both of two positions.
pub(crate) fn both_differ(builder: &mut Builder, a: [Bit; 2], b: [Bit; 2]) -> Bit {
    if !(builder.is_crossed(a[0], b[0]) && builder.is_crossed(a[1], b[1])) {
        let differ = [builder.xor(a[0], b[0]), builder.xor(a[1], b[1])];
        return builder.and(differ[0], differ[1]);
    }
    let (a_both, b_both) = (builder.and(a[1], a[0]), builder.and(b[1], b[0]));
    let products = [builder.and(b[1], a[0]), builder.and(b[0], a[1])];
    builder.xor_all([a_both, b_both, products[0], products[1]])
}
