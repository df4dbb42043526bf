//! Are the choices that the planner reports those of the program?

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use circuits::dry_engine;
use circuits::pack::pack;
use exchange::{Layout, LoopParams};
use network::IntNetwork;
use palladion_compiler::{Candidate, Choices, Cost, Options, compile, compile_with_choices};
use program::{Op, Program, Type};
use rlwe::ParamsSpec;
use std::collections::HashSet;

/// 128 bits of security at N = 2^15.
const MAX_LOG_QP: f64 = 868.0;

fn mnist() -> IntNetwork {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mnist_w7a7.json");
    IntNetwork::from_json(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The chosen candidate. No other candidate is cheaper.
fn chosen<'c, T, C: Cost>(candidates: &'c [Candidate<T, C>], of: &str) -> (&'c T, &'c C) {
    let chosen: Vec<_> = candidates.iter().filter(|c| c.chosen).collect();
    let [only] = chosen.as_slice() else {
        panic!("{of}: {} candidates are chosen", chosen.len());
    };
    let cost = only.cost.as_ref().unwrap();
    for other in candidates.iter().filter_map(|c| c.cost.as_ref().ok()) {
        assert!(other.seconds() > 0.0, "{of}: work takes time");
        assert!(
            cost.seconds() <= other.seconds(),
            "{of}: another is cheaper"
        );
    }
    (&only.option, cost)
}

/// Compares sums of the same terms in different order.
fn assert_close(found: f64, expected: f64, of: &str) {
    assert!(
        (found - expected).abs() < 1e-9 * expected,
        "{of}: {found} and {expected}"
    );
}

/// Seconds of packing, table and slots to coefficients in the program's steps. Steps in which the
/// first packing of a layout makes the baby steps are left out.
fn table_seconds(program: &Program, layer: Option<&str>) -> f64 {
    let params = params_of(program);
    let mut layouts = HashSet::new();
    let mut seconds = 0.0;
    for step in &program.steps {
        let first = match (&step.op, step.ty) {
            (Op::Pack { start_level, .. }, Type::Ciphertext { form, .. }) => {
                let program::Form::Slots(values) = form else {
                    panic!("a packing fills slots")
                };
                let first = layouts.insert(values);
                first.then(|| making_seconds(&params, values, *start_level))
            }
            (Op::Table { .. } | Op::SlotsToCoefficients { .. }, _) => None,
            _ => continue,
        };
        if layer.is_none_or(|name| step.layer == name) {
            seconds += step.seconds - first.unwrap_or(0.0);
        }
    }
    seconds
}

/// How much longer the first packing takes than the second.
fn making_seconds(params: &LoopParams, values: usize, level: usize) -> f64 {
    let (engine, n) = (dry_engine(params), params.bfv().n());
    let layout = Layout::new(n, values).unwrap();
    let mut until = [0.0; 2];
    for seconds in &mut until {
        pack(&engine, params, layout, &[], level).unwrap();
        *seconds = engine.counts().seconds(n);
    }
    2.0 * until[0] - until[1]
}

fn params_of(program: &Program) -> LoopParams {
    let p = &program.parameters;
    let spec = ParamsSpec {
        n: p.n,
        q: p.q.clone(),
        p: p.p.clone(),
        digit_limbs: p.digit_limbs,
    };
    let bfv = bfv::Params::new(&spec, p.t).unwrap();
    let params = LoopParams::new(&bfv, p.lwe_dimension, p.lwe_digit_bits).unwrap();
    let params = params.with_slack(p.slack_bits);
    params.with_baby_steps(p.baby_steps).unwrap()
}

fn check(program: &Program, choices: &Choices) {
    for layer in &choices.layers {
        let name = layer.name.as_str();
        let (form, _) = chosen(&layer.forms, name);
        let (shape, table) = chosen(&layer.tables, name);
        let (mut packings, mut level) = (0, None);
        for step in program.steps.iter().filter(|step| step.layer == name) {
            match (&step.op, step.ty) {
                (Op::Pack { start_level, .. }, Type::Ciphertext { form: packed, .. }) => {
                    packings += 1;
                    level = Some(*start_level);
                    assert_eq!(packed, program::Form::Slots(form.values));
                }
                (Op::Table { shape: own, .. }, _) => assert_eq!(own, shape),
                (Op::SlotsToCoefficients { .. }, _) => assert!(!form.slots),
                _ => {}
            }
        }
        assert_eq!(
            (packings, level),
            (form.ciphertexts, Some(table.start_level))
        );
        let seconds = table.seconds * packings as f64;
        assert_close(seconds, table_seconds(program, Some(name)), name);
    }
    let (cut, &seconds) = chosen(&choices.cuts, "digits");
    assert_close(seconds, table_seconds(program, None), "digits");
    let p = &program.parameters;
    assert_eq!(
        (cut.special_limbs, cut.digit_limbs),
        (p.p.len(), p.digit_limbs)
    );
    assert_eq!(cut.limbs, p.q.len());
    assert_close(cut.log_qp, p.log_qp(), "log2(QP)");
}

#[test]
fn the_program_is_made_of_the_cheapest_candidates() {
    // In slots and as coefficients, in one ciphertext and in several.
    for batch in [1, 160] {
        let options = Options::of_batch(batch);
        let (program, choices) = compile_with_choices(&mnist(), options).unwrap();
        let with_tables = mnist()
            .layers
            .into_iter()
            .filter(|layer| layer.lut.is_some());
        let names: Vec<_> = choices.layers.iter().map(|layer| &layer.name).collect();
        assert!(
            with_tables
                .map(|layer| layer.name)
                .eq(names.into_iter().cloned())
        );
        check(&program, &choices);
        if batch == 1 {
            assert_eq!(program, compile(&mnist(), options).unwrap());
        } else {
            assert!(
                choices
                    .layers
                    .iter()
                    .any(|l| chosen(&l.forms, "").0.ciphertexts > 1)
            );
        }
    }
}

#[test]
fn what_is_refused_says_why() {
    let (_, choices) = compile_with_choices(&mnist(), Options::default()).unwrap();
    let mut insecure = 0;
    for cut in &choices.cuts {
        match &cut.cost {
            Ok(_) => assert!(cut.option.log_qp <= MAX_LOG_QP),
            Err(reason) if cut.option.log_qp > MAX_LOG_QP => {
                insecure += 1;
                assert!(reason.contains("log2(QP) is"), "{reason}");
                assert!(reason.contains("at most 868"), "{reason}");
            }
            Err(reason) => assert!(!reason.is_empty()),
        }
    }
    assert!(
        insecure > 0,
        "large digits need more special moduli than are secure"
    );
}

#[test]
fn reading_costs_what_the_program_reads() {
    let (program, choices) = compile_with_choices(&mnist(), Options::default()).unwrap();
    let products = |layer: &str| -> usize {
        let own = program.steps.iter().filter(|step| step.layer == layer);
        own.map(|step| match &step.op {
            Op::MulCoefficients { terms } => terms.len(),
            Op::Dense { .. } => 1,
            _ => 0,
        })
        .sum()
    };
    // Each layer of this network reads the one before it.
    let names: Vec<_> = mnist().layers.into_iter().map(|layer| layer.name).collect();
    for (layer, reader) in choices.layers.iter().zip(&names[1..]) {
        let (form, _) = chosen(&layer.forms, &layer.name);
        assert_eq!(
            form.products,
            products(reader),
            "{reader} reads {}",
            layer.name
        );
    }
}
