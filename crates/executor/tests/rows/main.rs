//! Plans, executed wave by wave, give the words of a replay.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod assigned;
mod machine;
mod outside;
#[path = "../../../trace/tests/random.rs"]
#[allow(dead_code, reason = "traces here have no powers of two")]
mod random;

use machine::Toy;
use outside::Values;
use palladion_executor::{Executor, Outside, Progress, Replay};
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
    assigned::check(&plan);
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

/// `query/0 * key/0 + key/1`, in two steps.
fn linear() -> Trace {
    let mut builder = TraceBuilder::new(N, NARROW.moduli).unwrap();
    let mut main = builder.main();
    let [x, a, b] = ["query/0", "key/0", "key/1"].map(|name| main.load(name, Type::eval(0..3)));
    main.begin_step("product");
    let product = main.mul(x, a);
    main.begin_step("sum");
    let sum = main.add(product, b);
    main.store("sum", sum);
    builder.finish().unwrap()
}

/// The values that a replay stores for a query.
fn replayed(trace: &Trace, salt: u64) -> Values {
    let mut values = Values::of_query(trace, salt);
    palladion_executor::replay(trace, &mut values, |_| true).unwrap();
    values
}

#[test]
fn several_queries_share_keys_and_have_results_of_their_own() {
    let trace = linear();
    let [one, two] = [1, 2].map(|salt| replayed(&trace, salt));
    assert_ne!(one.stored, two.stored);
    let toy = Toy::of_queries(2, Plan::WINDOW);
    let mut loaded = toy.load(Arc::new(trace.clone())).unwrap();
    let [mut first, mut second] = [1, 2].map(|salt| Values::of_query(&trace, salt));
    let outsides: &mut [&mut dyn Outside] = &mut [&mut first, &mut second];
    toy.run(&mut loaded, outsides, &mut |_| true).unwrap();
    assert_eq!((first.stored, second.stored), (one.stored, two.stored));
    assert_eq!(first.asked.len(), 3);
    assert_eq!(second.asked, ["query/0"], "keys are loaded once");
    let error = toy.run(&mut loaded, &mut [], &mut |_| true).unwrap_err();
    let words = "the number of queries at the same time is 0, expected 2";
    assert_eq!(error.to_string(), words);
}

/// Keeps keys, then runs a query: only the query is asked for, and the words are those of a replay.
fn check_kept<E: Executor>(executor: &E) {
    let trace = linear();
    let mut loaded = executor.load(Arc::new(trace.clone())).unwrap();
    let before = executor.memory(&loaded);
    let mut keys = Values::of(&trace);
    let lasting = |name: &str| name.starts_with("key/");
    executor.keep(&mut loaded, &mut keys, &lasting).unwrap();
    assert_eq!(keys.asked, ["key/0", "key/1"]);
    let limbs = 2 * 3;
    assert_eq!(executor.memory(&loaded) - before, limbs * 8 * N as u64);
    for salt in [1, 2] {
        let mut values = Values::of_query(&trace, salt);
        let run = executor.run(&mut loaded, &mut [&mut values], &mut |_| true);
        run.unwrap();
        assert_eq!(values.asked, ["query/0"], "{}", executor.name());
        assert_eq!(values.stored, replayed(&trace, salt).stored);
    }
}

#[test]
fn kept_values_are_not_asked_for_again() {
    check_kept(&Replay);
    check_kept(&Toy::executor(Plan::WINDOW));
}

#[test]
fn an_observer_sees_the_steps_and_stops_the_run() {
    let trace = Arc::new(linear());
    let toy = Toy::executor(Plan::WINDOW);
    let mut loaded = toy.load(trace.clone()).unwrap();
    let (mut values, mut seen) = (Values::of(&trace), Vec::new());
    let mut observe = |at: Progress| {
        seen.push((at.step.to_owned(), at.done == at.total));
        true
    };
    let run = toy.run(&mut loaded, &mut [&mut values], &mut observe);
    run.unwrap();
    assert_eq!(seen.last().unwrap(), &("sum".to_owned(), true));
    assert!(seen.contains(&("product".to_owned(), false)), "{seen:?}");
    let mut stop = |at: Progress| at.step != "product";
    let run = toy.run(&mut loaded, &mut [&mut values], &mut stop);
    let error = run.unwrap_err().to_string();
    assert_eq!(error, "stopped after 1 of 3 steps");
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
