//! Operations on residues, compared with the integers that the residues stand for.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use num_bigint::{BigInt, BigUint, Sign};
use palladion_ring::{
    Basis, BasisConverter, Coeff, Divider, Eval, Gadget, Modulus, PackedPoly, Poly, Scaler,
    ToModulus, eval_automorphism_index, ntt_primes, ntt_primes_avoiding, tensor, tensor_coeff,
    tensor_sum,
};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use std::sync::Arc;

/// The smallest ring the kernels take, and one that fills several of their blocks.
const N: usize = 16;
const LARGE_N: usize = 1 << 12;

/// Basis with a prime of each size.
fn mixed(n: usize, sizes: &[u32], avoid: &[u64]) -> Basis {
    let mut all = avoid.to_vec();
    for &bits in sizes {
        let next = ntt_primes_avoiding(bits, n, 1, &all).unwrap();
        all.extend(next);
    }
    Basis::new(n, &all[avoid.len()..]).unwrap()
}

fn basis(n: usize, bits: u32, limbs: usize, avoid: &[u64]) -> Basis {
    Basis::new(n, &ntt_primes_avoiding(bits, n, limbs, avoid).unwrap()).unwrap()
}

fn product(basis: &Basis) -> BigInt {
    basis.values().into_iter().map(BigInt::from).product()
}

/// `x mod m`, in `[0, m)`.
fn reduce(x: &BigInt, m: &BigInt) -> BigInt {
    ((x % m) + m) % m
}

/// The representative of `x` in `(-m/2, m/2]`.
fn centre(x: &BigInt, m: &BigInt) -> BigInt {
    let x = reduce(x, m);
    if &x * 2 > *m { x - m } else { x }
}

/// `x / d` to the nearest integer; `d` is odd, so there are no ties.
fn divide_rounded(x: &BigInt, d: &BigInt) -> BigInt {
    (x - centre(x, d)) / d
}

fn residues(values: &[BigInt], basis: &Basis) -> Poly<Coeff> {
    let words: Vec<u64> = basis
        .values()
        .into_iter()
        .flat_map(|q| values.iter().map(move |x| word(x, q)))
        .collect();
    Poly::from_words(basis, words).unwrap()
}

fn word(x: &BigInt, q: u64) -> u64 {
    u64::try_from(reduce(x, &BigInt::from(q))).unwrap()
}

/// The integers in `[0, Q)`, by Garner's formula, one modulus at a time, so that no code is shared
/// with the conversion under test.
fn integers(poly: &Poly<Coeff>) -> Vec<BigInt> {
    (0..poly.n())
        .map(|k| {
            let (mut x, mut m) = (BigInt::ZERO, BigInt::from(1));
            for (i, q) in poly.basis().moduli().enumerate() {
                let step = q.inv(word(&m, q.value())).unwrap();
                let missing = q.sub(poly.limb(i)[k], word(&x, q.value()));
                x += &m * q.mul(missing, step);
                m *= q.value();
            }
            x
        })
        .collect()
}

fn random(count: usize, bound: &BigInt, rng: &mut ChaCha20Rng) -> Vec<BigInt> {
    let bytes = bound.bits().div_ceil(8) as usize + 8;
    (0..count)
        .map(|_| {
            let bytes: Vec<u8> = (0..bytes).map(|_| rng.random()).collect();
            reduce(&BigInt::from_bytes_le(Sign::Plus, &bytes), bound)
        })
        .collect()
}

/// Random integers of `[0, m)`. The first of them are replaced by the edges of the interval, of its
/// halves, and of the range where the quotient of a conversion is certain.
fn with_edges(basis: &Basis, rng: &mut ChaCha20Rng) -> Vec<BigInt> {
    let m = &product(basis);
    let certain = 30;
    let one = BigInt::from(1);
    let half: BigInt = m / 2;
    let unsure = ((m * basis.len()) >> certain) + 2;
    let mut values = random(N, m, rng);
    let edges = [
        BigInt::ZERO,
        one.clone(),
        m - &one,
        m - 2,
        &half - &unsure,
        &half + &unsure,
        m / 4,
    ];
    values[..edges.len()].clone_from_slice(&edges);
    values
}

