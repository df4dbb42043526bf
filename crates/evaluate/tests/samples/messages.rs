//! Circuits on messages. A run gives what its trace gives, word for word, and decrypts to the
//! result in the clear. The probability that a run is wrong is the sum over its bootstrappings.

use crate::compare::{KERNELS, Server, multiplier};
use crate::{digits, insecure};
use palladion_evaluate::torus::{describe, log2_failure, messages, output_noise, replay, run};
use program::message::{Builder, Circuit, Value};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use ring::torus::Torus;
use rlwe::noise::log2_sum;
use tfhe::{
    Bit, ClientKey, Encoding, Gate, Integer, KeySwitch, Lwe, Params, ServerKey, noise, sets,
};

/// Every operation on bits, in three waves.
fn bits(params: &Params) -> Circuit {
    let mut b = Builder::new("bits", messages(params)).unwrap();
    let x = b.input("x", Some(2), 1).unwrap();
    let y = b.input("y", None, 1).unwrap()[0];
    let xor = b.xor(x[0], y).unwrap();
    let chosen = b.choose(xor, x[1], y).unwrap();
    let nor = b.or(chosen, x[0]).unwrap();
    let nor = b.not(nor).unwrap();
    let not = b.not(y).unwrap();
    let and = b.and(not, x[1]).unwrap();
    b.output("all", false, &[xor, chosen, nor, and, x[0]])
        .unwrap();
    b.output("known", true, &[Value::Constant(1)]).unwrap();
    b.finish().unwrap()
}

/// Every operation on integers: negative ones, two tables in one bootstrapping, two bootstrappings
/// of one sum.
fn integers(params: &Params) -> Circuit {
    let mut b = Builder::new("integers", messages(params)).unwrap();
    let x = b.input("x", Some(2), 1).unwrap();
    let y = b.input("y", None, 1).unwrap()[0];
    let difference = b.sum(0, &[(1, x[0]), (-1, y)]).unwrap();
    let both = b
        .lookup(difference, &[vec![1, -1, 0], vec![0, 1, 1]])
        .unwrap();
    let sum = b.sum(1, &[(1, both[0]), (1, x[1])]).unwrap();
    let next = b.lookup(sum, &[vec![2, 0, 1, 1]]).unwrap()[0];
    let other = b.lookup(sum, &[vec![0, 1, 1, 0]]).unwrap()[0];
    b.output("all", false, &[difference, both[1], next, other, x[1]])
        .unwrap();
    b.output("known", true, &[Value::Constant(-1)]).unwrap();
    b.finish().unwrap()
}

/// Runs, replays, and decrypts all results.
fn check<T: Torus>(
    params: &Params,
    circuit: &Circuit,
    mut encrypt: impl FnMut(&ClientKey<T>, u64, &mut ChaCha20Rng) -> Lwe<T>,
    decrypt: impl Fn(&ClientKey<T>, Lwe<T>) -> i64,
) {
    let _kernels = KERNELS.lock().unwrap();
    let rng = &mut ChaCha20Rng::seed_from_u64(12);
    let client = ClientKey::<T>::generate(params, rng).unwrap();
    let keys = client.evaluation_keys(&multiplier(params), rng).unwrap();
    let server: Server<T> = ServerKey::new(&keys, multiplier(params)).unwrap();
    let described = describe(params, circuit).unwrap();
    assert_eq!(
        program::torus::Circuit::parse(&described.to_string()).unwrap(),
        described
    );
    let trace = lower::torus::lower(&described).unwrap();
    for given in 0..8u64 {
        let given = [given & 1, given >> 1 & 1, given >> 2];
        let inputs = given.map(|value| encrypt(&client, value, rng));
        let found = run(&server, &described, &inputs).unwrap();
        if given == [1, 0, 1] {
            let (replayed, counts) = replay(&keys, &trace, &inputs, |_| true).unwrap();
            assert_eq!(replayed, found);
            assert_eq!(counts, trace.counts());
        }
        let [x, y] = [&given[..2], &given[2..]].map(|part| part.iter().map(|&v| v as i64));
        let (x, y): (Vec<i64>, Vec<i64>) = (x.collect(), y.collect());
        let clear = circuit
            .run_clear(&[("x", &x[..]), ("y", &y)].into())
            .unwrap();
        // A result that may be negative is output with a multiple of the number of messages added.
        let messages = params.messages() as i64;
        let expected = clear
            .into_values()
            .flatten()
            .map(|v| v.rem_euclid(messages));
        let found = found.into_iter().map(|sample| decrypt(&client, sample));
        assert_eq!(
            found.collect::<Vec<_>>(),
            expected.collect::<Vec<_>>(),
            "{given:?}"
        );
    }
}

