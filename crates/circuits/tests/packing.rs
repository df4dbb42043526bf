//! Do packed slots hold exactly the phases of the LWE samples, in every copy?

use crate::common::{N, Setup, T, alone, ciphertext, deviation, setup, timed};
use client::ClientKeys;
use exchange::packing::baby_steps;
use exchange::{Layout, LoopParams};
use palladion_circuits::operations::Sample;
use palladion_circuits::pack::{cheapest_baby_steps, pack};
use palladion_circuits::pack_all::pack_all;
use palladion_circuits::transform::{CoeffsToSlots, coefficient_of_slot};
use palladion_circuits::{Engine, dry_engine};
use ring::ntt_primes;
use rlwe::ParamsSpec;
use rlwe::lwe::LweBatch;

#[test]
fn packed_slots_are_the_phases_and_rounding_is_as_predicted() {
    let _alone = alone();
    let mut s = setup(6, 4);
    let t = *s.bfv().t();
    let values = [N, 4096, 256, 64];
    let top = s.top();

    let mut keys = Vec::new();
    for values in values {
        let layout = Layout::new(N, values).unwrap();
        let params = s.params.clone();
        keys.push(s.keys_for(|engine| {
            pack(engine, &params, layout, &[], top).unwrap();
        }));
    }
    let switch = s.dimension_key();

    let message = s.residues(N);
    let x = s.encrypt(&s.bfv().encoder().from_residues(message.clone()), 0);
    s.check_noise("fresh at level 0", &x);
    let batch = LweBatch::switch(ciphertext(&x).rlwe(), &switch, T).unwrap();
    let phases: Vec<u64> = (0..N).map(|k| batch.phase(k, s.keys.lwe())).collect();
    let errors = (0..N).map(|k| t.center(t.sub(phases[k], message[k])));
    let (measured, predicted) = (deviation(errors), s.params.rounding_sigma());
    println!("rounding to t: deviation {measured:.3}, predicted {predicted:.3}");
    // The squared norm of a ternary key of 2048 coefficients deviates by sqrt(2/9 * 2048) = 21 in
    // 1365: 0.8 % in the root. Samples of one ciphertext share that key, and N of them add 0.4 %.
    // So 4 % is five deviations.
    assert!((measured / predicted - 1.0).abs() < 0.04);

    for (values, keys) in values.into_iter().zip(keys) {
        let layout = Layout::new(N, values).unwrap();
        // Coefficients in an arbitrary order: 5 is a unit modulo N.
        let coefficient = |value: usize| (value * 5 + 3) % N;
        let samples: Vec<Vec<Sample<'_, LweBatch>>> = (0..values)
            .map(|value| {
                vec![Sample {
                    batch: &batch,
                    coefficient: coefficient(value),
                }]
            })
            .collect();
        let engine = Engine::new(s.params.bfv(), &keys);
        let packed = timed(&format!("packing {values} values"), || {
            pack(&engine, &s.params, layout, &samples, top).unwrap()
        });
        let got = s.slots(&packed);
        let wrong = (0..N)
            .filter(|&slot| got[slot] != phases[coefficient(layout.value_of(slot))])
            .count();
        println!("packing {values} values: {N} slots checked, {wrong} wrong");
        assert_eq!(wrong, 0);
        s.check_noise(&format!("packing {values} values"), &packed);
    }
}

#[test]
fn all_samples_of_a_ciphertext_are_packed_at_once() {
    let _alone = alone();
    let mut s = setup(6, 6);
    let top = s.top();
    let map = CoeffsToSlots::new(s.bfv(), s.params.dimension());
    let keys = s.keys_for(|engine| {
        pack_all(engine, &map, &(), top).unwrap();
    });
    assert!(keys.needs().galois_elements().len() <= 10);
    let switch = s.dimension_key();
    let message = s.residues(N);
    let x = s.encrypt(&s.bfv().encoder().from_residues(message), 0);
    let batch = LweBatch::switch(ciphertext(&x).rlwe(), &switch, T).unwrap();
    let engine = Engine::new(s.params.bfv(), &keys);
    let packed = timed("packing all samples", || {
        pack_all(&engine, &map, &batch, top).unwrap()
    });
    let got = s.slots(&packed);
    let phase = |slot: usize| batch.phase(coefficient_of_slot(N, slot), s.keys.lwe());
    assert_eq!((0..N).filter(|&slot| got[slot] != phase(slot)).count(), 0);
    s.check_noise("packing all samples", &packed);
}