#[test]
fn exact_conversion_gives_the_centred_representative() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    for (from_sizes, to_sizes) in [
        (&[48; 15][..], &[47; 16][..]),
        (&[49; 3], &[48; 15]),
        (&[50], &[20; 2]),
        (&[20; 4], &[50]),
        (&[33; 12], &[49; 13]),
        (&[60, 49, 28, 60, 49], &[49, 60, 28, 28, 55]),
        (&[28, 49], &[60, 51]),
        (&[60], &[49, 60, 28]),
        (&[60; 12], &[60; 13]),
        (&[51, 52, 53, 54, 55], &[28, 49]),
    ] {
        let from = mixed(N, from_sizes, &[]);
        let to = mixed(N, to_sizes, &from.values());
        let q = product(&from);
        let values = with_edges(&from, &mut rng);
        let centred: Vec<BigInt> = values.iter().map(|x| centre(x, &q)).collect();
        let input = residues(&values, &from);
        let case = format!("{from_sizes:?} to {to_sizes:?} bits");
        assert_eq!(
            BasisConverter::new(&from, &to).exact(&input),
            residues(&centred, &to),
            "{case}"
        );
        let t = Modulus::new(65537).unwrap();
        let want: Vec<u64> = centred.iter().map(|x| word(x, 65537)).collect();
        assert_eq!(ToModulus::new(&from, t).exact(&input), want, "{case}");
    }
}

#[test]
fn exact_conversion_is_off_by_at_most_the_modulus_in_the_very_middle() {
    let from = basis(N, 48, 15, &[]);
    let to = basis(N, 47, 16, &[]);
    let (q, r) = (product(&from), product(&to));
    let values: Vec<BigInt> = (0..N).map(|k| &q / 2 + k - N / 2).collect();
    let found = integers(&BasisConverter::new(&from, &to).exact(&residues(&values, &from)));
    for (value, found) in values.iter().zip(found) {
        let found = centre(&found, &r);
        assert!(found == *value || found == value - &q);
    }
}

#[test]
fn division_rounds_to_the_nearest_in_both_domains() {
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    for (sizes, dropped) in [
        (&[48; 2][..], 1),
        (&[48; 18], 3),
        (&[48; 6], 5),
        (&[48; 15], 1),
        (&[60, 49, 28, 49], 1),
        (&[60, 49, 28, 60, 60], 2),
        (&[28, 49, 55, 60], 3),
        (&[49, 60], 1),
    ] {
        let limbs = sizes.len();
        let whole = mixed(N, sizes, &[]);
        let divider = Divider::new(&whole, dropped);
        let d = product(&whole.slice(limbs - dropped..limbs));
        let mut values = with_edges(&whole, &mut rng);
        if dropped == 1 {
            // A quotient by one modulus is certain for remainders next to its half too.
            values[8] = &d * 5 + &d / 2;
            values[9] = &d * 5 + &d / 2 + 1;
        }
        let want: Vec<BigInt> = values.iter().map(|x| divide_rounded(x, &d)).collect();
        let want = residues(&want, divider.keep());
        let input = residues(&values, &whole);
        assert_eq!(
            divider.divide_coeff(input.clone()),
            want,
            "{sizes:?} bits - {dropped}"
        );
        let whole = input.clone().into_eval();
        assert_eq!(divider.divided(&whole), want.clone().into_eval());
        assert_eq!(divider.divide(whole), want.clone().into_eval());

        let addend = residues(&random(N, &d, &mut rng), divider.keep());
        let mut minus_dx = addend.clone();
        minus_dx.scalar_mul_assign(|i| {
            let q = divider.keep().modulus(i);
            q.neg(word(&d, q.value()))
        });
        let mut sum = want;
        sum.add_assign(&addend);
        assert_eq!(
            divider.divide_plus(input.into_eval(), &minus_dx),
            sum.into_eval()
        );
    }
}

