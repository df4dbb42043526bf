//! Limbs modulo powers of two, and products that are exact by residues, compared with integers and
//! with the torus of `ring`.

use crate::replay::{MODULI, N, modulus, random, residues, run};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::torus::{Decomposition, Multiplier, Naive};
use std::slice::from_ref;

/// Indices of `2^5 = 2N`, `2^64` and `2^12` in the table of moduli.
const ORDER: usize = MODULI.len();
const WORD: usize = ORDER + 1;
const SHORT: usize = ORDER + 2;

/// A limb of a power in the text form.
fn ty(power: usize) -> String {
    format!("coeff {power}..{}", power + 1)
}

fn words(power: usize, seed: u64) -> Vec<u64> {
    residues(power..power + 1, seed).remove(0)
}

fn centred(power: usize, word: u64) -> i64 {
    let above = random::TABLE.greatest(power).leading_zeros();
    (word << above) as i64 >> above
}

#[test]
fn words_wrap_around() {
    for power in [ORDER, WORD, SHORT] {
        let (x, w, ty) = (words(power, 1), words(power, 2), ty(power));
        let greatest = random::TABLE.greatest(power);
        let of = |op: &str| {
            let lines =
                format!("%0: {ty} = load x\n%1: {ty} = load w\n%2: {ty} = {op}\nstore y %2");
            run(&lines, from_ref(&x), from_ref(&w)).remove(0)
        };
        let each = |work: &dyn Fn(u64, u64) -> u64| -> Vec<u64> {
            let pairs = x.iter().zip(&w);
            pairs.map(|(&x, &w)| work(x, w) & greatest).collect()
        };
        assert_eq!(of("add %0 %1"), each(&u64::wrapping_add));
        assert_eq!(of("sub %0 %1"), each(&u64::wrapping_sub));
        let scaled = each(&|x, _| x.wrapping_mul(greatest - 1));
        assert_eq!(of(&format!("scale %0 by {}", greatest - 1)), scaled);
        let reversed = |i: usize| match i {
            0 => x[0],
            _ => x[N - i].wrapping_neg() & greatest,
        };
        let reversed: Vec<u64> = (0..N).map(reversed).collect();
        assert_eq!(of("automorphism %0 by 31"), reversed);
    }
}

/// Multiplied by X, one step at a time, modulo a prime and modulo powers of two.
#[test]
fn turns_and_shifts_are_products_with_the_power() {
    let limbs = [0, WORD, SHORT];
    let x = limbs.map(|id| words(id, 3));
    let mut expected = x.clone();
    for exponent in 0..2 * N as u64 {
        let lines = format!(
            "%0: coeff 0..1,{WORD}..{} = load x
            %1: {} = load w
            %2: coeff 0..1,{WORD}..{} = turn %0 by %1
            store y %2",
            SHORT + 1,
            ty(ORDER),
            SHORT + 1
        );
        let mut by = words(ORDER, 4);
        by[0] = exponent;
        assert_eq!(run(&lines, &x, &[by]), expected, "exponent {exponent}");
        let line = format!(
            "%0: coeff 0..1,{WORD}..{} = load x
            %1: coeff 0..1,{WORD}..{} = shift %0 by {exponent}
            store y %1",
            SHORT + 1,
            SHORT + 1
        );
        assert_eq!(run(&line, &x, &[]), expected, "exponent {exponent}");
        for (id, limb) in limbs.into_iter().zip(&mut expected) {
            limb.rotate_right(1);
            limb[0] = match id {
                0 => modulus(0).neg(limb[0]),
                id => limb[0].wrapping_neg() & random::TABLE.greatest(id),
            };
        }
    }
}

