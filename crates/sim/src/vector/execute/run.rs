//! The execution of streams on words, in the order of cycles.

use super::fault::{Failure, Fault};
use super::streams::{Action, Entry, Operand, Place, Streams, parts};
use crate::vector::machine::{Machine, Operation};
use crate::vector::tracks::Part;
use crate::vector::work::Work;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::sync::Arc;

/// The `N` words of a limb, each a residue.
pub type Limb = Arc<Vec<u64>>;

/// The arithmetic of instructions, and the words from outside.
pub trait Words {
    /// The reason why there are no words.
    type Error;

    /// The words of input `input` of the work: `N` residues of its modulus.
    ///
    /// # Errors
    /// If there is no such value.
    fn input(&mut self, input: usize) -> Result<Limb, Self::Error>;

    /// The result of instruction `instruction` of the work on these operands: `N` residues of its
    /// modulus. The operands are residues of the moduli of the instruction's own operands.
    ///
    /// # Errors
    /// If the instruction cannot be executed.
    fn compute(&mut self, instruction: usize, operands: &[&[u64]])
    -> Result<Vec<u64>, Self::Error>;
}

/// Words in a row or register.
#[derive(Clone)]
struct Held {
    words: Limb,
    modulus: usize,
}

/// The first cycle of an entry. In a cycle, the instructions of a cluster begin in their turns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Begin {
    start: u64,
    turn: u32,
    stream: usize,
    index: usize,
    /// The cluster of a unit.
    cluster: usize,
}

/// Something that happens at the end of an entry. Within a cycle, the first of these is done first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// The operands of an entry have been read.
    Read,
    /// A write to memory has ended.
    Written,
    /// A result or a loaded limb arrives.
    Arrive,
}

/// Executes streams. Calls `go_on(done, all)` with numbers of entries; if it returns false, the
/// execution stops. Returns the output limbs, by their numbers in the work.
///
/// An entry reads its operands in its first cycle, and a row must keep them until the last. A limb
/// arrives in its row and register `latency` cycles after the entry has ended.
///
/// # Errors
/// [`Failure::Fault`] for streams that [`Streams::verify`] refuses, for a row or register that is
/// read before it was written, that holds residues of another modulus, or that is overwritten while
/// it is read, for a load of a limb that memory does not have, and for an output that is missing at
/// the end. [`Failure::Words`] with the errors of `words`. [`Failure::Stopped`].
pub fn execute<W: Words>(
    machine: &Machine,
    work: &Work,
    streams: &Streams,
    words: &mut W,
    go_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<BTreeMap<u32, Limb>, Failure<W::Error>> {
    streams.verify(machine, work)?;
    let mut begins = Vec::with_capacity(streams.entries());
    for (stream, (&part, of)) in parts(machine).iter().zip(&streams.streams).enumerate() {
        let cluster = match part {
            Part::Unit { cluster, .. } => cluster,
            _ => usize::MAX,
        };
        for (index, timed) in of.timed().enumerate() {
            let (start, _, entry) = timed.expect("verified");
            let turn = match entry.action {
                Action::Execute { turn, .. } => turn,
                _ => 0,
            };
            begins.push(Begin {
                start,
                turn,
                stream,
                index,
                cluster,
            });
        }
    }
    begins.sort_unstable();
    let mut state = State::new(machine, work, streams);
    for (done, begin) in begins.iter().enumerate() {
        if !go_on(done, begins.len()) {
            return Err(Failure::Stopped);
        }
        state.end_until(begin.start)?;
        state.begin(words, *begin)?;
    }
    state.end_until(u64::MAX)?;
    state.outputs(words)
}

/// The words of a machine: scratchpad, register files, memory, and what is under way.
struct State<'a> {
    machine: &'a Machine,
    work: &'a Work,
    streams: &'a Streams,
    rows: Vec<Option<Held>>,
    registers: Vec<Vec<Option<Held>>>,
    /// Limbs that were written to memory, as long as they are loaded again or are outputs.
    memory: HashMap<u32, Held>,
    /// For each limb, the number of loads that are still to come.
    loads: HashMap<u32, usize>,
    /// The ends of entries and of transfers, by the index in `under_way`.
    ends: BinaryHeap<Reverse<(u64, End, usize)>>,
    under_way: HashMap<usize, Effect>,
    next: usize,
}

