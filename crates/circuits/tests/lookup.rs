//! Rows of MNIST found by an encrypted key: exact in every slot, noise from both sides.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod common;

use circuits::lookup::Table;
use circuits::{Engine, Error, Value};
use common::{N, Setup, T, alone, setup};

const ROWS: usize = 32;
const PIXELS: usize = 28 * 28;
/// 32 images, then their labels.
const DATA: &[u8; ROWS * (PIXELS + 1)] = include_bytes!("../../runtime/tests/data/mnist_32.raw");

/// Key of an image, of two words: its pixels as a polynomial, at two points.
fn key(image: &[u8]) -> [u64; 2] {
    [3, 5].map(|point| {
        let pixels = image.iter();
        pixels.fold(0, |sum, &p| (sum * point + u64::from(p)) % T)
    })
}

/// Keys of all images; as columns the label, and the two pixels at the centre in one word.
fn table(s: &Setup) -> (Table, Vec<[u64; 2]>, [Vec<u64>; 2]) {
    let (images, labels) = DATA.split_at(ROWS * PIXELS);
    let keys: Vec<[u64; 2]> = images.chunks(PIXELS).map(key).collect();
    let words = [0, 1].map(|j| keys.iter().map(|key| key[j]).collect());
    let centre = PIXELS / 2 + 14;
    let pair = |image: &[u8]| u64::from(image[centre]) * 256 + u64::from(image[centre + 1]);
    let columns = [
        labels.iter().map(|&label| u64::from(label)).collect(),
        images.chunks(PIXELS).map(pair).collect(),
    ];
    let table = Table::new(s.bfv().encoder(), &words, &columns).unwrap();
    (table, keys, columns)
}

#[test]
fn a_row_is_found_by_its_key_and_no_other_key_finds_one() {
    let _alone = alone();
    let mut s = setup(20, 41);
    let top = s.top();
    let (table, keys, columns) = table(&s);
    let fresh = Engine::dry(s.bfv()).model().fresh();
    let dry = [Value::dry(top, fresh), Value::dry(top, fresh)];
    let evaluation = s.keys_for(|engine| table.look_up(engine, &dry).unwrap());
    let row = 17;
    // The key of a row, and that key with one word of another row's.
    let absent = [keys[row][0], keys[row + 1][1]];
    assert!(!keys.contains(&absent));
    for (key, present) in [(keys[row], true), (absent, false)] {
        let encoder = s.params.bfv().encoder();
        let query: Vec<Value> = Table::query(encoder, &key)
            .unwrap()
            .iter()
            .map(|word| s.encrypt(word, top))
            .collect();
        let engine = Engine::new(s.params.bfv(), &evaluation);
        let found = table.find(&engine, &query).unwrap();
        let mut want = vec![0; N];
        want[row] = u64::from(present);
        assert_eq!(s.slots(&found), want);
        s.check_noise("find", &found);

        let values = table.look_up(&engine, &query).unwrap();
        for (c, value) in values.iter().enumerate() {
            want[row] = if present { columns[c][row] } else { 0 };
            let selected = table.select(&engine, &found, c).unwrap();
            assert_eq!(s.slots(&selected), want);
            s.check_noise("select", &selected);
            assert_eq!(s.slots(value), vec![want[row]; N]);
            // The sum's noise is that of one coefficient.
            s.check_noise_carried("sum", value, 1, 0.0);
        }
        let short = table.find(&engine, &query[..1]).unwrap_err();
        assert!(matches!(short, Error::Shape { .. }));
    }
}

#[test]
fn tables_that_are_none_and_chains_that_are_short_are_refused() {
    let s = setup(20, 42);
    let encoder = s.bfv().encoder();
    let words = |error: Error| error.to_string();
    let none = Table::new(encoder, &[], &[]).unwrap_err();
    assert_eq!(
        words(none),
        "the number of words of a key is 0, expected at least 1"
    );
    let ragged = Table::new(encoder, &[vec![1, 2]], &[vec![3]]).unwrap_err();
    assert_eq!(
        words(ragged),
        "the number of rows of a column is 1, expected 2"
    );
    let twice = Table::new(encoder, &[vec![7, 1, 7]], &[]).unwrap_err();
    assert_eq!(
        words(twice),
        "a key is [7], twice, expected one row for each"
    );
    let outside = Table::new(encoder, &[vec![T]], &[]).unwrap_err();
    assert_eq!(
        words(outside),
        "value 0 of a plaintext is 65537, expected less than t = 65537"
    );
    assert!(Table::query(encoder, &[T]).is_err());

    let (table, ..) = table(&s);
    let engine = Engine::dry(s.bfv());
    for (level, enough) in [(19, true), (18, false), (10, false)] {
        let word = Value::dry(level, engine.model().fresh());
        let run = table.look_up(&engine, &[word.clone(), word]);
        match run {
            Ok(_) => assert!(enough, "level {level}"),
            Err(error) => {
                assert!(!enough, "level {level}: {error}");
                assert!(matches!(error, Error::OutOfLevels { .. }), "{error}");
            }
        }
    }
}
