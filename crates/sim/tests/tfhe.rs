//! Emulated bootstrappings compared with those of TFHE with an exact multiplier, bit for bit.

use palladion_sim::spatial::{Bootstrapping, Device, Keys, Machine, Multiplier, Order, Parameters};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use ring::torus::Ntt;
use tfhe::{
    Bootstrapper, EvaluationKeys, GlweSecret, Lwe, LweSecret, Params, ParamsSpec, Scratch,
    SwitchKey, TestPolynomial, modulus_switch, sets,
};

/// The ring and the digits of a set of the paper, with a small secret of few bits.
fn small_insecure(set: &Params, lwe_dimension: usize) -> Params {
    let spec = ParamsSpec {
        lwe_dimension,
        ..set.spec().clone()
    };
    Params::new_insecure(&spec).expect("in range")
}

#[test]
fn samples_of_few_bits_are_those_of_tfhe_insecure() {
    for set in [sets::paper_1_insecure(), sets::paper_2_insecure()] {
        for place in [Device::Processor, Device::Array] {
            let design = (Multiplier::Direct, place);
            compare(&small_insecure(&set, 6), design, &ORDERS);
        }
    }
}

#[test]
fn samples_through_pipelines_of_transforms_are_those_of_tfhe_insecure() {
    let design = (Multiplier::Fft, Device::Array);
    compare(
        &small_insecure(&sets::paper_2_insecure(), 2),
        design,
        &ORDERS[1..],
    );
}

#[test]
fn samples_at_full_size_are_those_of_tfhe_insecure() {
    let design = (Multiplier::Direct, Device::Array);
    compare(&sets::paper_1_insecure(), design, &ORDERS[..1]);
    compare(&sets::paper_2_insecure(), design, &ORDERS[1..]);
}

const ORDERS: [Order; 2] = [Order::SwitchFirst, Order::SwitchLast];

fn compare(params: &Params, design: (Multiplier, Device), orders: &[Order]) {
    let (n, rank, digits) = (params.n(), params.rank(), params.spec().bootstrap);
    let rows = (rank + 1) * digits.levels() as usize;
    let multiplier = || Ntt::<u32>::new(n, rows, 1 << 15).expect("primes");
    let mut rng = ChaCha20Rng::seed_from_u64(n as u64);
    let big = GlweSecret::generate(rank, n, &mut rng);
    let small = LweSecret::generate(params.lwe_dimension(), &mut rng);
    let keys = EvaluationKeys::generate(params, (&big, &small), &multiplier(), &mut rng);
    let keys = keys.expect("words of 32 bits");
    let bootstrapper = Bootstrapper::new(params, keys.bootstrap(), keys.switch(), multiplier());
    let scratch = &mut Scratch::new(params, bootstrapper.multiplier());
    let SwitchKey::Lwe(switch) = keys.switch() else {
        panic!("the sets of the paper switch by samples");
    };

    let machine = Machine::named("versal").expect("built in");
    let parameters = Parameters {
        lwe_dimension: params.lwe_dimension(),
        rank,
        n,
        decomposition: digits,
    };
    let switch_digits = params.spec().key_switch.decomposition();
    let array = Bootstrapping::new(&machine, parameters, switch_digits, design).expect("fits");
    let words = Keys {
        bootstrap: &keys.bootstrap().expand(0..keys.bootstrap().len()),
        switch: &switch.expand(0..switch.len()),
    };
    // Arbitrary words: the comparison does not depend on their phase.
    let arbitrary = |count: usize| -> Vec<u32> {
        let word = |i: u32| (i + 1).wrapping_mul(0x9e37_79b9);
        (0..count as u32).map(word).collect()
    };
    let test = arbitrary(n);
    let tables = TestPolynomial::of_tables(n, &[test[..n / 2].to_vec()]);
    for &order in orders {
        let (input, want) = match order {
            Order::SwitchFirst => {
                let input = Lwe::from_words(arbitrary(params.big_dimension() + 1));
                let want = bootstrapper.bootstrap(&input, &tables, scratch).remove(0);
                (input, want)
            }
            Order::SwitchLast => {
                let input = Lwe::from_words(arbitrary(params.lwe_dimension() + 1));
                let mut exponents = vec![0; input.words().len()];
                modulus_switch(&mut exponents, input.words(), params.spec().log_n + 1, 0);
                let turned = bootstrapper.blind_rotation(&exponents, tables.words(), scratch);
                (input, bootstrapper.key_switch(&turned.extract(0), scratch))
            }
        };
        let found = array
            .emulate(order, words, tables.words(), input.words())
            .expect("runs");
        assert!(
            found.sample == want.words(),
            "N = {n}, {design:?}, {order:?}"
        );
    }
}