/// The effect of an entry when it ends.
enum Effect {
    /// Rows that an entry reads, with the words that it found.
    Read(String, Vec<(u32, Limb)>),
    /// A limb that is written to memory.
    Written(u32, Held),
    /// A limb that arrives in a row, and in a register of a cluster.
    Arrive(Option<u32>, Option<(usize, u32)>, Held),
}

impl<'a> State<'a> {
    fn new(machine: &'a Machine, work: &'a Work, streams: &'a Streams) -> Self {
        let mut loads = HashMap::new();
        for entry in streams.streams.iter().flat_map(|stream| &stream.entries) {
            if let Action::Load { limb, .. } = entry.action {
                *loads.entry(limb).or_default() += 1;
            }
        }
        for &output in work.outputs() {
            *loads.entry(output).or_default() += 1;
        }
        let registers = (0..machine.clusters().len())
            .map(|cluster| vec![None; machine.register_limbs(cluster, work.n())]);
        Self {
            machine,
            work,
            streams,
            rows: vec![None; machine.scratchpad_limbs(work.n())],
            registers: registers.collect(),
            memory: HashMap::new(),
            loads,
            ends: BinaryHeap::new(),
            under_way: HashMap::new(),
            next: 0,
        }
    }

    fn end_at(&mut self, cycle: u64, end: End, way: Effect) {
        self.ends.push(Reverse((cycle, end, self.next)));
        self.under_way.insert(self.next, way);
        self.next += 1;
    }

    /// Ends all that ends up to a cycle.
    fn end_until(&mut self, now: u64) -> Result<(), Fault> {
        while self
            .ends
            .peek()
            .is_some_and(|Reverse((cycle, ..))| *cycle <= now)
        {
            let Some(Reverse((cycle, _, index))) = self.ends.pop() else {
                break;
            };
            match self.under_way.remove(&index) {
                Some(Effect::Read(place, rows)) => {
                    for (row, words) in rows {
                        let held = self.rows[row as usize].as_ref();
                        if !held.is_some_and(|held| Arc::ptr_eq(&held.words, &words)) {
                            let found = format!("overwritten before cycle {cycle}");
                            return Err(Fault::new(
                                place,
                                "the row of an operand",
                                found,
                                "unchanged until it is read",
                            ));
                        }
                    }
                }
                Some(Effect::Written(limb, held)) if self.loads.contains_key(&limb) => {
                    self.memory.insert(limb, held);
                }
                Some(Effect::Arrive(row, register, held)) => {
                    if let Some((cluster, register)) = register {
                        self.registers[cluster][register as usize] = Some(held.clone());
                    }
                    if let Some(row) = row {
                        self.rows[row as usize] = Some(held);
                    }
                }
                // Memory keeps no words that nobody reads again.
                Some(Effect::Written(..)) | None => {}
            }
        }
        Ok(())
    }

