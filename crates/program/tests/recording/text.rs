use palladion_program::Error;
use palladion_program::recording::{Message, Recording, Type};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Every operation, plaintext and message in the text form.
pub(crate) const EVERY: &str = "palladion-recording/1
ring 16
moduli 97 193 257 353
special 449 673
digits 0..2 2..4
plain 577 641
samples dimension 8 bits 4
relinearization 3
galois 5:3 25:3 31:2
packing_keys 8:3
@0 = words 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 -15
@1 = sparse 0:5 15:-3
@2 = list 1 -2 3
@3 = repeat 2: 1 0
packing 0 = values 8 baby 2 sources %5 samples 0:3+0:15 - 0:0
step 0:
  %0 = input 0 : level 1, factor 1
  %1 = given low/1 : level 0, factor 5
step 1:
  %2 = mul_plain %0*coefficients @0*1 : level 1, factor 1
  %3 = add_plain %2 coefficients @1 : level 1, factor 1
  %4 = switch %3 : level 0, factor 1
  %5 = to_samples %4 : samples
step 2:
  %6 = packing_key 8/0 : level 3, factor 1
  %7 = automorphism %6 by 5 : level 3, factor 1
  %8 = mul_masks %6*1 %7*1 of packing 0 giant 0 : level 3, factor 1
  %9 = mul_masks %6*1 %7*1 of packing 0 giant 1 : level 3, factor 1
  %10 = automorphism %9 by 25 : level 3, factor 1
  %11 = add %8 %10 : level 3, factor 1
  %12 = add_bodies %11 of packing 0 : level 3, factor 1
  %13 = switch %12 : level 2, factor 1
step 3:
  %14 = tensor %13*%13 : level 2, factor 306, 3 components
  %15 = relinearize %14 : level 1, factor 306
  %16 = drop %13 : level 1, factor 257
  %17 = combine %13 %15 by %16 list @2 first 1 rows 1 columns 1 229 : level 1, factor 170, 3 components
  %18 = relinearize %17 : level 0, factor 170
  %19 = mul_plain %18*slots @3*17 %1*rounded %1/0*7*1 : level 0, factor 5
  %20 = trivial rounded %1/1*3 : level 0, factor 1
  %21 = scale %20 by -3*2^4/577 : level 0, factor 5
  %22 = sub %19 %21 : level 0, factor 5
  %23 = output answer/0 %22 : level 0, factor 5
step 5:
  %24 = given other : level 1, factor 3 modulo 641
  %25 = switch_secret %24 to sparse : level 1, factor 3 modulo 641
  %26 = raise %25 : level 2, factor 3 modulo 641
  %27 = switch_secret %26 to dense : level 2, factor 3 modulo 641
  %28 = output answer/1 %27 : level 2, factor 3 modulo 641
step 4:
  %29 = given approximate : level 2, scale 2^40
  %30 = extend %29 : level 2, scale 2^40, extended
  %31 = automorphism %29 by 31 : level 2, scale 2^40, extended
  %32 = mul_plain %30*integers @3 %31*integers @1*3*2^4 : level 2, scale 1.25*2^47, extended
  %33 = switch %32 : level 1, scale 1.0000000000000002*2^39
  %34 = add_plain %33 integers @1*-1 : level 1, scale 1.0000000000000002*2^39
  %35 = output answer/2 %34 : level 1, scale 1.0000000000000002*2^39
  %36 = external_product %34 with bits/0 of level 2 : level 1, scale 1.0000000000000002*2^39
  %37 = external_product %36 with bits/0 of level 2 : level 1, scale 1.0000000000000002*2^39
  %38 = output answer/3 %37 : level 1, scale 1.0000000000000002*2^39
end
";

#[test]
fn every_operation_is_read_and_written_as_it_stands() {
    let recording = Recording::parse(EVERY).unwrap();
    assert_eq!(recording.to_string(), EVERY);
    let names: BTreeSet<_> = recording.steps.iter().map(|step| step.op.name()).collect();
    assert_eq!(names.len(), 23, "the text shows every operation");
}

#[test]
fn blocks_are_read_and_written_as_they_stand() {
    let text = EVERY.replace("trivial rounded %1/1*3", "trivial blocks %5/1");
    assert_eq!(Recording::parse(&text).unwrap().to_string(), text);
    for (wrong, expected) in [
        (
            "%1/1",
            "the samples of blocks is %1, expected earlier samples",
        ),
        ("%5/2", "the component is 2, expected 0 or 1"),
        (
            "%5*1",
            "the plaintext is `%5*1`, expected a component as %1/0",
        ),
    ] {
        let error = Recording::parse(&text.replace("blocks %5/1", &format!("blocks {wrong}")));
        let error = error.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn empty_lines_and_comments_do_not_count() {
    let spaced = EVERY.replace("step 3:", "\n # a comment\n step 3: ") + "\n# the end\n";
    assert_eq!(
        Recording::parse(&spaced).unwrap(),
        Recording::parse(EVERY).unwrap()
    );
}

#[test]
fn the_text_of_another_version_is_refused() {
    let error = Recording::parse(&EVERY.replace("recording/1", "recording/2")).unwrap_err();
    let expected = Error::Format {
        found: "`palladion-recording/2`".into(),
        expected: "`palladion-recording/1`".into(),
    };
    assert_eq!(error, expected);
}

#[test]
fn operations_are_counted_by_level() {
    let counts = Recording::parse(EVERY).unwrap().counts();
    assert_eq!(counts.operations["switch"].values().sum::<u64>(), 3);
    let text = counts.to_string();
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
    assert_eq!(line("automorphism"), "automorphism         3  3: 2, 2: 1");
    assert_eq!(line("switch "), "switch               3  2: 1, 1: 1, 0: 1");
}

proptest! {
    /// All doubles that may be scales.
    #[test]
    fn scales_read_back_exactly(scale in (1u64..2047, 0u64..1 << 52).prop_map(|(e, m)| f64::from_bits(e << 52 | m))) {
        let mut recording = Recording::parse(EVERY).unwrap();
        for step in &mut recording.steps[33..] {
            if let Type::Ciphertext(ty) = &mut step.ty {
                ty.message = Message::Approximate { scale };
            }
        }
        prop_assert_eq!(Recording::parse(&recording.to_string()).unwrap(), recording);
    }

    #[test]
    fn text_that_is_cut_is_refused(part in 0.0..1.0) {
        // Without its last line break the text still ends with `end`.
        let cut = ((EVERY.len() - 1) as f64 * part) as usize;
        prop_assert!(Recording::parse(&EVERY[..cut]).is_err());
    }

    /// Reading any text ends without a panic. A text that is read is written again as it was
    /// understood.
    #[test]
    fn other_characters_are_refused_or_understood(
        changes in prop::collection::vec((any::<prop::sample::Index>(), "[ -~]"), 1..4),
    ) {
        let mut text = EVERY.to_owned();
        for (place, to) in changes {
            let place = place.index(text.len());
            text.replace_range(place..=place, &to);
        }
        if let Ok(recording) = Recording::parse(&text) {
            prop_assert_eq!(Recording::parse(&recording.to_string()).unwrap(), recording);
        }
    }
}
