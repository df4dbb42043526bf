//! Do merged ciphertexts hold exactly the coefficients of their sources, and is their noise as
//! predicted?

use crate::common::{N, Setup, T, alone, setup, timed};
use palladion_circuits::merge::{distance, merge, place};
use palladion_circuits::{EncryptedValue, Engine, Value};
use rand::Rng;

/// Coefficient `m i` of source `k`, moved down by its distance, comes to `m i + place(k)`. All
/// others are 0. Coefficients that pass the lower end of the ring change their sign.
fn by_definition(messages: &[Vec<u64>], backs: &[usize]) -> Vec<u64> {
    let (count, m) = (messages.len(), messages.len().next_power_of_two());
    let mut expected = vec![0; N];
    for k in 0..count {
        let bits: Vec<usize> = (0..).take_while(|b| 1 << b < m).collect();
        let reversed: usize = bits.iter().map(|b| (k >> b & 1) * (m >> (b + 1))).sum();
        for i in (0..N).step_by(m) {
            let from = i + backs[k];
            let word = messages[k][from % N];
            expected[i + reversed] = match from < N {
                true => word,
                false => (T - word) % T,
            };
        }
    }
    expected
}

fn merged(s: &mut Setup, values: &[EncryptedValue], backs: &[usize]) -> EncryptedValue {
    let level = values[0].level();
    let keys = s.keys_for(|engine| {
        let value = Value::dry(level, engine.model().fresh());
        let sources: Vec<_> = backs.iter().map(|&back| (&value, back)).collect();
        merge(engine, &sources).expect("the sources fit one merge")
    });
    let engine = Engine::new(s.bfv(), &keys);
    let sources: Vec<_> = values.iter().zip(backs.iter().copied()).collect();
    let count = values.len();
    timed(&format!("merge of {count}"), || {
        merge(&engine, &sources).expect("the sources fit one merge")
    })
}

#[test]
fn merged_coefficients_are_those_of_the_sources_and_noise_is_as_predicted() {
    let _alone = alone();
    let mut s = setup(2, 40);
    let level = s.top();
    for count in [1, 2, 3, 4, 5, 8, 13, 68] {
        let m = distance(count);
        let messages: Vec<Vec<u64>> = (0..count).map(|_| s.residues(N)).collect();
        // All residues modulo `m`, and distances beyond it.
        let backs: Vec<usize> = (0..count)
            .map(|k| (k + s.rng.random_range(0..N)) % N)
            .collect();
        let values: Vec<EncryptedValue> = messages
            .iter()
            .map(|message| {
                let message = s.bfv().encoder().from_residues(message.clone());
                s.encrypt(&message, level)
            })
            .collect();
        let value = merged(&mut s, &values, &backs);
        assert_eq!(value.factor(), m as u64);
        assert_eq!(s.coefficients(&value), by_definition(&messages, &backs));
        s.check_noise(&format!("{count} merged"), &value);
    }
}

#[test]
fn places_are_all_different_and_missing_sources_cost_nothing() {
    for count in [1, 2, 3, 7, 64, 100] {
        let mut places: Vec<usize> = (0..count).map(|k| place(count, k)).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), count);
        assert!(places.iter().all(|&p| p < distance(count)));
    }
    let s = setup(2, 41);
    let rotations = |count: usize| {
        let engine = Engine::dry(s.bfv());
        let value = Value::dry(1, engine.model().fresh());
        merge(&engine, &vec![(&value, 0); count]).unwrap();
        (
            engine.counts().rotations,
            engine.needs().galois_elements().len(),
        )
    };
    assert_eq!(rotations(1), (0, 0));
    assert_eq!(rotations(2), (1, 1));
    assert_eq!(rotations(128), (127, 7));
    // 34 + 17 + 9 + 5 + 3 + 2 + 1.
    assert_eq!(rotations(68), (71, 7));
}

#[test]
fn merges_that_cannot_be_are_errors() {
    let s = setup(2, 42);
    let engine = Engine::dry(s.bfv());
    let none: [(&Value<()>, usize); 0] = [];
    let refused = merge(&engine, &none).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the number of ciphertexts to merge is 0, expected 1 to 32768"
    );
    let (low, high) = (
        Value::dry(0, engine.model().fresh()),
        Value::dry(1, engine.model().fresh()),
    );
    assert!(merge(&engine, &[(&low, 0), (&high, 0)]).is_err());
}
