//! Is the trace of a gate what a server computes? Replayed, it gives the server's samples, word for word, and the server asks
//! the kernels for the transforms that the trace counts.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use kernels::Counted;
use program::torus::{Circuit, KeySwitch, Parameters};
use program::trace::Passes;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use ring::torus::{Decomposition, Ntt, Torus};
use runtime::torus::{gate, replay, run, table};
use std::sync::{LazyLock, Mutex};
use std::time::Instant;
use tfhe::{
    ClientKey, Gate, Layout, Lwe, Params, ParamsSpec, Scratch, ServerKey, Table, modulus_switch,
    sets,
};

/// The backend that counts. One test at a time uses it.
static KERNELS: LazyLock<Mutex<&'static Counted>> =
    LazyLock::new(|| Mutex::new(Counted::install().unwrap()));

/// A multiplier that is exact for external products and key switches.
fn multiplier<T: Torus>(params: &Params) -> Ntt<T> {
    let spec = params.spec();
    let switch = spec.key_switch.decomposition();
    let rows = [
        (params.rank() + 1) * spec.bootstrap.levels() as usize,
        params.rank() * switch.levels() as usize,
    ];
    // Both have digits of at most half a base; rows and digits are bounded apart.
    let digits = [spec.bootstrap, switch].map(|digits| 1u32 << (digits.base_log() - 1));
    let bits = |i: usize| rows[i] as u128 * u128::from(digits[i]);
    let larger = usize::from(bits(1) > bits(0));
    Ntt::new(params.n(), rows[larger], digits[larger]).unwrap()
}

/// Transforms and inverse ones, as formulas: of keys that are made ready, and of one bootstrapping.
struct Forms {
    /// Of all blind rotations.
    rotation: [[u64; 2]; 2],
    /// Of the key switch.
    switch: [[u64; 2]; 2],
}

fn forms(p: &Parameters, primes: usize) -> Forms {
    let components = p.rank + 1;
    let rows = components * p.bootstrap.count as usize;
    let factors = p.rank * p.key_switch.digits().count as usize;
    // Polynomials that a key switch gives: by samples each has one word that counts.
    let sums = match p.key_switch {
        KeySwitch::Ring(_) => p.small_rank() + 1,
        KeySwitch::Lwe(_) => p.dimension + 1,
    };
    let limbs = |[ntt, intt]: [usize; 2]| [ntt * primes, intt * primes].map(|n| n as u64);
    let n = p.dimension;
    Forms {
        rotation: [[n * rows * components, 0], [n * rows, n * components]].map(limbs),
        switch: [[factors * sums, 0], [factors, sums]].map(limbs),
    }
}

fn sum(left: [u64; 2], right: [u64; 2]) -> [u64; 2] {
    [left[0] + right[0], left[1] + right[1]]
}

/// Steps of a blind rotation of which the server does nothing, as their exponents are 0.
fn idle<T: Torus>(server: &ServerKey<T, Ntt<T>>, input: &Lwe<T>, drop: u32) -> usize {
    let (params, bootstrapper) = (server.params(), server.bootstrapper());
    let mut scratch = Scratch::new(params, bootstrapper.multiplier());
    let small = bootstrapper.key_switch(input, &mut scratch);
    let mut exponents = vec![0; small.words().len()];
    modulus_switch(&mut exponents, small.words(), params.spec().log_n + 1, drop);
    let (_, mask) = exponents.split_last().unwrap();
    mask.iter().filter(|&&exponent| exponent == 0).count()
}

struct Case<'a, T: Torus> {
    circuit: Circuit,
    inputs: Vec<Lwe<T>>,
    /// What is bootstrapped.
    operand: Lwe<T>,
    drop: u32,
    /// The server's own code.
    server: &'a dyn Fn(&ServerKey<T, Ntt<T>>) -> Vec<Lwe<T>>,
}

