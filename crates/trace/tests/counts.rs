use palladion_trace::{Trace, TraceBuilder, Type};

#[test]
fn passes_are_those_of_the_limbs() {
    let trace = Trace::parse(&crate::text::EVERY.replace("-15", "15")).unwrap();
    let passes = trace.counts().passes;
    let expected = [
        ("ntt", 2),
        ("intt", 2),
        ("additions", 4),
        ("products", 2),
        ("dot terms", 4),
        ("scalings", 2 + 3),
        ("combination terms", 8),
        ("permutations", 2 + 1 + 2 + 2 + 1 + 1),
        ("quotients", 1),
        ("conversion terms", 4),
        ("roundings", 1),
        ("digits", 1),
        ("sampled", 2 + 1),
        ("constants", 1 + 2 + 1),
        ("loaded", 2),
        ("stored", 3),
    ];
    assert_eq!(passes.all(), expected);
}

#[test]
fn calls_count_as_what_they_call() {
    let mut builder = TraceBuilder::new(16, &[97, 193]).unwrap();
    let mut main = builder.main();
    let ty = Type::eval(0..2);
    let mut sub = main.sub_trace("double.0", std::slice::from_ref(&ty), |b| vec![b.add(0, 0)]);
    for level in 1..=70 {
        let parameters = std::slice::from_ref(&ty);
        sub = main.sub_trace(&format!("double.{level}"), parameters, |b| {
            let once = b.call(sub, &[0]);
            b.call(sub, &once)
        });
        if level == 10 {
            let x = main.load("x", ty.clone());
            main.call(sub, &[x]);
        }
    }
    let counts = builder.finish().unwrap().counts();
    assert_eq!(counts.passes.additions, 2 << 10);
    let calls = counts.instructions[palladion_trace::Op::NAMES.len() - 1];
    assert_eq!(calls, 1 + (2 << 10) - 2);
    let table = counts.to_string();
    assert!(table.lines().all(|line| line.len() <= 79), "{table}");
    assert!(
        table.contains("additions                         2048"),
        "{table}"
    );
}

#[test]
fn counts_beyond_a_word_stay_at_the_greatest() {
    let mut builder = TraceBuilder::new(16, &[97]).unwrap();
    let mut main = builder.main();
    let mut sub = main.sub_trace("0", &[Type::eval(0..1)], |b| vec![b.mul(0, 0)]);
    for level in 1..=65 {
        sub = main.sub_trace(&format!("{level}"), &[Type::eval(0..1)], |b| {
            let once = b.call(sub, &[0]);
            b.call(sub, &once)
        });
    }
    let x = main.load("x", Type::eval(0..1));
    main.call(sub, &[x]);
    let counts = builder.finish().unwrap().counts();
    assert_eq!(counts.passes.products, u64::MAX);
}
