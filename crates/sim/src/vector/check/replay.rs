//! The replay of a schedule's events, one after the other, against machine and work.

use super::Violation;
use super::files::File;
use super::intervals::{Use, at_most, one_at_a_time};
use crate::vector::machine::Machine;
use crate::vector::passes::{Event, Schedule};
use crate::vector::work::Work;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// The times of a limb while it lies in the scratchpad.
#[derive(Clone, Copy)]
pub(super) struct Stay {
    /// Cycle from which the limb can be read.
    ready: u64,
    /// Cycle until which an operation that has begun needs the limb.
    pub(super) needed: u64,
}

/// The state of a replay: limbs in scratchpad and memory, and all uses of resources so far.
pub(super) struct Replay<'a> {
    pub(super) machine: &'a Machine,
    pub(super) work: &'a Work,
    pub(super) schedule: &'a Schedule,
    pub(super) n: usize,
    /// Limbs that lie in the scratchpad.
    here: HashMap<u32, Stay>,
    /// For each limb that left the scratchpad, the cycle in which it last did.
    left: HashMap<u32, u64>,
    /// For each limb, the cycle from which it is in memory. Inputs are there from the beginning and
    /// are not listed.
    memory: HashMap<u32, u64>,
    /// For each instruction, how often it was issued.
    pub(super) issued: Vec<u8>,
    pub(super) units: BTreeMap<(u16, usize, u8), Vec<Use>>,
    pub(super) ports: Vec<Vec<Use>>,
    channel: Vec<Use>,
    generators: Vec<Use>,
    /// Cycles in which a limb enters (`true`) or leaves the scratchpad.
    changes: Vec<(u64, bool)>,
    pub(super) files: Vec<File>,
    /// For each kind of clusters, the limbs that they produced last, the latest first.
    pub(super) buffers: Vec<VecDeque<u32>>,
    /// Cycle in which the last event so far ends.
    end: u64,
}

impl<'a> Replay<'a> {
    pub(super) fn new(
        machine: &'a Machine,
        work: &'a Work,
        schedule: &'a Schedule,
    ) -> Result<Self, Violation> {
        let instructions = work.instructions();
        let length = |what, found, expected| {
            if found == expected {
                Ok(())
            } else {
                Err(Violation::Length {
                    what,
                    found,
                    expected,
                })
            }
        };
        length(
            "cycles of events",
            schedule.starts.len(),
            schedule.events.len(),
        )?;
        length("places", schedule.places.len(), instructions)?;
        length("durations on units", schedule.busy.len(), instructions)?;
        length("durations on ports", schedule.ports.len(), instructions)?;
        length(
            "operands in register files",
            schedule.held.len(),
            instructions,
        )?;
        Ok(Self {
            machine,
            work,
            schedule,
            n: work.n(),
            here: HashMap::new(),
            left: HashMap::new(),
            memory: HashMap::new(),
            issued: vec![0; instructions],
            units: BTreeMap::new(),
            ports: vec![Vec::new(); machine.clusters().len()],
            channel: Vec::new(),
            generators: Vec::new(),
            changes: Vec::new(),
            files: machine.clusters().iter().map(|_| File::default()).collect(),
            buffers: vec![VecDeque::new(); machine.kinds().count()],
            end: 0,
        })
    }

    pub(super) fn run(mut self) -> Result<(), Violation> {
        for (place, (event, cycle)) in self.schedule.events().enumerate() {
            let (what, number, count) = match event {
                Event::Issue(number) => ("instruction", number, self.work.instructions()),
                Event::Fetch(number) | Event::WriteBack(number) | Event::Release(number) => {
                    ("limb", number, self.work.limbs())
                }
            };
            if number as usize >= count {
                return Err(Violation::Number {
                    event: place,
                    what,
                    number,
                    count,
                });
            }
            match event {
                Event::Issue(instruction) => self.issue(instruction as usize, cycle)?,
                Event::Fetch(limb) => self.fetch(limb, cycle)?,
                Event::WriteBack(limb) => self.write_back(limb, cycle)?,
                Event::Release(limb) => self.release(limb, cycle)?,
            }
        }
        self.finish()
    }

    /// Reads a limb in a cycle. Returns its stay in the scratchpad.
    pub(super) fn read(
        &mut self,
        limb: u32,
        cycle: u64,
        reader: impl Fn() -> String,
    ) -> Result<&mut Stay, Violation> {
        let wrong = |state: String| Violation::Dependence {
            reader: reader(),
            limb,
            cycle,
            state,
        };
        match self.here.get_mut(&limb) {
            None => Err(wrong("it is not in the scratchpad".into())),
            Some(stay) if stay.ready > cycle => {
                Err(wrong(format!("it is there from cycle {} on", stay.ready)))
            }
            Some(stay) => Ok(stay),
        }
    }

    /// Returns true if the limb is a result that never leaves its register file.
    pub(super) fn inside(&self, limb: u32) -> bool {
        (limb as usize) < self.work.instructions() && self.schedule.inside(limb as usize)
    }

