//! Values from outside, and values that stay in memory.

use crate::replay::{MODULI, N, Names, residues};
use palladion_executor::{Error, Result};
use palladion_executor::{Limb, Outside, ReplayProgress as Progress, replay};
use ring::sample::Seed;
use std::sync::Arc;
use trace::{Limbs, Trace, TraceBuilder, Type};

fn loading() -> Trace {
    let mut builder = TraceBuilder::new(N, &MODULI).unwrap();
    let mut main = builder.main();
    let x = main.load("x", Type::coeff(0..2));
    main.store("y", x);
    builder.finish().unwrap()
}

#[test]
fn what_is_no_value_is_refused() {
    let good = residues(0..2, 1);
    let refused = |limbs: &[Vec<u64>]| {
        let error = Names::default().with("x", limbs).run(&loading());
        error.unwrap_err().to_string()
    };
    assert!(Names::default().with("x", &good).run(&loading()).is_ok());
    assert_eq!(
        refused(&good[..1]),
        "the number of limbs of x is 1, expected 2"
    );
    let mut short = good.clone();
    short[1].pop();
    assert_eq!(
        refused(&short),
        "the number of words of limb 1 of x is 15, expected 16"
    );
    let mut great = good.clone();
    great[0][7] = 97;
    assert_eq!(
        refused(&great),
        "word 7 of limb 0 of x is 97, expected below 97"
    );
    let missing = Names::default().run(&loading()).unwrap_err().to_string();
    assert_eq!(missing, "the name is x, expected one of a value");
}

#[test]
fn a_modulus_that_is_no_prime_is_refused() {
    // 289 = 17^2 = 1 modulo 32. It is refused if limbs are transformed with it, and if it is one of
    // several moduli in a conversion's source.
    for transformed in [true, false] {
        let mut builder = TraceBuilder::new(N, &[97, 289, 193]).unwrap();
        let mut main = builder.main();
        let x = main.load("x", Type::coeff(0..2));
        let y = match transformed {
            true => main.ntt(x),
            false => main.convert(x, Limbs::one(2)),
        };
        main.store("y", y);
        let trace = builder.finish().unwrap();
        let error = Names::default().run(&trace).unwrap_err().to_string();
        assert_eq!(error, "modulus 1 is 289, expected a prime");
    }
}

#[test]
fn a_trace_that_is_not_verified_is_refused() {
    let mut trace = loading();
    trace.main.instructions.remove(0);
    let error = Names::default().run(&trace).unwrap_err();
    assert!(matches!(error, Error::Trace(_)), "{error}");
}

#[test]
fn an_observer_sees_every_instruction_and_stops() {
    let mut builder = TraceBuilder::new(N, &MODULI).unwrap();
    let mut main = builder.main();
    let sub = main.sub_trace("double", &[Type::eval(0..1)], |b| vec![b.add(0, 0)]);
    let x = main.load("x", Type::eval(0..1));
    let y = main.call(sub, &[x])[0];
    main.store("y", y);
    let trace = builder.finish().unwrap();
    let x = residues(0..1, 1);
    let mut seen = Vec::new();
    let mut names = Names::default().with("x", &x);
    replay(&trace, &mut names, |Progress { done, total, next }| {
        seen.push((done, total, next));
        true
    })
    .unwrap();
    assert_eq!(
        seen,
        [
            (0, 4, "load"),
            (1, 4, "call"),
            (2, 4, "add"),
            (3, 4, "store")
        ]
    );
    let mut names = Names::default().with("x", &x);
    let stopped = replay(&trace, &mut names, |progress| progress.done < 3);
    let error = stopped.unwrap_err();
    assert!(
        matches!(error, Error::Stopped { done: 3, total: 4 }),
        "{error}"
    );
    assert!(names.stored.is_empty());
}

/// Holds a limb. When a value is stored, notes how many hold the limb, and whether it is the one
/// that is stored.
struct Watch {
    limb: Limb,
    seen: Vec<(usize, bool)>,
}

impl Outside for Watch {
    fn load(&mut self, _: &str, _: &Type) -> Result<Vec<Limb>> {
        Ok(vec![self.limb.clone()])
    }

    fn seed(&mut self, _: &str) -> Result<Seed> {
        unreachable!("the trace samples nothing")
    }

    fn store(&mut self, _: &str, _: &Type, limbs: Vec<Limb>) -> Result<()> {
        let own = Arc::ptr_eq(&limbs[0], &self.limb);
        self.seen.push((Arc::strong_count(&self.limb), own));
        Ok(())
    }
}

/// Values are dropped after their last use, in callers even while the callee runs. Arguments are
/// not copied.
#[test]
fn limbs_are_shared_and_let_go() {
    let ty = [Type::coeff(0..1)];
    let mut builder = TraceBuilder::new(N, &MODULI).unwrap();
    let mut main = builder.main();
    let same = main.sub_trace("same", &ty, |_| vec![0]);
    let sum = main.sub_trace("sum", &ty, |b| vec![b.add(0, 0)]);
    let x = main.load("x", ty[0].clone());
    let passed = main.call(same, &[x])[0];
    let wide = main.zero(Type::coeff(1..2));
    let joined = main.join(vec![wide, passed]);
    let selected = main.select(joined, 0..1);
    main.store("shared", selected);
    let made = main.call(sum, &[selected])[0];
    main.store("made", made);
    let trace = builder.finish().unwrap();
    let limb = Arc::new(vec![1; N]);
    let mut watch = Watch {
        limb,
        seen: Vec::new(),
    };
    replay(&trace, &mut watch, |_| true).unwrap();
    // While the first value is stored, the watch, the value and the operand hold the limb.
    assert_eq!(watch.seen, [(3, true), (1, false)]);
}