#[test]
fn scaling_is_t_over_q_of_the_integer_rounded() {
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    const T: u64 = 65537;
    for (sizes, auxiliary_bits) in [
        (&[48; 15][..], 47),
        (&[30; 3], 41),
        (&[49], 48),
        (&[60, 49, 28], 49),
        (&[28, 49], 60),
        (&[60; 3], 60),
    ] {
        let q = mixed(N, sizes, &[]);
        let limbs = q.len();
        // The product needs t N bits more than Q. One bit is to spare.
        let count = (q.log2() + 16.1 + 4.0 + 1.0) / (f64::from(auxiliary_bits) - 0.01);
        let r = basis(N, auxiliary_bits, count.ceil() as usize, &q.values());
        let scaler = Scaler::new(&q, &r, T);
        let (whole, big_q) = (q.concat(&r), product(&q));
        let largest: BigInt = &big_q * &big_q * N / 2;
        let mut values = random(N, &(&largest * 2), &mut rng);
        values.iter_mut().for_each(|x| *x -= &largest);
        (values[0], values[1]) = (largest.clone(), -&largest);
        (values[2], values[3]) = (BigInt::ZERO, &big_q / T);
        let want: Vec<BigInt> = values
            .iter()
            .map(|x| divide_rounded(&(x * T), &big_q))
            .collect();
        let want = residues(&want, &q);
        let d = residues(&values, &whole);
        let (d_q, d_r) = (d.prefix(limbs), d.select(&r, |i| i + limbs));
        let plain = scaler.output(|_| 1);
        assert_eq!(
            scaler.scale(d_q.clone(), &d_r, &plain),
            want,
            "{sizes:?} bits"
        );
        let negative = scaler.output(|i| q.modulus(i).neg(1));
        let mut want = want;
        want.neg_assign();
        assert_eq!(scaler.scale(d_q.clone(), &d_r, &negative), want);

        let centred: Vec<BigInt> = integers(&d_q).iter().map(|x| centre(x, &big_q)).collect();
        assert_eq!(scaler.extend(d_q), residues(&centred, &r));
        assert_eq!(scaler.auxiliary(), &r);
    }
}

/// Product of integer polynomials modulo `X^N + 1`, by the definition.
fn negacyclic(a: &[BigInt], b: &[BigInt]) -> Vec<BigInt> {
    let n = a.len();
    let mut out = vec![BigInt::ZERO; n];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            let term = x * y;
            if i + j < n {
                out[i + j] += term;
            } else {
                out[i + j - n] -= term;
            }
        }
    }
    out
}

fn add(a: &[BigInt], b: &[BigInt]) -> Vec<BigInt> {
    a.iter().zip(b).map(|(x, y)| x + y).collect()
}

#[test]
fn products_in_the_evaluation_domain_are_negacyclic_convolutions() {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let basis = mixed(N, &[60, 49, 28, 51], &[]);
    let q = product(&basis);
    let [a0, a1, b0, b1] = [(); 4].map(|()| random(N, &q, &mut rng));
    let [x0, x1, y0, y1] = [&a0, &a1, &b0, &b1].map(|v| residues(v, &basis));
    let [e0, e1, f0, f1] = [&x0, &x1, &y0, &y1].map(|p| p.clone().into_eval());
    assert_eq!(e0.to_coeff(), x0);

    let cross = add(&negacyclic(&a0, &b1), &negacyclic(&a1, &b0));
    let want = [negacyclic(&a0, &b0), cross, negacyclic(&a1, &b1)];
    let want = want.map(|v| residues(&v, &basis));
    assert_eq!(e0.mul(&f0).into_coeff(), want[0]);
    assert_eq!(Poly::dot(&[&e0, &e1], &[&f1, &f0]).into_coeff(), want[1]);
    assert_eq!(tensor([&e0, &e1], [&f0, &f1]), want);
    assert_eq!(tensor_coeff([x0.clone(), x1.clone()], Some([y0, y1])), want);
    assert_eq!(
        tensor_coeff([x0.clone(), x1.clone()], None),
        tensor([&e0, &e1], [&e0, &e1])
    );
}

