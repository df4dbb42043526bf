//! The execution of the streams of a schedule on a vector machine, with the arithmetic of the
//! replay.

use super::convert::QUOTIENT_START;
use super::limb::Places;
use super::machine::Machine;
use super::words::{self, Source};
use crate::error::{Error, Result};
use crate::outside::{Limb, Outside};
use kernels::kernels;
use sim::vector::{self, Failure, Kind, Origin, Streams, Words, Work};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use trace::{Instruction, Limbs, ModulusId, Op, Trace, Type};

/// Number of operations whose places are kept.
const PLACES: usize = 32;
/// Bytes of loaded values that are kept.
const LOADED: usize = 1 << 29;

/// Executes the streams of a schedule of a trace, in the order of their cycles, on a vector
/// machine. Values are loaded from the outside and stored into it. If the schedule is right, the
/// stored words are those of [`replay`](super::replay). `observe` is called before every entry of
/// the streams with the number of entries done and of all, and stops the execution by returning
/// `false`.
///
/// # Errors
/// [`Error::Replay`] for a work that is not that of the trace, [`Error::Other`] with a
/// [`sim::vector::Fault`] for wrong streams, [`Error::Stopped`], and the errors of the outside.
pub fn execute(
    machine: &vector::Machine,
    (trace, work, streams): (&Trace, &Work, &Streams),
    outside: &mut dyn Outside,
    observe: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<()> {
    trace.verify()?;
    if Work::new(trace).ok().as_ref() != Some(work) {
        return Err(Error::Replay {
            what: "the work of the streams".into(),
            found: "that of another trace".into(),
            expected: "that of this trace".into(),
        });
    }
    let mut last = (0, 0);
    let mut count = |done: usize, all: usize| {
        last = (done, all);
        observe(done, all)
    };
    let mut units = Units::new(trace, work, outside)?;
    let outputs = vector::execute(machine, work, streams, &mut units, &mut count);
    let outputs = outputs.map_err(|failure| match failure {
        Failure::Fault(fault) => Error::Other(Box::new(fault)),
        Failure::Words(error) => error,
        Failure::Stopped => Error::Stopped {
            done: last.0,
            total: last.1,
        },
    })?;
    for (op, limbs) in work.stores() {
        let Described { instruction, from } = &units.ops[*op as usize];
        let (Op::Store { name, .. }, Some(ty)) = (&instruction.op, *from) else {
            unreachable!("the number is that of a store")
        };
        let limbs = limbs.iter().map(|limb| outputs[limb].clone()).collect();
        units.outside.store(name, ty, limbs)?;
    }
    units.outside.end_step()
}

/// An instruction of the trace, and the type of its first operand.
struct Described<'a> {
    instruction: &'a Instruction,
    from: Option<&'a Type>,
}

/// The arithmetic units of a machine.
struct Units<'a> {
    machine: Machine<'a>,
    work: &'a Work,
    outside: &'a mut dyn Outside,
    /// By [`Origin::op`].
    ops: Vec<Described<'a>>,
    /// Places of operations, by their number and the exponent of a turn, the latest last.
    places: VecDeque<((usize, u64), Arc<Places>)>,
    /// Loaded values, by the number of their operation.
    loaded: HashMap<u32, Vec<Limb>>,
    bytes: usize,
}

impl<'a> Units<'a> {
    fn new(trace: &'a Trace, work: &'a Work, outside: &'a mut dyn Outside) -> Result<Self> {
        Ok(Self {
            machine: Machine::new(trace)?,
            work,
            outside,
            ops: described(trace),
            places: VecDeque::new(),
            loaded: HashMap::new(),
            bytes: 0,
        })
    }

    /// The places of an operation. They are kept while other limbs of its result may need them.
    fn places(&mut self, number: usize, exponent: Option<u64>) -> Arc<Places> {
        let key = (number, exponent.unwrap_or(0));
        let known = self.places.iter().find(|(other, _)| *other == key);
        if let Some((_, places)) = known {
            return places.clone();
        }
        let Instruction { op, types } = self.ops[number].instruction;
        let places = Arc::new(self.machine.places(op, types[0].domain, exponent));
        if self.places.len() == PLACES {
            self.places.pop_front();
        }
        self.places.push_back((key, places.clone()));
        places
    }

    /// The limbs of a value that is loaded whole.
    fn load(&mut self, number: u32) -> Result<&[Limb]> {
        if !self.loaded.contains_key(&number) {
            let instruction = self.ops[number as usize].instruction;
            let limbs = self
                .machine
                .sources
                .value(instruction, &mut &mut *self.outside)?;
            let size = |limbs: &[Limb]| 8 * limbs.iter().map(|limb| limb.len()).sum::<usize>();
            self.bytes += size(&limbs);
            if self.bytes > LOADED {
                self.loaded.clear();
                self.bytes = size(&limbs);
            }
            self.loaded.insert(number, limbs);
        }
        Ok(&self.loaded[&number])
    }

    /// Executes an instruction of a basis conversion.
    fn convert(
        &mut self,
        (kind, id): (Kind, ModulusId),
        origin: Origin,
        operands: &[&[u64]],
    ) -> Vec<u64> {
        let Described { instruction, from } = &self.ops[origin.op];
        let (from, to) = (&from.expect("described").limbs, &instruction.types[0].limbs);
        let conversion = self.machine.conversion(from, to);
        let place = |limbs: &Limbs| limbs.position(id).expect("a modulus of the instruction");
        let spare = &self.machine.spare;
        let (sum, terms) = operands.split_at(usize::from(origin.continues));
        match kind {
            Kind::Scale => conversion.scale(place(from), spare.copy(operands[0])),
            Kind::Quotient => {
                let mut out = match sum.first() {
                    Some(sum) => spare.copy(sum),
                    None => vec![QUOTIENT_START; self.machine.n()],
                };
                conversion.quotient_terms(terms, origin.first_term, &mut out);
                out
            }
            // `Work` has no instruction for the quotient of a conversion from one modulus.
            _ if from.len() == 1 => {
                let mut quotient = vec![QUOTIENT_START; self.machine.n()];
                conversion.quotient_terms(terms, 0, &mut quotient);
                let mut out = spare.stale();
                conversion.terms_into(&mut out, place(to), &[operands[0], &quotient], 0);
                out
            }
            _ => {
                let mut out = spare.stale();
                conversion.terms_into(&mut out, place(to), terms, origin.first_term);
                self.add(id, out, sum)
            }
        }
    }

