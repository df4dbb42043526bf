//! The probability that a run of a circuit is wrong, compared with separate computations.

use crate::common::{builder as approximate_builder, fresh as approximate_fresh, said};
use crate::exact::of_level;
use bgv::Params;
use ckks::Complex64;
use palladion_evaluate::circuit::{
    Runner, Slots, arithmetic, check_failure, predict, predict_noise, predict_noise_within,
    predict_within,
};
use program::circuit::{Circuit, CircuitBuilder};
use ring::{ntt_primes, ntt_primes_avoiding};
use rlwe::ParamsSpec;

/// 19 levels at N = 2^15, 128-bit secure, as in the database lookup.
fn params(bits: u32) -> Params {
    let n = 1 << 15;
    let q = ntt_primes(bits, n, 20).unwrap();
    let p = ntt_primes_avoiding(46, n, 3, &q).unwrap();
    let spec = ParamsSpec {
        n,
        q,
        p,
        digit_limbs: 4,
    };
    Params::new(&spec, bgv::T_FERMAT).unwrap()
}

/// `x^(2^squarings)`, with each square divided by a modulus.
fn power(params: &Params, squarings: usize) -> Circuit {
    let mut b = CircuitBuilder::new("power", arithmetic(params), 1 << 15).unwrap();
    let mut x = b
        .input("x", of_level(params.rlwe().max_level(), true))
        .unwrap();
    for _ in 0..squarings {
        let square = b.mul(x, x).unwrap();
        x = b.rescale(square).unwrap();
    }
    b.output("y", x).unwrap();
    b.finish().unwrap()
}

/// `docs/adr/0015-noise-at-single-points.md` has 2^-22 for a product in a chain with moduli of 33
/// bits, and 2^-60 with 34.
#[test]
fn squares_of_small_moduli_run_away_at_single_points() {
    let wide = params(34);
    let found = predict_noise(&wide, &power(&wide, 16)).unwrap()["y"];
    println!("34 bits: 2^{:.1}", found.log2_failure);
    // 14 of the 16 products are followed by at least two others.
    assert!((-60.0..-54.0).contains(&found.log2_failure));
    assert!(found.margin_bits > 10.0, "the mean says nothing of it");
    let narrow = params(33);
    let words = said(predict_noise(&narrow, &power(&narrow, 16)));
    assert!(words.contains("at single points of evaluation"), "{words}");
    assert_eq!(words, said(Runner::new(&narrow, &power(&narrow, 16))));
    // A large value at one point cannot grow in two products.
    let short = predict_noise(&narrow, &power(&narrow, 2)).unwrap()["y"];
    assert!(short.log2_failure < -1000.0, "{}", short.log2_failure);
    // A caller may ask for a smaller probability, but not for a larger one.
    predict_noise_within(&wide, &power(&wide, 16), -50.0).unwrap();
    let words = said(predict_noise_within(&wide, &power(&wide, 16), -64.0));
    assert!(words.contains("at most 2^-64 in all"), "{words}");
    assert!(said(check_failure(&wide, &power(&wide, 16), -64.0)).contains("2^-64"));
    let words = said(Runner::within(&wide, &power(&wide, 1), -30.0));
    assert_eq!(
        words,
        "log2 of the probability of a wrong run is -30, expected at most -40"
    );
}

/// Messages that leave less and less room below half of the modulus. From some size on, noise
/// exceeds it.
#[test]
fn messages_that_leave_no_room_for_noise_insecure() {
    let params = crate::common::insecure_params(8, 1);
    let mut b = approximate_builder(&params);
    let ty = approximate_fresh(&params);
    let x = b.input("x", ty).unwrap();
    let low = b.drop_to(x, 0).unwrap();
    b.output("y", low).unwrap();
    let circuit = b.finish().unwrap();
    let half = params.level_modulus(0) / 2.0 / ty.scale;
    // Deviation of a coefficient of a fresh error and its rounding.
    let deviation = (3.2f64.powi(2) + 1.0 / 12.0).sqrt() / ty.scale;
    let at = |deviations: f64| {
        let slots = vec![Complex64::from(half - deviations * deviation)];
        Slots::from([("x".into(), slots)])
    };
    // 2^8 coefficients at each of two steps after the drop: 2^9 normal tails beyond this many
    // deviations.
    for (deviations, log2) in [(9.0, -62.0 + 9.0), (8.0, -49.5 + 9.0)] {
        let found = predict(&params, &circuit, &at(deviations)).unwrap()["y"].log2_failure;
        println!("{deviations} deviations: 2^{found:.1}");
        assert!((found - log2).abs() < 1.5, "{found}, expected {log2}");
    }
    let words = said(predict(&params, &circuit, &at(7.5)));
    assert!(words.contains("a run is wrong with 2^-3"), "{words}");
    assert!(said(predict_within(&params, &circuit, &at(8.0), -64.0)).contains("at most 2^-64"));
    // If there is enough room, the probability is 0.
    let found = &predict(&params, &circuit, &at(1e6)).unwrap()["y"];
    assert_eq!(found.log2_failure, circuits::LEAST_LOG2_FAILURE);
}
