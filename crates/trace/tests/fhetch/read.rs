//! FHETCH programs as people write them.

use palladion_trace::Trace;

/// A relinearised product with two digits and two special moduli.
const PRODUCT: &str = r#"
primes Low = [0x61, 193];
primes High = [257, 353];
primes Q = Low||High;
primes P = [449, 577];
primes QP = Q||P; // the extended basis
const ring_dimension: u32 = 1 << 4;

/* Roots that are not the least ones. */
def initialize() {
    sr_set_rou(ring_dimension, 97, 46);
}

def KeySwitch(poly: MRP<u32, 1024, Q>, k00, k01, k10, k11) {
    var digit0 = BaseExtend(poly, Low, QP);
    var digit1 = BaseExtend(poly, High, QP);
    var sum0 = digit0 * k00 + digit1 * k10;
    var sum1 = digit0 * k01 + digit1 * k11;
    return [Rescale(sum0, P), Rescale(sum1, P)];
}

def main() {
    initialize();
    var a: MRP<u32, 1024, Q> = read_mrp_u32_Q("in/a.npz", Q);
    var b: MRP<u32, 1024, Q> = read_mrp_u32_1024_Q("in/b.npz", Q);
    var k00 = read_mrp_u32_Q("keys/00.npz", QP);
    var k01 = read_mrp_u32_Q("keys/01.npz", QP);
    var ks = KeySwitch(a * b, k00, k01, k01, k00);
    var c = a + get(ks, 0);
    var c = Rescale(c, [353]);
    write_mrp_u32(c, "out/c.npz");
    write_mrp_u32(b - get(ks, 1), "out/d.npz");
}
"#;

#[test]
fn a_key_switch_becomes_conversions_between_transforms() {
    let trace = Trace::from_fhetch(PRODUCT).unwrap();
    let expected = "palladion-trace/1
ring 16
moduli 97 193 257 353 449 577

sub KeySwitch (%0: eval 0..4, %1: eval 0..6, %2: eval 0..6, %3: eval 0..6, %4: eval 0..6):
  %5: eval 0..2 = select %0
  %6: coeff 0..2 = intt %5
  %7: coeff 2..6 = convert %6
  %8: eval 2..6 = ntt %7
  %9: eval 2..4 = select %0
  %10: coeff 2..4 = intt %9
  %11: coeff 0..2,4..6 = convert %10
  %12: eval 0..2,4..6 = ntt %11
  %13: eval 0..6 = join %5 %8
";
    let text = trace.to_string();
    assert!(text.starts_with(expected), "{text}");
    let passes = trace.counts().passes;
    // Four limbs of digits, two special limbs for each of two components, and one dropped limb.
    assert_eq!(passes.intt, 4 + 2 * 2 + 1);
    assert_eq!(passes.ntt, 2 * 4 + 2 * 4 + 3);
    assert_eq!(passes.dot_terms, 2 * 2 * 6);
    assert_eq!(Trace::from_fhetch(&trace.to_fhetch().unwrap()), Ok(trace));
}

#[test]
fn vectors_modulo_a_prime_are_values_of_one_limb() {
    let text = "prime q = (3 << 5) + 1;
const turn: Vector<u32, 16> = [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -2];
def initialize(n) { sr_set_rou(n, q, 19); sr_set_rou(16, 193, 8); }
def times(x, y, q) { var z = x * y + x (mod q); return sr_iNTT(z, q); }
def main() {
    initialize(16);
    var x = read_mrp_u32_Q(\"x.npz\", [q, 193]);
    var y = times(get_mrp_limb(x, q), sr_NTT(turn, q), q);
    var y = sr_mulp(sr_subp(y, turn, q), 100, q);
    var z = set_mrp_limb(Rotate(x, 1), q, sr_NTT(y, q));
    write_mrp_u32(z, \"z.npz\");
}
";
    let main = "main:
  %0: eval 0..2 = load x
  %1: coeff 0..1 = constant @0
  %2: eval 0..1 = select %0
  %3: eval 0..1 = ntt %1
  %4: coeff 0..1 = call times %2 %3
  %5: coeff 0..1 = constant @0
  %6: coeff 0..1 = sub %4 %5
  %7: eval 0..2 = automorphism %0 by 13
  %8: coeff 0..1 = scale %6 by 3
  %9: eval 0..1 = ntt %8
  %10: eval 1..2 = select %7
  %11: eval 0..2 = join %9 %10
  store z %11
end
";
    let text = Trace::from_fhetch(text).unwrap().to_string();
    assert!(text.ends_with(main), "{text}");
    assert!(
        text.contains("moduli 97 193\n@0 = words 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 95\n"),
        "{text}"
    );
}

#[test]
fn without_roots_types_state_the_ring_degree() {
    let text = "primes Q = [97];
def main() {
    var x: MRP<u32, 16, Q> = read_mrp_u32_Q(\"x.npz\", Q);
    write_mrp_u32(x, \"y.npz\");
}";
    assert_eq!(Trace::from_fhetch(text).unwrap().n, 16);
}

#[test]
fn functions_that_read_stand_in_their_callers_and_others_are_one_sub_trace_for_each_kind() {
    let text = "primes Q = [97, 193];
def double(x) { return x + x; }
def input(name) { return read_mrp_u32_Q(name, Q); }
def both(x) { var y = input(\"b.npz\"); return double(x) * double(y); }
def main() {
    sr_set_rou(16, 97, 19);
    var x = input(\"a.npz\");
    var y = double(BaseExtend(x, [97], [97]));
    write_mrp_u32(both(x), \"y.npz\");
    write_mrp_u32(y, \"z.npz\");
}";
    let trace = Trace::from_fhetch(text).unwrap();
    let names: Vec<&str> = trace.subs.iter().map(|sub| sub.name.as_str()).collect();
    assert_eq!(names, ["double", "double.2"]);
    assert_eq!(trace.counts().passes.loaded, 4);
}
