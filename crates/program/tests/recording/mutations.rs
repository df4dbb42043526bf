//! A changed recording is refused.

use crate::recording::text::EVERY;
use palladion_program::recording::{Message, Op, Plain, Recording, Type, ValueId};
use proptest::prelude::*;
use proptest::sample::Index;

const TEXTS: [&str; 3] = [
    EVERY,
    include_str!("bgv_bootstrapping.recording"),
    include_str!("ckks_circuit.recording"),
];

/// The text of one of the recordings.
fn text() -> impl Strategy<Value = &'static str> {
    (0..TEXTS.len()).prop_map(|place| TEXTS[place])
}

fn parse(text: &str) -> Recording {
    Recording::parse(text).unwrap()
}

/// The last operand of an operation that has operands.
fn operand(op: &mut Op) -> Option<&mut ValueId> {
    match op {
        Op::Tensor { terms } => terms.last_mut().map(|term| &mut term[1]),
        Op::Combine { middle, .. } => middle.last_mut(),
        Op::MulPlain { terms } => terms.last_mut().map(|term| &mut term.0),
        Op::MulMasks { secret, .. } => secret.last_mut(),
        Op::Add { right, .. } | Op::Sub { right, .. } => Some(right),
        Op::Relinearize { value }
        | Op::AddBodies { value, .. }
        | Op::AddPlain { value, .. }
        | Op::Scale { value, .. }
        | Op::Extend { value }
        | Op::Automorphism { value, .. }
        | Op::SwitchSecret { value, .. }
        | Op::ExternalProduct { value, .. }
        | Op::Raise { value }
        | Op::Switch { value }
        | Op::Drop { value }
        | Op::ToSamples { value }
        | Op::Output { value, .. } => Some(value),
        Op::Input { .. } | Op::Given { .. } | Op::PackingKey { .. } | Op::Trivial { .. } => None,
    }
}

/// The highest level of a step's operands.
fn highest(recording: &Recording, step: usize) -> Option<usize> {
    let operands = recording.steps[step].op.operands();
    let levels = operands
        .into_iter()
        .map(|value| match recording.steps[value].ty {
            Type::Ciphertext(ty) => ty.level,
            Type::Samples => panic!("no operand is samples"),
        });
    levels.max()
}

/// Returns true if the factor of a result follows from the operands. An input may have any factor,
/// and so may a product with numbers.
fn has_own_factor(op: &Op) -> bool {
    match op {
        Op::Scale { .. } | Op::Raise { .. } | Op::Trivial { .. } => false,
        Op::MulPlain { terms } => !matches!(terms[0].1, Plain::Integers(..)),
        op => !op.operands().is_empty(),
    }
}

proptest! {
    /// Numbers of values are in the text, so a missing line is detected.
    #[test]
    fn a_dropped_operation_is_missed(text in text(), index in any::<Index>()) {
        let lines: Vec<&str> = text.lines().collect();
        let made = (0..lines.len()).filter(|&l| lines[l].starts_with("  %"));
        let made: Vec<usize> = made.collect();
        // The last operation is left out: no other operation reads it or counts on from it.
        let dropped = made[index.index(made.len() - 1)];
        let kept = (0..lines.len()).filter(|&l| l != dropped).map(|l| lines[l]);
        let kept = kept.collect::<Vec<_>>().join("\n");
        prop_assert!(Recording::parse(&kept).is_err(), "without {}", lines[dropped]);
    }

    /// An operation cannot come before an operation whose value it uses.
    #[test]
    fn swapped_operations_show(text in text(), index in any::<Index>()) {
        let mut recording = parse(text);
        let uses = recording.steps.iter().enumerate().flat_map(|(user, step)| {
            step.op.operands().into_iter().map(move |used| (used, user))
        });
        let uses: Vec<(usize, usize)> = uses.collect();
        let (used, user) = uses[index.index(uses.len())];
        recording.steps.swap(used, user);
        prop_assert!(recording.verify().is_err(), "%{} and %{}", used, user);
    }

    #[test]
    fn operands_that_are_not_made_yet_show(text in text(), index in any::<Index>(), later in any::<Index>()) {
        let mut recording = parse(text);
        let (step, all) = (index.index(recording.steps.len()), recording.steps.len());
        if let Some(value) = operand(&mut recording.steps[step].op) {
            *value = step + later.index(all + 1 - step);
            let error = recording.verify().unwrap_err().to_string();
            prop_assert!(error.contains("expected an earlier ciphertext"), "{}", error);
        }
    }

    /// Operations that keep the level of their operand refuse an operand of another level.
    #[test]
    fn operands_of_another_level_show(text in text(), index in any::<Index>(), other in any::<Index>()) {
        let mut recording = parse(text);
        let step = index.index(recording.steps.len());
        let level = |recording: &Recording, value: usize| match recording.steps[value].ty {
            Type::Ciphertext(ty) => Some(ty.level),
            Type::Samples => None,
        };
        let keeps = matches!(
            recording.steps[step].op,
            Op::Add { .. } | Op::Sub { .. } | Op::AddPlain { .. } | Op::AddBodies { .. } | Op::Scale { .. }
                | Op::Automorphism { .. } | Op::Extend { .. } | Op::SwitchSecret { .. }
                | Op::ExternalProduct { .. } | Op::Output { .. }
        );
        let others = (0..step).filter(|&value| level(&recording, value) != level(&recording, step));
        let others: Vec<usize> = others.collect();
        if keeps && !others.is_empty() {
            *operand(&mut recording.steps[step].op).unwrap() = others[other.index(others.len())];
            prop_assert!(recording.verify().is_err(), "{}", recording.steps[step].op);
        }
    }

    /// Only `raise` raises a level, the number of components follows from the operation, and a key
    /// switch is never left half done.
    #[test]
    fn another_type_shows(text in text(), index in any::<Index>(), change in 0..3) {
        let mut recording = parse(text);
        let step = index.index(recording.steps.len());
        let highest = highest(&recording, step);
        let op = recording.steps[step].op.clone();
        let Type::Ciphertext(ty) = &mut recording.steps[step].ty else {
            return Ok(());
        };
        match change {
            0 => match (highest, &op) {
                (Some(level), Op::Raise { .. }) => ty.level = level,
                (Some(level), Op::Trivial { .. }) => ty.level = level + recording.parameters.q.len(),
                (Some(level), _) => ty.level = level + 1,
                (None, _) => ty.level = recording.parameters.q.len(),
            },
            1 => ty.components = 5 - ty.components,
            // An automorphism may extend its operand.
            _ if matches!(op, Op::Automorphism { .. }) => return Ok(()),
            _ => ty.extended = !ty.extended,
        }
        prop_assert!(recording.verify().is_err(), "change {} of {}", change, op);
    }

    /// A factor that follows from the operands cannot be another one.
    #[test]
    fn another_factor_shows(text in text(), index in any::<Index>(), by in 2u64..) {
        let mut recording = parse(text);
        let step = index.index(recording.steps.len());
        let op = recording.steps[step].op.clone();
        if let Type::Ciphertext(ty) = &mut recording.steps[step].ty
            && let Message::Modulo { t, factor } = &mut ty.message
            && has_own_factor(&op)
            && by % *t != 1
        {
            *factor = (u128::from(*factor) * u128::from(by) % u128::from(*t)) as u64;
            prop_assert!(recording.verify().is_err(), "another factor of {}", op);
        }
    }
}
