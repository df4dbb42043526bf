//! Operations that move words.

use crate::replay::{MODULI, N, modulus, residues, run, run_with};
use rlwe::ParamsSpec;

/// `X -> X^g` on coefficients, by its definition.
fn substituted(id: usize, x: &[u64], g: usize) -> Vec<u64> {
    let mut out = vec![0; N];
    for (i, &word) in x.iter().enumerate() {
        let exponent = i * g % (2 * N);
        let negated = exponent >= N;
        out[exponent % N] = if negated { modulus(id).neg(word) } else { word };
    }
    out
}

#[test]
fn automorphisms_are_substitutions_in_either_domain() {
    let x = residues(0..6, 1);
    for g in (1..2 * N).step_by(2) {
        let expected: Vec<Vec<u64>> = (0..6).map(|id| substituted(id, &x[id], g)).collect();
        let coeff =
            format!("%0: coeff 0..6 = load x\n%1: coeff 0..6 = automorphism %0 by {g}\nstore y %1");
        assert_eq!(run(&coeff, &x, &[]), expected, "coefficients, g = {g}");
        let eval = format!(
            "%0: coeff 0..6 = load x
            %1: eval 0..6 = ntt %0
            %2: eval 0..6 = automorphism %1 by {g}
            %3: coeff 0..6 = intt %2
            store y %3"
        );
        assert_eq!(run(&eval, &x, &[]), expected, "values, g = {g}");
    }
}

#[test]
fn slots_are_those_of_the_encoder() {
    let spec = ParamsSpec {
        n: N,
        q: vec![193],
        p: vec![257],
        digit_limbs: 1,
    };
    let params = bfv::Params::new_insecure(&spec, 97).unwrap();
    let slots = residues(0..1, 2);
    let plaintext = params.encoder().slots_to_plaintext(&slots[0]);
    let lines = "%0: coeff 0..1 = load x
        %1: eval 0..1 = slots %0
        %2: coeff 0..1 = intt %1
        store y %2";
    assert_eq!(run(lines, &slots, &[]), [plaintext.coefficients()]);
}

/// Computed word by word from the polynomial `X^(gap entry)` times the value.
#[test]
fn extractions_read_shifted_polynomials() {
    let x = residues(0..8, 3);
    let at = [3i64, -1, 0, 15, 7, 7, -9, 1, 2, 4, 5, 6, 8, 9, 10, 0];
    let entries = [0u64, 1, 5, 2, 7, 8, 3, 1, 31, 32, 33, 4, 6, 100, 9, 16];
    let words = |words: &[String]| words.join(" ");
    let constants = format!(
        "@0 = words {}\n@1 = words {}",
        words(&at.map(|w| w.to_string())),
        words(&entries.map(|w| w.to_string()))
    );
    for gap in [0, 1, 2, 3, 16] {
        let tail = match gap {
            0 => String::new(),
            gap => format!(" entries @1 gap {gap}"),
        };
        let lines =
            format!("%0: coeff 0..8 = load x\n%1: coeff 0..8 = extract %0 at @0{tail}\nstore y %1");
        let found = run_with(&constants, &lines, &x, &[]);
        for (id, found) in found.iter().enumerate() {
            for s in 0..N {
                // Multiplied by X, one step at a time.
                let mut shifted = x[id].clone();
                for _ in 0..gap * entries[s] {
                    shifted.rotate_right(1);
                    shifted[0] = modulus(id).neg(shifted[0]);
                }
                let expected = usize::try_from(at[s]).map_or(0, |at| shifted[at]);
                assert_eq!(
                    found[s], expected,
                    "word {s} modulo {}, gap {gap}",
                    MODULI[id]
                );
            }
        }
    }
}

/// Compares with the mask of a sample as `rlwe` reads it: entry `j` of coefficient `k`.
#[test]
fn an_extraction_reads_the_mask_of_a_sample() {
    let (x, gap, k) = (residues(0..1, 4), 4, 6);
    let lines = "%0: coeff 0..1 = load x
        %1: coeff 0..1 = extract %0 at @0 entries @1 gap 4
        store y %1";
    let constants = "@0 = repeat 16: 6\n@1 = words 0 1 2 3 0 0 0 0 0 0 0 0 0 0 0 0";
    let found = run_with(constants, lines, &x, &[]);
    for (j, &word) in found[0][..N / gap].iter().enumerate() {
        let back = j * gap;
        let expected = match back <= k {
            true => x[0][k - back],
            false => modulus(0).neg(x[0][k + N - back]),
        };
        assert_eq!(word, expected, "entry {j}");
    }
}

#[test]
fn selected_and_joined_limbs_are_in_the_order_of_the_table() {
    let (x, w) = (residues(0..6, 5), residues(6..8, 6));
    let lines = "%0: coeff 0..6 = load x
        %1: coeff 6..8 = load w
        %2: coeff 1..2,4..6 = select %0
        %3: coeff 0..1 = select %0
        %4: coeff 0..2,4..8 = join %1 %2 %3
        store y %4";
    let expected = [&x[0], &x[1], &x[4], &x[5], &w[0], &w[1]];
    assert_eq!(run(lines, &x, &w).iter().collect::<Vec<_>>(), expected);
}
