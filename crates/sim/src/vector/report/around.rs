//! Queues before and behind single instructions.

use super::chains::Chains;
use super::queue::{Job, least};
use super::unit_counts;
use crate::vector::machine::Machine;
use crate::vector::work::Work;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Most instructions of a queue.
const LONGEST: usize = 1 << 14;

/// For each instruction those that read its result.
pub(super) struct Readers {
    all: Vec<u32>,
    first: Vec<u32>,
    /// Whether a result is written to memory in the end.
    output: Vec<bool>,
}

impl Readers {
    pub(super) fn new(work: &Work) -> Self {
        let count = work.instructions();
        let made = |i: usize| {
            work.operands(i)
                .map(|limb| limb as usize)
                .filter(move |&limb| limb < count)
        };
        let mut first = vec![0u32; count + 1];
        (0..count)
            .flat_map(made)
            .for_each(|limb| first[limb + 1] += 1);
        for i in 0..count {
            first[i + 1] += first[i];
        }
        let (mut all, mut next) = (vec![0; first[count] as usize], first.clone());
        for i in 0..count {
            for limb in made(i) {
                all[next[limb] as usize] = i as u32;
                next[limb] += 1;
            }
        }
        let mut output = vec![false; count];
        for &limb in work.outputs() {
            if let Some(output) = output.get_mut(limb as usize) {
                *output = true;
            }
        }
        Self { all, first, output }
    }

    fn of(&self, instruction: usize) -> impl Iterator<Item = usize> {
        let range = self.first[instruction] as usize..self.first[instruction + 1] as usize;
        self.all[range].iter().map(|&reader| reader as usize)
    }
}

/// What stands around an instruction, and how far away it is.
pub(super) struct Queues {
    servers: Vec<u64>,
    /// For each limb that is found the cycles between it and the instruction.
    away: Vec<Option<u64>>,
}

impl Queues {
    pub(super) fn new(machine: &Machine, work: &Work) -> Self {
        Self {
            servers: unit_counts(machine)
                .into_iter()
                .map(|count| count as u64)
                .collect(),
            away: vec![None; work.limbs()],
        }
    }

    /// The first cycle in which an instruction can begin if units do what it needs one after the other, and the memory
    /// channel and the generators bring what is needed from outside.
    pub(super) fn before(
        &mut self,
        machine: &Machine,
        work: &Work,
        (chains, result): (&Chains, usize),
    ) -> u64 {
        let mut jobs = vec![Vec::new(); self.servers.len()];
        let mut outside: Vec<u32> = Vec::new();
        // The last one first, so that all that read it are done.
        let mut open: BinaryHeap<usize> = BinaryHeap::from([result]);
        let mut found = 0;
        while let Some(next) = open.pop() {
            let (busy, _) = chains.takes[next];
            let away = self.away[next].take();
            let way = away.map_or(0, |away| away + busy);
            if let Some(tail) = away {
                let head = chains.before[next];
                let job = Job { head, busy, tail };
                let units = machine.uses(work.kind(next));
                units.iter().for_each(|&unit| jobs[unit].push(job));
            }
            for limb in work.operands(next) {
                let known = &mut self.away[limb as usize];
                let made = chains.takes.get(limb as usize);
                if known.is_none() {
                    match made {
                        None => outside.push(limb),
                        Some(_) if found == LONGEST => continue,
                        Some(_) => {
                            found += 1;
                            open.push(limb as usize);
                        }
                    }
                }
                let latency = made.map_or(0, |(_, latency)| *latency);
                *known = (*known).max(Some(way + latency));
            }
        }
        self.units(jobs).max(self.loads(machine, work, outside))
    }

    /// What memory and generators take at least for limbs that are needed.
    fn loads(&mut self, machine: &Machine, work: &Work, limbs: Vec<u32>) -> u64 {
        let n = work.n();
        let [mut loads, mut seeds] = [Vec::new(), Vec::new()];
        for limb in limbs {
            let away = self.away[limb as usize].take().unwrap_or(0);
            let sampled = work.input(limb).is_some_and(|one| one.source.sampled());
            let ((busy, latency), queue) = match machine.generation(n) {
                Some(generation) if sampled => (generation, &mut seeds),
                _ => ((machine.transfer(n), machine.memory_latency()), &mut loads),
            };
            queue.push(Job {
                head: 0,
                busy,
                tail: latency + away,
            });
        }
        least(loads, 1).max(least(seeds, 1))
    }

    /// Cycles from the one in which a result is there to the end, if units do what needs it one after the other, and the
    /// memory channel writes outputs.
    pub(super) fn behind(
        &mut self,
        machine: &Machine,
        work: &Work,
        (chains, readers, first): (&Chains, &Readers, usize),
    ) -> u64 {
        let mut jobs = vec![Vec::new(); self.servers.len()];
        let mut writes = Vec::new();
        // The first one first, so that all that it reads are done.
        let mut open = BinaryHeap::from([Reverse(first)]);
        let mut found = 0;
        while let Some(Reverse(next)) = open.pop() {
            let (busy, latency) = chains.takes[next];
            let away = self.away[next].take();
            let there = away.map_or(0, |away| away + busy + latency);
            if let Some(head) = away {
                let tail = latency + chains.behind[next].unwrap_or(0);
                let job = Job { head, busy, tail };
                let units = machine.uses(work.kind(next));
                units.iter().for_each(|&unit| jobs[unit].push(job));
            }
            if readers.output[next] {
                writes.push(Job {
                    head: there,
                    busy: machine.transfer(work.n()),
                    tail: 0,
                });
            }
            for reader in readers.of(next) {
                let known = &mut self.away[reader];
                if known.is_none() {
                    if found == LONGEST {
                        continue;
                    }
                    found += 1;
                    open.push(Reverse(reader));
                }
                *known = (*known).max(Some(there));
            }
        }
        self.units(jobs).max(least(writes, 1))
    }

    /// What units take at least.
    fn units(&self, jobs: Vec<Vec<Job>>) -> u64 {
        let queues = jobs.into_iter().zip(&self.servers);
        let least = queues.map(|(jobs, &servers)| least(jobs, servers));
        least.max().unwrap_or(0)
    }
}
