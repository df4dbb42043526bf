//! Is every slot exactly the table's value, for every possible input?

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use crate::common::{N, Setup, T, alone, setup, timed};
use exchange::{EvaluationKeys, Layout};
use palladion_circuits::Engine;
use palladion_circuits::lut::{Lut, interpolate};
use program::TableShape;

/// Applies ReLU and rounds at a scale of 1/367, 7 bits: from a layer's sums to the next layer's
/// inputs.
fn relu_requantised(x: i64) -> i64 {
    ((x.max(0) * 2 + 367) / 734).min(127)
}

fn centred(x: u64) -> i64 {
    let x = x as i64;
    if x > T as i64 / 2 { x - T as i64 } else { x }
}

/// Applies the table to ciphertexts of `inputs` and counts wrong slots.
fn check(
    s: &mut Setup,
    name: &str,
    layout: Layout,
    lut: &Lut,
    inputs: &[i64],
    f: impl Fn(i64) -> i64,
) {
    let top = s.top();
    let keys: EvaluationKeys = s.keys_for(|engine| {
        let x = palladion_circuits::Value::dry(top, engine.model().fresh());
        lut.apply(engine, layout, &x).unwrap()
    });
    let t = *s.bfv().t();
    let (mut checked, mut wrong) = (0, 0);
    for inputs in inputs.chunks(layout.values()) {
        // Slots that are left over get inputs from the beginning of the range.
        let x = |slot: usize| {
            let value = layout.value_of(slot);
            inputs.get(value).copied().unwrap_or(value as i64 % 100)
        };
        let slots: Vec<u64> = (0..N).map(|slot| t.from_i64(x(slot))).collect();
        let input = s.encrypt_slots(&slots, top);
        let engine = Engine::new(s.params.bfv(), &keys);
        let y = timed(name, || lut.apply(&engine, layout, &input).unwrap());
        let got = s.slots(&y);
        wrong += (0..N).filter(|&k| got[k] != t.from_i64(f(x(k)))).count();
        checked += N;
        let samples = match lut.shape().segments {
            1 => N,
            _ => layout.values(),
        };
        s.check_noise_carried(name, &y, samples, 0.0);
    }
    println!(
        "{name}: {} inputs, {checked} slots checked, {wrong} wrong",
        inputs.len()
    );
    assert_eq!(wrong, 0, "{name}");
}

#[test]
fn tables_over_the_whole_of_z_t_are_exact_for_every_input() {
    let _alone = alone();
    let mut s = setup(20, 1);
    let layout = Layout::new(N, N).unwrap();
    let inputs: Vec<i64> = (0..T).map(centred).collect();
    let half = T as i64 / 2;
    let t = *s.bfv().t();
    let shape = s.shape(T as usize, layout, 1);
    println!("{shape:?}");

    let table = s.table();
    let random = |x: i64| table[t.from_i64(x) as usize];
    let lut = Lut::new(interpolate(&t, half, random).unwrap(), shape).unwrap();
    check(
        &mut s,
        "random table of 65537",
        layout,
        &lut,
        &inputs,
        random,
    );

    let lut = Lut::new(interpolate(&t, half, relu_requantised).unwrap(), shape).unwrap();
    let name = "ReLU and requantise, 65537";
    // One ciphertext with every second input, and both ends.
    let every_second = (-half..=half).step_by(2).take(N - 1).chain([half]);
    let inputs: Vec<i64> = every_second.collect();
    check(&mut s, name, layout, &lut, &inputs, relu_requantised);
}

#[test]
fn tables_on_4096_either_side_are_exact_for_every_input() {
    let _alone = alone();
    let mut s = setup(17, 2);
    let layout = Layout::new(N, N).unwrap();
    let inputs: Vec<i64> = (-4096..=4096).collect();
    let t = *s.bfv().t();
    let shape = s.shape(inputs.len(), layout, 1);
    println!("{shape:?}");
    let table = s.table();
    let random = |x: i64| table[t.from_i64(x) as usize];
    let lut = Lut::new(interpolate(&t, 4096, random).unwrap(), shape).unwrap();
    check(
        &mut s,
        "random table of 8193",
        layout,
        &lut,
        &inputs,
        random,
    );
    let relu = |x: i64| relu_requantised(x * 8);
    let lut = Lut::new(interpolate(&t, 4096, relu).unwrap(), shape).unwrap();
    check(
        &mut s,
        "ReLU and requantise, 8193",
        layout,
        &lut,
        &inputs,
        relu,
    );
}

#[test]
fn tables_in_segments_are_exact_in_every_copy() {
    let _alone = alone();
    let mut s = setup(20, 3);
    let layout = Layout::new(N, 256).unwrap();
    let t = *s.bfv().t();
    let shape = TableShape {
        segments: 128,
        digits: [8, 8, 1],
    };
    let table = s.table();
    let random = |x: i64| table[t.from_i64(x) as usize];
    let polynomial = interpolate(&t, 4095, random).unwrap();
    let lut = Lut::new(polynomial, shape).unwrap();
    // 256 values at a time: the ends, the middle, and one in 43 of the others.
    let inputs: Vec<i64> = (-4095..=4095)
        .step_by(43)
        .chain([4095, -4094, 0, 1, -1])
        .chain((0..256).map(|i| (i * 1531) % 8191 - 4095))
        .take(2 * 256)
        .collect();
    check(
        &mut s,
        "random table of 8191, segments",
        layout,
        &lut,
        &inputs,
        random,
    );
}
