//! Lookup of a row by an encrypted key: with keys that exist and keys that do not, and with invalid
//! tables.

use crate::circuit::exact::{Setup, T, insecure_params};
use applications::lookup::{Database, column_name, word_name};
use program::circuit::Arithmetic;
use rand::Rng;
use runtime::circuit::{Runner, Slots, arithmetic, predict_noise, run_clear};

const ROWS: usize = 32;

/// Rows of distinct keys of two words, and two columns of values.
fn table(setup: &mut Setup) -> Database {
    let mut random = |first: u64| {
        let value = |_| setup.rng.random_range(0..T / 2) * 2 + first;
        (0..ROWS).map(value).collect()
    };
    Database {
        keys: vec![random(0), random(0)],
        columns: vec![random(1), random(0)],
        cooling: 0,
    }
}

#[test]
fn a_row_is_found_by_its_key_and_no_other_key_finds_one_insecure() {
    let params = insecure_params(8, 18);
    let mut setup = Setup::new(params.clone(), 41);
    let table = table(&mut setup);
    let circuit = table.circuit(arithmetic(&params), params.n()).unwrap();
    let runner = Runner::new(&params, &circuit).unwrap();
    let row = 17;
    let there = [table.keys[0][row], table.keys[1][row]];
    // The existing key, with one word replaced by that of another row.
    let absent = [there[0], table.keys[1][row + 1]];
    for (key, there) in [(there, true), (absent, false)] {
        let words = key.map(|word| vec![word]);
        let inputs: Slots<u64> = (0..).map(word_name).zip(words).collect();
        let clear = run_clear(&circuit, &inputs).unwrap();
        for (name, ct) in setup.run(&runner, &circuit, &inputs) {
            let c = (0..2).find(|&c| column_name(c) == name).unwrap();
            let expected = if there { table.columns[c][row] } else { 0 };
            assert_eq!(clear[&name], vec![expected; params.n()]);
            assert_eq!(setup.slots(&ct), clear[&name]);
        }
    }
}

#[test]
fn tables_that_are_none_and_chains_that_are_short_are_refused_insecure() {
    let params = insecure_params(8, 18);
    let said = |keys: &[Vec<u64>], columns: &[Vec<u64>]| {
        let (keys, columns) = (keys.to_vec(), columns.to_vec());
        let cooling = 0;
        let table = Database {
            keys,
            columns,
            cooling,
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

    let short = insecure_params(8, 17);
    let table = table(&mut Setup::new(params.clone(), 42));
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
