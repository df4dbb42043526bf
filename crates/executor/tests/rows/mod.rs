//! Plans, executed wave by wave, give the words of a replay.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod machine;
mod outside;
#[path = "../../../trace/tests/random.rs"]
#[allow(dead_code, reason = "traces here have no powers of two")]
mod random;
mod rows;

use machine::Toy;
use outside::Values;
use palladion_executor::Executor;
use proptest::prelude::*;
use random::{N, Table};
use std::sync::Arc;
use trace::{Limbs, Trace, TraceBuilder, Type};
use waves::{Error, Kernel, Plan, What};

/// Primes of 7 to 32 bits, the largest of 32 bits among them. All are 1 modulo 32, except one.
const NARROW: Table = Table {
    moduli: &[
        97,
        193,
        1_073_741_441,
        2_147_483_713,
        4_294_966_657,
        65_537,
        101,
        257,
    ],
    powers: &[],
};

/// Checks a plan's rows, runs it, and compares what it stores with a replay.
fn check(trace: &Trace, window: usize) -> Plan {
    let plan = Plan::new(trace, window).unwrap();
    rows::check(&plan);
    let (mut replayed, mut ran) = (Values::of(trace), Values::of(trace));
    palladion_executor::replay(trace, &mut replayed, |_| true).unwrap();
    let toy = Toy::executor(window);
    let mut loaded = toy.load(Arc::new(trace.clone())).unwrap();
    toy.run(&mut loaded, &mut [&mut ran], &mut |_| true)
        .unwrap();
    assert_eq!(ran.stored, replayed.stored);
    plan
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn random_traces_give_the_words_of_a_replay(
        numbers in prop::collection::vec(any::<u32>(), 0..600),
        window in prop_oneof![1usize..4, 4usize..64, Just(Plan::WINDOW)],
    ) {
        check(&random::trace_over(NARROW, &numbers), window);
    }
}

/// Random traces have every operation that a plan knows: else the test above shows less than it
/// says.
#[test]
fn random_traces_have_all_kernels() {
    let mut found = std::collections::BTreeSet::new();
    for seed in 0..400u32 {
        let mut state = seed.wrapping_mul(0x9E37_79B9) | 1;
        let numbers: Vec<u32> = (0..600)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                state
            })
            .collect();
        let plan = Plan::new(&random::trace_over(NARROW, &numbers), Plan::WINDOW).unwrap();
        found.extend(plan.stages.iter().map(|stage| stage.shape.kernel));
    }
    assert_eq!(found.len(), Kernel::ALL.len(), "{found:?}");
}

#[test]
fn a_key_switch_gives_the_words_of_a_replay() {
    let text = include_str!("../../../trace/tests/fhetch/key_switch.trace");
    let trace = Trace::parse(text).unwrap();
    check(&trace, Plan::WINDOW);
}

fn sums(count: usize) -> Trace {
    let mut builder = TraceBuilder::new(N, NARROW.moduli).unwrap();
    let mut main = builder.main();
    let ty = Type::eval(0..4);
    let x = main.load("x", ty.clone());
    let mut sum = x;
    for _ in 0..count {
        let other = main.load("y", ty.clone());
        let product = main.mul(other, x);
        sum = main.add(sum, product);
    }
    main.store("z", sum);
    builder.finish().unwrap()
}

#[test]
fn equal_values_are_loaded_once_and_when_first_read() {
    let plan = check(&sums(5), 8);
    assert_eq!(plan.loads.len(), 2);
    assert_eq!(plan.stores.len(), 1);
}

#[test]
fn a_window_bounds_rows_and_a_larger_one_makes_fewer_waves() {
    let [small, large] = [4, 4096].map(|window| check(&sums(200), window));
    assert!(small.rows < large.rows, "{} {}", small.rows, large.rows);
    assert!(small.waves.len() > large.waves.len());
}

#[test]
fn a_wave_ends_where_a_step_does() {
    let mut builder = TraceBuilder::new(N, NARROW.moduli).unwrap();
    let mut main = builder.main();
    let ty = Type::eval(0..2);
    let [x, y] = ["x", "y"].map(|name| main.load(name, ty.clone()));
    main.begin_step("one");
    let a = main.add(x, y);
    main.begin_step("two");
    let b = main.add(y, y);
    main.store("a", a);
    main.store("b", b);
    let trace = builder.finish().unwrap();
    let plan = check(&trace, Plan::WINDOW);
    assert_eq!(plan.steps, ["before the first step", "one", "two"]);
    let runs = plan.waves.iter();
    let runs = runs.filter(|wave| matches!(wave.what, What::Run(_)));
    let runs: Vec<_> = runs.map(|wave| (wave.step, wave.count)).collect();
    assert_eq!(runs, [(1, 2), (2, 2)], "the two additions are apart");
    assert!(plan.waves.is_sorted_by_key(|wave| wave.step));
}

#[test]
fn moduli_that_rows_cannot_hold_are_refused_by_name() {
    let trace = |moduli: &[u64], power: Option<u32>| {
        let mut builder = TraceBuilder::new(N, moduli).unwrap();
        if let Some(bits) = power {
            builder.power(bits).unwrap();
        }
        builder.finish().unwrap()
    };
    let refused = |trace: &Trace| Plan::new(trace, 1).unwrap_err();
    let wide = refused(&trace(&[97, 8_589_934_049], None));
    let (index, found, bits) = (1, 8_589_934_049, 33);
    assert_eq!(wide, Error::Wide { index, found, bits });
    assert!(wide.to_string().contains("--words 32"), "{wide}");
    let power = refused(&trace(&[97], Some(12)));
    assert_eq!(power, Error::Power { index: 1, bits: 12 });
    let (index, found) = (0, 289);
    let none = refused(&trace(&[289], None));
    assert_eq!(none, Error::NotPrime { index, found });
}

#[test]
fn traces_that_grow_without_end_are_refused() {
    let mut builder = TraceBuilder::new(N, NARROW.moduli).unwrap();
    let mut main = builder.main();
    let ty = [Type::eval(Limbs::one(0))];
    let mut sub = main.sub_trace("0", &ty, |b| vec![b.add(0, 0)]);
    for depth in 1..40 {
        sub = main.sub_trace(&depth.to_string(), &ty, |b| {
            let once = b.call(sub, &[0])[0];
            b.call(sub, &[once])
        });
    }
    let x = main.load("x", ty[0].clone());
    let y = main.call(sub, &[x])[0];
    main.store("y", y);
    let error = Plan::new(&builder.finish().unwrap(), 1).unwrap_err();
    let long = "instructions and passes";
    assert!(matches!(error, Error::TooLong { what, .. } if what == long));
}
