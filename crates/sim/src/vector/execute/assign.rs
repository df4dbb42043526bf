//! The assignment of rows and registers to the limbs of a schedule.
//!
//! Rows follow from the cycles in which limbs enter and leave the scratchpad. The row that became
//! free last is taken first, so that wrong lifetimes soon show. Registers follow from
//! [`Schedule::holds`]: a limb has a register of a cluster from the instruction that reads or
//! produces it to the last one after it that finds it there.

use super::fault::Fault;
use super::streams::{Action, Entry, Operand, Place, Stream, Streams, name_of, parts};
use crate::vector::machine::Machine;
use crate::vector::passes::{Event, Schedule};
use crate::vector::tracks::Part;
use crate::vector::work::Work;
use std::collections::HashMap;

impl Streams {
    /// The streams of a schedule.
    ///
    /// # Errors
    /// A [`Fault`] if the schedule reads a limb that is nowhere, or needs more rows or registers
    /// than the machine has. A schedule that [`check`](crate::vector::check()) accepts has none.
    pub fn new(machine: &Machine, work: &Work, schedule: &Schedule) -> Result<Self, Fault> {
        let order = in_cycle_order(schedule);
        let kept = registers(machine, work, schedule, &order)?;
        let parts = parts(machine);
        let mut streams: Vec<Stream> = parts
            .iter()
            .map(|&part| Stream {
                name: name_of(part, machine),
                entries: Vec::new(),
            })
            .collect();
        let stream_of = |part: Part| {
            let place = parts.iter().position(|&other| other == part);
            place.ok_or_else(|| {
                Fault::new(
                    "the schedule",
                    "a part",
                    format!("{part:?}"),
                    "one of the machine",
                )
            })
        };
        let mut free = vec![0u64; parts.len()];
        let mut push = |stream: usize, (start, busy): (u64, u64), action: Action| {
            let stall = start.checked_sub(free[stream]).ok_or_else(|| {
                let place = format!("the schedule, {}", streams[stream].name);
                Fault::new(
                    place,
                    "the start of an instruction",
                    start,
                    format!("cycle {} or later", free[stream]),
                )
            })?;
            free[stream] = start + busy;
            streams[stream].entries.push(Entry {
                stall,
                busy,
                action,
            });
            Ok(())
        };
        let mut rows = Rows::new(machine.scratchpad_limbs(work.n()));
        let (transfer, generation) = (machine.transfer(work.n()), machine.generation(work.n()));
        let mut turns = vec![(u64::MAX, 0u32); machine.clusters().len()];
        for &(cycle, event) in &order {
            match event {
                Event::Release(limb) => rows.release(limb)?,
                Event::Fetch(limb) => {
                    let row = rows.take(limb)?;
                    let sampled = work.input(limb).is_some_and(|input| input.source.sampled());
                    match generation {
                        Some((cycles, _)) if sampled => {
                            let action = Action::Generate { limb, row };
                            push(stream_of(Part::Generators)?, (cycle, cycles), action)?;
                        }
                        _ => push(
                            stream_of(Part::Memory)?,
                            (cycle, transfer),
                            Action::Load { limb, row },
                        )?,
                    }
                }
                Event::WriteBack(limb) => {
                    let row = rows.of(limb)?;
                    push(
                        stream_of(Part::Memory)?,
                        (cycle, transfer),
                        Action::Write { limb, row },
                    )?;
                }
                Event::Issue(instruction) => {
                    let i = instruction as usize;
                    let place = schedule.place(i);
                    let own = &kept[i];
                    let mut operands: Vec<Operand> = Vec::with_capacity(own.operands.len());
                    for (limb, &(register, keep)) in work.operands(i).zip(&own.operands) {
                        let from = match register {
                            Some(register) => Place::Register(register),
                            None => Place::Row(rows.of(limb)?),
                        };
                        operands.push(Operand { from, keep });
                    }
                    let row = Some(rows.take(instruction)?).filter(|_| !schedule.inside(i));
                    let turn = &mut turns[usize::from(place.cluster)];
                    *turn = (cycle, if turn.0 == cycle { turn.1 + 1 } else { 0 });
                    let mut action = Action::Execute {
                        kind: work.kind(i),
                        instruction,
                        turn: turn.1,
                        operands,
                        row,
                        register: own.result,
                    };
                    for (&unit, number) in machine.uses(work.kind(i)).iter().zip(place.units) {
                        let (cluster, number) = (usize::from(place.cluster), usize::from(number));
                        let stream = stream_of(Part::Unit {
                            cluster,
                            unit,
                            number,
                        })?;
                        push(stream, (cycle, schedule.busy(i)), action)?;
                        action = Action::Join { instruction };
                    }
                }
            }
        }
        Ok(Self {
            machine: machine.name().to_owned(),
            n: work.n(),
            streams,
        })
    }
}

/// Events with their cycles. In a cycle, limbs leave before others enter, and events of each sort
/// keep their order.
fn in_cycle_order(schedule: &Schedule) -> Vec<(u64, Event)> {
    let mut order: Vec<(u64, Event)> = schedule
        .events()
        .map(|(event, cycle)| (cycle, event))
        .collect();
    order.sort_by_key(|&(cycle, event)| (cycle, !matches!(event, Event::Release(_))));
    order
}

/// The rows of the scratchpad.
struct Rows {
    capacity: usize,
    of: HashMap<u32, u32>,
    free: Vec<u32>,
}

