//! Compares a circuit, replayed and run, with the server's own code.

use crate::forms::{Forms, forms, sum};
use kernels::Counted;
use palladion_evaluate::torus::{replay, run};
use program::torus::{Circuit, KeySwitch};
use rand_chacha::ChaCha20Rng;
use ring::torus::{Ntt, Torus};
use std::sync::{LazyLock, Mutex};
use std::time::Instant;
use tfhe::{ClientKey, Lwe, Params, Scratch, ServerKey, modulus_switch};
use trace::Passes;

/// The counting backend. Only one test at a time uses it.
pub(crate) static KERNELS: LazyLock<Mutex<&'static Counted>> =
    LazyLock::new(|| Mutex::new(Counted::install().unwrap()));

/// A multiplier that is exact for external products and key switches.
pub(crate) fn multiplier<T: Torus>(params: &Params) -> Ntt<T> {
    let spec = params.spec();
    let switch = spec.key_switch.decomposition();
    let rows = [
        (params.rank() + 1) * spec.bootstrap.levels() as usize,
        params.rank() * switch.levels() as usize,
    ];
    // Digits of both are at most half a base. The numbers of rows and the digits are bounded
    // separately.
    let digits = [spec.bootstrap, switch].map(|digits| 1u32 << (digits.base_log() - 1));
    let bits = |i: usize| rows[i] as u128 * u128::from(digits[i]);
    let larger = usize::from(bits(1) > bits(0));
    Ntt::new(params.n(), rows[larger], digits[larger]).unwrap()
}

/// Number of steps of a blind rotation that the server skips, because their exponents are 0.
fn idle<T: Torus>(server: &Server<T>, input: &Lwe<T>, drop: u32) -> usize {
    let (params, bootstrapper) = (server.params(), server.bootstrapper());
    let mut scratch = Scratch::new(params, bootstrapper.multiplier());
    let small = bootstrapper.key_switch(input, &mut scratch);
    let mut exponents = vec![0; small.words().len()];
    modulus_switch(&mut exponents, small.words(), params.spec().log_n + 1, drop);
    let (_, mask) = exponents.split_last().unwrap();
    mask.iter().filter(|&&exponent| exponent == 0).count()
}

/// A server that multiplies exactly.
pub(crate) type Server<T> = ServerKey<T, Ntt<T>>;

pub(crate) struct Case<'a, T: Torus> {
    pub(crate) circuit: Circuit,
    pub(crate) inputs: Vec<Lwe<T>>,
    /// The sample that is bootstrapped.
    pub(crate) operand: Lwe<T>,
    pub(crate) drop: u32,
    /// The server's own code.
    pub(crate) server: &'a dyn Fn(&Server<T>) -> Vec<Lwe<T>>,
}

/// Generates the keys of a parameter set, and compares what `case` does with them.
pub(crate) fn check<T: Torus>(
    name: &str,
    client: &ClientKey<T>,
    rng: &mut ChaCha20Rng,
    case: &Case<'_, T>,
) {
    let kernels = KERNELS.lock().unwrap();
    let params = client.params();
    let keys = client.evaluation_keys(&multiplier(params), rng).unwrap();
    let circuit = Circuit::parse(&case.circuit.to_string()).unwrap();
    let begin = Instant::now();
    let trace = lower::torus::lower(&circuit).unwrap();
    let lowered = begin.elapsed().as_secs_f64();
    lower::torus::check(&circuit, &trace).unwrap();
    println!(
        "{name}: lowered in {lowered:.3} s to {} instructions, {} sub-traces, {} bytes of text\n{}",
        trace.main.instructions.len(),
        trace.subs.len(),
        trace.to_string().len(),
        trace.counts()
    );

    let multiplier = multiplier(params);
    let primes = multiplier.primes();
    assert_eq!(trace.moduli.len(), primes);
    kernels.take();
    let server = ServerKey::new(&keys, multiplier).unwrap();
    let made_ready = kernels.take();
    let begin = Instant::now();
    let outputs = (case.server)(&server);
    let ran = begin.elapsed().as_secs_f64();
    let executed = kernels.take();

    // Compares what is executed, what the trace counts, and the formulas.
    let Passes { ntt, intt, .. } = trace.counts().passes;
    let p = &circuit.parameters;
    let Forms { rotation, switch } = forms(p, primes);
    let [all_keys, all] = [0, 1].map(|i| sum(rotation[i], switch[i]));
    assert_eq!([ntt, intt], sum(all_keys, all));
    let idle = idle(&server, &case.operand, case.drop) as u64;
    let step = [p.bootstrap.count as usize, 1].map(|of| (of * (p.rank + 1) * primes) as u64);
    let skipped = step.map(|limbs| idle * limbs);
    // The fast path of a key switch by samples has no transforms.
    let [own_keys, own] = match p.key_switch {
        KeySwitch::Ring(_) => [all_keys, all],
        KeySwitch::Lwe(_) => rotation,
    };
    assert_eq!(made_ready, own_keys);
    assert_eq!(sum(executed, skipped), own);

    assert_eq!(run(&server, &circuit, &case.inputs).unwrap(), outputs);
    let begin = Instant::now();
    let mut last_load = begin;
    let (replayed, counts) = replay(&keys, &trace, &case.inputs, |at| {
        if at.next == "load" {
            last_load = Instant::now();
        }
        true
    })
    .unwrap();
    println!(
        "run {:.0} ms, replay {:.0} ms, of which {:.0} ms after all keys are made ready; {idle} idle steps",
        1e3 * ran,
        1e3 * begin.elapsed().as_secs_f64(),
        1e3 * last_load.elapsed().as_secs_f64()
    );
    assert_eq!(replayed, outputs);
    assert_eq!(counts, trace.counts());
}
