//! The largest memory of a run, predicted before it starts.

use crate::error::Result;
use circuits::DryValue;
use circuits::steps::Action;
use exchange::{LoopParams, Needs};
use program::{Op, Program, Type};

/// Memory of the process before it has keys: interpreter, libraries, tables of transforms.
/// Measured with MNIST w7a7: 85 MB in `inspect` of its program, 93 MB in `evaluate` in the clear.
const BASE: usize = 77_000_000;
/// Bytes in memory for each byte of a program's text: 122 MB more for ResNet-20, whose text has
/// 12.1 MB.
const PROGRAM_EXPANSION: usize = 9;
/// Number of plaintexts of a packing that are held at the same time, in words of 32 bits.
const PLAINTEXTS: usize = 64;

/// Memory that a process needs for a program, in bytes, by purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The process with the program, before it has keys.
    pub process: u64,
    /// The evaluation keys.
    pub keys: u64,
    /// Making and writing the keys one at a time: the largest key and its byte form.
    pub writing: u64,
    /// A run, without the keys: the baby steps of packings, the query if images are interleaved, the
    /// results of steps, the working memory of a table or a packing, and the pool of polynomials.
    pub running: u64,
}

impl Memory {
    /// Largest resident memory of a process that makes or reads the keys and runs the program.
    ///
    /// Half of the pool counts. Measured runs of MNIST w7a7, LeNet-5 and ResNet-20 took 119 to
    /// 229 MB less than with all of it, since polynomials are taken from it where most are in use.
    pub fn run(&self) -> u64 {
        let running = self.running - ring::POOL_BYTES as u64 / 2;
        self.process + self.writing.max(self.keys + running)
    }

    /// Largest resident memory of a process that also decrypts and compares every layer, as
    /// `palladion evaluate` does.
    pub fn peak(&self) -> u64 {
        self.process + self.writing.max(self.keys + self.running)
    }
}

/// Predicts the memory of a program.
pub(crate) fn predict(
    program: &Program,
    params: &LoopParams,
    needs: &Needs,
    actions: &[Action],
    values: &[Option<DryValue>],
) -> Result<Memory> {
    let limb = params.bfv().n() * size_of::<u64>();
    let mut last_use = vec![0; program.steps.len()];
    for (index, step) in program.steps.iter().enumerate() {
        for operand in step.op.operands() {
            last_use[operand] = index;
        }
    }
    let mut ends: Vec<Vec<usize>> = vec![Vec::new(); program.steps.len()];
    let (mut held, mut most) = (0, 0);
    for (index, step) in program.steps.iter().enumerate() {
        let work = match (&step.op, &actions[index]) {
            (Op::Table { value, .. }, Action::Table(lut)) => {
                let value = values[*value].as_ref();
                let value = value.expect("a verified table reads a ciphertext");
                lut.live_limbs(params, value)? * limb
            }
            (Op::PackAll { start_level, .. }, Action::PackAll(map)) => {
                map.live_limbs(*start_level) * limb
            }
            (Op::Pack { start_level, .. }, _) => {
                PLAINTEXTS * limb / 2 + 6 * (start_level + 1) * limb
            }
            _ => 0,
        };
        let size = match step.ty {
            Type::Ciphertext { level, .. } => 2 * (level + 1) * limb,
            Type::Samples => 2 * limb, // body and mask
        };
        most = most.max(held + size + work);
        if last_use[index] > index {
            held += size;
            ends[last_use[index]].push(size);
        }
        held -= ends[index].iter().sum::<usize>();
    }
    // Queries of other programs have few ciphertexts. The measured processes had them.
    // Interleaved runs use all of the pool: with half, 2.76 and 2.21 GB were predicted for runs of
    // 10,000 images that took 3.03 and 2.37 GB.
    let (query, pool) = match program.interleaved {
        true => {
            let terms = program.terms();
            let query = terms.inputs() * 2 * (terms.input_level + 1) * limb;
            (query, ring::POOL_BYTES * 3 / 2)
        }
        false => (0, ring::POOL_BYTES),
    };
    let keys = needs.byte_len(params)?;
    let text = program.to_json().len();
    Ok(Memory {
        process: (BASE + PROGRAM_EXPANSION * text) as u64,
        keys: keys as u64,
        writing: needs.writing_byte_len(params) as u64,
        running: (needs.baby_steps_byte_len(params)? + query + most + pool) as u64,
    })
}
