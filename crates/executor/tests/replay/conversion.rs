//! Operations between moduli, and expansion of seeds.

use crate::replay::{MODULI, N, Names, modulus, residues, run};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::sample::{Seed, uniform_from_seed};
use ring::{Basis, BasisConverter, Coeff, Eval, Poly, ntt_primes};
use trace::{Limbs, TraceBuilder, Type};

/// Compares integers up to almost half the product with their residues.
#[test]
fn conversions_give_the_centred_representative() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    for from in ["2..4", "0..1", "5..6", "0..2,4..5", "3..5", "0..4"] {
        let ids: Vec<usize> = match from {
            "2..4" => vec![2, 3],
            "0..1" => vec![0],
            "5..6" => vec![5],
            "0..2,4..5" => vec![0, 1, 4],
            "3..5" => vec![3, 4],
            _ => (0..4).collect(),
        };
        let others = Limbs::from(0..8).minus(&Limbs::new(ids.iter().map(|&i| i..i + 1)));
        let q: i128 = ids.iter().map(|&id| i128::from(MODULI[id])).product();
        // A conversion from one modulus is exact. From several it is exact except within 2^-30 of
        // Q, for each limb, of the middle.
        let bound = match ids.len() {
            1 => q / 2,
            several => q / 2 - (q >> 30) * several as i128 - 1,
        };
        let mut integers: Vec<i128> = (0..N).map(|_| rng.random_range(-bound..=bound)).collect();
        integers[..5].copy_from_slice(&[0, 1, -1, bound, -bound]);
        let limb = |id: usize| -> Vec<u64> {
            let q = i128::from(MODULI[id]);
            integers.iter().map(|x| x.rem_euclid(q) as u64).collect()
        };
        let x: Vec<Vec<u64>> = ids.iter().map(|&id| limb(id)).collect();
        let lines =
            format!("%0: coeff {from} = load x\n%1: coeff {others} = convert %0\nstore y %1");
        let expected: Vec<Vec<u64>> = others.iter().map(limb).collect();
        assert_eq!(run(&lines, &x, &[]), expected, "from {from}");
    }
}

/// For arbitrary residues: equals the definition, computed in integers of 128 bits.
#[test]
fn conversions_are_the_sums_of_the_definition() {
    let ids = [0usize, 2, 5];
    let x: Vec<Vec<u64>> = ids
        .iter()
        .map(|&id| residues(id..id + 1, 9)[0].clone())
        .collect();
    let lines = "%0: coeff 0..1,2..3,5..6 = load x\n%1: coeff 1..2,6..7 = convert %0\nstore y %1";
    let found = run(lines, &x, &[]);
    let product: u128 = ids.iter().map(|&id| u128::from(MODULI[id])).product();
    for k in 0..N {
        let (mut sum, mut v) = ([0u128; 2], 1u128 << 55);
        for (i, &id) in ids.iter().enumerate() {
            let (q, hat) = (u128::from(MODULI[id]), product / u128::from(MODULI[id]));
            let inverse = modulus(id).inv((hat % q) as u64).unwrap();
            let y = u128::from(modulus(id).mul(x[i][k], inverse));
            let b = modulus(id).bits();
            let m = (1u128 << (31 + b)) / q;
            v += (((y << 32) >> b) * m) >> 7;
            for (sum, p) in sum.iter_mut().zip([1, 6]) {
                let p = u128::from(MODULI[p]);
                *sum = (*sum + y * (hat % p)) % p;
            }
        }
        for (j, p) in [1, 6].into_iter().enumerate() {
            let p = u128::from(MODULI[p]);
            let expected = (sum[j] + (p - product % p) * (v >> 56)) % p;
            assert_eq!(u128::from(found[j][k]), expected, "coefficient {k}");
        }
    }
}