fn check_bits<T: Torus>(params: &Params) {
    check::<T>(
        params,
        &bits(params),
        |client, bit, rng| client.encrypt_bit(bit == 1, rng).unwrap().lwe().clone(),
        |client, sample| {
            let bit = Bit::of_sample(client.params(), sample).unwrap();
            client.decrypt_bit(&bit).unwrap().into()
        },
    );
}

fn check_integers<T: Torus>(params: &Params) {
    let most = params.values() - 1;
    check::<T>(
        params,
        &integers(params),
        |client, value, rng| client.encrypt(value, rng).unwrap().lwe().clone(),
        |client, sample| {
            let found = Integer::of_sample(client.params(), sample, most, 1).unwrap();
            client.decrypt(&found).unwrap() as i64
        },
    );
}

#[test]
fn runs_of_bits_are_their_traces_and_the_clear_insecure() {
    let ring = KeySwitch::Ring(digits((2, 8)));
    check_bits::<u64>(&insecure(64, (20, 2, 4), (9, 2), ring, Encoding::Gates));
    let lwe = KeySwitch::Lwe(digits((3, 4)));
    check_bits::<u32>(&insecure(32, (20, 3, 5), (10, 2), lwe, Encoding::Gates));
}

/// With the default parameter set and its noise.
#[test]
fn runs_of_bits_are_their_traces_and_the_clear() {
    check_bits::<u64>(&sets::gates_2m128());
}

#[test]
fn runs_of_integers_are_their_traces_and_the_clear_insecure() {
    let encoding = Encoding::Integers {
        message_bits: 1,
        carry_bits: 1,
    };
    let ring = KeySwitch::Ring(digits((2, 8)));
    // Wide enough for two tables: a rounded index is wrong only beyond 20 deviations.
    check_integers::<u64>(&insecure(64, (20, 1, 8), (9, 2), ring, encoding));
    let lwe = KeySwitch::Lwe(digits((3, 4)));
    check_integers::<u32>(&insecure(32, (20, 1, 8), (10, 2), lwe, encoding));
}

/// A gate and a choice of a circuit give what the server's own code gives, word for word.
#[test]
fn gates_of_circuits_are_the_server_s_insecure() {
    let _kernels = KERNELS.lock().unwrap();
    let ring = KeySwitch::Ring(digits((2, 8)));
    let params = insecure(64, (20, 2, 4), (9, 2), ring, Encoding::Gates);
    let rng = &mut ChaCha20Rng::seed_from_u64(13);
    let client = ClientKey::<u64>::generate(&params, rng).unwrap();
    let keys = client.evaluation_keys(&multiplier(&params), rng).unwrap();
    let server: Server<u64> = ServerKey::new(&keys, multiplier(&params)).unwrap();
    let given = [true, false, true].map(|bit| client.encrypt_bit(bit, rng).unwrap());
    let mut b = Builder::new("both", messages(&params)).unwrap();
    let [x, y, z] = ["x", "y", "z"].map(|name| b.input(name, None, 1).unwrap()[0]);
    let xor = b.xor(x, y).unwrap();
    let chosen = b.choose(xor, y, z).unwrap();
    b.output("out", false, &[xor, chosen]).unwrap();
    let circuit = describe(&params, &b.finish().unwrap()).unwrap();
    let inputs = [0, 1, 2].map(|i: usize| given[i].lwe().clone());
    let found = run(&server, &circuit, &inputs).unwrap();
    let xor = server.gate(Gate::Xor, &given[0], &given[1]).unwrap();
    let chosen = server.mux(&xor, &given[1], &given[2]).unwrap();
    assert_eq!(found, [xor.lwe().clone(), chosen.lwe().clone()]);
}

/// log2 of the sum of probabilities, which are given by their log2.
fn all(parts: &[f64]) -> f64 {
    parts.iter().copied().reduce(log2_sum).unwrap()
}

