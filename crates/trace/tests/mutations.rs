//! A changed trace is refused.

use crate::random;
use palladion_trace::{Trace, Type};
use proptest::prelude::*;

/// The types of a body's values, in order.
fn values(body: &palladion_trace::Body) -> Vec<Type> {
    let made = body.instructions.iter().flat_map(|i| i.types.clone());
    body.parameters.iter().cloned().chain(made).collect()
}

proptest! {
    /// Numbers of results are in the text, so a missing line is detected.
    #[test]
    fn a_line_with_results_that_is_dropped_is_missed(
        numbers in prop::collection::vec(any::<u32>(), 100..400),
        index in any::<prop::sample::Index>(),
    ) {
        let text = random::trace(&numbers).to_string();
        let lines: Vec<&str> = text.lines().collect();
        let (main, end) = (lines.iter().position(|l| *l == "main:").unwrap() + 1, lines.len());
        let made = (main..end).filter(|&l| lines[l].starts_with("  %")).collect::<Vec<_>>();
        let dropped = made[index.index(made.len())];
        // The last value may have no use. Then nothing is wrong without it.
        prop_assume!(made.last() != Some(&dropped));
        let kept = (0..end).filter(|&l| l != dropped).map(|l| lines[l]);
        let kept = kept.collect::<Vec<_>>().join("\n");
        prop_assert!(Trace::parse(&kept).is_err(), "{}", kept);
    }

    /// No operation gives the same result for an operand of another type.
    #[test]
    fn an_operand_of_another_type_shows(
        numbers in prop::collection::vec(any::<u32>(), 100..400),
        index in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
    ) {
        use palladion_trace::Op;
        let mut trace = random::trace(&numbers);
        let types = values(&trace.main);
        // Stored values, and values from which limbs are taken, may have other types.
        let strict = |op: &Op| !matches!(op, Op::Store { .. } | Op::Select { .. } | Op::Convert { .. } | Op::Round { .. });
        let mut made = 0;
        let mut uses = Vec::new();
        for (place, instruction) in trace.main.instructions.iter().enumerate() {
            let mut operands = Vec::new();
            instruction.op.for_each_operand(|v| operands.push(v));
            if strict(&instruction.op) && !operands.is_empty() {
                let wrong = (0..made).filter(|&v| operands.iter().all(|&o| types[o] != types[v]));
                uses.extend(wrong.map(|v| (place, v)));
            }
            made += instruction.types.len();
        }
        prop_assume!(!uses.is_empty());
        let (place, wrong) = uses[(index.index(uses.len()) + other.index(uses.len())) % uses.len()];
        let op = &mut trace.main.instructions[place].op;
        match op {
            Op::Ntt(v) | Op::Intt(v) | Op::Slots(v) | Op::Add(_, v) | Op::Sub(v, _) | Op::Mul(_, v) => *v = wrong,
            Op::Turn { by: v, .. } | Op::Shift { value: v, .. } => *v = wrong,
            Op::Dot { right, .. } => right[0] = wrong,
            Op::Join(values) | Op::Combine { values, .. } | Op::Extract { values, .. } | Op::Call { arguments: values, .. } => values[0] = wrong,
            Op::Scale { value, .. } | Op::Automorphism { value, .. }
            | Op::Digit { value, .. } => *value = wrong,
            op => panic!("{op:?} has no operand of its type"),
        }
        prop_assert!(trace.verify().is_err(), "instruction {}, operand %{}", place, wrong);
    }
}
