//! Numbers of a trace's operations.

use super::ir::{Body, Op, Trace, Type};
use std::fmt::{Display, Formatter};
use std::ops::{Add, AddAssign};

/// The passes and instructions that a run of a trace executes. A call counts as the instructions of
/// the body it calls. Numbers saturate at the largest word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Work on limbs.
    pub passes: Passes,
    /// Number of instructions of each kind, in the order of [`Op::NAMES`].
    pub instructions: [u64; Op::NAMES.len()],
}

/// Numbers of passes over limbs of `N` words, by the work done on each word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passes {
    /// Limbs transformed to the evaluation domain.
    pub ntt: u64,
    /// Limbs transformed to coefficients.
    pub intt: u64,
    /// Limbs added or subtracted.
    pub additions: u64,
    /// Limbs multiplied.
    pub products: u64,
    /// Terms of inner products. Each is a multiplication and an addition for each limb.
    pub dot_terms: u64,
    /// Limbs multiplied by a word, including those of conversions.
    pub scalings: u64,
    /// Terms of combinations: rows times columns, for each limb.
    pub combination_terms: u64,
    /// Limbs whose words change places, in turns, automorphisms, slots and extractions.
    pub permutations: u64,
    /// Quotients of conversions. Each conversion has one, from all its limbs.
    pub quotients: u64,
    /// Terms of conversions, for each limb of the result: one for each limb converted, and one for
    /// the quotient.
    pub conversion_terms: u64,
    /// Limbs rounded to a smaller modulus.
    pub roundings: u64,
    /// Limbs cut into digits.
    pub digits: u64,
    /// Limbs expanded from seeds.
    pub sampled: u64,
    /// Limbs made from constants, including zeros.
    pub constants: u64,
    /// Limbs loaded from outside.
    pub loaded: u64,
    /// Limbs stored outside.
    pub stored: u64,
}

/// No passes.
pub(super) const NONE: Passes = Passes {
    ntt: 0,
    intt: 0,
    additions: 0,
    products: 0,
    dot_terms: 0,
    scalings: 0,
    combination_terms: 0,
    permutations: 0,
    quotients: 0,
    conversion_terms: 0,
    roundings: 0,
    digits: 0,
    sampled: 0,
    constants: 0,
    loaded: 0,
    stored: 0,
};

impl Trace {
    /// Counts the passes and instructions that a run executes. The trace must be
    /// [verified](Trace::verify).
    ///
    /// # Panics
    /// If the trace names values or sub-traces that do not exist.
    pub fn counts(&self) -> Counts {
        let mut subs: Vec<Counts> = Vec::with_capacity(self.subs.len());
        for sub in &self.subs {
            let counts = count(sub, &subs);
            subs.push(counts);
        }
        count(&self.main, &subs)
    }
}

fn count(body: &Body, subs: &[Counts]) -> Counts {
    let mut counts = Counts::default();
    let mut values: Vec<&Type> = body.parameters.iter().collect();
    for instruction in &body.instructions {
        let op = &instruction.op;
        let mut operand = None;
        op.for_each_operand(|value| operand = operand.or(Some(value)));
        counts.add(op, operand.map(|value| values[value]), &instruction.types);
        if let Op::Call { sub, .. } = op {
            counts.add_all(&subs[*sub]);
        }
        values.extend(&instruction.types);
    }
    counts
}

impl Counts {
    /// Counts an instruction, given the type of its first operand and the types of its results. A
    /// call only counts as one call.
    fn add(&mut self, op: &Op, operand: Option<&Type>, results: &[Type]) {
        let limbs = |ty: Option<&Type>| ty.map_or(0, |ty| ty.limbs.len() as u64);
        self.passes += op.passes(limbs(operand), limbs(results.first()));
        let kind = &mut self.instructions[op.kind()];
        *kind = kind.saturating_add(1);
    }

    fn add_all(&mut self, other: &Self) {
        self.passes += other.passes;
        for (own, &other) in self.instructions.iter_mut().zip(&other.instructions) {
            *own = own.saturating_add(other);
        }
    }
}

impl Passes {
    /// Names of the numbers, in the order of [`all`](Self::all).
    const NAMES: [&str; 16] = [
        "ntt",
        "intt",
        "additions",
        "products",
        "dot terms",
        "scalings",
        "combination terms",
        "permutations",
        "quotients",
        "conversion terms",
        "roundings",
        "digits",
        "sampled",
        "constants",
        "loaded",
        "stored",
    ];

    /// All numbers, with their names.
    pub fn all(mut self) -> [(&'static str, u64); 16] {
        let numbers = self.numbers().map(|number| *number);
        std::array::from_fn(|i| (Self::NAMES[i], numbers[i]))
    }

    /// Returns the passes multiplied by `count`.
    #[must_use]
    #[inline]
    pub fn times(mut self, count: usize) -> Self {
        for own in self.numbers() {
            *own = own.saturating_mul(count as u64);
        }
        self
    }

    /// Returns the counts since `earlier`: these counts minus the earlier ones.
    ///
    /// # Panics
    /// If less was counted than in `earlier`.
    #[must_use]
    pub fn since(mut self, mut earlier: Self) -> Self {
        for (own, earlier) in self.numbers().into_iter().zip(earlier.numbers()) {
            *own = own.checked_sub(*earlier).expect("counts grow");
        }
        self
    }

    /// The numbers, in the order of [`all`](Self::all).
    #[inline]
    fn numbers(&mut self) -> [&mut u64; 16] {
        [
            &mut self.ntt,
            &mut self.intt,
            &mut self.additions,
            &mut self.products,
            &mut self.dot_terms,
            &mut self.scalings,
            &mut self.combination_terms,
            &mut self.permutations,
            &mut self.quotients,
            &mut self.conversion_terms,
            &mut self.roundings,
            &mut self.digits,
            &mut self.sampled,
            &mut self.constants,
            &mut self.loaded,
            &mut self.stored,
        ]
    }
}

/// Sums saturate at the largest word.
impl AddAssign for Passes {
    #[inline]
    fn add_assign(&mut self, mut other: Self) {
        for (own, other) in self.numbers().into_iter().zip(other.numbers()) {
            *own = own.saturating_add(*other);
        }
    }
}

impl Add for Passes {
    type Output = Self;

    #[inline]
    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

/// Writes two tables next to each other, without lines of zeros.
impl Display for Counts {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let some = |&(_, number): &(&str, u64)| number > 0;
        let passes: Vec<_> = self.passes.all().into_iter().filter(some).collect();
        let kinds = Op::NAMES.into_iter().zip(self.instructions);
        let kinds: Vec<_> = kinds.filter(some).collect();
        let cell = |entry: Option<&(&str, u64)>| match entry {
            Some((name, number)) => format!("{name:<18}{number:>20}"),
            None => " ".repeat(38),
        };
        let heads = ["passes over limbs", "instructions"];
        writeln!(f, "{:<38}  {}", heads[0], heads[1])?;
        for row in 0..passes.len().max(kinds.len()) {
            let line = format!("{}  {}", cell(passes.get(row)), cell(kinds.get(row)));
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