#[test]
fn failures_are_the_sum_of_those_of_bootstrappings_and_results() {
    let params = sets::gates_2m128();
    let model = params.noise();
    let mut b = Builder::new("gates", messages(&params)).unwrap();
    let [x, y, z] = ["x", "y", "z"].map(|name| b.input(name, None, 1).unwrap()[0]);
    let and = b.and(x, y).unwrap();
    let xor = b.xor(and, z).unwrap();
    let chosen = b.choose(and, xor, z).unwrap();
    let last = b.or(chosen, xor).unwrap();
    b.output("out", true, &[last]).unwrap();
    let circuit = b.finish().unwrap();
    // An input has the deviation of two outputs, and all inputs may be the same ciphertext.
    let parts = [
        model.log2_failure(8.0, 0.125, 0),
        model.log2_failure(4.0 * (1.0 + 2.0), 0.25, 0),
        model.log2_failure(1.0 + 1.0, 0.125, 0),
        model.log2_failure(1.0 + 2.0, 0.125, 0),
        model.log2_failure(2.0 + 1.0, 0.125, 0),
        noise::log2_two_sided_tail(0.125 / model.output().sqrt()),
    ];
    let found = log2_failure(&params, &circuit, -40.0).unwrap();
    assert!((found - all(&parts)).abs() < 1e-9, "{found}, {parts:?}");
    assert_eq!(output_noise(&circuit), [1]);

    let params = sets::integers_2_2_2m128();
    let model = params.noise();
    let mut b = Builder::new("tables", messages(&params)).unwrap();
    let x = b.input("x", Some(2), 2).unwrap();
    let sum = b.sum(0, &[(1, x[0]), (1, x[1])]).unwrap();
    let both = b
        .lookup(sum, &[vec![0, 1, 0, 1, 0, 1, 0], vec![1, 0, 0, 1, 1, 1, 2]])
        .unwrap();
    let sum = b.sum(0, &[(2, both[0]), (1, both[1]), (-1, x[0])]).unwrap();
    let next = b.lookup(sum, &[(-3..=4).collect()]).unwrap()[0];
    let out = b.sum(3, &[(1, next), (1, x[1])]).unwrap();
    b.output("out", true, &[out]).unwrap();
    let circuit = b.finish().unwrap();
    let margin = 0.25 / 16.0;
    let parts = [
        model.log2_failure(4.0, margin, 1),
        model.log2_failure(9.0 + 1.0, margin, 0),
        noise::log2_two_sided_tail(margin / (2.0 * model.output()).sqrt()),
    ];
    let found = log2_failure(&params, &circuit, -40.0).unwrap();
    assert!((found - all(&parts)).abs() < 1e-9, "{found}, {parts:?}");
    assert_eq!(output_noise(&circuit), [2]);
    let refused = log2_failure(&params, &circuit, found - 1.0)
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("in all: use parameters that fail less often"),
        "{refused}"
    );
    let refused = log2_failure(&params, &circuit, -39.0)
        .unwrap_err()
        .to_string();
    assert!(
        refused.ends_with("is -39, expected at most -40"),
        "{refused}"
    );
}

#[test]
fn circuits_that_do_not_fit_are_refused() {
    let (gates, params) = (sets::gates_2m128(), sets::integers_2_2_2m128());
    let mut b = Builder::new("wide", messages(&params)).unwrap();
    let x = b.input("x", Some(4), 2).unwrap();
    let differences = [(1, x[0]), (-1, x[1]), (2, x[2]), (-2, x[3])];
    let sum = b.sum(9, &differences).unwrap();
    b.output("out", true, &[x[0]]).unwrap();
    let circuit = b.finish().unwrap();
    let refused = describe(&gates, &circuit).unwrap_err().to_string();
    assert_eq!(
        refused,
        "the encoding of the circuit is integers of 2 + 2 bits, expected bits"
    );
    assert!(b.output("range", true, &[sum]).is_err());
    let mut known = Builder::new("known", messages(&gates)).unwrap();
    known.output("out", true, &[Value::Constant(1)]).unwrap();
    let refused = describe(&gates, &known.finish().unwrap()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the number of inputs is 0, expected at least 1"
    );
    let parts = [(1, x[0]), (1, x[1]), (1, x[2]), (1, x[3])];
    let sum = b.sum(0, &parts).unwrap();
    let parts = [(1, sum), (1, x[0]), (-1, x[1]), (-1, x[2]), (-1, x[3])];
    let twice = b.sum(0, &parts).unwrap();
    assert_eq!(b.sum(0, &[(2, x[0])]).unwrap(), twice);
    let noisy = b
        .sum(0, &[(1, x[0]), (1, x[1]), (1, x[2]), (-1, x[3])])
        .unwrap();
    b.output("noisy", true, &[noisy]).unwrap();
    let once = b.lookup(x[3], &[vec![0, 0, 0, 1]]).unwrap()[0];
    let noisier = b.sum(0, &[(6, once)]).unwrap();
    b.output("noisier", true, &[noisier]).unwrap();
    let refused = describe(&params, &b.finish().unwrap())
        .unwrap_err()
        .to_string();
    let expected = "the noise of output noisier is that of 6 bootstrappings, expected at most 5 bootstrappings': use a table on it first";
    assert_eq!(refused, expected);
}
