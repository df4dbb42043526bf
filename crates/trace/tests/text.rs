use crate::random;
use palladion_trace::Trace;
use proptest::prelude::*;

/// Every operation and constant, as written by the writer.
pub(crate) const EVERY: &str = "palladion-trace/1
ring 16
moduli 97 193 257 101 2^5 2^64
@0 = words 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 -15
@1 = sparse 0:5 15:-3
@2 = repeat 2: 1 0
@3 = turn 5 @2
@4 = list 1 -2 3

sub inner (%0: eval 0..2, %1: coeff 3..4):
  %2: coeff 0..2 = intt %0
  %3: coeff 0..2,3..4 = join %2 %1
  %4: coeff 2..3 = convert %3
  return %4 %2

sub idle.2 ():
  return

main:
  %0: eval 0..2 = load query/0
  %1: eval 0..2 = sample seeds/query 7
  %2: coeff 3..4 = constant @3
  %3: coeff 2..3, %4: coeff 0..2 = call inner %0 %2
  call idle.2
  %5: coeff 0..2 = zero
  %6: coeff 0..2 = add %4 %5
  %7: coeff 0..2 = sub %6 %4
  %8: eval 0..2 = ntt %7
  %9: eval 0..2 = mul %8 %0
  %10: eval 0..2 = dot %0 %1, %8 %9
  %11: eval 0..2 = scale %10 by 5 192
  %12: eval 0..2, %13: eval 0..2 = combine %10 %11 list @4 first 1 modulus 3 rows 1 100 columns 2 3
  %14: eval 0..2 = automorphism %13 by 31
  %15: eval 2..3 = slots %3
  %16: coeff 0..2 = extract %4 at @0
  %17: coeff 0..2 = extract %16 at @2 entries @3 gap 4
  %18: coeff 1..2 = select %17
  %19: coeff 0..1 = round %18
  %20: coeff 1..2 = digit %18 index 1 bits 4 count 2
  %21: coeff 4..5 = constant @2
  %22: coeff 1..2 = turn %20 by %21
  %23: coeff 5..6 = expand seeds/query 7 skip 16
  %24: coeff 1..2 = shift %22 by 17
  store answer/0 %14
  store answer/1 %24
end
";

#[test]
fn every_operation_is_read_and_written_as_it_stands() {
    let trace = Trace::parse(&EVERY.replace("-15", "15")).unwrap();
    assert_eq!(trace.to_string(), EVERY.replace("-15", "15"));
    let mut bytes = Vec::new();
    trace.write_to(&mut bytes).unwrap();
    assert_eq!(bytes, trace.to_string().into_bytes());
    let names = palladion_trace::Op::NAMES;
    let kinds = trace.counts().instructions;
    let missing = names.iter().zip(kinds).filter(|(_, count)| *count == 0);
    assert_eq!(missing.count(), 0, "the text shows every operation");
}

#[test]
fn empty_lines_and_comments_do_not_count() {
    let text = EVERY.replace("-15", "15");
    let trace = Trace::parse(&text).unwrap();
    let spaced = text.replace('\n', "\n\n  # a comment: %0\n");
    assert_eq!(Trace::parse(&spaced).unwrap(), trace);
}

proptest! {
    #[test]
    fn a_trace_is_its_text(numbers in prop::collection::vec(any::<u32>(), 0..400)) {
        let trace = random::trace(&numbers);
        let text = trace.to_string();
        let read = Trace::parse(&text);
        prop_assert_eq!(read.as_ref(), Ok(&trace));
        prop_assert_eq!(read.unwrap().to_string(), text);
    }

    /// Any such text is refused without a panic.
    #[test]
    fn text_that_is_cut_off_is_refused(
        numbers in prop::collection::vec(any::<u32>(), 0..200),
        part in 0.0..1.0,
    ) {
        let text = random::trace(&numbers).to_string();
        // Everything except the last line, of which the line break may be missing.
        let cut = ((text.len() - 2) as f64 * part) as usize;
        prop_assert!(Trace::parse(&text[..cut]).is_err());
    }

    #[test]
    fn changed_bytes_do_not_panic(
        numbers in prop::collection::vec(any::<u32>(), 0..200),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0x20u8..0x7f), 1..4),
    ) {
        let mut text = random::trace(&numbers).to_string().into_bytes();
        for (index, byte) in changes {
            let at = index.index(text.len());
            text[at] = byte;
        }
        if let Ok(trace) = Trace::parse(&String::from_utf8(text).unwrap()) {
            trace.counts();
        }
    }
}

/// The other tests only mean something if random traces have all operations.
#[test]
fn random_traces_have_every_operation() {
    let mut state = 1u64;
    let mut draw = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 32) as u32
    };
    let mut total = [0; palladion_trace::Op::NAMES.len()];
    for _ in 0..400 {
        let numbers: Vec<u32> = (0..400).map(|_| draw()).collect();
        let kinds = random::trace(&numbers).counts().instructions;
        total.iter_mut().zip(kinds).for_each(|(sum, n)| *sum += n);
    }
    assert!(total.iter().all(|&n| n >= 5), "{total:?}");
}
