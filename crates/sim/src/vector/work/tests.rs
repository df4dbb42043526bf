//! Tests that flattened traces have the passes of the trace, limb by limb, and read the limbs that
//! the trace reads.

use super::{Kind, MAX_TERMS, Source, Work};
use std::collections::BTreeMap;
use trace::{Body, Limbs, Op, Trace, TraceBuilder, Type};

const KEY_SWITCH: &str = include_str!("../../../../trace/tests/fhetch/key_switch.trace");

/// Counts instructions by kind and modulus as the definition says, from the text of a trace.
fn by_definition(trace: &Trace, body: &Body, counts: &mut BTreeMap<(Kind, usize), usize>) {
    let mut types: Vec<&Type> = body.parameters.iter().collect();
    for instruction in &body.instructions {
        let mut add = |kind, limbs: &Limbs, count: usize| {
            for modulus in limbs.iter() {
                *counts.entry((kind, modulus)).or_default() += count;
            }
        };
        if let Some(result) = instruction.types.first() {
            let limbs = &result.limbs;
            match &instruction.op {
                Op::Ntt(_) => add(Kind::Ntt, limbs, 1),
                Op::Intt(_) => add(Kind::Intt, limbs, 1),
                Op::Add(..) | Op::Sub(..) => add(Kind::Add, limbs, 1),
                Op::Mul(..) => add(Kind::Mul, limbs, 1),
                Op::Dot { left, .. } => add(Kind::Dot, limbs, left.len()),
                Op::Scale { .. } => add(Kind::Scale, limbs, 1),
                Op::Combine { rows, columns, .. } => {
                    add(Kind::Combine, limbs, rows.len() * columns.len())
                }
                Op::Automorphism { .. } | Op::Shift { .. } | Op::Slots(_) | Op::Turn { .. } => {
                    add(Kind::Permute, limbs, 1)
                }
                Op::Extract { values, .. } => add(Kind::Extract, limbs, values.len()),
                Op::Convert { value, to } => {
                    let from = &types[*value].limbs;
                    if from.len() > 1 {
                        add(Kind::Scale, from, 1);
                        let first = from.iter().next().expect("a limb");
                        add(Kind::Quotient, &Limbs::one(first), from.len());
                    }
                    add(Kind::Convert, to, from.len() + 1);
                }
                Op::Round { .. } => add(Kind::Round, limbs, 1),
                Op::Digit { .. } => add(Kind::Digit, limbs, 1),
                _ => {}
            }
        }
        if let Op::Call { sub, .. } = &instruction.op {
            by_definition(trace, &trace.subs[*sub], counts);
        }
        types.extend(&instruction.types);
    }
}

fn check_counts(trace: &Trace) -> Work {
    let work = Work::new(trace).expect("short enough");
    assert_eq!(work.passes(), trace.counts().passes);
    let mut expected = BTreeMap::new();
    by_definition(trace, &trace.main, &mut expected);
    let mut counts = BTreeMap::new();
    for i in 0..work.instructions() {
        *counts.entry((work.kind(i), work.modulus(i))).or_default() += work.terms(i);
        let available = |limb: u32| (limb as usize) < i || work.input(limb).is_some();
        assert!(
            work.operands(i).all(available),
            "instruction {i} reads what is not made"
        );
    }
    assert_eq!(counts, expected);
    work
}

#[test]
fn a_key_switch_has_the_passes_of_its_trace() {
    let trace = Trace::parse(KEY_SWITCH).expect("a trace");
    let work = check_counts(&trace);
    let hints = work
        .inputs()
        .iter()
        .filter(|input| input.source == Source::Hint)
        .count();
    assert_eq!(hints, 6 * 8, "six halves of eight limbs");
    assert_eq!(
        work.inputs().len(),
        6 * 8 + 4 * 6 + 2,
        "and four components, and two limbs of zeros"
    );
    let names: Vec<_> = work
        .inputs()
        .iter()
        .filter_map(|input| input.hint())
        .map(|hint| work.hint(hint))
        .collect();
    assert_eq!(
        names[0], "keys",
        "halves are numbered behind their key's name"
    );
}

/// A trace with every operation, with sums longer than an instruction, and with limbs that are
/// loaded, sampled and stored twice.
#[test]
fn every_operation_has_the_passes_of_its_trace() {
    let mut builder = TraceBuilder::new(16, &[97, 193, 257, 353]).expect("moduli");
    let mut main = builder.main();
    let whole = Type::eval(0..4);
    let values: Vec<_> = (0..40)
        .map(|i| main.load(format!("x/{i}"), whole.clone()))
        .collect();
    let again = main.load("x/3", whole.clone());
    let key = main.sample("keys/galois/5", 1, Limbs::from(0..4));
    let same = main.sample("keys/galois/5", 1, Limbs::from(0..4));
    let sum = main.add(again, key);
    let right = vec![sum; values.len()];
    let dot = main.dot(values, right);
    let square = main.mul(dot, same);
    let coefficients = main.intt(square);
    let few = main.select(coefficients, Limbs::from(0..3));
    let raised = main.convert(few, Limbs::from(3..4));
    let turned = main.automorphism(raised, 5);
    let joined = main.join([few, turned]);
    main.store("y", joined);
    main.store("z", joined);
    let trace = builder.finish().expect("a trace");
    let work = check_counts(&trace);
    let longest = (0..work.instructions()).map(|i| work.terms(i)).max();
    assert_eq!(longest, Some(MAX_TERMS));
    assert_eq!(work.outputs().len(), 4, "each limb once");
    assert_eq!(work.inputs().len(), 41 * 4, "each limb once");
    assert_eq!(work.passes().loaded, 41 * 4, "as often as the trace says");
}

#[test]
fn traces_that_grow_without_end_are_refused() {
    let mut text = String::from("palladion-trace/1\nring 16\nmoduli 97\n\n");
    text += "sub s.0 (%0: eval 0..1):\n  %1: eval 0..1 = add %0 %0\n  return %1\n\n";
    for depth in 1..40 {
        let call =
            |to: usize, of: usize| format!("  %{to}: eval 0..1 = call s.{} %{of}\n", depth - 1);
        text += &format!(
            "sub s.{depth} (%0: eval 0..1):\n{}{}  return %2\n\n",
            call(1, 0),
            call(2, 1)
        );
    }
    text += "main:\n  %0: eval 0..1 = load x\n  %1: eval 0..1 = call s.39 %0\n  store y %1\nend\n";
    let trace = Trace::parse(&text).expect("a trace");
    let error = Work::new(&trace).expect_err("2^39 additions").to_string();
    assert!(
        error.contains("instructions and passes") && error.contains("at most"),
        "{error}"
    );
}
