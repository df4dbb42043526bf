//! A circuit needs exactly the keys that it uses.

use crate::common::{Setup, arguments, builder, fresh, insecure_params, messages};
use client::circuit_keys;
use palladion_evaluate::circuit::{Runner, needs};
use program::circuit::{Circuit, KeyNeeds};

/// Products and rotations at two levels each.
fn circuit() -> (ckks::Params, Circuit) {
    let params = insecure_params(8, 3);
    let mut b = builder(&params);
    let x = b.input("x", fresh(&params)).unwrap();
    let near = b.rotate(x, 1).unwrap();
    let product = b.mul(x, near).unwrap();
    let product = b.rescale(product).unwrap();
    let far = b.rotate(product, -3).unwrap();
    let near = b.rotate(product, 1).unwrap();
    let sum = b.dot(&[[far, near], [product, near]]).unwrap();
    let sum = b.rescale(sum).unwrap();
    let conjugate = b.conjugate(sum).unwrap();
    b.output("y", conjugate).unwrap();
    (params, b.finish().unwrap())
}

#[test]
fn needs_are_those_of_the_highest_levels() {
    let expected = KeyNeeds {
        relinearization: Some(3),
        rotations: [(1, 3), (125, 2)].into(),
        conjugation: Some(1),
        bootstrapping: false,
    };
    assert_eq!(circuit().1.keys(), expected);
}

#[test]
fn no_key_can_be_left_out_or_made_for_a_lower_level() {
    let (params, circuit) = circuit();
    let mut setup = Setup::new(params, 3);
    let runner = Runner::new(&setup.params, &circuit).unwrap();
    let inputs = messages(&circuit, &mut setup.rng);
    let encrypted = setup.encrypt(&runner, &circuit, &inputs);
    let arguments = arguments(&circuit, &encrypted, &inputs);
    let all = circuit.keys();
    let mut fewer = Vec::new();
    let level = all.relinearization.unwrap();
    for relinearization in [None, Some(level - 1)] {
        fewer.push(KeyNeeds {
            relinearization,
            ..all.clone()
        });
    }
    for (&steps, &level) in &all.rotations {
        let mut without = all.clone();
        without.rotations.remove(&steps);
        fewer.push(without);
        let mut lower = all.clone();
        lower.rotations.insert(steps, level - 1);
        fewer.push(lower);
    }
    for conjugation in [None, Some(0)] {
        fewer.push(KeyNeeds {
            conjugation,
            ..all.clone()
        });
    }
    for fewer in fewer {
        let needs = needs(&setup.params, &fewer);
        let keys = circuit_keys(&setup.secret, &needs, &mut setup.rng).unwrap();
        let found = runner.run(&arguments, &keys);
        assert!(found.is_err(), "{needs:?} is enough");
        println!("{}", found.unwrap_err());
    }
    let keys = setup.keys(&circuit);
    assert!(runner.run(&arguments, &keys).is_ok());
    assert_eq!(keys.galois.iter().len(), 3);
}
