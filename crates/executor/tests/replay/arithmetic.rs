use crate::replay::{MODULI, N, modulus, residues, run, run_with, table};
use kernels::naive;

/// Limbs that can be transformed.
const ALL: std::ops::Range<usize> = 0..6;

/// Applies `work` to the residues of each limb.
fn each(x: &[Vec<u64>], w: &[Vec<u64>], work: impl Fn(u128, u128, u128) -> u128) -> Vec<Vec<u64>> {
    let limb = |(i, (x, w)): (usize, (&Vec<u64>, &Vec<u64>))| {
        let q = u128::from(MODULI[i]);
        let words = x.iter().zip(w);
        words
            .map(|(&x, &w)| (work(u128::from(x), u128::from(w), q) % q) as u64)
            .collect()
    };
    x.iter().zip(w).enumerate().map(limb).collect()
}

#[test]
fn sums_and_products_are_those_of_the_words() {
    let (x, w) = (residues(ALL, 1), residues(ALL, 2));
    let of = |op: &str| {
        let lines = format!(
            "%0: eval 0..6 = load x\n%1: eval 0..6 = load w\n%2: eval 0..6 = {op}\nstore y %2"
        );
        run(&lines, &x, &w)
    };
    assert_eq!(of("add %0 %1"), each(&x, &w, |x, w, _| x + w));
    assert_eq!(of("sub %0 %1"), each(&x, &w, |x, w, q| x + q - w));
    assert_eq!(of("mul %0 %1"), each(&x, &w, |x, w, _| x * w));
    let square = |x: u128, q: u128| x * x % q;
    let dot = each(&x, &w, |x, w, q| (x * w % q * 2 + square(w, q)) % q);
    assert_eq!(of("dot %0 %1, %1 %0, %1 %1"), dot);
    // More terms than fit in one call to the kernel.
    let many = ["%0 %1"; 600].join(", ");
    let product = |x: u128, w: u128, q: u128| x * w % q * 600;
    assert_eq!(of(&format!("dot {many}")), each(&x, &w, product));
    let factors = MODULI[..6].iter().map(|q| (q - 2).to_string());
    let factors = factors.collect::<Vec<_>>().join(" ");
    let scaled = each(&x, &w, |x, _, q| x * (q - 2));
    assert_eq!(of(&format!("scale %0 by {factors}")), scaled);
}

#[test]
fn transforms_are_those_of_the_definition() {
    let x = residues(ALL, 3);
    let values = run(
        "%0: coeff 0..6 = load x\n%1: eval 0..6 = ntt %0\nstore y %1",
        &x,
        &[],
    );
    let naive: Vec<Vec<u64>> = (0..6).map(|id| naive::ntt(&table(id), &x[id])).collect();
    assert_eq!(values, naive);
    let back = "%0: eval 0..6 = load x\n%1: coeff 0..6 = intt %0\nstore y %1";
    assert_eq!(run(back, &values, &[]), x);
}

#[test]
fn products_of_values_are_products_of_polynomials() {
    let (x, w) = (residues(ALL, 4), residues(ALL, 5));
    let lines = "%0: coeff 0..6 = load x
        %1: coeff 0..6 = load w
        %2: eval 0..6 = ntt %0
        %3: eval 0..6 = ntt %1
        %4: eval 0..6 = mul %2 %3
        %5: coeff 0..6 = intt %4
        store y %5";
    let product = |id: usize| naive::negacyclic_mul(&modulus(id), &x[id], &w[id]);
    assert_eq!(run(lines, &x, &w), ALL.map(product).collect::<Vec<_>>());
}

