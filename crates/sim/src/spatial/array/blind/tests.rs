//! Words compared with a reference, and times with closed forms.

use super::*;
use ring::torus::{Decomposition, Garner, Multiplier, Naive, Ntt, Wavefront};

fn versal() -> Machine {
    Machine::named("versal").expect("built in")
}

/// Random words.
fn words(count: usize, seed: u64) -> Vec<u32> {
    let mut state = seed;
    let next = || {
        state = state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 32) as u32
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// The blind rotation by its definition, with products of `multiplier`.
fn reference<M: Multiplier<u32>>(
    multiplier: &M,
    parameters: &Parameters,
    (accumulator, exponents, rows): (&[u32], &[u32], &[u32]),
) -> Vec<u32> {
    let n = parameters.n;
    let levels = parameters.decomposition.levels() as usize;
    let mut accumulator = accumulator.to_vec();
    let mut scratch = multiplier.scratch(parameters.rows(), parameters.components());
    for (&exponent, ggsw) in exponents
        .iter()
        .zip(rows.chunks_exact(parameters.ggsw_words()))
    {
        let mut digits = vec![0; parameters.rows() * n];
        for (poly, digits) in accumulator
            .chunks_exact(n)
            .zip(digits.chunks_exact_mut(levels * n))
        {
            let mut difference: Vec<u32> = poly.iter().map(|word| word.wrapping_neg()).collect();
            for (i, &word) in poly.iter().enumerate() {
                let place = (i + exponent as usize) % (2 * n);
                let (place, word) = if place < n {
                    (place, word)
                } else {
                    (place - n, word.wrapping_neg())
                };
                difference[place] = difference[place].wrapping_add(word);
            }
            parameters.decomposition.digits_into(digits, &difference);
        }
        let matrix = multiplier.prepare(ggsw);
        multiplier.dot_add(&mut accumulator, &digits, &matrix, &mut scratch);
    }
    accumulator
}

/// Both sets of the paper, with few iterations.
fn sets() -> [Parameters; 2] {
    [Parameters::set_1(), Parameters::set_2()].map(|set| set.expect("in range"))
}

fn job(parameters: &Parameters, iterations: usize) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let (n, seed) = (parameters.n, parameters.n as u64);
    let mut exponents: Vec<u32> = words(iterations, !seed)
        .iter()
        .map(|a| a % (2 * n as u32))
        .collect();
    exponents[0] = 2 * n as u32 - 1;
    let rows = words(iterations * parameters.ggsw_words(), seed ^ 0xffff);
    (words(parameters.components() * n, seed), exponents, rows)
}

#[test]
fn every_word_is_that_of_the_definition() {
    for parameters in sets() {
        let (accumulator, exponents, rows) = job(&parameters, 2);
        let naive = Naive::new(parameters.n);
        let want = reference(&naive, &parameters, (&accumulator, &exponents, &rows));
        let rotation = BlindRotation::new(&versal(), parameters).expect("fits");
        let emulated = rotation
            .emulate(&accumulator, &exponents, &rows)
            .expect("runs");
        assert!(emulated.accumulator == want, "{parameters:?}");
    }
}

#[test]
fn longer_rotations_agree_with_every_exact_multiplier() {
    for parameters in sets() {
        let (accumulator, exponents, rows) = job(&parameters, 6);
        let (n, digit) = (parameters.n, 1 << (parameters.decomposition.base_log() - 1));
        let all = (&accumulator[..], &exponents[..], &rows[..]);
        let rotation = BlindRotation::new(&versal(), parameters).expect("fits");
        let emulated = rotation
            .emulate(all.0, all.1, all.2)
            .expect("runs")
            .accumulator;
        let ntt = Ntt::new(n, parameters.rows(), digit).expect("primes");
        assert!(
            emulated == reference(&ntt, &parameters, all),
            "ntt, N = {n}"
        );
        let garner = Garner::new(n, parameters.rows(), digit).expect("limbs");
        assert!(
            emulated == reference(&garner, &parameters, all),
            "garner, N = {n}"
        );
        let chain = Wavefront::new(n, 4).expect("whole vectors");
        assert!(
            emulated == reference(&chain, &parameters, all),
            "wavefront, N = {n}"
        );
    }
}

