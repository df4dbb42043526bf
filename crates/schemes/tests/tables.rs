//! Tables on slots, for every input.

use palladion_schemes::{ErrorKind, Needs, bfv, rng};

const T: i64 = 65537;

/// Entries without a pattern.
fn entry(x: i64) -> i64 {
    (x * x % T * 40503 + 7 * x + 12345) % T
}

#[test]
fn a_table_of_all_values_is_exact_for_every_value() {
    let params = bfv::Params::named("bfv-tables").unwrap();
    let secret = params.generate_secret(&mut rng());
    let keys = secret.keys(&Needs::default(), &mut rng()).unwrap();
    let table = bfv::Table::of(&params, entry).unwrap();
    let values: Vec<i64> = (0..T).collect();
    let public = secret.public_key(&mut rng());
    for (index, values) in values.chunks(params.slots()).enumerate() {
        let x = if index == 0 {
            public.encrypt(values, &mut rng()).unwrap()
        } else {
            secret.encrypt(values, &mut rng()).unwrap()
        };
        let y = x.with_keys(&keys).lookup(&table).unwrap();
        let found = secret.decrypt(&y).unwrap();
        let wrong = values.iter().zip(&found).filter(|&(&x, &y)| entry(x) != y);
        assert_eq!(wrong.count(), 0);
        let budget = secret.budget(&y).unwrap();
        println!(
            "{}: level {} left, {budget:.1} bits",
            values.len(),
            y.level()
        );
    }
}

#[test]
fn a_short_table_takes_few_levels_and_a_computed_operand() {
    let params = bfv::Params::named("bfv-tables").unwrap();
    let secret = params.generate_secret(&mut rng());
    let keys = secret.keys(&Needs::default(), &mut rng()).unwrap();
    let entries: Vec<i64> = (0..256).map(|x| (x * 37 + 11) % 256 - 128).collect();
    let table = bfv::Table::new(&params, &entries).unwrap();
    let values: Vec<i64> = (0..params.slots() as i64).map(|x| x % 16).collect();
    let x = secret
        .encrypt(&values, &mut rng())
        .unwrap()
        .with_keys(&keys);
    let y = x.square().unwrap().add(15).unwrap().lookup(&table).unwrap();
    let expected: Vec<i64> = values
        .iter()
        .map(|x| entries[(x * x + 15) as usize])
        .collect();
    assert_eq!(secret.decrypt_signed(&y).unwrap(), expected);
    assert!(y.level() >= params.max_level() - 10, "level {}", y.level());

    let low = x.drop_to(2).unwrap();
    assert_eq!(low.lookup(&table).unwrap_err().kind(), ErrorKind::Level);
    assert!(bfv::Table::new(&params, &[]).is_err());
    assert!(bfv::Table::new(&params, &[T]).is_err());
}