#[test]
fn polynomials_add_subtract_negate_and_scale_as_integers_do() {
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let basis = mixed(N, &[47, 60, 47], &[]);
    let q = product(&basis);
    let (a, b) = (random(N, &q, &mut rng), random(N, &q, &mut rng));
    let check = |what: &str, found: &Poly<Coeff>, want: &dyn Fn(&BigInt, &BigInt) -> BigInt| {
        let want: Vec<BigInt> = a.iter().zip(&b).map(|(x, y)| want(x, y)).collect();
        assert_eq!(found, &residues(&want, &basis), "{what}");
    };
    let (x, y) = (residues(&a, &basis), residues(&b, &basis));
    let change = |work: &dyn Fn(&mut Poly<Coeff>)| {
        let mut z = x.clone();
        work(&mut z);
        z
    };
    check("add", &change(&|z| z.add_assign(&y)), &|x, y| x + y);
    check("sub", &change(&|z| z.sub_assign(&y)), &|x, y| x - y);
    check("neg", &change(&|z| z.neg_assign()), &|x, _| -x);
    check("scaled", &change(&|z| z.add_scaled(&y, -7)), &|x, y| {
        x - y * 7
    });
    check(
        "scalar",
        &change(&|z| z.scalar_mul_assign(|_| 11)),
        &|x, _| x * 11,
    );
    check(
        "prefix",
        &change(&|z| z.add_scaled_prefix(&y, |_| 3)),
        &|x, y| x + y * 3,
    );
    let mut z = x.clone();
    z.add_scaled_prefix(&y.prefix(2), |_| 1);
    let mut sum = x.clone();
    sum.add_assign(&y);
    assert_eq!((z.prefix(2), z.limb(2)), (sum.prefix(2), x.limb(2)));
    z.truncate(1);
    assert_eq!(z, sum.prefix(1));
    let signed: Vec<i64> = (0..N as i64).map(|k| k - 8).collect();
    let wanted: Vec<BigInt> = signed.iter().map(|&k| BigInt::from(k)).collect();
    assert_eq!(
        Poly::from_signed(&basis, &signed),
        residues(&wanted, &basis)
    );
}

#[test]
fn automorphisms_agree_in_both_domains_and_with_the_definition() {
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    for n in [N, LARGE_N] {
        let basis = mixed(n, &[40, 60], &[]);
        let a = random(n, &product(&basis), &mut rng);
        let poly = residues(&a, &basis);
        for g in [1, 3, 5, 2 * n - 1, 2 * n - 5, n + 1] {
            let mut want = vec![BigInt::ZERO; n];
            for (k, x) in a.iter().enumerate() {
                let target = k * g % (2 * n);
                want[target % n] = if target < n { x.clone() } else { -x };
            }
            let want = residues(&want, &basis);
            assert_eq!(poly.automorphism(g), want, "g = {g}");
            let index = eval_automorphism_index(n, g);
            let permuted = poly.clone().into_eval().permuted(&index);
            assert_eq!(permuted.into_coeff(), want, "g = {g}");
        }
    }
}

