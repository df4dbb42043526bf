//! Things that a builder stores once, and calls on which it panics.

use palladion_trace::{Constant, TraceBuilder, Type};

fn builder() -> TraceBuilder {
    TraceBuilder::new(16, &[97, 193]).unwrap()
}

#[test]
fn constants_moduli_and_sub_traces_are_kept_once() {
    let mut builder = builder();
    assert_eq!(builder.modulus(193).unwrap(), 1);
    assert_eq!(builder.modulus(257).unwrap(), 2);
    assert!(builder.modulus(256).is_err());
    let mut main = builder.main();
    let ones = Constant::Repeat {
        run: 1,
        values: vec![1],
    };
    let ids = [
        main.define(ones.clone()),
        main.define(Constant::List(vec![1])),
        main.define(ones),
    ];
    assert_eq!(ids, [0, 1, 0]);
    let ty = [Type::coeff(0..3)];
    let made = [0, 1].map(|_| main.sub_trace("once", &ty, |b| vec![b.add(0, 0)]));
    assert_eq!(made, [0, 0]);
    let x = main.load("x", ty[0].clone());
    // These calls do nothing, because they ask for nothing new.
    assert_eq!(main.select(x, 0..3), x);
    assert_eq!(main.join([x]), x);
    let digits = main.select(x, 1..2);
    assert_eq!(main.digits(digits, 4, 2), [2, 3]);
    assert_eq!(main.values().len(), 4);
    let trace = builder.finish().unwrap();
    assert_eq!((trace.subs.len(), trace.constants.len()), (1, 2));
}

#[test]
fn powers_of_two_stand_behind_the_odd_moduli() {
    let mut builder = builder();
    let ids = [64, 5, 64].map(|bits| builder.power(bits).unwrap());
    assert_eq!(ids, [2, 3, 2]);
    assert_eq!(builder.modulus(97).unwrap(), 0);
    assert!(builder.modulus(257).is_err());
    assert!(builder.power(65).is_err());
    let trace = builder.finish().unwrap();
    assert_eq!((trace.moduli, trace.powers), (vec![97, 193], vec![64, 5]));
}

#[test]
fn a_sub_trace_may_make_others() {
    let mut builder = builder();
    let mut main = builder.main();
    let ty = [Type::coeff(0..2)];
    let outer = main.sub_trace("outer", &ty, |outer| {
        let inner = outer.sub_trace("inner", &ty, |inner| vec![inner.add(0, 0)]);
        outer.call(inner, &[0])
    });
    let x = main.load("x", ty[0].clone());
    let y = main.call(outer, &[x])[0];
    main.store("y", y);
    let trace = builder.finish().unwrap();
    let names: Vec<&str> = trace.subs.iter().map(|sub| sub.name.as_str()).collect();
    assert_eq!(names, ["inner", "outer"]);
}

#[test]
fn names_are_checked_when_all_is_written() {
    let mut builder = builder();
    let mut main = builder.main();
    let x = main.load("x", Type::coeff(0..2));
    main.store("x", x);
    let error = builder.finish().unwrap_err().to_string();
    let expected = "body main, instruction 1 (store): the name is x, expected a name that is neither loaded nor stored before";
    assert_eq!(error, expected);
}

#[test]
#[should_panic(expected = "sub-trace again needs itself")]
fn a_sub_trace_does_not_make_itself() {
    fn again(b: &mut palladion_trace::Builder) -> Vec<usize> {
        b.sub_trace("again", &[], again);
        Vec::new()
    }
    builder().main().sub_trace("again", &[], again);
}

#[test]
#[should_panic(expected = "parameters of sub-trace once")]
fn a_name_has_one_signature() {
    let mut builder = builder();
    let mut main = builder.main();
    main.sub_trace("once", &[], |_| Vec::new());
    main.sub_trace("once", &[Type::coeff(0..1)], |_| Vec::new());
}

#[test]
#[should_panic(expected = "sub-trace early gives %3, which it has not made")]
fn results_are_values_of_the_body() {
    builder().main().sub_trace("early", &[], |_| vec![3]);
}

#[test]
#[should_panic(expected = "body sub, instruction 0 (load): the operation is load, expected one")]
fn only_the_main_body_loads() {
    let load = |b: &mut palladion_trace::Builder| vec![b.load("x", Type::coeff(0..1))];
    builder().main().sub_trace("sub", &[], load);
}