#[test]
fn digits_are_those_of_the_torus() {
    let x = words(WORD, 5);
    let digits = Decomposition::new(3, 4).unwrap();
    let mut expected = vec![0; 4 * N];
    digits.digits_into(&mut expected, &x);
    for level in 1..=4 {
        let lines = format!(
            "%0: {word} = load x
            %1: {short} = round %0
            %2: {short} = digit %1 index {} bits 3 count 4
            %3: coeff 0..1,{WORD}..{} = convert %2
            store y %3",
            4 - level,
            WORD + 1,
            word = ty(WORD),
            short = ty(SHORT),
        );
        let found = run(&lines, from_ref(&x), &[]);
        let own = &expected[(level - 1) * N..][..N];
        let words: Vec<u64> = own.iter().map(|&digit| i64::from(digit) as u64).collect();
        let residues = own.iter().map(|&digit| modulus(0).from_i64(digit.into()));
        assert_eq!(found, [residues.collect(), words], "level {level}");
    }
}

#[test]
fn powers_are_converted_as_centred_integers() {
    for power in [ORDER, WORD, SHORT] {
        let x = words(power, 6);
        let to: Vec<usize> = (0..=SHORT).filter(|&id| id != power).collect();
        let (before, after) = (power, power + 1);
        let to_type = match after <= SHORT {
            true => format!("coeff 0..{before},{after}..{}", SHORT + 1),
            false => format!("coeff 0..{before}"),
        };
        let lines = format!(
            "%0: {} = load x\n%1: {to_type} = convert %0\nstore y %1",
            ty(power)
        );
        let limb = |&id: &usize| -> Vec<u64> {
            let integers = x.iter().map(|&word| centred(power, word));
            let residue = |integer: i64| match id < MODULI.len() {
                true => modulus(id).from_i64(integer),
                false => integer as u64 & random::TABLE.greatest(id),
            };
            integers.map(residue).collect()
        };
        let expected: Vec<Vec<u64>> = to.iter().map(limb).collect();
        assert_eq!(run(&lines, &[x], &[]), expected);
    }
}

#[test]
fn roundings_between_powers_are_to_the_nearest() {
    let x = words(WORD, 7);
    let lines = format!(
        "%0: {} = load x\n%1: {} = round %0\nstore y %1",
        ty(WORD),
        ty(SHORT)
    );
    let rounded = x
        .iter()
        .map(|&word| ((u128::from(word) + (1 << 51)) >> 52) as u64 & 4095);
    let expected: Vec<u64> = rounded.collect();
    assert_eq!(run(&lines, &[x], &[]), [expected]);
}

#[test]
fn words_of_seeds_are_those_of_the_stream() {
    let lines = |skip: usize| {
        let ty = ty(WORD);
        format!("%0: {ty} = expand abc 5 skip {skip}\nstore y %0")
    };
    // The seed of a name of three letters.
    let mut rng = ChaCha20Rng::from_seed([3; 32]);
    rng.set_stream(5);
    let words: Vec<u64> = (0..3 * N).map(|_| rng.next_u64()).collect();
    for skip in [0, 1, N, 2 * N] {
        assert_eq!(run(&lines(skip), &[], &[]), [&words[skip..][..N]]);
    }
}

/// Digits times words as integers. Their residues modulo two primes determine the sum, whose low
/// bits are those of the words.
#[test]
fn products_of_digits_and_words_are_exact() {
    let (digits, key) = (words(SHORT, 8), words(WORD, 9));
    let lines = format!(
        "%0: {short} = load x
        %1: {word} = load w
        %2: coeff 4..6 = convert %0
        %3: coeff 4..6 = convert %1
        %4: eval 4..6 = ntt %2
        %5: eval 4..6 = ntt %3
        %6: eval 4..6 = dot %4 %5, %4 %5
        %7: coeff 4..6 = intt %6
        %8: {word} = convert %7
        store y %8",
        short = ty(SHORT),
        word = ty(WORD)
    );
    let signed: Vec<i32> = digits.iter().map(|&d| centred(SHORT, d) as i32).collect();
    let mut expected = vec![0u64; N];
    for _ in 0..2 {
        Naive::new(N).dot_add(&mut expected, &signed, &key, &mut ());
    }
    assert_eq!(run(&lines, &[digits], &[key]), [expected]);
}