    pub(super) fn arrive(&mut self, limb: u32, cycle: u64, ready: u64) -> Result<(), Violation> {
        self.changes.push((cycle, true));
        self.end = self.end.max(ready);
        let stay = Stay {
            ready,
            needed: ready,
        };
        let state = match (self.here.insert(limb, stay), self.left.get(&limb)) {
            (Some(_), _) => "it is in the scratchpad already".into(),
            (None, Some(&left)) if left > cycle => format!("it is there until cycle {left}"),
            _ => return Ok(()),
        };
        Err(Violation::Dependence {
            reader: "its arrival".into(),
            limb,
            cycle,
            state,
        })
    }

    fn fetch(&mut self, limb: u32, cycle: u64) -> Result<(), Violation> {
        let input = self.work.input(limb);
        if input.is_none() {
            let there = self.memory.get(&limb).copied();
            if there.is_none_or(|from| from > cycle) {
                let state = there.map_or("memory never had it".into(), |from| {
                    format!("memory has it from cycle {from} on")
                });
                return Err(Violation::Dependence {
                    reader: "a load".into(),
                    limb,
                    cycle,
                    state,
                });
            }
        }
        let generated = input.is_some_and(|input| input.source.sampled());
        let generation = self.machine.generation(self.n).filter(|_| generated);
        let (cycles, latency) = match generation {
            Some(cost) => cost,
            None => (self.machine.transfer(self.n), self.machine.memory_latency()),
        };
        let channel = if generation.is_some() {
            &mut self.generators
        } else {
            &mut self.channel
        };
        channel.push(Use {
            from: cycle,
            until: cycle + cycles,
            who: limb,
        });
        self.arrive(limb, cycle, cycle + cycles + latency)
    }

    fn write_back(&mut self, limb: u32, cycle: u64) -> Result<(), Violation> {
        let until = cycle + self.machine.transfer(self.n);
        if self.inside(limb) {
            return Err(Violation::Dependence {
                reader: "a write to memory".into(),
                limb,
                cycle,
                state: "it never left the register file in which it was made".into(),
            });
        }
        let stay = self.read(limb, cycle, || "a write to memory".into())?;
        stay.needed = stay.needed.max(until);
        self.channel.push(Use {
            from: cycle,
            until,
            who: limb,
        });
        let from = self.memory.entry(limb).or_insert(until);
        *from = until.min(*from);
        self.end = self.end.max(until);
        Ok(())
    }

    fn release(&mut self, limb: u32, cycle: u64) -> Result<(), Violation> {
        let stay = *self.read(limb, u64::MAX, || "its release".into())?;
        if stay.needed > cycle {
            let state = format!("it is needed until cycle {}", stay.needed);
            return Err(Violation::Dependence {
                reader: "its release".into(),
                limb,
                cycle,
                state,
            });
        }
        self.here.remove(&limb);
        self.left.insert(limb, cycle);
        self.changes.push((cycle, false));
        Ok(())
    }

    fn finish(self) -> Result<(), Violation> {
        if let Some(instruction) = self.issued.iter().position(|&times| times == 0) {
            let kind = self.work.kind(instruction).name();
            return Err(Violation::Times {
                instruction,
                kind,
                times: 0,
            });
        }
        for &limb in self.work.outputs() {
            if self.work.input(limb).is_none() && !self.memory.contains_key(&limb) {
                return Err(Violation::Output { limb });
            }
        }
        let instruction = |who| {
            format!(
                "instruction {who} ({})",
                self.work.kind(who as usize).name()
            )
        };
        for ((cluster, unit, number), users) in self.units {
            let cluster = &self.machine.clusters()[usize::from(cluster)].name;
            let resource = || format!("{} {number} of {cluster}", self.machine.units()[unit].name);
            one_at_a_time(users, resource, instruction)?;
        }
        for (users, cluster) in self.ports.into_iter().zip(self.machine.clusters()) {
            one_at_a_time(
                users,
                || format!("the ports of {}", cluster.name),
                instruction,
            )?;
        }
        for (place, (file, cluster)) in self.files.iter().zip(self.machine.clusters()).enumerate() {
            let (found, capacity) = (file.most(), self.machine.register_limbs(place, self.n));
            if found > capacity {
                return Err(Violation::Registers {
                    cluster: cluster.name.clone(),
                    found,
                    capacity,
                });
            }
        }
        let transfer = |who| format!("the transfer of limb {who}");
        one_at_a_time(self.channel, || "the memory channel".into(), transfer)?;
        one_at_a_time(self.generators, || "the generators".into(), transfer)?;
        at_most(self.changes, self.machine.scratchpad_limbs(self.n))?;
        if self.end != self.schedule.cycles {
            return Err(Violation::End {
                found: self.schedule.cycles,
                expected: self.end,
            });
        }
        Ok(())
    }
}
