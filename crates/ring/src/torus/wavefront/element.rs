//! One processing element: its computation and its instructions.

/// Lanes of a vector: `v8int32` of an AI Engine.
pub const LANES: usize = 8;
/// Accumulators of a loop, as in the published code: four `v8acc80`.
pub const ACCUMULATORS: usize = 4;

/// An instruction of the inner loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// Loads a word or a vector from local memory into a register.
    Load,
    /// Copies a word into all lanes of a vector: `broadcast`, equation 8.
    Broadcast,
    /// Moves a vector up by one lane and puts a word into lane 0: `shft_elem`, which the published
    /// code uses for the `upd_elem` of equation 9.
    Shift,
    /// Adds eight products to an accumulator: `mac`, equation 10.
    MultiplyAccumulate,
    /// Multiplies, adds or subtracts eight numbers in single precision.
    Float,
    /// Takes the low 32 bits of each lane of an accumulator: `srs` by 0, wrapping. In a pipeline of
    /// transforms also a conversion between integers and floating-point numbers.
    Narrow,
    /// Stores a vector into local memory.
    Store,
}

/// The issue of an instruction, and the earlier issues of its section on which it depends, as
/// indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// The instruction.
    pub instruction: Instruction,
    /// Issues whose results this one reads.
    pub needs: Vec<usize>,
    /// Issues that read a value which this one overwrites. This issue may start in the same cycle
    /// as these, not earlier.
    pub not_before: Vec<usize>,
}

/// A sequence of instructions that is run `times` times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The instructions of one run.
    pub issues: Vec<Issue>,
    /// Number of runs.
    pub times: usize,
}

/// The element at position `place` of a chain. It computes coefficients `place * block ..` of each
/// product.
///
/// The memory of an element holds one polynomial of digits, one polynomial of words extended by its
/// negative, and the block of results.
#[derive(Clone, Debug)]
pub struct Element {
    block: usize,
    place: usize,
    digits: Vec<u32>,
    /// `-b`, then `b`: `b_i` is at `n + i`, for `-n <= i < n`.
    extended: Vec<u32>,
    results: Vec<u32>,
}

impl Element {
    /// # Panics
    /// If `block` is no multiple of [`LANES`].
    pub(super) fn new(n: usize, block: usize, place: usize) -> Self {
        assert!(block.is_multiple_of(LANES), "blocks are whole vectors");
        Self {
            block,
            place,
            digits: vec![0; n],
            extended: vec![0; 2 * n],
            results: vec![0; block],
        }
    }

    /// Number of coefficients of a polynomial.
    pub fn n(&self) -> usize {
        self.digits.len()
    }

    /// Number of coefficients that this element computes.
    pub fn block(&self) -> usize {
        self.block
    }

    /// Number of coefficients that the elements before this one compute. This one passes them on.
    pub fn before(&self) -> usize {
        self.place * self.block
    }

    /// Bytes of local memory.
    pub fn memory(&self) -> usize {
        4 * (self.digits.len() + self.extended.len() + self.results.len())
    }

    /// Takes word `i` of both streams, and returns the same words for the next element.
    #[inline]
    pub fn receive(&mut self, i: usize, [digit, word]: [u32; 2]) -> [u32; 2] {
        let n = self.n();
        self.digits[i] = digit;
        self.extended[i] = word.wrapping_neg();
        self.extended[n + i] = word;
        [digit, word]
    }

    /// Computes the block. `issue` is called for every instruction.
    ///
    /// Only the low 32 bits of a lane leave an accumulator, and they depend only on the low 32 bits
    /// of the inputs. Lanes therefore have 32 bits here. Lanes of 80 bits, which no sum of `N`
    /// products overflows, give the same words.
    pub fn compute(&mut self, mut issue: impl FnMut(Instruction)) {
        let (n, first) = (self.n(), self.place * self.block);
        let loops = self.results.chunks_mut(LANES * ACCUMULATORS);
        for (index, results) in loops.enumerate() {
            let start = n + first + index * LANES * ACCUMULATORS;
            let operands = (&self.digits[..], &self.extended[..]);
            match results.len() / LANES {
                4 => block::<4>(operands, start, results, &mut issue),
                3 => block::<3>(operands, start, results, &mut issue),
                2 => block::<2>(operands, start, results, &mut issue),
                _ => block::<1>(operands, start, results, &mut issue),
            }
        }
    }

    /// The block, after it was computed.
    pub fn results(&self) -> &[u32] {
        &self.results
    }

    /// The instructions of [`Element::compute`] as sections: the start, the inner loop and the end
    /// of each loop.
    pub fn sections(&self) -> Vec<Section> {
        let vectors = self.block / LANES;
        let loops = (0..vectors).step_by(ACCUMULATORS);
        let loops = loops.flat_map(|done| {
            let vectors = (vectors - done).min(ACCUMULATORS);
            [
                (start(vectors), 1),
                (inner(vectors), self.n()),
                (end(vectors), 1),
            ]
        });
        loops
            .map(|(issues, times)| Section { issues, times })
            .collect()
    }
}