/// A dry run counts the rotations that make baby steps once, and the giant steps for every packing.
#[test]
fn the_cheapest_number_of_baby_steps_is_that_of_dry_runs() {
    let _alone = alone();
    let s = setup(6, 4);
    let layouts = [(N, 2), (4096, 5), (256, 1)];
    let layouts = layouts.map(|(values, count)| (Layout::new(N, values).unwrap(), count));
    let cost = |steps: usize| {
        let params = s.params.clone().with_baby_steps(steps).unwrap();
        let engine = dry_engine(&params);
        for (layout, count) in layouts {
            for _ in 0..count {
                pack(&engine, &params, layout, &[], s.top()).unwrap();
            }
        }
        // Rotations also add up copies, equally many for every number of baby steps.
        let held: usize = layouts.iter().map(|l| baby_steps(&params, l.0)).sum();
        let keys = engine.needs().galois_elements().len();
        4 * (engine.counts().rotations + 8 * keys) + held
    };
    let choices = [1, 2, 4, 8, 16, 32, 64];
    let costs = choices.map(cost);
    let cheapest = cheapest_baby_steps(s.params.dimension(), &layouts);
    println!("cost by number of baby steps: {costs:?}; chosen {cheapest}");
    let chosen = choices.iter().position(|&c| c == cheapest).unwrap();
    assert_eq!(costs[chosen], *costs.iter().min().unwrap());
    assert!(costs[chosen] < costs[0] && costs[chosen] < costs[6]);
    assert!(s.params.clone().with_baby_steps(3).is_err());
}

#[test]
fn keys_of_fewer_baby_steps_are_refused_and_those_of_more_serve() {
    let _alone = alone();
    let mut s = setup(6, 5);
    let (t, top) = (*s.bfv().t(), s.top());
    let layout = Layout::new(N, 4096).unwrap();
    let with = |s: &Setup, steps: usize| s.params.clone().with_baby_steps(steps).unwrap();
    // The giant steps of each number need a Galois key of their own. These keys have all of them.
    let all = [4, 8, 32].map(|steps| with(&s, steps));
    s.params = all[1].clone();
    s.keys = ClientKeys::from_parts(&s.params, s.keys.secret().clone(), s.keys.lwe().clone());
    let keys = s.keys_for(|engine| {
        for params in &all {
            pack(engine, params, layout, &[], top).unwrap();
        }
    });
    let switch = s.dimension_key();
    let message = s.residues(N);
    let x = s.encrypt(&s.bfv().encoder().from_residues(message), 0);
    let batch = LweBatch::switch(ciphertext(&x).rlwe(), &switch, T).unwrap();
    let sample = |coefficient| Sample {
        batch: &batch,
        coefficient,
    };
    let samples: Vec<Vec<Sample<'_, LweBatch>>> = (0..4096).map(|k| vec![sample(k)]).collect();
    let pack_with = |params: &LoopParams| {
        let engine = Engine::new(params.bfv(), &keys);
        pack(&engine, params, layout, &samples, top)
    };
    let [fewer, same, more] = &all;
    for params in [same, fewer] {
        let got = s.slots(&pack_with(params).unwrap());
        let right = |slot: usize| batch.phase(layout.value_of(slot), s.keys.lwe());
        assert!((0..N).all(|slot| got[slot] == t.reduce(right(slot))));
    }
    let refused = pack_with(more).unwrap_err().to_string();
    assert!(refused.contains("8, expected at least 32"), "{refused}");
}

#[test]
fn the_dimension_of_samples_is_held_to_the_security_table() {
    let n = 1 << 12;
    let q = ntt_primes(30, n, 2).unwrap();
    let spec = ParamsSpec {
        n,
        p: vec![q[1]],
        q: vec![q[0]],
        digit_limbs: 1,
    };
    let bfv = bfv::Params::new(&spec, 40961).unwrap();
    let refused = LoopParams::new(&bfv, 1024, 7).unwrap_err();
    assert!(
        refused.to_string().contains("log2(QP) is 30, at most 26"),
        "{refused}"
    );
    let insecure = LoopParams::new_insecure(&bfv, 1024, 7).unwrap();
    assert!(insecure.security().to_string().starts_with("INSECURE"));
    let good = LoopParams::new(&bfv, 2048, 7).unwrap();
    // The weaker of 128.9 bits of the ring and 128.8 of the dimension.
    assert_eq!(good.security().bits(), Some(128.8));
}