#[test]
fn a_gadget_product_is_the_inner_product_of_its_digits() {
    let mut rng = ChaCha20Rng::seed_from_u64(8);
    // Whole digits, a shorter last digit, one digit for all limbs; several blocks of
    // columns.
    for (sizes, special, width) in [
        (&[48; 6][..], &[49; 2][..], 3),
        (&[48; 5], &[49; 2], 2),
        (&[48; 4], &[49; 2], 4),
        (&[48], &[49; 2], 1),
        (&[60, 40, 40, 40], &[60], 1),
        (&[60, 40, 60, 28, 55], &[60, 49], 2),
    ] {
        let limbs = sizes.len();
        let q = mixed(LARGE_N, sizes, &[]);
        let p = mixed(LARGE_N, special, &q.values());
        let extended = q.concat(&p);
        let cut = (0..limbs).step_by(width);
        let gadget = Gadget::new(&q, &p, cut.map(|start| start..(start + width).min(limbs)));
        let mut uniform = |basis: &Basis| -> Poly<Eval> {
            let words: Vec<u64> = basis
                .values()
                .into_iter()
                .flat_map(|q| {
                    (0..LARGE_N)
                        .map(|_| rng.random_range(0..q))
                        .collect::<Vec<_>>()
                })
                .collect();
            Poly::from_words(basis, words).unwrap()
        };
        let own = uniform(&q);
        let d = own.to_coeff();
        let digits = limbs.div_ceil(width);
        let key: Vec<[Poly<Eval>; 2]> = (0..digits)
            .map(|_| [uniform(&extended), uniform(&extended)])
            .collect();
        let raised = gadget.raise(&d);
        for (j, raised) in raised.iter().enumerate() {
            let (start, end) = (j * width, ((j + 1) * width).min(limbs));
            let digits = q.slice(start..end);
            let limbs: Vec<u64> = (start..end).flat_map(|i| d.limb(i).to_vec()).collect();
            let digit = Poly::from_words(&digits, limbs).unwrap();
            let of_digit: Vec<BigInt> = integers(&digit)
                .iter()
                .map(|x| centre(x, &product(&digits)))
                .collect();
            assert_eq!(
                *raised,
                residues(&of_digit, raised.basis()),
                "digit {j}, centred"
            );
        }
        // By the definition, a digit is the polynomial on its own limbs and its raised form on all
        // others.
        let wholes: Vec<Poly<Eval>> = raised
            .into_iter()
            .enumerate()
            .map(|(j, raised)| {
                let raised = raised.into_eval();
                let (start, end) = (j * width, ((j + 1) * width).min(limbs));
                let mut whole = Poly::zero(&extended);
                for i in 0..extended.len() {
                    let limb = match i {
                        _ if i < start => raised.limb(i),
                        _ if i < end => own.limb(i),
                        _ => raised.limb(i - (end - start)),
                    };
                    whole.limb_mut(i).copy_from_slice(limb);
                }
                whole
            })
            .collect();
        let want = [0, 1].map(|part| {
            let mut sum = Poly::zero(&extended);
            for (whole, key) in wholes.iter().zip(&key) {
                sum.add_assign(&whole.mul(&key[part]));
            }
            sum
        });
        let packed: Vec<[PackedPoly; 2]> = key
            .iter()
            .map(|key| key.each_ref().map(PackedPoly::from))
            .collect();
        assert_eq!(packed[0][1].to_poly(), key[0][1]);
        let limb = |j: usize, part: usize, i: usize| packed[j][part].limb(i);
        let nothing = [None; 2];
        assert_eq!(gadget.product(d.clone(), (None, nothing), limb), want);
        assert_eq!(gadget.product(d.clone(), (Some(&own), nothing), limb), want);
        let (mut carried, carry) = (want.clone(), uniform(&q));
        carried[1].add_scaled_prefix(&carry, |i| p.product_mod(q.modulus(i)));
        assert_eq!(
            gadget.product(d, (None, [None, Some(&carry)]), limb),
            carried
        );
    }
}

