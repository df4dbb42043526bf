//! The check of streams against machine and work, before anything runs.
//!
//! It looks at each entry by itself: numbers, operations, durations. Whether the words are those of
//! the trace is seen in the execution alone.

use super::fault::Fault;
use super::streams::{Action, Operand, Place, Streams, name_of, parts};
use crate::vector::machine::Machine;
use crate::vector::tracks::Part;
use crate::vector::work::Work;

impl Streams {
    /// Refuses streams that a machine cannot run, or that do not execute each instruction of the
    /// work once.
    ///
    /// # Errors
    /// The first [`Fault`].
    pub fn verify(&self, machine: &Machine, work: &Work) -> Result<(), Fault> {
        let whole = |what, found: String, expected: String| {
            Err(Fault::new("the streams", what, found, expected))
        };
        if self.machine != machine.name() {
            return whole("the machine", self.machine.clone(), machine.name().into());
        }
        if self.n != work.n() {
            return whole("the ring degree", self.n.to_string(), work.n().to_string());
        }
        let parts = parts(machine);
        let names: Vec<String> = parts.iter().map(|&part| name_of(part, machine)).collect();
        if !names
            .iter()
            .eq(self.streams.iter().map(|stream| &stream.name))
        {
            let own: Vec<&str> = self.streams.iter().map(|stream| &*stream.name).collect();
            return whole("the list of streams", own.join(", "), names.join(", "));
        }
        let mut issued = vec![0u8; work.instructions()];
        let mut joins: Vec<(u64, u64, u32, Part)> = Vec::new();
        for (&part, stream) in parts.iter().zip(&self.streams) {
            for (index, timed) in stream.timed().enumerate() {
                let place = format!("{}, entry {index}", stream.name);
                let Some((start, end, entry)) = timed else {
                    return Err(Fault::new(
                        place,
                        "its cycle",
                        "above 2^64",
                        "a number of cycles of 64 bits",
                    ));
                };
                let one = Verifier {
                    machine,
                    work,
                    part,
                    place: &place,
                };
                one.verify(&entry.action, entry.busy)?;
                match entry.action {
                    Action::Execute { instruction, .. } => {
                        let times = &mut issued[instruction as usize];
                        *times = times.saturating_add(1);
                        if *times > 1 {
                            return Err(Fault::new(
                                place,
                                "the instruction",
                                instruction,
                                "one that no entry has before",
                            ));
                        }
                        let uses = machine.uses(work.kind(instruction as usize));
                        joins.extend(
                            uses.iter()
                                .skip(1)
                                .map(|&unit| (start, end, instruction, one.kind(unit))),
                        );
                    }
                    Action::Join { instruction } => {
                        joins.push((start, end, instruction, one.own()))
                    }
                    _ => {}
                }
            }
        }
        if let Some(instruction) = issued.iter().position(|&times| times == 0) {
            let kind = work.kind(instruction).name();
            return whole(
                "the number of entries",
                format!("none of instruction {instruction} ({kind})"),
                "one".into(),
            );
        }
        pairs(joins)
    }
}

/// Refuses second units that are not occupied together with the first one.
fn pairs(mut joins: Vec<(u64, u64, u32, Part)>) -> Result<(), Fault> {
    let key = |&(start, end, instruction, part): &(u64, u64, u32, Part)| {
        (instruction, start, end, format!("{part:?}"))
    };
    joins.sort_by_key(key);
    for pair in joins.chunks(2) {
        if pair.len() < 2 || pair[0] != pair[1] {
            let (start, end, instruction, _) = pair[0];
            return Err(Fault::new(
                format!("the streams, instruction {instruction}"),
                "the occupation of its second unit",
                format!("another than cycles {start} to {end}"),
                "that of its first unit, in the same cluster",
            ));
        }
    }
    Ok(())
}

/// Verifies the entries of a part of the machine.
struct Verifier<'a> {
    machine: &'a Machine,
    work: &'a Work,
    part: Part,
    place: &'a str,
}

