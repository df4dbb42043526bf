//! Traces as FHETCH programs, and back.

use crate::fhetch::subset;
use palladion_trace::Trace;
use proptest::prelude::*;

const KEY_SWITCH: &str = include_str!("key_switch.trace");

#[test]
fn a_key_switch_is_written_with_extensions_and_rescalings() {
    let trace = Trace::parse(KEY_SWITCH).unwrap();
    let text = trace.to_fhetch().unwrap();
    assert_eq!(text.matches("= BaseExtend(v0, ").count(), 3, "{text}");
    assert_eq!(text.matches("= Rescale(").count(), 2, "{text}");
    let dot = "v10 * v3 + v11 * v4 + v12 * v5;";
    assert!(text.contains(dot), "{text}");
    let [own, read] = [&trace, &Trace::from_fhetch(&text).unwrap()].map(|t| t.counts().passes);
    // Only the conversion of coefficients is transformed and back.
    assert_eq!((read.ntt - own.ntt, read.intt - own.intt), (7, 7));
    assert_eq!(read.conversion_terms, own.conversion_terms);
    assert_eq!(read.dot_terms, own.dot_terms);
}

#[test]
fn what_a_text_was_read_as_is_written_as_that_text() {
    let text = Trace::parse(KEY_SWITCH).unwrap().to_fhetch().unwrap();
    let only = |text: &str| -> String {
        let simple = |line: &&str| !line.contains("mrp_limb") && !line.contains("sr_");
        text.lines()
            .filter(simple)
            .map(|line| format!("{line}\n"))
            .collect()
    };
    let again = Trace::from_fhetch(&text).unwrap().to_fhetch().unwrap();
    let names = |text: &str| text.matches("MRP<u32, 16,").count();
    assert_eq!(names(&only(&again)), names(&only(&text)));
    let twice = Trace::from_fhetch(&again).unwrap();
    assert_eq!(twice.to_fhetch().unwrap(), again);
}

#[test]
fn names_of_sub_traces_become_names_of_functions() {
    let text = "palladion-trace/1\nring 16\nmoduli 97\n
sub a.b (%0: eval 0..1):
  return %0

sub a-b (%0: eval 0..1):
  %1: eval 0..1 = call a.b %0
  return %1

sub Rotate (%0: eval 0..1):
  %1: eval 0..1 = call a-b %0
  return %1

main:
  %0: eval 0..1 = load x
  %1: eval 0..1 = call Rotate %0
  store y %1
end
";
    let text = Trace::parse(text).unwrap().to_fhetch().unwrap();
    let names = ["def a_b(", "def a_b_(", "def f_Rotate("];
    assert!(names.iter().all(|name| text.contains(name)), "{text}");
    assert_eq!(Trace::from_fhetch(&text).unwrap().subs.len(), 3);
}

proptest! {
    #[test]
    fn common_traces_are_written_and_read(numbers in prop::collection::vec(any::<u32>(), 0..150)) {
        let trace = subset::trace(&numbers);
        let text = trace.to_fhetch().unwrap();
        let read = Trace::from_fhetch(&text);
        prop_assert!(read.is_ok(), "{}\n{text}", read.unwrap_err());
        let read = read.unwrap();
        prop_assert_eq!(read.n, trace.n);
        prop_assert_eq!(&read.moduli, &trace.moduli);
        let [read, own] = [read, trace].map(|t| t.counts().passes);
        prop_assert_eq!((read.loaded, read.stored), (own.loaded, own.stored));
    }

    /// A text that is cut off is refused, unless only white space is missing.
    #[test]
    fn text_that_is_cut_off_is_refused(part in 0.0..1.0) {
        let text = Trace::parse(KEY_SWITCH).unwrap().to_fhetch().unwrap();
        let cut = ((text.len() - 2) as f64 * part) as usize;
        prop_assert!(Trace::from_fhetch(&text[..cut]).is_err());
    }

    #[test]
    fn changed_bytes_do_not_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0x20u8..0x7f), 1..4),
    ) {
        let mut text = Trace::parse(KEY_SWITCH).unwrap().to_fhetch().unwrap().into_bytes();
        for (index, byte) in changes {
            let at = index.index(text.len());
            text[at] = byte;
        }
        if let Ok(trace) = Trace::from_fhetch(&String::from_utf8(text).unwrap()) {
            trace.counts();
        }
    }
}
