//! BFV and BGV against integers modulo t.

use palladion_schemes::{
    Bfv, Bgv, Ciphertext, ErrorKind, EvaluationKeys, ExactOptions, ExactSizes, Needs, Packing,
    Params, SecretKey, bfv, bgv, rng,
};

const T: i64 = 65537;

/// The same tests for both schemes.
macro_rules! for_both {
    ($($test:ident),*) => {
        mod of_bfv { $( #[test] fn $test() { super::$test::<palladion_schemes::Bfv>(); } )* }
        mod of_bgv { $( #[test] fn $test() { super::$test::<palladion_schemes::Bgv>(); } )* }
    };
}

for_both!(
    operators_are_those_of_integers,
    coefficients_are_those_of_polynomials,
    powers_and_sums_are_those_of_integers,
    a_set_for_a_depth_has_it
);

/// The traits that the tests need of both schemes.
trait Tested: palladion_schemes::ExactScheme {}
impl Tested for Bfv {}
impl Tested for Bgv {}

struct Setup<S: Tested> {
    params: Params<S>,
    secret: SecretKey<S>,
    keys: EvaluationKeys<S>,
}

fn insecure<S: Tested>(rotations: &[isize]) -> Setup<S> {
    let sizes = ExactSizes {
        log_n: 10,
        levels: vec![50; 5],
        special: vec![50, 50],
        digit_limbs: None,
        t: T as u64,
    };
    let params = Params::<S>::new_insecure(&sizes).unwrap();
    let secret = params.generate_secret(&mut rng());
    let needs = Needs {
        rotations,
        conjugate: true,
        ..Needs::default()
    };
    let keys = secret.keys(&needs, &mut rng()).unwrap();
    Setup {
        params,
        secret,
        keys,
    }
}

impl<S: Tested> Setup<S> {
    fn integers(&self, seed: i64) -> (Vec<i64>, Ciphertext<S>) {
        let integer = |j: usize| (j as i64 * (seed + 7919) + seed).rem_euclid(T);
        let integers: Vec<i64> = (0..self.params.slots()).map(integer).collect();
        let ct = self.secret.encrypt(&integers, &mut rng()).unwrap();
        (integers, ct.with_keys(&self.keys))
    }
}

fn rows(values: &[i64], k: isize) -> Vec<i64> {
    let mut out = values.to_vec();
    let half = values.len() / 2;
    for row in out.chunks_exact_mut(half) {
        row.rotate_left(k.rem_euclid(half as isize) as usize);
    }
    out
}

fn operators_are_those_of_integers<S: Tested>() {
    let s = insecure::<S>(&[1, -2]);
    let ((a, x), (b, _)) = (s.integers(1), s.integers(2));
    let public = s.secret.public_key(&mut rng());
    let y = public.encrypt(&b, &mut rng()).unwrap();
    let zip = |f: fn(i64, i64) -> i64| -> Vec<i64> {
        a.iter()
            .zip(&b)
            .map(|(&a, &b)| f(a, b).rem_euclid(T))
            .collect()
    };
    let swapped = [&a[a.len() / 2..], &a[..a.len() / 2]].concat();
    let deep = x.mul(&y).unwrap();
    let rotations = x.rotations(&[1, -2]).unwrap();
    let cases = [
        (x.add(&y), zip(|a, b| a + b)),
        (x.sub(&y), zip(|a, b| a - b)),
        (x.negate(), zip(|a, _| -a)),
        (x.mul(&y), zip(|a, b| a * b)),
        (y.mul(&x), zip(|a, b| a * b)),
        (deep.add(&x), zip(|a, b| a * b + a)),
        (deep.mul(&x), zip(|a, b| a * b % T * a)),
        (x.add(3), zip(|a, _| a + 3)),
        (x.sub(3), zip(|a, _| a - 3)),
        (x.mul(-5), zip(|a, _| a * -5)),
        (x.add(&b), zip(|a, b| a + b)),
        (x.sub(&b), zip(|a, b| a - b)),
        (x.mul(&b), zip(|a, b| a * b)),
        (x.rotate(1), rows(&a, 1)),
        (Ok(rotations[0].clone()), rows(&a, 1)),
        (Ok(rotations[1].clone()), rows(&a, -2)),
        (x.swap_rows(), swapped),
        (x.switch_down(2), a.clone()),
        (x.switch_down(2).unwrap().add(&deep), zip(|a, b| a + a * b)),
    ];
    for (index, (found, expected)) in cases.into_iter().enumerate() {
        let found = s.secret.decrypt(&found.unwrap()).unwrap();
        assert_eq!(found, expected, "case {index}");
    }
    let signed = s.secret.decrypt_signed(&x.mul(0).unwrap().sub(1).unwrap());
    assert_eq!(signed.unwrap(), vec![-1; s.params.slots()]);
    assert_eq!(x.add(T).unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(x.switch_down(9).unwrap_err().kind(), ErrorKind::Level);
    let lost = (0..9).fold(x.drop_to(0).unwrap(), |x, _| x.mul(&x).unwrap());
    assert_eq!(
        s.secret.decrypt(&lost).unwrap_err().kind(),
        ErrorKind::Noise
    );
}

fn coefficients_are_those_of_polynomials<S: Tested>() {
    let s = insecure::<S>(&[]);
    let options = ExactOptions {
        packing: Packing::Coefficients,
        ..ExactOptions::default()
    };
    let encrypt = |values: &[i64]| {
        let ct = s.secret.encrypt_with(values, &options, &mut rng());
        ct.unwrap().with_keys(&s.keys)
    };
    let x = encrypt(&[1, 2]);
    let mut last = vec![0; s.params.n()];
    last[s.params.n() - 1] = 1; // X^(N-1): X^N is -1
    let y = encrypt(&last);
    assert_eq!(
        s.secret.decrypt(&x.square().unwrap()).unwrap()[..4],
        [1, 4, 4, 0]
    );
    let product = s.secret.decrypt(&x.mul(&y).unwrap()).unwrap();
    assert_eq!((product[0], product[s.params.n() - 1]), (T - 2, 1));
    assert_eq!(
        s.secret.decrypt(&x.add(5).unwrap()).unwrap()[..3],
        [6, 2, 0]
    );
    let read = Ciphertext::from_bytes(&s.params, &x.to_bytes().unwrap()).unwrap();
    let read = read.of_packing(Packing::Coefficients);
    assert_eq!(s.secret.decrypt(&read).unwrap()[..3], [1, 2, 0]);
    let slots = s.secret.encrypt(&[1], &mut rng()).unwrap();
    assert_eq!(x.add(&slots).unwrap_err().kind(), ErrorKind::Usage);
}

fn powers_and_sums_are_those_of_integers<S: Tested>() {
    let s = insecure::<S>(&Ciphertext::<S>::sum_rotations(-5, 11));
    let (a, x) = s.integers(3);
    for exponent in 1..=8 {
        let power = |&a: &i64| (0..exponent).fold(1, |power, _| power * a % T);
        let power: Vec<i64> = a.iter().map(power).collect();
        assert_eq!(s.secret.decrypt(&x.pow(exponent).unwrap()).unwrap(), power);
    }
    for count in [1, 2, 5, 11] {
        let terms = (0..count).map(|i| rows(&a, -5 * i));
        let sum = terms.fold(vec![0; a.len()], |sum, term| {
            sum.iter().zip(&term).map(|(s, t)| (s + t) % T).collect()
        });
        let found = x.sum(-5, count as usize).unwrap();
        assert_eq!(s.secret.decrypt(&found).unwrap(), sum, "{count} terms");
    }
}

fn a_set_for_a_depth_has_it<S: Tested>() {
    for (log_n, depth) in [(12, 0), (13, 2), (14, 6)] {
        let params = Params::<S>::for_depth(log_n, depth, T as u64).unwrap();
        assert!(params.security().is_enough());
        let secret = params.generate_secret(&mut rng());
        let keys = secret.keys(&Needs::default(), &mut rng()).unwrap();
        let values: Vec<i64> = (0..params.slots() as i64).map(|v| v * 31 % T).collect();
        let public = secret.public_key(&mut rng());
        let mut x = public
            .encrypt(&values, &mut rng())
            .unwrap()
            .with_keys(&keys);
        let mut expected = values;
        for _ in 0..depth {
            x = x.mul(4).unwrap().square().unwrap();
            expected.iter_mut().for_each(|v| *v = 16 * *v % T * *v % T);
        }
        assert_eq!(secret.decrypt(&x).unwrap(), expected, "2^{log_n}, {depth}");
        let budget = secret.budget(&x).unwrap();
        println!("{params}: {budget:.1} bits of {depth} products left");
        assert!(
            budget < 50.0,
            "{budget} bits are left: the set is too large"
        );
    }
    let error = Params::<S>::for_depth(13, 9, T as u64).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Security);
    let error = Params::<S>::for_depth(13, 1000, T as u64).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Security);
    let error = Params::<S>::for_depth(13, 1, 65539).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
}

#[test]
fn the_named_sets_are_those_of_both_schemes() {
    let (one, other) = (
        bfv::Params::named("exact-12"),
        bgv::Params::named("exact-12"),
    );
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!((one.t(), one.max_level()), (T as u64, 1));
    assert_eq!(one.moduli(), other.moduli());
    assert_ne!(one.fingerprint(), other.fingerprint());
    assert!(bgv::Params::from_bytes(&one.to_bytes()).is_err());
    assert!(bfv::Params::from_bytes(&one.to_bytes()).unwrap() == one);
}
