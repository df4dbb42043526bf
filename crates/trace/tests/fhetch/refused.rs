//! Texts and traces that are refused, with line, found and expected.

use palladion_trace::Error;
use palladion_trace::Trace;

/// Returns the error of a text whose `main` has these statements.
fn error(statements: &str) -> String {
    let text = format!(
        "primes Q = [97, 193];\ndef main() {{\nsr_set_rou(16, 97, 19);\nvar x = read_mrp_u32_Q(\"x.npz\", Q);\n{statements}\n}}\n"
    );
    Trace::from_fhetch(&text).unwrap_err().to_string()
}

#[test]
fn texts_are_refused_with_their_lines() {
    let line = |statements: &str, expected: &str| {
        let error = error(statements);
        assert!(error.contains(expected), "{statements}: {error}");
    };
    line("var y = x", "line 6: the next word is `}`, expected `;`");
    line(
        "var y = z;",
        "line 5: a name is `z`, expected the name of a parameter, a variable or a constant",
    );
    line(
        "var y = x * [1];",
        "line 5: the operands of * is a multi-residue polynomial and a list of numbers",
    );
    line(
        "\nvar y = BaseExtend(x, [97], [577]);",
        "line 6: a modulus is 577, expected one of the primes",
    );
    line(
        "var y = BaseExtend(x, Q, 5);",
        "line 5: the moduli is a number, expected a list of primes",
    );
    line(
        "var y = x + BaseExtend(x, [97], [97]);",
        "line 5, body main, instruction 2 (add): the type of %1 is eval 0..1",
    );
    line("var y = Rescale(x, Q);", "line 5");
    line(
        "write(x);",
        "line 5: the call is write(a multi-residue polynomial), expected a function of the text, BaseExtend,",
    );
    line(
        "sr_set_rou(16, 97, 3);",
        "line 5: the root of unity is 3, expected a word of order 32 modulo 97",
    );
    line(
        "sr_set_rou(32, 193, 3);",
        "line 5: the ring degree is 32, expected 16",
    );
    line(
        "var y = get_mrp_limb(x, 97) * get_mrp_limb(x, 97);",
        "line 5: the modulus of vectors is missing, expected `(mod q)`",
    );
    line(
        "var y = sr_NTT(get_mrp_limb(x, 97), 97);",
        "line 5: the domain of a vector is eval, expected coeff",
    );
    line(
        "var y = sr_iNTT(get_mrp_limb(x, 97), 193);",
        "line 5: the modulus of a vector is 97, expected 193",
    );
    line(
        "var y = sr_NTT([1, 2], 97);",
        "line 5: the length of a vector is 2, expected 16",
    );
    line(
        "var y = get([x], 1);",
        "line 5: the index is 1, expected below 1",
    );
    line(
        "main(x);",
        "line 5: the call of main is main, expected no recursion",
    );
    line(
        "var y = 1 << 200;",
        "line 5: the result of << is beyond, expected an integer of at most 127 bits",
    );
    line(
        "write_mrp_u32(x, \"/etc/y.npz\");",
        "line 5, body main, instruction 1 (store): the name is \"/etc/y\"",
    );
    line("var y = \"x;", "line 5: a text in quotes is cut off");
    line("var y = 1 ? 2;", "line 5: a character is `?`");
    line(
        "/* no end",
        "line 5: the text is cut off before the end of a comment, expected `*/`",
    );
    line(
        "return x; return x;",
        "line 5: the next word is `return`, expected `}` after `return`",
    );
    let deep = format!("var y = {}1;", "[".repeat(1000));
    line(
        &deep,
        "line 5: the depth of brackets at the next word is `[`, expected at most 32",
    );
}

#[test]
fn programs_without_what_they_need_are_refused() {
    let error = |text: &str| Trace::from_fhetch(text).unwrap_err().to_string();
    assert_eq!(
        error("def main() { }"),
        "line 1: the ring degree is not stated, expected a call of sr_set_rou, or a type MRP<u32, N, Q>"
    );
    let ring = "def f() { sr_set_rou(16, 97, 19); }\n";
    assert_eq!(
        error(ring),
        "line 2: the function `main` is missing, expected one without parameters"
    );
    let twice = format!("{ring}{ring}");
    assert!(error(&twice).starts_with("line 2: the name of a function is `f`"));
    assert!(
        error("prime q = 96;\ndef main() { sr_set_rou(16, 97, 19); }").contains("modulus 0 is 96")
    );
    let doubled = "def main() {\nsr_set_rou(16, 97, 19);\nvar a = [1];\n".to_owned()
        + &"var a = a || a;\n".repeat(40)
        + "}";
    assert!(
        error(&doubled).contains("a list of numbers"),
        "{}",
        error(&doubled)
    );
}

/// Returns the error of writing a trace with these lines, which follow two loads.
fn unwritten(moduli: &str, lines: &str) -> Error {
    let text = format!(
        "palladion-trace/1\nring 16\nmoduli {moduli}\n@0 = list 1 2\n@1 = words 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n\nmain:\n  %0: eval 0..2 = load x\n  %1: coeff 0..1 = constant @1\n{lines}\nend\n"
    );
    Trace::parse(&text).unwrap().to_fhetch().unwrap_err()
}

