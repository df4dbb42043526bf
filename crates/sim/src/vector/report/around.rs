//! Queues of work before and after single instructions.

use super::chains::Chains;
use super::queue::{Job, least};
use super::unit_counts;
use crate::vector::machine::Machine;
use crate::vector::work::Work;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Largest number of instructions in a queue.
const LONGEST: usize = 1 << 14;

/// For each instruction, the instructions that read its result.
pub(super) struct Readers {
    /// Readers of all results: the readers of result `i` are `all[first[i]..first[i + 1]]`.
    all: Vec<u32>,
    first: Vec<u32>,
    /// For each instruction, true if its result is an output.
    output: Vec<bool>,
}

impl Readers {
    pub(super) fn new(work: &Work) -> Self {
        let count = work.instructions();
        let results_read = |i: usize| {
            work.operands(i)
                .map(|limb| limb as usize)
                .filter(move |&limb| limb < count)
        };
        let mut first = vec![0u32; count + 1];
        (0..count)
            .flat_map(results_read)
            .for_each(|limb| first[limb + 1] += 1);
        for i in 0..count {
            first[i + 1] += first[i];
        }
        let (mut all, mut next) = (vec![0; first[count] as usize], first.clone());
        for i in 0..count {
            for limb in results_read(i) {
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

/// A search for the work around one instruction, with the distance of each limb from it.
pub(super) struct Queues {
    /// For each kind of unit, the number of units in all clusters.
    servers: Vec<u64>,
    /// For each limb that the search has met, the cycles between the limb and the instruction.
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

    /// A lower bound on the first cycle of the instruction `result`. Units, memory channel and
    /// generators do all the jobs that the instruction needs, one after the other.
    pub(super) fn before(
        &mut self,
        machine: &Machine,
        work: &Work,
        (chains, result): (&Chains, usize),
    ) -> u64 {
        let mut jobs = vec![Vec::new(); self.servers.len()];
        let mut outside: Vec<u32> = Vec::new();
        // The latest instruction comes first, so that all its readers are done before it.
        let mut open: BinaryHeap<usize> = BinaryHeap::from([result]);
        let mut length = 0;
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
                let takes = chains.takes.get(limb as usize);
                if known.is_none() {
                    match takes {
                        None => outside.push(limb),
                        Some(_) if length == LONGEST => continue,
                        Some(_) => {
                            length += 1;
                            open.push(limb as usize);
                        }
                    }
                }
                let latency = takes.map_or(0, |(_, latency)| *latency);
                *known = (*known).max(Some(way + latency));
            }
        }
        self.units(jobs).max(self.loads(machine, work, outside))
    }

    /// A lower bound on the cycles in which memory and generators deliver `limbs`.
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

    /// A lower bound on the cycles from the availability of the result of `first` to the end. Units
    /// do all the jobs that need the result, one after the other, and the memory channel writes the
    /// outputs.
    pub(super) fn behind(
        &mut self,
        machine: &Machine,
        work: &Work,
        (chains, readers, first): (&Chains, &Readers, usize),
    ) -> u64 {
        let mut jobs = vec![Vec::new(); self.servers.len()];
        let mut writes = Vec::new();
        // The earliest instruction comes first, so that all instructions that it reads are done
        // before it.
        let mut open = BinaryHeap::from([Reverse(first)]);
        let mut length = 0;
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
                    if length == LONGEST {
                        continue;
                    }
                    length += 1;
                    open.push(Reverse(reader));
                }
                *known = (*known).max(Some(there));
            }
        }
        self.units(jobs).max(least(writes, 1))
    }

    /// A lower bound on the cycles in which the units finish `jobs`, which are listed by kind of
    /// unit.
    fn units(&self, jobs: Vec<Vec<Job>>) -> u64 {
        let queues = jobs.into_iter().zip(&self.servers);
        let least = queues.map(|(jobs, &servers)| least(jobs, servers));
        least.max().unwrap_or(0)
    }
}
