//! BFV: the noise of its circuits, checked from both sides, and ciphertexts that are refused.

use crate::exact::{Encrypts, Setup, builder, fresh, insecure_params, of_level};
use exchange::circuit::Keys;
use palladion_evaluate::circuit::{Argument, Bfv, Runner};
use program::circuit::{Circuit, CircuitBuilder, ValueId};
use std::collections::BTreeMap;

const LEVELS: usize = 3;

fn square(b: &mut CircuitBuilder, x: ValueId) -> ValueId {
    let square = b.mul(x, x).unwrap();
    b.rescale(square).unwrap()
}

/// `x^4 + y^2 - low`. The inputs are at two levels, and the terms of sums have different factors.
fn polynomial(setup: &Setup) -> Circuit {
    let mut b = builder(&setup.params);
    let (x, y) = (fresh(&setup.params), fresh(&setup.params));
    let (x, y) = (b.input("x", x).unwrap(), b.input("y", y).unwrap());
    let low = b.input("low", of_level(1, true)).unwrap();
    let x = square(&mut b, x);
    let x = square(&mut b, x);
    let y = square(&mut b, y);
    let y = b.drop_to(y, 1).unwrap();
    let sum = b.add(x, y).unwrap();
    let difference = b.sub(sum, low).unwrap();
    b.output("z", difference).unwrap();
    b.finish().unwrap()
}

#[test]
fn noise_is_that_of_bgv_with_other_factors_insecure() {
    let mut setup = Setup::new(insecure_params(10, LEVELS), 7);
    let circuit = polynomial(&setup);
    let scheme = Bfv(setup.params.clone());
    // As for BGV: half a bit for the spread of products of residuals.
    setup.check_as(&scheme, "polynomial", &circuit, Some(0.5));
}

#[test]
fn ciphertexts_that_are_no_fresh_ones_of_these_parameters_are_refused_insecure() {
    let mut setup = Setup::new(insecure_params(9, LEVELS), 8);
    let mut b = builder(&setup.params);
    let x = b.input("x", fresh(&setup.params)).unwrap();
    b.output("y", x).unwrap();
    let circuit = b.finish().unwrap();
    let scheme = Bfv(setup.params.clone());
    let runner = Runner::new(&scheme, &circuit).unwrap();
    let message = runner.encode("x", &[1, 2]).unwrap();
    let said = |ct: &bfv::Ciphertext| {
        let inputs = BTreeMap::from([("x", Argument::Ciphertext(ct))]);
        runner
            .run(&inputs, &Keys::default())
            .map(drop)
            .unwrap_err()
            .to_string()
    };
    let low = scheme.encrypt(&mut setup, &message, 1);
    assert!(said(&low).contains("level 1, factor 1, expected of degree 1, level 3, factor 1"));
    let top = scheme.encrypt(&mut setup, &message, 3);
    let scaled = bfv::Ciphertext::new(top.rlwe().clone(), 5);
    assert!(said(&scaled).contains("factor 5, expected of degree 1, level 3, factor 1"));
    let mut other = Setup::new(insecure_params(10, LEVELS), 8);
    let message = other.params.encoder().from_residues(vec![0; 1 << 10]);
    let scheme = Bfv(other.params.clone());
    let other = scheme.encrypt(&mut other, &message, 3);
    assert!(said(&other).contains("4 limbs of N = 1024"));
}