    fn begin<W: Words>(&mut self, words: &mut W, begin: Begin) -> Result<(), Failure<W::Error>> {
        let Begin {
            start,
            stream,
            index,
            cluster,
            ..
        } = begin;
        let entry: &Entry = &self.streams.streams[stream].entries[index];
        let streams = self.streams;
        let place = || format!("{}, entry {index}", streams.streams[stream].name);
        let end = start + entry.busy;
        match &entry.action {
            Action::Join { .. } => {}
            &Action::Load { limb, row } => {
                let held = match self.work.input(limb) {
                    Some(_) => self.input(words, limb)?,
                    None => self.memory.get(&limb).cloned().ok_or_else(|| {
                        Fault::new(
                            place(),
                            "the limb in memory",
                            format!("{limb}, which was not written"),
                            "one that was",
                        )
                    })?,
                };
                self.loaded(limb);
                let ready = end.saturating_add(self.machine.memory_latency());
                self.end_at(ready, End::Arrive, Effect::Arrive(Some(row), None, held));
            }
            &Action::Generate { limb, row } => {
                let held = self.input(words, limb)?;
                let latency = self
                    .machine
                    .generation(self.work.n())
                    .map_or(0, |(_, latency)| latency);
                let ready = end.saturating_add(latency);
                self.end_at(ready, End::Arrive, Effect::Arrive(Some(row), None, held));
            }
            &Action::Write { limb, row } => {
                let modulus = self.work.modulus_of(limb);
                let held = self.read(&place, cluster, Place::Row(row), modulus)?;
                let rows = vec![(row, held.words.clone())];
                self.end_at(end, End::Read, Effect::Read(place(), rows));
                self.end_at(end, End::Written, Effect::Written(limb, held));
            }
            Action::Execute {
                kind,
                instruction,
                operands,
                row,
                register,
                ..
            } => {
                let i = *instruction as usize;
                let mut read = Vec::with_capacity(operands.len());
                for (operand, limb) in operands.iter().zip(self.work.operands(i)) {
                    let modulus = self.work.modulus_of(limb);
                    read.push(self.read(&place, cluster, operand.from, modulus)?);
                }
                let slices: Vec<&[u64]> = read.iter().map(|held| held.words.as_slice()).collect();
                let result = words.compute(i, &slices).map_err(Failure::Words)?;
                let held = Held {
                    words: Arc::new(result),
                    modulus: self.work.modulus(i),
                };
                let of_rows =
                    operands
                        .iter()
                        .zip(&read)
                        .filter_map(|(operand, held)| match operand.from {
                            Place::Row(row) => Some((row, held.words.clone())),
                            Place::Register(_) => None,
                        });
                let way = Effect::Read(place(), of_rows.collect());
                for (&Operand { keep, .. }, held) in operands.iter().zip(read) {
                    if let Some(keep) = keep {
                        self.registers[cluster][keep as usize] = Some(held);
                    }
                }
                self.end_at(end, End::Read, way);
                let ready = end.saturating_add(self.latency(*kind));
                let register = register.map(|register| (cluster, register));
                self.end_at(ready, End::Arrive, Effect::Arrive(*row, register, held));
            }
        }
        Ok(())
    }

    fn latency(&self, kind: Operation) -> u64 {
        let uses = self.machine.uses(kind).iter();
        uses.map(|&unit| self.machine.units()[unit].latency).sum()
    }

    fn input<W: Words>(&self, words: &mut W, limb: u32) -> Result<Held, Failure<W::Error>> {
        let input = limb as usize - self.work.instructions();
        Ok(Held {
            words: words.input(input).map_err(Failure::Words)?,
            modulus: self.work.modulus_of(limb),
        })
    }

    /// Counts a load, and drops words from memory that are not needed any more.
    fn loaded(&mut self, limb: u32) {
        if let Some(count) = self.loads.get_mut(&limb) {
            *count -= 1;
            if *count == 0 {
                self.loads.remove(&limb);
                self.memory.remove(&limb);
            }
        }
    }

    /// The words at a place, which must be residues of a modulus.
    fn read(
        &self,
        place: &dyn Fn() -> String,
        cluster: usize,
        from: Place,
        modulus: usize,
    ) -> Result<Held, Fault> {
        let (what, held) = match from {
            Place::Row(row) => (
                "the row of an operand",
                (&self.rows[row as usize], format!("row {row}")),
            ),
            Place::Register(register) => {
                let held = &self.registers[cluster][register as usize];
                (
                    "the register of an operand",
                    (held, format!("register {register}")),
                )
            }
        };
        match held {
            (Some(held), _) if held.modulus == modulus => Ok(held.clone()),
            (Some(held), name) => {
                let found = format!("{name} with residues of modulus {}", held.modulus);
                Err(Fault::new(
                    place(),
                    what,
                    found,
                    format!("residues of modulus {modulus}"),
                ))
            }
            (None, name) => Err(Fault::new(
                place(),
                what,
                format!("{name}, which is empty"),
                "a limb",
            )),
        }
    }

    fn outputs<W: Words>(&self, words: &mut W) -> Result<BTreeMap<u32, Limb>, Failure<W::Error>> {
        let mut outputs = BTreeMap::new();
        for &limb in self.work.outputs() {
            let held = match (self.memory.get(&limb), self.work.input(limb)) {
                (Some(held), _) => held.clone(),
                (None, Some(_)) => self.input(words, limb)?,
                (None, None) => {
                    let fault = Fault::new(
                        "the end",
                        "an output",
                        format!("limb {limb}, which is not in memory"),
                        "in memory",
                    );
                    return Err(fault.into());
                }
            };
            outputs.insert(limb, held.words);
        }
        Ok(outputs)
    }
}