    /// Adds the sum of the instructions before, if there is one.
    fn add(&self, id: ModulusId, mut words: Vec<u64>, sum: &[&[u64]]) -> Vec<u64> {
        if let Some(sum) = sum.first() {
            self.machine.arithmetic(id).add_assign(&mut words, sum);
        }
        words
    }

    /// Gathers words from some limbs of an extraction. All others are those of the sum before, or
    /// zero.
    fn extract(&mut self, id: ModulusId, origin: Origin, operands: &[&[u64]]) -> Vec<u64> {
        let places = self.places(origin.op, None);
        let Places::Sources(all) = &*places else {
            unreachable!("an extraction has sources")
        };
        let (sum, limbs) = operands.split_at(usize::from(origin.continues));
        let limbs: Vec<&[u64]> = limbs.iter().chain(sum).copied().collect();
        let own = origin.first_term..origin.first_term + limbs.len() - sum.len();
        let other = |place: usize| match sum {
            [] => Source::Zero,
            _ => Source::Plus(limbs.len() - 1, place),
        };
        let sources = all.iter().enumerate().map(|(place, source)| match *source {
            Source::Plus(value, i) if own.contains(&value) => Source::Plus(value - own.start, i),
            Source::Minus(value, i) if own.contains(&value) => Source::Minus(value - own.start, i),
            _ => other(place),
        });
        let sources: Vec<Source> = sources.collect();
        let words = words::extract(self.machine.arithmetic(id), &limbs, &sources);
        self.machine.spare.filled(words)
    }
}

impl Words for Units<'_> {
    type Error = Error;

    fn input(&mut self, input: usize) -> Result<Limb> {
        let input = self.work.inputs()[input];
        let id = usize::from(input.modulus);
        let Instruction { op, types } = self.ops[input.op as usize].instruction;
        let limbs = &types[0].limbs;
        if let (Op::Load { .. }, Some(place)) = (op, limbs.position(id)) {
            return Ok(self.load(input.op)?[place].clone());
        }
        let (sources, spare) = (&self.machine.sources, &self.machine.spare);
        if let Op::Sample { seed, stream, .. } = op {
            let place = limbs.position(id).map_or(0, |place| place as u64);
            let stream = (u64::from(*stream) << 32) + place;
            let (seed, q) = (self.outside.seed(seed)?, self.machine.modulus(id));
            return Ok(Arc::new(words::sample(&seed, stream, q, self.machine.n())));
        }
        let ty = Type {
            limbs: Limbs::one(id),
            ..types[0].clone()
        };
        let made = sources.make(op, &ty, &mut &mut *self.outside, spare)?;
        Ok(made.limbs[0].clone())
    }

    fn compute(&mut self, instruction: usize, operands: &[&[u64]]) -> Result<Vec<u64>> {
        let (kind, id) = (self.work.kind(instruction), self.work.modulus(instruction));
        let origin = self.work.origin(instruction);
        let Described { instruction, from } = &self.ops[origin.op];
        let Instruction { op, types } = *instruction;
        let from = from.and_then(|ty| ty.limbs.iter().next());
        let (sum, terms) = operands.split_at(usize::from(origin.continues));
        Ok(match op {
            Op::Convert { .. } => self.convert((kind, id), origin, operands),
            Op::Extract { .. } => self.extract(id, origin, operands),
            Op::Combine { .. } => {
                let words = self.machine.combine_terms(op, origin, id, terms);
                self.add(id, words, sum)
            }
            Op::Dot { .. } => {
                let left: Vec<&[u64]> = terms.iter().step_by(2).copied().collect();
                let right: Vec<&[u64]> = terms.iter().skip(1).step_by(2).copied().collect();
                let q = self.machine.modulus(id);
                let mut words = self.machine.spare.stale();
                match sum.first() {
                    None => kernels().dot_into(q, &mut words, &left, &right),
                    Some(sum) => {
                        words.copy_from_slice(sum);
                        kernels().dot_add_assign(q, &mut words, &left, &right);
                    }
                }
                words
            }
            _ => {
                let exponent = match op {
                    Op::Turn { .. } => Some(operands[1][0]),
                    _ => None,
                };
                let places = self.places(origin.op, exponent);
                let place = types[0].limbs.position(id).unwrap_or(0);
                let from = from.unwrap_or(id);
                self.machine
                    .limb(op, (place, id), (from, operands), &places)
            }
        })
    }
}

/// The instructions of all bodies, the main body last, with the types of their first operands.
fn described(trace: &Trace) -> Vec<Described<'_>> {
    let mut all = Vec::new();
    for body in trace.subs.iter().chain([&trace.main]) {
        let mut types: Vec<&Type> = body.parameters.iter().collect();
        for instruction in &body.instructions {
            let mut from = None;
            instruction.op.for_each_operand(|value| {
                from.get_or_insert(types[value]);
            });
            all.push(Described { instruction, from });
            types.extend(&instruction.types);
        }
    }
    all
}
