//! Arguments that do not fit parameters or inputs give an error that says why.

use crate::common::{Setup, arguments, builder, fresh, insecure_params, message, messages, said};
use ckks::Complex64;
use palladion_evaluate::circuit::{Argument, Runner, predict, run_clear};
use program::circuit::Circuit;

fn circuit(params: &ckks::Params) -> Circuit {
    let mut b = builder(params);
    let ty = fresh(params);
    let x = b.input("x", ty).unwrap();
    let p = b
        .input(
            "p",
            program::circuit::Type {
                encrypted: false,
                ..ty
            },
        )
        .unwrap();
    let product = b.mul(x, p).unwrap();
    let product = b.rescale(product).unwrap();
    b.output("y", product).unwrap();
    b.finish().unwrap()
}

#[test]
fn circuits_for_other_parameters() {
    let params = insecure_params(8, 1);
    let other = |log_n, levels| {
        said(Runner::new(
            &params,
            &circuit(&insecure_params(log_n, levels)),
        ))
    };
    assert_eq!(
        other(9, 1),
        "the number of slots of the circuit is 256, expected at most 128"
    );
    assert_eq!(
        other(8, 2),
        "the number of levels of the circuit is 3, expected at most 2"
    );
    let found = other(7, 1);
    assert!(
        found.starts_with("the modulus of level ") && found.contains(" of the circuit is "),
        "{found}"
    );
    let mut broken = circuit(&params);
    broken.steps[3].ty.level = 1;
    assert!(said(Runner::new(&params, &broken)).contains("the stated level is 1, expected 0"));
    let mut fewer = circuit(&params);
    fewer.slots = 64;
    assert!(Runner::new(&params, &fewer).is_ok());
}

#[test]
fn inputs_that_are_none() {
    let params = insecure_params(8, 1);
    let circuit = circuit(&params);
    let mut setup = Setup::new(params.clone(), 4);
    let inputs = messages(&circuit, &mut setup.rng);
    let runner = Runner::new(&params, &circuit).unwrap();
    let mut encrypted = setup.encrypt(&runner, &circuit, &inputs);
    let keys = setup.keys(&circuit);

    let mut wrong = inputs.clone();
    wrong.remove("p");
    assert_eq!(
        said(run_clear(&circuit, &wrong)),
        "the input p is missing, expected slots or a ciphertext"
    );
    wrong.insert("p".into(), message(3, &mut setup.rng));
    let expected = "the number of slots of the input p is 3, expected a power of two up to 128";
    assert_eq!(said(run_clear(&circuit, &wrong)), expected);
    wrong.insert("q".into(), Vec::new());
    assert_eq!(
        said(predict(&params, &circuit, &wrong)),
        r#"an input is "q", expected one of ["x", "p"]"#
    );
    assert_eq!(
        said(runner.encode("q", &[])),
        r#"an input is "q", expected one of the circuit"#
    );
    assert_eq!(
        said(runner.encode("p", &[])),
        expected.replace("is 3", "is 0")
    );

    let slots = inputs["x"].clone();
    let mut given = arguments(&circuit, &encrypted, &inputs);
    given.insert("x", Argument::Plain(&slots));
    assert_eq!(
        said(runner.run(&given, &keys)),
        "the input x is in plain, expected encrypted"
    );
    given = arguments(&circuit, &encrypted, &inputs);
    given.insert("p", given["x"]);
    assert_eq!(
        said(runner.run(&given, &keys)),
        "the input p is encrypted, expected in plain"
    );
    encrypted.get_mut("x").unwrap().set_scale(2.0);
    let found = said(runner.run(&arguments(&circuit, &encrypted, &inputs), &keys));
    let expected = "the input x is of degree 1, level 1, scale 2^1.000000, expected of degree 1, level 1, scale 2^36.000000";
    assert_eq!(found, expected);
}

#[test]
fn messages_that_do_not_fit_their_modulus() {
    let params = insecure_params(8, 1);
    let circuit = circuit(&params);
    let mut inputs = messages(&circuit, &mut Setup::new(params.clone(), 4).rng);
    inputs.insert("x".into(), vec![Complex64::from(8192.0)]);
    inputs.insert("p".into(), vec![Complex64::from(1.0)]);
    let found = said(predict(&params, &circuit, &inputs));
    let expected = "the message of step %2 (mul) at its scale is 86.0 bits, expected less than 85.0, which level 1 holds";
    assert_eq!(found, expected);
}
