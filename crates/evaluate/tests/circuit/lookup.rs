//! Lookup of a row by an encrypted key: with keys that exist and keys that do not, and with invalid
//! tables.

use crate::exact::{Setup, T, insecure_params};
use applications::lookup::{Database, ROW, word_name};
use palladion_evaluate::circuit::{Runner, Slots, arithmetic, predict_noise, run_clear};
use program::circuit::Arithmetic;
use rand::Rng;

const ROWS: usize = 32;

/// Rows of distinct keys, and columns of values.
fn table(setup: &mut Setup, words: usize, columns: usize) -> Database {
    let mut random = |first: u64| {
        let value = |_| setup.rng.random_range(0..T / 2) * 2 + first;
        (0..ROWS).map(value).collect()
    };
    Database {
        keys: (0..words).map(|_| random(0)).collect(),
        columns: (0..columns).map(|_| random(1)).collect(),
        cooled: Vec::new(),
    }
}

#[test]
fn a_row_is_found_by_its_key_and_no_other_key_finds_one_insecure() {
    let params = insecure_params(8, 19);
    for (words, columns) in [(1, 1), (2, 3), (3, 8)] {
        let mut setup = Setup::new(params.clone(), 41);
        let table = table(&mut setup, words, columns);
        let circuit = table.circuit(arithmetic(&params), params.n()).unwrap();
        let runner = Runner::new(&params, &circuit).unwrap();
        let row = 17;
        let there: Vec<u64> = table.keys.iter().map(|word| word[row]).collect();
        // The existing key, with its last word replaced by that of another row. A key of one word would
        // then be that row's; keys are even, so an odd one is no row's.
        let mut absent = there.clone();
        absent[words - 1] = match words {
            1 => there[0] + 1,
            _ => table.keys[words - 1][row + 1],
        };
        for (key, there) in [(there, true), (absent, false)] {
            let inputs = key.iter().map(|&word| vec![word]);
            let inputs: Slots<u64> = (0..).map(word_name).zip(inputs).collect();
            let clear = run_clear(&circuit, &inputs).unwrap();
            let value = |slot: usize| match table.columns.get(slot % table.period()) {
                Some(column) if there => column[row],
                _ => 0,
            };
            let expected: Vec<u64> = (0..params.n()).map(value).collect();
            assert_eq!(clear[ROW], expected, "{words} words");
            for (_, ct) in setup.run(&runner, &circuit, &inputs) {
                assert_eq!(setup.slots(&ct), expected, "{words} words");
            }
        }
    }
}

#[test]
fn all_words_of_a_key_count_modulo_any_prime() {
    // 1 - 4 c is a square modulo 17 for c = 1, and not for c = 2.
    for t in [17u64, 97, T] {
        let moduli = vec![2.0; 40];
        let arithmetic = Arithmetic::Exact { t, moduli };
        let table = Database {
            keys: vec![vec![0], vec![0]],
            columns: vec![vec![1]],
            cooled: Vec::new(),
        };
        let circuit = table.circuit(arithmetic, 8).unwrap();
        for (x, y) in (0..t.min(20)).flat_map(|x| (0..t.min(20)).map(move |y| (x, y))) {
            let inputs: Slots<u64> = [(word_name(0), vec![x]), (word_name(1), vec![y])].into();
            // Slots of a row that is not there have the key 0 too, and the value 0.
            let found = run_clear(&circuit, &inputs).unwrap()[ROW][0];
            assert_eq!(found, u64::from((x, y) == (0, 0)), "{x}, {y} modulo {t}");
        }
    }
}

#[test]
fn tables_that_are_none_and_chains_that_are_short_are_refused_insecure() {
    let params = insecure_params(8, 18);
    let said = |keys: &[Vec<u64>], columns: &[Vec<u64>]| {
        let (keys, columns) = (keys.to_vec(), columns.to_vec());
        let cooled = Vec::new();
        let table = Database {
            keys,
            columns,
            cooled,
        };
        let circuit = table.circuit(arithmetic(&params), params.n());
        circuit.err().map_or("nothing".into(), |e| e.to_string())
    };
    let none = "the number of words of a key is 0, expected at least 1";
    assert_eq!(said(&[], &[]), none);
    let ragged = "the number of rows of a column is 1, expected 2";
    assert_eq!(said(&[vec![1, 2]], &[vec![3]]), ragged);
    let twice = "a key is [7], twice, expected one row for each";
    assert_eq!(said(&[vec![7, 1, 7]], &[]), twice);
    let outside = "constant @0: value 0 is 65537, expected an integer from -65536 to 65536";
    assert_eq!(said(&[vec![T]], &[]), outside);
    let many = "constant @0: the number of values is 257, expected a power of two up to 256";
    assert_eq!(said(&[(0..257).collect()], &[]), many);

    let none = "the number of columns is 0, expected from 1 to 128";
    assert_eq!(said(&[vec![1, 2]], &[]), none);

    let short = insecure_params(8, 17);
    let table = table(&mut Setup::new(params.clone(), 42), 2, 2);
    let refused = table.circuit(arithmetic(&short), short.n()).unwrap_err();
    let expected = "(rescale): the level is 0, expected at least 1";
    assert!(refused.to_string().ends_with(expected), "{refused}");
    let circuit = table.circuit(arithmetic(&params), params.n()).unwrap();
    assert!(predict_noise(&params, &circuit).is_ok());
    let moduli = vec![2.0; 19];
    let approximate = table.circuit(Arithmetic::Approximate { moduli }, params.n());
    let expected = "the arithmetic is approximate, expected exact";
    assert_eq!(approximate.unwrap_err().to_string(), expected);
}