/// Conversions with the largest number of limbs equal those of `ring`.
#[test]
fn conversions_of_many_limbs_are_those_of_the_ring() {
    let n = 1 << 8;
    for (bits, count) in [(30, 64), (49, 64), (60, 64), (40, 3)] {
        let mut moduli = ntt_primes(bits, n, count).unwrap();
        let to = ntt_primes(36, n, 3).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(u64::from(bits));
        let [from, to] = [&moduli, &to].map(|q| Basis::new(n, q).unwrap());
        let words = from.moduli().flat_map(|q| {
            let words: Vec<u64> = (0..n).map(|_| rng.random_range(0..q.value())).collect();
            words
        });
        let x: Poly<Coeff> = Poly::from_words(&from, words.collect::<Vec<u64>>()).unwrap();
        moduli.extend(to.values());
        let mut builder = TraceBuilder::new(n, &moduli).unwrap();
        let mut main = builder.main();
        let loaded = main.load("x", Type::coeff(0..count));
        let converted = main.convert(loaded, count..count + 3);
        main.store("y", converted);
        let limbs: Vec<Vec<u64>> = (0..count).map(|i| x.limb(i).to_vec()).collect();
        let mut names = Names::default().with("x", &limbs);
        names.run(&builder.finish().unwrap()).unwrap();
        let expected = BasisConverter::new(&from, &to).exact(&x);
        assert_eq!(names.stored("y").concat(), expected.words(), "{bits} bits");
    }
}

#[test]
fn roundings_are_to_the_nearest() {
    for (from, to) in [(5, 4), (5, 0), (3, 2), (1, 6), (7, 1)] {
        let x = residues(from..from + 1, 2);
        let lines = format!(
            "%0: coeff {from}..{} = load x\n%1: coeff {to}..{} = round %0\nstore y %1",
            from + 1,
            to + 1
        );
        let (q, t) = (u128::from(MODULI[from]), u128::from(MODULI[to]));
        let found = run(&lines, &x, &[]);
        for (&c, &found) in x[0].iter().zip(&found[0]) {
            // The nearest multiple of q to c t, in units of q.
            let (floor, rest) = (u128::from(c) * t / q, u128::from(c) * t % q);
            let nearest = floor + u128::from(2 * rest >= q);
            assert_eq!(u128::from(found), nearest % t, "{c} from {q} to {t}");
        }
    }
}

#[test]
fn digits_make_up_the_residue() {
    for (limb, bits, count) in [
        (5, 15, 4),
        (5, 30, 3),
        (5, 20, 4),
        (2, 7, 5),
        (0, 1, 9),
        (6, 3, 3),
        (4, 4, 1),
    ] {
        let (x, next) = (residues(limb..limb + 1, 3), limb + 1);
        let digit = |index: usize| {
            let lines = format!(
                "%0: coeff {limb}..{next} = load x
                %1: coeff {limb}..{next} = digit %0 index {index} bits {bits} count {count}
                store y %1"
            );
            run(&lines, &x, &[]).remove(0)
        };
        let digits: Vec<Vec<u64>> = (0..count).map(digit).collect();
        let (q, base) = (modulus(limb), 1i128 << bits);
        for (k, &c) in x[0].iter().enumerate() {
            let centred = i128::from(q.center(c));
            let sign = if centred < 0 { -1 } else { 1 };
            let mut sum = 0;
            for (j, digit) in digits.iter().enumerate() {
                // The digit of the magnitude. A residue gives it modulo q, and it is small.
                let d = sign * i128::from(q.center(digit[k]));
                assert!(j + 1 == count || (-base / 2..base / 2).contains(&d), "{d}");
                sum += d * base.pow(j as u32);
            }
            assert_eq!(sign * sum, centred, "{count} digits of {bits} bits");
        }
    }
}

#[test]
fn samples_are_those_of_the_ring() {
    let lines = "%0: eval 0..1,2..6,7..8 = sample abc 4294967295\nstore y %0";
    let moduli = [0, 2, 3, 4, 5, 7].map(|id| MODULI[id]);
    let basis = Basis::new(N, &moduli).unwrap();
    let expected: Poly<Eval> = uniform_from_seed(&basis, &Seed([3; 32]), u32::MAX);
    assert_eq!(run(lines, &[], &[]).concat(), expected.words());
}
