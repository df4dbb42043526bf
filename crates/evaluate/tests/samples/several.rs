//! Circuits of several bootstrappings, and arguments with which a circuit does not run.

use crate::compare::{KERNELS, multiplier};
use crate::forms::{forms, sum};
use crate::{digits, insecure};
use palladion_evaluate::torus::{gate, parameters, replay, run};
use program::torus::{Circuit, Op};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use tfhe::{ClientKey, Encoding, Gate, KeySwitch, Lwe, Params, ServerKey};
use trace::{Constant, Passes};

fn params() -> Params {
    let key_switch = KeySwitch::Ring(digits((2, 8)));
    insecure(64, (20, 2, 4), (9, 2), key_switch, Encoding::Gates)
}

/// Bootstraps the result of a bootstrapping again, with a coefficient other than 0 and two test
/// polynomials.
fn twice(params: &Params) -> Circuit {
    let mut circuit = Circuit::new(parameters(params));
    let tests = [1i64 << 61, -3].map(|word| {
        let words = (0..16).map(|i| word.wrapping_mul(i)).collect();
        circuit.define(Constant::Words(words))
    });
    let x = circuit.push(Op::Input { index: 0 });
    let turned = circuit.rotated(x, tests[0], 0);
    let value = circuit.push(Op::Extraction {
        value: turned,
        place: 11,
    });
    let value = circuit.push(Op::Combine {
        constant: -7,
        terms: vec![(2, value), (-3, x), (1, value)],
    });
    circuit.push(Op::Output { value });
    let turned = circuit.rotated(value, tests[1], 2);
    for place in [0, 15] {
        let value = circuit.push(Op::Extraction {
            value: turned,
            place,
        });
        circuit.push(Op::Output { value });
    }
    circuit
}

#[test]
fn bootstrappings_share_their_keys() {
    let _kernels = KERNELS.lock().unwrap();
    let (params, rng) = (params(), &mut ChaCha20Rng::seed_from_u64(9));
    let client = ClientKey::<u64>::generate(&params, rng).unwrap();
    let inputs = [client.encrypt_bit(true, rng).unwrap().lwe().clone()];
    let keys = client.evaluation_keys(&multiplier(&params), rng).unwrap();
    let server = ServerKey::new(&keys, multiplier(&params)).unwrap();
    let circuit = twice(&params);
    let trace = lower::torus::lower(&circuit).unwrap();
    let (replayed, _) = replay(&keys, &trace, &inputs, |_| true).unwrap();
    assert_eq!(run(&server, &circuit, &inputs).unwrap(), replayed);
    assert_eq!(replayed.len(), 3);
    let forms = forms(&circuit.parameters, trace.moduli.len());
    let [keys, once] = [0, 1].map(|i| sum(forms.rotation[i], forms.switch[i]));
    let Passes { ntt, intt, .. } = trace.counts().passes;
    assert_eq!([ntt, intt], sum(keys, sum(once, once)));
}

#[test]
fn other_parameters_and_missing_samples_are_refused() {
    let _kernels = KERNELS.lock().unwrap();
    let (params, rng) = (params(), &mut ChaCha20Rng::seed_from_u64(10));
    let client = ClientKey::<u64>::generate(&params, rng).unwrap();
    let keys = client.evaluation_keys(&multiplier(&params), rng).unwrap();
    let server = ServerKey::new(&keys, multiplier(&params)).unwrap();
    let mut circuit = gate(&params, Gate::Or);
    let x = Lwe::trivial(params.big_dimension(), 1);
    let error = |circuit: &Circuit, inputs: &[Lwe<u64>]| {
        let error = run(&server, circuit, inputs).unwrap_err();
        error.to_string()
    };
    let inputs = [x.clone(), Lwe::trivial(5, 1)];
    assert_eq!(
        error(&circuit, &inputs[..1]),
        "an input is missing, expected one of 32 words of mask"
    );
    assert_eq!(
        error(&circuit, &inputs),
        "an input is 5, expected one of 32 words of mask"
    );
    let trace = lower::torus::lower(&circuit).unwrap();
    let refused = replay(&keys, &trace, &inputs[..1], |_| true).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the value query/1/0 is missing, expected a polynomial of a sample or of a key"
    );
    circuit.parameters.dimension += 1;
    let found = error(&circuit, &inputs);
    assert!(
        found.starts_with("the parameters of the circuit"),
        "{found}"
    );
}
