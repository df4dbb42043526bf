//! Names and constants in a text that is written.

use crate::ir::{Constant, ModulusId, Trace};
use crate::limbs::Limbs;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

/// Names that sub-traces cannot have in a text: words of the language and of this writer.
const TAKEN: [&str; 16] = [
    "main",
    "initialize",
    "ring_dimension",
    "table",
    "zero",
    "var",
    "def",
    "return",
    "const",
    "prime",
    "primes",
    "mod",
    "get",
    "write",
    "print",
    "MRP",
];

/// The things to which bodies refer.
pub(super) struct Names<'a> {
    trace: &'a Trace,
    bases: HashMap<Limbs, usize>,
    /// Definitions of the bases, in the order of their numbers.
    definitions: String,
    /// Names of constants, by index and modulus.
    constants: BTreeMap<(usize, ModulusId), String>,
    zero: bool,
    /// Names of the sub-traces.
    pub(super) functions: Vec<String>,
}

impl<'a> Names<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        let mut taken: HashSet<String> = TAKEN.iter().map(|&word| word.into()).collect();
        let functions = trace
            .subs
            .iter()
            .map(|sub| identifier(&sub.name, &mut taken));
        Self {
            trace,
            bases: HashMap::new(),
            definitions: String::new(),
            constants: BTreeMap::new(),
            zero: false,
            functions: functions.collect(),
        }
    }

    /// Name of the list of these moduli.
    pub(super) fn base(&mut self, limbs: &Limbs) -> String {
        let next = self.bases.len();
        let number = *self.bases.entry(limbs.clone()).or_insert(next);
        if number == next {
            let q: Vec<String> = limbs
                .iter()
                .map(|limb| self.trace.moduli[limb].to_string())
                .collect();
            let _ = writeln!(self.definitions, "primes B{number} = [{}];", q.join(", "));
        }
        format!("B{number}")
    }

    /// Name of the vector of a constant modulo a modulus.
    pub(super) fn constant(&mut self, constant: usize, limb: ModulusId) -> String {
        let name = format!("c{constant}_{limb}");
        self.constants
            .entry((constant, limb))
            .or_insert_with(|| name.clone());
        name
    }

    /// Name of the vector of zeros.
    pub(super) fn zero(&mut self) -> &'static str {
        self.zero = true;
        "zero"
    }

    /// Definitions of all these names.
    pub(super) fn definitions(&self) -> String {
        let n = self.trace.n;
        let mut text = self.definitions.clone();
        let mut vector = |name: &str, words: Vec<String>| {
            let words = words.join(", ");
            let _ = writeln!(text, "const {name}: Vector<u32, {n}> = [{words}];");
        };
        if self.zero {
            vector("zero", vec!["0".into(); n]);
        }
        for ((constant, limb), name) in &self.constants {
            let q = i128::from(self.trace.moduli[*limb]);
            let words = Constant::words(&self.trace.constants, *constant, n).into_iter();
            let residues = words.map(|word| i128::from(word).rem_euclid(q).to_string());
            vector(name, residues.collect());
        }
        text
    }
}

/// Makes a name of letters, digits and `_` that is not taken yet.
fn identifier(name: &str, taken: &mut HashSet<String>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut word: String = name.chars().map(plain).collect();
    // Names must begin with letters, and differ from numbers, from the writer's own names and from
    // the language's functions.
    let own = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    let first = |mark: &str| word.strip_prefix(mark).is_some_and(own);
    let builtin = ["sr_", "read_", "write_", "get_", "set_", "empty_"];
    let language = ["BaseExtend", "Rescale", "Rotate"];
    if own(&word)
        || ["v", "c", "B", "_"].into_iter().any(first)
        || builtin.iter().any(|start| word.starts_with(start))
        || language.contains(&word.as_str())
    {
        word.insert_str(0, "f_");
    }
    while !taken.insert(word.clone()) {
        word.push('_');
    }
    word
}