/// Keys of the set, and what `case` does with them.
fn check<T: Torus>(name: &str, client: &ClientKey<T>, rng: &mut ChaCha20Rng, case: &Case<'_, T>) {
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

    // What is executed, what the trace counts, and the formulas.
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

/// NAND at a set.
fn nand<T: Torus>(name: &str, params: &Params) {
    let rng = &mut ChaCha20Rng::seed_from_u64(5);
    let client = ClientKey::<T>::generate(params, rng).unwrap();
    let [x, y] = [true, false].map(|bit| client.encrypt_bit(bit, rng).unwrap());
    let mut operand = Lwe::trivial(params.big_dimension(), T::from_torus(0.125));
    operand.add_scaled(x.lwe(), -1);
    operand.add_scaled(y.lwe(), -1);
    let case = Case {
        circuit: gate(params, Gate::Nand),
        inputs: vec![x.lwe().clone(), y.lwe().clone()],
        operand,
        drop: 0,
        server: &|server| vec![server.gate(Gate::Nand, &x, &y).unwrap().lwe().clone()],
    };
    check(name, &client, rng, &case);
}

/// The default set.
#[test]
fn the_replayed_trace_of_a_gate_is_the_server_s() {
    nand::<u64>("NAND", &sets::gates_2m128());
}

/// Words of 32 bits, and a key switch by samples.
#[test]
fn the_replayed_trace_of_a_gate_by_samples_is_the_server_s() {
    nand::<u32>("NAND by samples", &sets::gates_lwe());
}

/// Tables of an integer, all of them in one bootstrapping.
fn tables<T: Torus>(params: &Params, count: u64) {
    let rng = &mut ChaCha20Rng::seed_from_u64(6);
    let client = ClientKey::<T>::generate(params, rng).unwrap();
    let x = client.encrypt(1, rng).unwrap();
    let entry = |t: u64, v: u64| (v * v + t) % params.messages();
    let entries = |t: u64| -> Vec<u64> { (0..params.values()).map(|v| entry(t, v)).collect() };
    let entries: Vec<Vec<u64>> = (0..count).map(entries).collect();
    let own = Table::<T>::new(params, &entries).unwrap();
    let case = Case {
        circuit: table(params, &own),
        inputs: vec![x.lwe().clone()],
        operand: x.lwe().clone(),
        drop: own.test().drop(),
        server: &|server| {
            let outputs = server.apply_tables(&x, &own).unwrap();
            let outputs = outputs.iter().map(|output| output.lwe().clone());
            outputs.collect()
        },
    };
    check(&format!("{count} tables"), &client, rng, &case);
}

#[test]
fn the_replayed_trace_of_a_table_is_the_server_s() {
    tables::<u64>(&sets::integers_2_2_2m128(), 1);
}

#[test]
fn the_replayed_trace_of_two_tables_is_the_server_s() {
    tables::<u64>(&sets::integers_2_2_2m128(), 2);
}

/// Small parameters without noise, which hide nothing.
fn insecure(
    word_bits: u32,
    (dimension, rank, log_n): (usize, usize, u32),
    bootstrap: (u32, u32),
    key_switch: tfhe::KeySwitch,
    layout: Layout,
) -> Params {
    let spec = ParamsSpec {
        word_bits,
        lwe_dimension: dimension,
        lwe_sigma: 0.0,
        rank,
        log_n,
        ring_sigma: 0.0,
        bootstrap: digits(bootstrap),
        key_switch,
        layout,
    };
    Params::new_insecure(&spec).unwrap()
}

fn digits((base_log, levels): (u32, u32)) -> Decomposition {
    Decomposition::new(base_log, levels).unwrap()
}

/// Several digits, dimensions below, at and above the degree, sums of rests beyond a word, both kinds of key switch.
#[test]
fn replayed_traces_at_insecure_parameters_are_the_server_s() {
    let ring = |of| tfhe::KeySwitch::Ring(digits(of));
    let lwe = |of| tfhe::KeySwitch::Lwe(digits(of));
    let wide = [
        ((16, 1, 4), (7, 3), ring((3, 5))),
        ((40, 2, 4), (17, 1), ring((1, 1))),
        ((33, 1, 5), (30, 2), lwe((4, 4))),
        ((5, 3, 5), (1, 9), lwe((1, 1))),
    ];
    for (sizes, bootstrap, key_switch) in wide {
        let params = insecure(64, sizes, bootstrap, key_switch, Layout::Gates);
        nand::<u64>(&format!("{sizes:?}"), &params);
    }
    let short = [
        ((20, 3, 5), (10, 2), lwe((3, 4))),
        ((64, 1, 6), (6, 4), ring((2, 8))),
        ((70, 1, 6), (15, 2), ring((1, 31))),
    ];
    let layout = Layout::Integers {
        message_bits: 1,
        carry_bits: 1,
    };
    for (sizes, bootstrap, key_switch) in short {
        let gates = insecure(32, sizes, bootstrap, key_switch, Layout::Gates);
        nand::<u32>(&format!("{sizes:?}"), &gates);
        let integers = insecure(32, sizes, bootstrap, key_switch, layout);
        tables::<u32>(&integers, sizes.2 as u64 - 3);
    }
}

/// The texts of `docs/programs.md`.
#[test]
fn the_documented_texts_are_those_of_the_gate() {
    let page = include_str!("../../../docs/programs.md");
    let (_, section) = page.split_once("## A gate of TFHE").unwrap();
    let blocks: Vec<&str> = section.split("```").skip(1).step_by(2).collect();
    let texts = blocks
        .iter()
        .filter_map(|block| block.strip_prefix("text\n"));
    let [described, instructions] = texts.collect::<Vec<_>>()[..] else {
        panic!("two texts")
    };
    let circuit = gate(&sets::gates_2m128(), Gate::Nand);
    assert_eq!(described, circuit.to_string());
    let trace = lower::torus::lower(&circuit).unwrap();
    let text = trace.to_string();
    // Dots stand for lines, and for the end of a line, that are left out.
    let lines: Vec<&str> = text.lines().collect();
    let mut rest = lines.iter();
    for line in instructions.lines().filter(|line| line.trim() != "...") {
        let begin = line.strip_suffix("...");
        let same = |own: &&&str| begin.map_or(**own == line, |begin| own.starts_with(begin));
        assert!(rest.by_ref().any(|own| same(&own)), "{line}");
    }
    let Passes { ntt, intt, .. } = trace.counts().passes;
    for number in [ntt, intt] {
        let digits = number.to_string();
        let (thousands, last) = digits.split_at(digits.len() - 3);
        assert!(section.contains(&format!("{thousands},{last}")), "{number}");
    }
}
