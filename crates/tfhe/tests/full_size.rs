//! Secure parameters with the fast multiplier.

use crate::common::{keys_with, rng};
use palladion_tfhe::noise::measure_rounding;
use palladion_tfhe::{ClientKey, Comparison, Gate, Params, ServerKey, Table, TestPolynomial, sets};
use ring::torus::{Fft, Multiplier, Torus};

fn fft(params: &Params) -> Fft {
    Fft::new(params.n()).expect("a degree of the transform")
}

/// Compares the noise of outputs with its prediction, from several coefficients of each of `count`
/// bootstrappings.
fn check_noise<T: Torus, M: Multiplier<T>>(
    client: &ClientKey<T>,
    server: &ServerKey<T, M>,
    inputs: &[palladion_tfhe::Lwe<T>],
) {
    const TABLES: usize = 8;
    let params = client.params();
    let word = T::from_torus(0.125);
    let test = TestPolynomial::of_tables(params.n(), &vec![vec![word; 4]; TABLES]);
    let jobs: Vec<_> = inputs.iter().map(|lwe| (lwe.clone(), &test)).collect();
    let outputs = server.bootstrap_all(&jobs);
    let error = |lwe: &_| client.phase(lwe).to_torus().abs() - 0.125;
    let errors: Vec<f64> = outputs.iter().flatten().map(error).collect();
    let found = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
    let predicted = params.noise().output();
    // Rests are multiplied by bits of mean 1/2, so neighbouring coefficients have a correlation of
    // up to 1/2. Sums over some thousand coefficients and bits of a single key differ from their
    // mean by a few percent.
    let dependent = 1.0 + (TABLES - 1) as f64 / 4.0;
    let tolerance = 6.0 * (2.0 * dependent / errors.len() as f64).sqrt() + 0.1;
    assert!(tolerance < 0.95, "{tolerance} proves little");
    println!("outputs: {found:.3e}, predicted {predicted:.3e}, tolerance {tolerance:.2}");
    assert!(
        (found / predicted - 1.0).abs() < tolerance,
        "{found:e}, predicted {predicted:e}"
    );
}

/// The error of one product, compared with its formula.
#[test]
fn the_multiplier_rounds_as_predicted() {
    for (n, rows, base_log) in [(512, 4, 17), (1024, 3, 20), (2048, 2, 23), (4096, 2, 14)] {
        let digits = ring::torus::Decomposition::new(base_log, 1).expect("in range");
        let fft = Fft::new(n).expect("a power of two");
        let found = measure_rounding::<u64>(&fft, rows, base_log, &mut rng(6));
        let predicted = Fft::error_variance(n, rows, digits.mean_square());
        // 512 samples or more are within 38 % by 6 deviations. The formula's constant is accurate
        // to a tenth.
        let ratio = found / predicted;
        println!("N = {n}: {ratio:.2} of 2^{:.1}", predicted.log2());
        assert!(
            (0.62..1.45).contains(&ratio),
            "N = {n}, {rows} rows of {base_log} bits: {ratio:.2}"
        );
    }
}

#[test]
fn gates() {
    let params = sets::gates_lwe();
    let (client, server) = keys_with::<u32, _>(&params, fft(&params), 1);
    let [yes, no] = [true, false].map(|b| client.encrypt_bit(b, &mut rng(2)).expect("gates"));
    let jobs = Gate::ALL.map(|gate| (gate, &yes, &no));
    let out = server.gates(&jobs).expect("of this key");
    for (gate, bit) in Gate::ALL.into_iter().zip(&out) {
        assert_eq!(
            client.decrypt_bit(bit).expect("of this key"),
            gate.of(true, false),
            "{gate:?}"
        );
    }
    let fresh = client
        .compress_bits(&[true; 40], &mut rng(5))
        .expect("bits")
        .bits()
        .expect("bits");
    let inputs: Vec<_> = fresh.iter().map(|b| b.lwe().clone()).collect();
    check_noise(&client, &server, &inputs);
}

#[test]
fn integers_of_two_bits() {
    let params = sets::integers_2_2_2m64();
    let (client, server) = keys_with::<u64, _>(&params, fft(&params), 3);
    let rng = &mut rng(4);
    let x = client.encrypt_radix(0b1101, 2, rng).expect("fits");
    let y = client.encrypt_radix(0b0110, 2, rng).expect("fits");
    let number = |r: &_| client.decrypt_radix(r).expect("of this key");
    assert_eq!(
        number(&server.add_radix(&x, &y).expect("fits")),
        (0b1101 + 0b0110) % 16
    );
    let greater = server
        .compare_radix(Comparison::Greater, &x, &y)
        .expect("fits");
    assert_eq!(client.decrypt(&greater).expect("of this key"), 1);
    let product = server
        .apply_pair(&x.blocks()[0], &y.blocks()[0], |x, y| x * y)
        .expect("fits");
    assert_eq!(client.decrypt_with_carry(&product).expect("of this key"), 2);
    let squares = Table::of(&params, |v| (v * v) % 16).expect("a table");
    let out = server.apply(&x.blocks()[1], &squares).expect("of this key");
    assert_eq!(client.decrypt_with_carry(&out).expect("of this key"), 9);
    let fresh = client.compress(&[1; 40], rng).expect("messages");
    let fresh = fresh.integers().expect("integers");
    let inputs: Vec<_> = fresh.iter().map(|x| x.lwe().clone()).collect();
    check_noise(&client, &server, &inputs);
}
