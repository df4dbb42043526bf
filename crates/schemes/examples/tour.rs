//! The schemes in one tour: `cargo run --release -p palladion-schemes --example tour`.

use palladion_schemes::{Error, ErrorKind, Needs, bfv, bgv, ckks, rng};

fn main() -> Result<(), Error> {
    // Numbers, approximately. The sets are `ckks::Params::names()`, or of one's own `ckks::Sizes`.
    let params = ckks::Params::for_depth(14, 6, 40)?;
    let matrix = ckks::Matrix::new(&params, &[[0.5, -1.0], [2.0, 0.25]])?;
    let secret = params.generate_secret(&mut rng());
    let rotations = [matrix.rotations(), ckks::Ciphertext::sum_rotations(1, 5)].concat();
    let needs = Needs {
        rotations: &rotations,
        ..Needs::default()
    };
    let keys = secret.keys(&needs, &mut rng())?;
    let x = secret.encrypt(&[0.5, -1.5], &mut rng())?.with_keys(&keys);
    let y = x.mul(&x)?.add(0.5)?.sub(&[0.25, 1.0])?.pow(3)?;
    let logistic = ckks::approximate(|x| 1.0 / (1.0 + (-x).exp()), -8.0, 8.0, 27)?;
    println!(
        "{:.4?}",
        &secret.decrypt_real(&x.evaluate(&logistic)?)?[..2]
    );
    println!(
        "{:.4?}",
        &secret.decrypt_real(&matrix.mul(&x)?.sum(1, 5)?)?[..1]
    );
    println!(
        "level {} of {}, scale {:.0}",
        y.level(),
        x.level(),
        y.scale()
    );

    // Integers modulo 65,537, exactly, between a client and a server that has bytes alone.
    let params = bgv::Params::named("exact-13")?;
    let (old, new) = (
        params.generate_secret(&mut rng()),
        params.generate_secret(&mut rng()),
    );
    let keys = old.keys(&Needs::default(), &mut rng())?.to_bytes();
    let query = old
        .public_key(&mut rng())
        .encrypt(&[2, -3], &mut rng())?
        .to_bytes()?;
    let keys = bgv::EvaluationKeys::from_bytes(&params, &keys)?;
    let z = bgv::Ciphertext::from_bytes(&params, &query)?
        .with_keys(&keys)
        .square()?;
    let moved = z.switch_key(&new.switch_key(&old, &mut rng())?)?;
    println!(
        "{:?}, {:.1} bits left",
        &new.decrypt_signed(&moved)?[..2],
        new.budget(&moved)?
    );
    let missing = z.rotate(1).map_err(|error| error.kind());
    assert_eq!(missing.err(), Some(ErrorKind::MissingKey));

    // Any table of values, exactly.
    let params = bfv::Params::named("bfv-tables")?;
    let secret = params.generate_secret(&mut rng());
    let keys = secret.keys(&Needs::default(), &mut rng())?;
    let cubes = bfv::Table::new(&params, &[0, 1, 8, 27, 64, 125, 216, 343])?;
    let w = secret
        .encrypt(&[7, 2], &mut rng())?
        .with_keys(&keys)
        .lookup(&cubes)?;
    println!("{:?}", &secret.decrypt(&w)?[..2]);
    Ok(())
}