/// For one product, some, and more than an inner product takes at once.
#[test]
fn sums_of_tensor_products_are_those_of_the_definition() {
    let basis = mixed(LARGE_N, &[34, 50, 58], &[]);
    let mut rng = ChaCha20Rng::seed_from_u64(12);
    let mut uniform = || -> Poly<Eval> {
        let words = basis.values().into_iter().flat_map(|q| {
            let limb: Vec<u64> = (0..LARGE_N).map(|_| rng.random_range(0..q)).collect();
            limb
        });
        Poly::from_words(&basis, words.collect::<Vec<_>>()).unwrap()
    };
    let polys: Vec<Poly<Eval>> = (0..8).map(|_| uniform()).collect();
    let scalar = |i: usize| basis.modulus(i).reduce(65_537);
    for terms in [1, 3, 300] {
        let pair = |k: usize| [&polys[k % 8], &polys[(k + 3) % 8]];
        let left: Vec<[&Poly<Eval>; 2]> = (0..terms).map(pair).collect();
        let right: Vec<[&Poly<Eval>; 2]> = (0..terms).map(|k| pair(5 * k + 1)).collect();
        let sum = |parts: &[[usize; 2]]| {
            let mut sum = Poly::zero(&basis);
            for (a, b) in left.iter().zip(&right) {
                parts
                    .iter()
                    .for_each(|&[p, q]| sum.add_assign(&a[p].mul(b[q])));
            }
            sum.scalar_mul_assign(scalar);
            sum
        };
        let want = [sum(&[[0, 0]]), sum(&[[0, 1], [1, 0]]), sum(&[[1, 1]])];
        assert_eq!(tensor_sum(&basis, &left, &right, scalar), want, "{terms}");
    }
}

#[test]
fn bases_share_the_tables_of_their_moduli() {
    let q = ntt_primes(40, 256, 3).unwrap();
    let (a, b) = (
        Basis::new(256, &q[..2]).unwrap(),
        Basis::new(256, &q[1..]).unwrap(),
    );
    assert!(Arc::ptr_eq(&a.tables()[1], &b.tables()[0]));
    // Primes of the larger degree have transforms of the smaller one, with other tables.
    let half = Basis::new(128, &q[..2]).unwrap();
    assert!(!Arc::ptr_eq(&a.tables()[1], &half.tables()[1]));
    assert_eq!([a.n(), half.n()], [256, 128]);
    assert!(half.tables().iter().all(|table| table.n() == 128));
}

#[test]
fn threads_change_nothing() {
    let q = basis(LARGE_N, 48, 5, &[]);
    let r = basis(LARGE_N, 47, 7, &[]);
    let work = || {
        let seed = palladion_ring::sample::Seed([3; 32]);
        let a: Poly<Eval> = palladion_ring::sample::uniform_from_seed(&q, &seed, 0);
        let b: Poly<Eval> = palladion_ring::sample::uniform_from_seed(&q, &seed, 1);
        let scaler = Scaler::new(&q, &r, 65537);
        let raised = [&a, &b].map(|p| scaler.extend(p.to_coeff()));
        let over_r = tensor_coeff(raised, None);
        let [d_q, ..] = tensor([&a, &b], [&a, &b]);
        let scaled = scaler.scale(d_q, &over_r[0], &scaler.output(|_| 1));
        (scaled, Divider::new(&q, 2).divide(b))
    };
    assert_eq!(
        palladion_ring::in_pool(1, work),
        palladion_ring::in_pool(3, work)
    );
}

#[test]
fn bases_of_other_shapes_are_refused() {
    use palladion_ring::Error;
    let q = ntt_primes(40, N, 2).unwrap();
    let (min, max) = (Basis::MIN_DEGREE, Basis::MAX_DEGREE);
    for n in [0, 8, 24, 1 << 18] {
        assert_eq!(
            Basis::new(n, &q).unwrap_err(),
            Error::Degree { n, min, max }
        );
    }
    assert_eq!(Basis::new(N, &[]).unwrap_err(), Error::EmptyBasis);
    let repeated = Basis::new(N, &[q[0], q[1], q[0]]).unwrap_err();
    assert_eq!(
        repeated,
        Error::RepeatedModulus {
            i: 0,
            j: 2,
            q: q[0]
        }
    );
    // Even, not 1 modulo 2N, composite (33 * 65), and a prime above the kernels' limit.
    for bad in [64, 101, 33 * 65, 0, 1, (1 << 60) + 1] {
        let found = Basis::new(N, &[q[0], bad]).unwrap_err();
        let (index, q) = (1, bad);
        assert_eq!(found, Error::NotNttFriendly { index, q, n: N });
    }
    let basis = Basis::new(N, &q).unwrap();
    let words = Poly::<Coeff>::from_words(&basis, vec![0; 31]).unwrap_err();
    let (found, expected) = (31, 32);
    assert_eq!(words, Error::Words { found, expected });
    let mut words = vec![0; 32];
    words[20] = q[1];
    let residue = Poly::<Coeff>::from_words(&basis, words).unwrap_err();
    let (limb, found, q) = (1, q[1], q[1]);
    assert_eq!(residue, Error::Residue { limb, found, q });
}