impl Rows {
    fn new(capacity: usize) -> Self {
        Self {
            capacity,
            of: HashMap::new(),
            free: (0..capacity as u32).rev().collect(),
        }
    }

    fn take(&mut self, limb: u32) -> Result<u32, Fault> {
        let place = || format!("the schedule, limb {limb}");
        let row = self.free.pop().ok_or_else(|| {
            Fault::new(
                place(),
                "the number of rows",
                self.capacity + 1,
                format!("at most {}", self.capacity),
            )
        })?;
        match self.of.insert(limb, row) {
            None => Ok(row),
            Some(row) => Err(Fault::new(
                place(),
                "its row",
                row,
                "none before it enters the scratchpad",
            )),
        }
    }

    fn of(&self, limb: u32) -> Result<u32, Fault> {
        let row = self.of.get(&limb).copied();
        row.ok_or_else(|| {
            Fault::new(
                format!("the schedule, limb {limb}"),
                "its row",
                "none",
                "one in which it lies",
            )
        })
    }

    fn release(&mut self, limb: u32) -> Result<(), Fault> {
        let row = self.of(limb)?;
        self.of.remove(&limb);
        self.free.push(row);
        Ok(())
    }
}

/// The registers of an instruction.
#[derive(Clone, Default)]
struct Registers {
    /// For each operand, the register in which it is, and the one that keeps it from now on.
    operands: Vec<(Option<u32>, Option<u32>)>,
    result: Option<u32>,
}

/// The registers of all instructions.
fn registers(
    machine: &Machine,
    work: &Work,
    schedule: &Schedule,
    order: &[(u64, Event)],
) -> Result<Vec<Registers>, Fault> {
    let mut all = vec![Registers::default(); work.instructions()];
    for (cluster, of) in machine.clusters().iter().enumerate() {
        let own = order.iter().filter_map(|&(_, event)| match event {
            Event::Issue(i) if usize::from(schedule.place(i as usize).cluster) == cluster => {
                Some(i as usize)
            }
            _ => None,
        });
        let sequence: Vec<usize> = own.collect();
        let capacity = machine.register_limbs(cluster, work.n());
        let kept = kept_after(work, schedule, &sequence);
        let mut file = File {
            name: &of.name,
            capacity,
            of: HashMap::new(),
            free: (0..capacity as u32).rev().collect(),
        };
        for (&i, kept) in sequence.iter().zip(kept) {
            all[i] = file.serve(work, schedule, i, &kept)?;
        }
    }
    Ok(all)
}

/// For each instruction of a cluster, whether the cluster's next instruction that meets one of its
/// limbs finds it in the register file: for each operand, then for the result.
fn kept_after(work: &Work, schedule: &Schedule, sequence: &[usize]) -> Vec<Vec<bool>> {
    let mut finds: HashMap<u32, bool> = HashMap::new();
    let mut all = Vec::with_capacity(sequence.len());
    for &i in sequence.iter().rev() {
        let limbs: Vec<u32> = work.operands(i).collect();
        let result = i as u32;
        let met = limbs.iter().chain([&result]);
        all.push(met.map(|limb| finds.get(limb) == Some(&true)).collect());
        finds.remove(&result);
        // The first of equal operands is inserted last: the others find it in their own
        // instruction.
        for (operand, &limb) in limbs.iter().enumerate().rev() {
            finds.insert(limb, schedule.holds(i, operand));
        }
    }
    all.reverse();
    all
}

/// The register file of a cluster.
struct File<'a> {
    name: &'a str,
    capacity: usize,
    of: HashMap<u32, u32>,
    free: Vec<u32>,
}

impl File<'_> {
    fn serve(
        &mut self,
        work: &Work,
        schedule: &Schedule,
        i: usize,
        kept: &[bool],
    ) -> Result<Registers, Fault> {
        let limbs: Vec<u32> = work.operands(i).collect();
        let first = |operand: usize| limbs.iter().position(|&limb| limb == limbs[operand]);
        let mut operands = vec![(None, None); limbs.len()];
        let mut left = Vec::new();
        for (operand, &limb) in limbs.iter().enumerate() {
            let first = first(operand).unwrap_or(operand);
            if first < operand {
                let (register, _) = operands[first];
                operands[operand] = (register.filter(|_| schedule.holds(i, operand)), None);
            } else if schedule.holds(i, operand) {
                let register = self.of.get(&limb).copied().ok_or_else(|| {
                    let place = format!("the schedule, instruction {i}, limb {limb}");
                    Fault::new(
                        place,
                        "its register",
                        "none",
                        format!("one of {}", self.name),
                    )
                })?;
                operands[operand].0 = Some(register);
                if !kept[operand] {
                    left.push((limb, register));
                }
            }
        }
        for (limb, register) in left {
            self.of.remove(&limb);
            self.free.push(register);
        }
        for (operand, &limb) in limbs.iter().enumerate() {
            let entering = first(operand) == Some(operand) && operands[operand].0.is_none();
            if entering && kept[operand] {
                operands[operand].1 = Some(self.take(limb)?);
            }
        }
        let result = match kept[limbs.len()] {
            true => Some(self.take(i as u32)?),
            false => None,
        };
        Ok(Registers { operands, result })
    }

    fn take(&mut self, limb: u32) -> Result<u32, Fault> {
        let register = self.free.pop().ok_or_else(|| {
            let place = format!("the schedule, {}", self.name);
            Fault::new(
                place,
                "the number of registers",
                self.capacity + 1,
                format!("at most {}", self.capacity),
            )
        })?;
        self.of.insert(limb, register);
        Ok(register)
    }
}
