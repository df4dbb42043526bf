//! The texts in the documentation are those of the code.

use palladion_evaluate::torus::gate;
use tfhe::{Gate, sets};
use trace::Passes;

/// The texts of `docs/programs.md`.
#[test]
fn the_documented_texts_are_those_of_the_gate() {
    let page = include_str!("../../../../docs/programs.md");
    let (_, section) = page.split_once("## A gate of TFHE").unwrap();
    let blocks: Vec<&str> = section.split("```").skip(1).step_by(2).collect();
    let texts = blocks
        .iter()
        .filter_map(|block| block.strip_prefix("text\n"));
    let [described, instructions] = texts.collect::<Vec<_>>()[..] else {
        panic!("two texts")
    };
    let circuit = gate(&sets::gates_2m128(), Gate::Nand);
    assert_eq!(described, circuit.to_string());
    let trace = lower::torus::lower(&circuit).unwrap();
    let text = trace.to_string();
    // Dots stand for omitted lines, and for the omitted end of a line.
    let lines: Vec<&str> = text.lines().collect();
    let mut rest = lines.iter();
    for line in instructions.lines().filter(|line| line.trim() != "...") {
        let begin = line.strip_suffix("...");
        let same = |own: &&&str| begin.map_or(**own == line, |begin| own.starts_with(begin));
        assert!(rest.by_ref().any(|own| same(&own)), "{line}");
    }
    let Passes { ntt, intt, .. } = trace.counts().passes;
    for number in [ntt, intt] {
        let digits = number.to_string();
        let (thousands, last) = digits.split_at(digits.len() - 3);
        assert!(section.contains(&format!("{thousands},{last}")), "{number}");
    }
}
