//! Noise at limb sizes other than the default, where products leave much or little above a
//! rounding.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use crate::common::{N, alone, setup_of};
use palladion_circuits::operations::Operations;
use palladion_circuits::{Engine, Value, ValueOf};

const LIMBS: usize = 10;

/// `x, x^2, x^3, x^4, x^5, x^8, x^9, ..`: squares and their products with `x`, until the chain
/// ends.
fn powers<O: Operations>(engine: &Engine<O>, x: &ValueOf<O>) -> Vec<ValueOf<O>> {
    let mut square = engine.mul("powers", x, x).unwrap();
    let mut made = vec![x.clone(), square.clone()];
    loop {
        let (odd, even) = (
            engine.mul("powers", &square, x),
            engine.mul("powers", &square, &square),
        );
        match (odd, even) {
            (Ok(odd), Ok(even)) if even.level() > 0 => {
                square = even.clone();
                made.extend([odd, even]);
            }
            _ => return made,
        }
    }
}

/// With limbs of 31 bits and a slack of 4.3 the noise of the eighth power was once 4 bits above its
/// prediction, and that of the hundredth beyond the modulus.
#[test]
fn powers_have_the_predicted_noise_with_limbs_of_any_size() {
    let _alone = alone();
    for (bits, slack) in [
        (28, 12.0),
        (30, 4.0),
        (31, 4.3),
        (31, 8.5),
        (32, 6.0),
        (33, 1.5),
        (36, 1.5),
    ] {
        let mut s = setup_of((bits, slack), (bits.max(31), 4), LIMBS, 77);
        let top = s.top();
        let slots = s.residues(N);
        let fresh = s.encrypt_slots(&slots, top);
        let keys = s.keys_for(|engine| {
            let fresh = Value::dry(top, engine.model().fresh());
            powers(engine, &engine.switch_to(fresh, top - 1).unwrap())
        });
        let engine = palladion_circuits::engine(&s.params, &keys);
        let made = powers(&engine, &engine.switch_to(fresh, top - 1).unwrap());
        assert!(made.len() >= 9, "{} powers of {bits} bits", made.len());
        for (index, power) in made.iter().enumerate() {
            s.check_noise(&format!("{bits} bits, power {index}"), power);
        }
    }
}