proptest! {
    // Sizes from the smallest prime that splits the ring to the largest that the kernels take, and
    // few to many limbs: the error of the quotient grows with both.
    #[test]
    fn conversions_and_divisions_hold_for_any_sizes(
        from_bits in 8u32..=60, to_bits in 8u32..=60, from in 1usize..=2, more in 0usize..=8,
        to in 1usize..=2, seed: u64,
    ) {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let limbs = if from_bits > 15 { from + more } else { from };
        let Ok(primes) = ntt_primes(from_bits, N, limbs) else { return Ok(()) };
        let Ok(others) = ntt_primes_avoiding(to_bits, N, to, &primes) else { return Ok(()) };
        let (from, to) = (Basis::new(N, &primes).unwrap(), Basis::new(N, &others).unwrap());
        let q = product(&from);
        let values = random(N, &q, &mut rng);
        let input = residues(&values, &from);
        let centred: Vec<BigInt> = values.iter().map(|x| centre(x, &q)).collect();
        prop_assert_eq!(BasisConverter::new(&from, &to).exact(&input), residues(&centred, &to));
        if limbs > 1 {
            let divider = Divider::new(&from, limbs / 2);
            let d = product(&from.slice(limbs - limbs / 2..limbs));
            let want: Vec<BigInt> = values.iter().map(|x| divide_rounded(x, &d)).collect();
            prop_assert_eq!(divider.divide_coeff(input), residues(&want, divider.keep()));
        }
    }

    // Any signed word. Each limb of a polynomial holds the residues of its coefficients.
    #[test]
    fn signed_coefficients_reduce_as_integers(values in prop::collection::vec(any::<i64>(), N)) {
        let basis = basis(N, 33, 3, &[]);
        let wanted: Vec<BigInt> = values.iter().map(|&v| BigInt::from(v)).collect();
        prop_assert_eq!(Poly::from_signed(&basis, &values), residues(&wanted, &basis));
        let back = integers(&residues(&wanted, &basis));
        let q = product(&basis);
        let centred: Vec<BigInt> = back.iter().map(|x| centre(x, &q)).collect();
        prop_assert_eq!(centred, wanted);
        let magnitude = BigUint::from(u64::MAX);
        prop_assert!(q.magnitude() > &magnitude);
    }
}

#[test]
fn sums_of_any_number_of_products_are_those_of_single_products() {
    let mut rng = ChaCha20Rng::seed_from_u64(19);
    let basis = mixed(N, &[60, 49], &[]);
    let q = product(&basis);
    // Around the number of terms of one kernel call, and of two.
    for terms in [1, 255, 256, 257, 513] {
        let mut factors = || -> Vec<Poly<Eval>> {
            let values = (0..terms).map(|_| random(N, &q, &mut rng));
            values.map(|v| residues(&v, &basis).into_eval()).collect()
        };
        let (a, b) = (factors(), factors());
        let products = a.iter().zip(&b).map(|(a, b)| a.mul(b));
        let want = products.reduce(|mut sum, product| {
            sum.add_assign(&product);
            sum
        });
        let [a, b] = [&a, &b].map(|list| list.iter().collect::<Vec<_>>());
        assert_eq!(Poly::dot(&a, &b), want.unwrap(), "{terms} terms");
    }
}