#[test]
fn other_ranks_and_digits_give_the_words_of_the_definition_insecure() {
    let text = crate::family::built_in("versal").expect("built in");
    let machine = Machine::from_toml(&text.replacen("n = 512 #", "n = 64 #", 1).replacen(
        "elements = 8",
        "elements = 2",
        1,
    ));
    let machine = machine.expect("in range");
    for (rank, base_log, levels) in [(1, 5, 1), (1, 4, 3), (2, 15, 2), (5, 30, 1)] {
        let parameters = Parameters {
            lwe_dimension: 3,
            rank,
            n: 64,
            decomposition: Decomposition::new(base_log, levels).expect("in range"),
        };
        let (accumulator, exponents, rows) = job(&parameters, 3);
        let want = reference(
            &Naive::new(64),
            &parameters,
            (&accumulator, &exponents, &rows),
        );
        let rotation = BlindRotation::new(&machine, parameters).expect("fits");
        let found = rotation
            .emulate(&accumulator, &exponents, &rows)
            .expect("runs");
        assert!(found.accumulator == want, "{parameters:?}");
        // Times are the same with and without words.
        let simulated = rotation.simulate().expect("runs");
        assert!((simulated.milliseconds - found.milliseconds).abs() < 1e-12);
    }
}

#[test]
fn an_iteration_takes_its_operands_its_loops_its_results_and_the_hops() {
    let machine = versal();
    for parameters in sets() {
        let rotation = BlindRotation::new(&machine, parameters).expect("fits");
        let floorplan = rotation.floorplan();
        let n = parameters.n as u64;
        let block = n / floorplan.elements() as u64;
        let loops = block / 32 * (8 + 12 * n + 8);
        let per_stream = machine
            .mapping(parameters.n)
            .expect("mapped")
            .components_per_stream as u64;
        let stages = |streams: u64| streams * (12 + 1);
        // Stages: rotation, decomposition, the chain, merges, three compositions of six rows,
        // accumulation.
        let hops = stages(2 + floorplan.elements() as u64 - 1 + (per_stream - 1) + 3 + 2);
        let cycles = n + loops + per_stream * n + hops;
        let simulated = rotation.simulate().expect("runs");
        let ratio = simulated.iteration / (cycles as f64 / 1250.0);
        assert!((ratio - 1.0).abs() < 0.005, "{ratio}: {simulated:?}");
    }
}

#[test]
fn counted_iterations_take_as_long_as_simulated_ones() {
    for mut parameters in sets() {
        parameters.lwe_dimension = 20;
        let rotation = BlindRotation::new(&versal(), parameters).expect("fits");
        let simulated = rotation.simulate().expect("runs");
        let mut graph =
            Graph::new(rotation.floorplan(), Around::NOTHING, 20, Job::default()).expect("fits");
        let usage = graph.network.run().expect("runs");
        let all = versal().microseconds(usage[graph.sink].ends[0]) / 1000.0;
        assert!(
            (simulated.milliseconds - all).abs() < 1e-9,
            "{} {all}",
            simulated.milliseconds
        );
    }
}

#[test]
fn the_published_times_and_powers_come_out_within_a_tenth() {
    for (parameters, milliseconds, watts) in [(sets()[0], 6.19, 39.2), (sets()[1], 10.35, 37.6)] {
        let simulated = BlindRotation::new(&versal(), parameters)
            .expect("fits")
            .simulate()
            .expect("runs");
        for (simulated, published) in [
            (simulated.milliseconds, milliseconds),
            (simulated.power.watts(), watts),
            (simulated.millijoules(), milliseconds * watts),
        ] {
            let ratio = simulated / published;
            assert!((0.9..1.1).contains(&ratio), "{simulated} of {published}");
        }
    }
}

#[test]
fn lengths_and_exponents_are_checked() {
    let parameters = sets()[0];
    let rotation = BlindRotation::new(&versal(), parameters).expect("fits");
    let (accumulator, exponents, rows) = job(&parameters, 1);
    assert!(
        rotation
            .emulate(&accumulator[1..], &exponents, &rows)
            .is_err()
    );
    assert!(
        rotation
            .emulate(&accumulator, &exponents, &rows[1..])
            .is_err()
    );
    let error = rotation
        .emulate(&accumulator, &[1024], &rows)
        .expect_err("2N")
        .to_string();
    assert!(error.contains("1024"), "{error}");
    assert_eq!(
        rotation
            .emulate(&accumulator, &[], &[])
            .map(|e| e.accumulator),
        Ok(accumulator)
    );
}