#[test]
fn operations_that_fhetch_lacks_are_refused_by_name_and_place() {
    let lacking = [
        ("sample", "  %2: eval 0..2 = sample seed 0\n  store y %2"),
        (
            "combine",
            "  %2: eval 0..2 = combine %0 list @0 first 0 modulus 1 rows 1 columns 1\n  store y %2",
        ),
        ("slots", "  %2: eval 0..1 = slots %1\n  store y %2"),
        (
            "extract",
            "  %2: coeff 0..1 = extract %1 at @1\n  %3: eval 0..1 = ntt %2\n  store y %3",
        ),
        (
            "round",
            "  %2: coeff 1..2 = constant @1\n  %3: coeff 0..1 = round %2\n  %4: eval 0..1 = ntt %3\n  store y %4",
        ),
        (
            "digit",
            "  %2: coeff 0..1 = digit %1 index 0 bits 4 count 2\n  %3: eval 0..1 = ntt %2\n  store y %3",
        ),
    ];
    for (op, lines) in lacking {
        let error = unwritten("97 193", lines).to_string();
        let index = if op == "round" { 3 } else { 2 };
        let expected = format!(
            "body main, instruction {index} ({op}): the operation is {op}, expected one that FHETCH has: arithmetic, transforms, conversions, automorphisms, calls"
        );
        assert_eq!(error, expected);
    }
}

#[test]
fn what_fhetch_lacks_of_an_operation_is_refused() {
    let refused = |moduli: &str, lines: &str, expected: &str| {
        let error = unwritten(moduli, lines).to_string();
        assert!(error.contains(expected), "{error}");
    };
    let conjugate = "  %2: eval 0..2 = automorphism %0 by 31\n  store y %2";
    refused(
        "97 193",
        conjugate,
        "instruction 2 (automorphism): the element is 31, expected a power of 5 modulo 32",
    );
    let stored = "  store y %1";
    refused(
        "97 193",
        stored,
        "instruction 2 (store): what the operation is of is coefficients",
    );
    let loaded = "  %2: coeff 0..1 = load z\n  %3: eval 0..1 = ntt %2\n  store y %3";
    refused(
        "97 193",
        loaded,
        "instruction 2 (load): what the operation is of is coefficients",
    );
    let wide = "  store y %0";
    refused(
        "97 2147483713",
        wide,
        "ring: modulus 1 is 2147483713, expected below 2^31",
    );
    let odd = "  %2: coeff 2..3 = convert %1\n  %3: coeff 1..2 = convert %2\n  %4: eval 1..2 = ntt %3\n  store y %4";
    refused(
        "97 193 101",
        odd,
        "instruction 2 (convert): modulus 2 is 101, expected 1 modulo 32",
    );
    let no_prime = "  store y %0";
    refused(
        "97 33",
        no_prime,
        "ring: a modulus is 33, expected a prime that is 1 modulo 2N",
    );
}

#[test]
fn a_sub_trace_of_coefficients_is_refused() {
    let text = "palladion-trace/1\nring 16\nmoduli 97\n\nsub f (%0: eval 0..1):\n  %1: coeff 0..1 = intt %0\n  return %1\n\nmain:\nend\n";
    let error = Trace::parse(text)
        .unwrap()
        .to_fhetch()
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("body f: a parameter or result is coeff 0..1"),
        "{error}"
    );
}

#[test]
fn what_would_not_end_or_not_fit_is_refused() {
    let lists = "var a = [x];\n".to_owned() + &"var a = [a];\n".repeat(1000);
    let depth = "the number of lists within each other is 17, expected at most 16";
    assert!(error(&lists).contains(depth), "{}", error(&lists));
    let calls = |count: usize| {
        let call = |index: usize| format!("f{}({}x{})", index + 1, "[".repeat(9), "]".repeat(9));
        let function = |index| format!("def f{index}(x) {{ return get({}, 0); }}\n", call(index));
        let functions: String = (0..count).map(function).collect();
        let last = format!("def f{count}(x) {{ return [x]; }}\n");
        let main = "def main() { sr_set_rou(16, 97, 19); var x = read_mrp_u32_Q(\"x\", [97]); var y = f0(x); }";
        Trace::from_fhetch(&(functions + &last + main))
    };
    assert!(
        calls(30).unwrap_err().to_string().contains("within"),
        "{:?}",
        calls(30)
    );
    let around = "def a(x) { return b(x); }\ndef b(x) { return a(x); }\ndef main() { sr_set_rou(16, 97, 19); a(1); }";
    let error = Trace::from_fhetch(around).unwrap_err().to_string();
    assert_eq!(
        error,
        "line 2: the call of a is main calls a calls b, expected no recursion"
    );
    let shifted =
        "var n = 0 - (1 << 126) - (1 << 126);\nvar y = Rotate(x, n);\nwrite_mrp_u32(y, \"y\");";
    let text = format!(
        "def main() {{\nsr_set_rou(16, 97, 19);\nvar x = read_mrp_u32_Q(\"x\", [97]);\n{shifted}\n}}"
    );
    assert!(Trace::from_fhetch(&text).is_ok());
}