#[test]
fn combinations_are_integers_below_t_before_they_meet_a_limb() {
    let (x, w) = (residues(0..8, 6), residues(0..8, 7));
    // Modulus 6 is 101, modulus 5 has 60 bits. The list ends within the second row.
    let list = [-5i64, 1 << 40, 7];
    for (t_id, rows, columns) in [
        (6, [100u64, 3], [99u64, 1]),
        (5, [1 << 59, 2], [3, 1 << 58]),
    ] {
        let lines = format!(
            "%0: coeff 0..8 = load x
            %1: coeff 0..8 = load w
            %2: coeff 0..8, %3: coeff 0..8 = combine %0 %1 list @0 first 1 modulus {t_id} rows {} {} columns {} {}
            %4: coeff 0..8 = add %2 %3
            store y %4",
            rows[0], rows[1], columns[0], columns[1]
        );
        let found = run_with("@0 = list -5 1099511627776 7", &lines, &x, &w);
        let t = modulus(t_id);
        let entry = |r: usize, k: usize| {
            let integer = list.get(1 + 2 * r + k).copied().unwrap_or(0);
            let product = t.mul(t.mul(t.from_i64(integer), rows[r]), columns[k]);
            u128::from(product)
        };
        let expected = each(&x, &w, |x, w, q| {
            let row = |r: usize| (entry(r, 0) % q * x + entry(r, 1) % q * w) % q;
            row(0) + row(1)
        });
        assert_eq!(found, expected, "t = {}", t.value());
    }
}

#[test]
fn more_values_than_a_matrix_has_columns_are_combined() {
    let x = residues(0..8, 8);
    let (values, columns) = (["%0"; 600].join(" "), ["1"; 600].join(" "));
    let lines = format!(
        "%0: coeff 0..8 = load x
        %1: coeff 0..8 = combine {values} list @0 first 0 modulus 7 rows 3 columns {columns}
        store y %1"
    );
    let list = format!("@0 = list {}", ["2"; 600].join(" "));
    let expected = each(&x, &x, |x, _, _| x * 3600);
    assert_eq!(run_with(&list, &lines, &x, &[]), expected);
}

/// More rows than one call to the kernel computes: row `r` is `r + 1` times the value.
#[test]
fn many_rows_are_combined() {
    let x = residues(0..8, 9);
    let rows: Vec<String> = (1..=70).map(|r| r.to_string()).collect();
    let results: Vec<String> = (1..=70).map(|r| format!("%{r}: coeff 0..8")).collect();
    for row in [1, 64, 65, 70] {
        let lines = format!(
            "%0: coeff 0..8 = load x
            {} = combine %0 list @0 first 0 modulus 2 rows {} columns 1
            store y %{row}",
            results.join(", "),
            rows.join(" ")
        );
        let list = format!("@0 = list {}", ["1"; 70].join(" "));
        let expected = each(&x, &x, |x, _, _| x * row);
        assert_eq!(run_with(&list, &lines, &x, &[]), expected, "row {row}");
    }
}

#[test]
fn constants_are_their_words_modulo_the_limb() {
    let constants = "@0 = words 0 1 -1 3 4 5 6 7 8 9 10 11 12 13 14 -9223372036854775808
        @1 = sparse 2:-300 15:9223372036854775807
        @2 = repeat 3: 5 -6
        @3 = turn 5 @0
        @4 = turn 6 @3
        @5 = turn 1 @1";
    let own = |id: usize| -> Vec<i64> {
        let words = (0..N as i64).map(|i| match i {
            2 => -1,
            15 => i64::MIN,
            _ => i,
        });
        let words: Vec<i64> = words.collect();
        let mut sparse = vec![0; N];
        (sparse[2], sparse[15]) = (-300, i64::MAX);
        let turned = |words: &[i64], steps: usize| {
            let place = |i: usize| i / 8 * 8 + (i + steps) % 8;
            (0..N).map(|i| words[place(i)]).collect()
        };
        match id {
            0 => words,
            1 => sparse,
            2 => (0..N).map(|i| [5, -6][i / 3 % 2]).collect(),
            3 => turned(&words, 5),
            4 => turned(&words, 3),
            _ => turned(&sparse, 1),
        }
    };
    for id in 0..6 {
        for limb in [0, 5, 6] {
            let next = limb + 1;
            let lines = format!("%0: coeff {limb}..{next} = constant @{id}\nstore y %0");
            let q = i128::from(MODULI[limb]);
            let word = |&word: &i64| i128::from(word).rem_euclid(q) as u64;
            let expected: Vec<u64> = own(id).iter().map(word).collect();
            let found = run_with(constants, &lines, &[], &[]);
            assert_eq!(found, [expected], "@{id} in limb {limb}");
        }
    }
}

#[test]
fn zeros_are_zeros() {
    let zeros = run("%0: eval 0..2 = zero\nstore y %0", &[], &[]);
    assert_eq!(zeros, [vec![0; N], vec![0; N]]);
}