/// A loop over `V` accumulators, for the results whose first product is `digits[0]` times
/// `extended[start]`.
#[inline]
fn block<const V: usize>(
    (digits, extended): (&[u32], &[u32]),
    start: usize,
    results: &mut [u32],
    issue: &mut impl FnMut(Instruction),
) {
    let mut operands = [[0u32; LANES]; V];
    let mut accumulators = [[0u32; LANES]; V];
    for (v, operand) in operands.iter_mut().enumerate() {
        issue(Instruction::Load);
        operand.copy_from_slice(&extended[start + v * LANES..][..LANES]);
    }
    for (t, &digit) in digits.iter().enumerate() {
        issue(Instruction::Load);
        issue(Instruction::Broadcast);
        // The last shift brings in words that no product reads.
        let words = &extended[start - 1 - t..][..LANES * V];
        for v in 0..V {
            issue(Instruction::MultiplyAccumulate);
            for (sum, &word) in accumulators[v].iter_mut().zip(&operands[v]) {
                *sum = sum.wrapping_add(word.wrapping_mul(digit));
            }
            issue(Instruction::Load);
            issue(Instruction::Shift);
            let [a, b, c, d, e, f, g, _] = operands[v];
            operands[v] = [words[v * LANES], a, b, c, d, e, f, g];
        }
    }
    for (out, accumulator) in results.chunks_exact_mut(LANES).zip(&accumulators) {
        issue(Instruction::Narrow);
        issue(Instruction::Store);
        out.copy_from_slice(accumulator);
    }
}

fn issue_of(instruction: Instruction, needs: &[usize], not_before: &[usize]) -> Issue {
    Issue {
        instruction,
        needs: needs.to_vec(),
        not_before: not_before.to_vec(),
    }
}

fn start(vectors: usize) -> Vec<Issue> {
    vec![issue_of(Instruction::Load, &[], &[]); vectors]
}

fn inner(vectors: usize) -> Vec<Issue> {
    let mut issues = vec![
        issue_of(Instruction::Load, &[], &[]),
        issue_of(Instruction::Broadcast, &[0], &[]),
    ];
    for _vector in 0..vectors {
        let mac = issues.len();
        issues.push(issue_of(Instruction::MultiplyAccumulate, &[1], &[]));
        issues.push(issue_of(Instruction::Load, &[], &[]));
        issues.push(issue_of(Instruction::Shift, &[mac + 1], &[mac]));
    }
    issues
}

fn end(vectors: usize) -> Vec<Issue> {
    let pairs = (0..vectors).flat_map(|v| {
        [
            issue_of(Instruction::Narrow, &[], &[]),
            issue_of(Instruction::Store, &[2 * v], &[]),
        ]
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::super::Wavefront;
    use super::*;
    use std::collections::HashMap;

    fn filled(n: usize, elements: usize, word: u32, digit: u32) -> Vec<Element> {
        let mut chain = Wavefront::new(n, elements).expect("whole vectors").chain();
        for element in &mut chain {
            for i in 0..n {
                assert_eq!(element.receive(i, [digit, word]), [digit, word]);
            }
        }
        chain
    }

    #[test]
    fn the_sections_list_the_instructions_that_are_issued() {
        for (n, elements) in [(512, 8), (1024, 32), (1024, 128), (96, 2)] {
            let mut issued = HashMap::new();
            let mut chain = filled(n, elements, 1, 1);
            let element = chain.last_mut().expect("an element");
            element.compute(|op| *issued.entry(op).or_insert(0) += 1);
            let mut listed = HashMap::new();
            for section in element.sections() {
                for (i, step) in section.issues.iter().enumerate() {
                    *listed.entry(step.instruction).or_insert(0) += section.times;
                    assert!(step.needs.iter().chain(&step.not_before).all(|&j| j < i));
                }
            }
            assert_eq!(issued, listed, "N = {n}, {elements} elements");
            let macs = element.block() * n / LANES;
            assert_eq!(
                listed[&Instruction::MultiplyAccumulate],
                macs,
                "one for 8 products"
            );
        }
    }

    #[test]
    fn lanes_of_80_bits_give_the_same_words_and_saturating_ones_do_not() {
        let (n, lowest) = (512, i32::MIN);
        let mut chain = filled(n, 8, lowest as u32, lowest as u32);
        let element = &mut chain[7];
        element.compute(|_| ());
        for (j, &result) in (element.before()..).zip(element.results()) {
            let signs = (0..n).map(|t| if t <= j { 1 } else { -1 });
            let sum: i128 = signs
                .map(|sign| sign * i128::from(lowest) * i128::from(lowest))
                .sum();
            assert!(sum.unsigned_abs() < 1 << 79, "no sum fills 80 bits");
            assert_eq!(result, sum as u32);
            let saturated = sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32 as u32;
            assert!(sum == 0 || result != saturated);
        }
    }

    #[test]
    fn elements_of_the_paper_fit_a_memory_of_32_kilobytes() {
        let of = |n, elements| {
            let wavefront = Wavefront::new(n, elements).expect("whole vectors");
            let memory = wavefront.chain()[0].memory();
            assert_eq!(memory, wavefront.element_memory());
            memory
        };
        assert_eq!(of(1024, 16), 4 * (3 * 1024 + 64));
        assert!(of(2048, 32) < 32 << 10);
    }
}