impl Verifier<'_> {
    fn fault<T>(
        &self,
        what: &'static str,
        found: impl ToString,
        expected: impl ToString,
    ) -> Result<T, Fault> {
        Err(Fault::new(self.place, what, found, expected))
    }

    /// The part without its number, of another kind of unit.
    fn kind(&self, unit: usize) -> Part {
        match self.part {
            Part::Unit { cluster, .. } => Part::Unit {
                cluster,
                unit,
                number: 0,
            },
            other => other,
        }
    }

    fn own(&self) -> Part {
        match self.part {
            Part::Unit { unit, .. } => self.kind(unit),
            other => other,
        }
    }

    fn below(&self, what: &'static str, number: u32, count: usize) -> Result<(), Fault> {
        match (number as usize) < count {
            true => Ok(()),
            false => self.fault(what, number, format!("below {count}")),
        }
    }

    fn row(&self, row: u32) -> Result<(), Fault> {
        self.below("the row", row, self.machine.scratchpad_limbs(self.work.n()))
    }

    fn verify(&self, action: &Action, busy: u64) -> Result<(), Fault> {
        let (work, n) = (self.work, self.work.n());
        let duration = |expected: u64| match busy == expected {
            true => Ok(()),
            false => self.fault("the number of busy cycles", busy, expected),
        };
        match (self.part, action) {
            (Part::Unit { .. }, Action::Execute { .. }) => self.execute(action, busy),
            (Part::Unit { unit, .. }, &Action::Join { instruction }) => {
                self.below("the instruction", instruction, work.instructions())?;
                let uses = self.machine.uses(work.kind(instruction as usize));
                match uses.iter().skip(1).any(|&second| second == unit) {
                    true => Ok(()),
                    false => self.fault(
                        "the operation",
                        work.kind(instruction as usize).name(),
                        "one with this second unit",
                    ),
                }
            }
            (Part::Memory, &Action::Load { limb, row } | &Action::Write { limb, row }) => {
                self.below("the limb", limb, work.limbs())?;
                self.row(row)?;
                duration(self.machine.transfer(n))
            }
            (Part::Generators, &Action::Generate { limb, row }) => {
                self.below("the limb", limb, work.limbs())?;
                self.row(row)?;
                if !work.input(limb).is_some_and(|input| input.source.sampled()) {
                    return self.fault("the limb", limb, "one that is expanded from a seed");
                }
                duration(self.machine.generation(n).map_or(0, |(cycles, _)| cycles))
            }
            _ => self.fault(
                "the operation",
                "of another part",
                "one that this part executes",
            ),
        }
    }

    fn execute(&self, action: &Action, busy: u64) -> Result<(), Fault> {
        let (
            Action::Execute {
                kind,
                instruction,
                operands,
                row,
                register,
                ..
            },
            Part::Unit { cluster, unit, .. },
        ) = (action, self.part)
        else {
            return Ok(());
        };
        let (machine, work) = (self.machine, self.work);
        self.below("the instruction", *instruction, work.instructions())?;
        let i = *instruction as usize;
        if *kind != work.kind(i) {
            return self.fault(
                "the operation",
                kind.name(),
                format!("{}, that of instruction {i}", work.kind(i).name()),
            );
        }
        let of = &machine.clusters()[cluster];
        if machine.uses(*kind).first() != Some(&unit) || !of.executes(*kind) {
            return self.fault("the operation", kind.name(), "one that this unit executes");
        }
        if operands.len() != work.operands(i).count() {
            return self.fault(
                "the number of operands",
                operands.len(),
                work.operands(i).count(),
            );
        }
        let registers = machine.register_limbs(cluster, work.n());
        for &Operand { from, keep } in operands {
            match from {
                Place::Row(row) => self.row(row)?,
                Place::Register(register) => self.below("the register", register, registers)?,
            }
            keep.map_or(Ok(()), |keep| self.below("the register", keep, registers))?;
        }
        row.map_or(Ok(()), |row| self.row(row))?;
        register.map_or(Ok(()), |register| {
            self.below("the register", register, registers)
        })?;
        let passes = machine
            .uses(*kind)
            .iter()
            .map(|&unit| machine.units()[unit].cycles(work.n(), work.terms(i)));
        let least = passes.max().unwrap_or(0);
        match busy >= least {
            true => Ok(()),
            false => self.fault(
                "the number of busy cycles",
                busy,
                format!("at least {least}, those of its passes"),
            ),
        }
    }
}
