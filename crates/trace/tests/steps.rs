//! Names of parts of the main body: read, written, built, and refused.

use palladion_trace::{Step, Trace, TraceBuilder, Type};

const STEPPED: &str = "palladion-trace/1
ring 16
moduli 97

main:
  %0: eval 0..1 = load x
step conv: pack:
  %1: eval 0..1 = add %0 %0
  %2: eval 0..1 = add %1 %0
step conv: pack:
  %3: eval 0..1 = mul %2 %1
step a name, with: ü:
  store y %3
end
";

#[test]
fn steps_are_read_and_written_as_they_stand() {
    let trace = Trace::parse(STEPPED).unwrap();
    assert_eq!(trace.to_string(), STEPPED);
    let found: Vec<_> = trace
        .steps
        .iter()
        .map(|s| (s.name.as_str(), s.first))
        .collect();
    assert_eq!(
        found,
        [("conv: pack", 1), ("conv: pack", 3), ("a name, with: ü", 4)]
    );
    let without = Trace::parse(&STEPPED.replace("step conv: pack:\n", "")).unwrap();
    assert_eq!(without.main, trace.main);
    assert_eq!(without.counts(), trace.counts());
}

#[test]
fn a_builder_writes_steps_that_have_instructions() {
    let mut builder = TraceBuilder::new(16, &[97]).unwrap();
    let mut main = builder.main();
    main.begin_step("nothing");
    main.begin_step("first");
    let x = main.load("x", Type::coeff(0..1));
    main.begin_step("second");
    main.store("y", x);
    main.begin_step("last");
    let trace = builder.finish().unwrap();
    let step = |name: &str, first| Step {
        name: name.into(),
        first,
    };
    assert_eq!(trace.steps, [step("first", 0), step("second", 1)]);
}

#[test]
fn steps_that_cannot_be_are_refused_with_their_lines() {
    for (part, by, words) in [
        (
            "step a name, with: ü:",
            "step a name, with: ü",
            "line 12: the line is `a name, with: ü`, expected `step NAME:`",
        ),
        (
            "step a name, with: ü:",
            "step :",
            "line 12, body main: the name of the step is \"\", expected 1 to 200 bytes of text on a line",
        ),
        (
            "  store y %3\n",
            "",
            "line 12, body main: the first instruction of the step is 4, expected 4 or more, and below 4: every step has an instruction",
        ),
        (
            "  %1: eval",
            "step again:\n  %1: eval",
            "line 8, body main: the first instruction of the step is 1, expected 2 or more, and below 5: every step has an instruction",
        ),
    ] {
        let error = Trace::parse(&STEPPED.replacen(part, by, 1)).unwrap_err();
        assert_eq!(error.to_string(), words);
    }
    let sub = "moduli 97\nsub one (%0: eval 0..1):\nstep inner:\n  return %0\n";
    let error = Trace::parse(&STEPPED.replace("moduli 97\n", sub)).unwrap_err();
    assert!(error.to_string().starts_with("line 5"), "{error}");
    let mut trace = Trace::parse(STEPPED).unwrap();
    trace.steps[1].first = 1;
    assert!(
        trace
            .verify()
            .unwrap_err()
            .to_string()
            .contains("the first instruction of the step is 1")
    );
    trace.steps[1] = Step {
        name: "two\nlines".into(),
        first: 2,
    };
    assert!(trace.verify().is_err());
}

#[test]
fn the_nearest_name_may_be_a_name() {
    for (name, nearest) in [
        ("conv: pack", "conv: pack"),
        (" \t", "_"),
        ("a\nb ", "a_b"),
        ("", "_"),
    ] {
        assert_eq!(Step::nearest_name(name), nearest);
    }
    for name in [
        "ü".repeat(300),
        format!("{} end", "x".repeat(199)),
        "\u{2028}".into(),
    ] {
        let nearest = Step::nearest_name(&name);
        assert!((1..=Step::MAX_NAME).contains(&nearest.len()));
        let text = STEPPED.replacen("conv: pack", &nearest, 1);
        assert_eq!(Trace::parse(&text).unwrap().steps[0].name, nearest);
    }
}

#[test]
#[should_panic(expected = "only the main body has steps")]
fn a_sub_trace_has_no_steps() {
    let mut builder = TraceBuilder::new(16, &[97]).unwrap();
    builder.main().sub_trace("one", &[], |body| {
        body.begin_step("inner");
        Vec::new()
    });
}
