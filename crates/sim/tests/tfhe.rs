//! The emulated array compared with the bootstrapping of TFHE with an exact multiplier, bit for
//! bit.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use ring::torus::Ntt;
use sim::{BlindRotation, Machine, Parameters};
use tfhe::{
    Bootstrapper, EvaluationKeys, Glwe, GlweSecret, Lwe, LweSecret, Params, ParamsSpec, Scratch,
    TestPolynomial, modulus_switch, sets,
};

/// Every coefficient of the test polynomial.
const CONSTANT: u32 = 0x1234_5678;

#[test]
fn the_array_bootstraps_as_tfhe_does_insecure() {
    for set in [sets::paper_1_insecure(), sets::paper_2_insecure()] {
        // A small secret of 6 bits: the ring is that of the set, the security is not.
        let spec = ParamsSpec {
            lwe_dimension: 6,
            ..set.spec().clone()
        };
        compare(&Params::new_insecure(&spec).expect("in range"));
    }
}

#[test]
fn whole_bootstrappings_are_those_of_tfhe_insecure() {
    compare(&sets::paper_1_insecure());
    compare(&sets::paper_2_insecure());
}

fn compare(params: &Params) {
    let (n, rank, digits) = (params.n(), params.rank(), params.spec().bootstrap);
    let rows = (rank + 1) * digits.levels() as usize;
    let multiplier = || Ntt::<u32>::new(n, rows, 1 << 15).expect("primes");
    let mut rng = ChaCha20Rng::seed_from_u64(n as u64);
    let big = GlweSecret::generate(rank, n, &mut rng);
    let small = LweSecret::generate(params.lwe_dimension(), &mut rng);
    let keys = EvaluationKeys::generate(params, (&big, &small), &multiplier(), &mut rng);
    let keys = keys.expect("words of 32 bits");
    let bootstrapper = Bootstrapper::new(params, keys.bootstrap(), keys.switch(), multiplier());
    let mut scratch = Scratch::new(params, bootstrapper.multiplier());

    // Arbitrary words: the comparison does not depend on their phase.
    let words = (0..=params.big_dimension() as u32).map(|i| (i + 1).wrapping_mul(0x9e37_79b9));
    let input = Lwe::from_words(words.collect());
    let test = TestPolynomial::constant(n, CONSTANT);
    let want = bootstrapper.bootstrap(&input, &test, &mut scratch);

    let switched = bootstrapper.key_switch(&input, &mut scratch);
    let mut exponents = vec![0; params.lwe_dimension() + 1];
    modulus_switch(&mut exponents, switched.words(), params.spec().log_n + 1, 0);
    let body = exponents.pop().expect("a body");
    let mut accumulator = vec![0u32; rank * n];
    // X^-b times the test polynomial.
    accumulator.extend((0..n).map(|i| match (i + body) % (2 * n) < n {
        true => CONSTANT,
        false => CONSTANT.wrapping_neg(),
    }));
    let exponents: Vec<u32> = exponents.iter().map(|&a| a as u32).collect();
    let rows = keys.bootstrap().expand(0..keys.bootstrap().len());

    let parameters = Parameters {
        lwe_dimension: params.lwe_dimension(),
        rank,
        n,
        decomposition: digits,
    };
    let machine = Machine::named("versal").expect("built in");
    let array = BlindRotation::new(&machine, parameters).expect("fits");
    let found = array
        .emulate(&accumulator, &exponents, &rows)
        .expect("runs");
    let found = Glwe::from_words(n, found.accumulator).extract(0);
    assert!(found.words() == want[0].words(), "N = {n}");
}
