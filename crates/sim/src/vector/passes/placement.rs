//! Placement: every event gets a cycle, and every instruction its units.
//!
//! Events are served in order. Each begins in the first cycle in which all its needs are met:
//!
//! - an instruction: its operands, a unit of each kind that it occupies, the ports of its cluster,
//!   room for its result;
//! - a transfer: the memory channel, or the generators; the limb to write; room for the limb to
//!   load.
//!
//! A limb that enters waits for the limb whose room it takes, which the plan has fixed. Loads run
//! ahead of their use as far as the room allows.

use super::assign::Assign;
use super::graph::Graph;
use super::list::Listed;
use super::registers;
use super::schedule::{Assignment, Event, Schedule, Stall};
use crate::error::{Error, Result};
use crate::vector::machine::{Machine, Operation};
use crate::vector::work::{NONE, Work};

/// Events between two calls of `go_on`.
const STEP: usize = 1 << 16;

/// Gives planned events their cycles, in the order of the plan or in the order of list scheduling.
/// Returns `None` if they take `limit` cycles or more. Calls `go_on` with the thousandths of events
/// that are done. If it returns false, placement stops.
pub(super) fn place(
    machine: &Machine,
    work: &Work,
    (graph, listed): (&Graph, Option<&Listed>),
    limit: u64,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Result<Option<Schedule>> {
    let count = graph.events.len();
    let order = |place: usize| listed.map_or(place, |listed| listed.order[place] as usize);
    let issued = (0..count).filter_map(|place| match Event::unpack(graph.events[order(place)]) {
        Event::Issue(instruction) => Some(instruction),
        _ => None,
    });
    let mut assign = Assign::new(machine, work);
    let mut sequences = vec![Vec::new(); machine.clusters().len()];
    for instruction in issued {
        let cluster = match listed {
            Some(listed) => listed.clusters[instruction as usize],
            None => assign.cluster(work, instruction as usize),
        };
        sequences[usize::from(cluster)].push(instruction);
    }
    let held = registers::keep(machine, work, &sequences, &graph.events);
    let mut placer = Placer::new(machine, work, graph, held);
    for (cluster, sequence) in sequences.iter().enumerate() {
        for &instruction in sequence {
            placer.schedule.places[instruction as usize].cluster = cluster as u16;
        }
    }
    for place in 0..count {
        if place % STEP == 0 && !go_on(1000 * place / count) {
            return Err(Error::Stopped);
        }
        let event = order(place);
        let start = match Event::unpack(graph.events[event]) {
            Event::Issue(instruction) => placer.issue(event, instruction),
            Event::Fetch(limb) => placer.fetch(event, limb),
            Event::WriteBack(limb) => placer.write_back(limb),
            Event::Release(limb) => placer.release(event, limb),
        };
        if placer.schedule.cycles >= limit {
            return Ok(None);
        }
        placer.schedule.events.push(graph.events[event]);
        placer.schedule.starts.push(start);
    }
    Ok(Some(placer.schedule))
}

/// The state of the machine during placement: times from which each resource is free.
struct Placer<'a> {
    machine: &'a Machine,
    work: &'a Work,
    schedule: Schedule,
    /// For each limb, the cycle from which it can be read, and true if it last came from outside.
    ready: Vec<u64>,
    fetched: Vec<bool>,
    /// For each limb, the cycle from which no event that was issued needs it.
    held: Vec<u64>,
    clusters: Vec<ClusterState>,
    /// For each kind of clusters, the limbs that it produced last. Clusters of other kinds read
    /// them.
    buffers: Vec<Buffer>,
    /// Cycle from which the memory channel is free.
    memory: u64,
    /// Cycle from which the generators are free.
    generators: u64,
    graph: &'a Graph,
    /// For each release, by its event, the cycle in which the limb left.
    left: Vec<u64>,
    costs: Costs,
}

/// The times from which the units and the ports of a cluster are free.
struct ClusterState {
    /// For each kind of unit, the cycles from which its units are free.
    units: Vec<Vec<u64>>,
    /// Cycle from which the ports are free.
    ports: u64,
    /// First cycle of the latest instruction.
    last_start: u64,
    bytes_per_cycle: u64,
}

/// The limbs that clusters of one kind produced last.
struct Buffer {
    /// A ring of the buffer's capacity.
    limbs: Vec<u32>,
    next: usize,
}

impl Buffer {
    fn new(limbs: usize) -> Self {
        Self {
            limbs: vec![NONE; limbs],
            next: 0,
        }
    }

    /// Replaces the oldest limb.
    fn meet(&mut self, limb: u32) {
        if let Some(oldest) = self.limbs.get_mut(self.next) {
            *oldest = limb;
            self.next = (self.next + 1) % self.limbs.len();
        }
    }
}

/// Costs in cycles, for the ring degree of the work.
struct Costs {
    /// For each kind of unit, the cycles of a pass.
    passes: Vec<u64>,
    /// For each operation, its latency: that of its units, one after the other.
    latencies: [u64; Operation::ALL.len()],
    limb_bytes: u64,
    transfer: u64,
    memory_latency: u64,
    generation: Option<(u64, u64)>,
}

impl<'a> Placer<'a> {
    fn new(machine: &'a Machine, work: &'a Work, graph: &'a Graph, held: Vec<u64>) -> Self {
        let (n, instructions, limbs) = (work.n(), work.instructions(), work.limbs());
        let units = machine.units();
        let latency = |operation| {
            machine
                .uses(operation)
                .iter()
                .map(|&unit| units[unit].latency)
                .sum()
        };
        let clusters = machine.clusters().iter().map(|cluster| ClusterState {
            units: cluster.units.iter().map(|&count| vec![0; count]).collect(),
            ports: 0,
            last_start: 0,
            bytes_per_cycle: cluster.bytes_per_cycle,
        });
        Self {
            machine,
            work,
            schedule: Schedule {
                starts: Vec::with_capacity(graph.events.len()),
                events: Vec::with_capacity(graph.events.len()),
                places: vec![Assignment::default(); instructions],
                busy: vec![0; instructions],
                ports: vec![0; instructions],
                held,
                ..Schedule::default()
            },
            ready: vec![0; limbs],
            fetched: vec![false; limbs],
            held: vec![0; limbs],
            clusters: clusters.collect(),
            buffers: machine
                .kinds()
                .map(|_| Buffer::new(machine.buffer_limbs(n)))
                .collect(),
            memory: 0,
            generators: 0,
            graph,
            left: vec![0; graph.events.len()],
            costs: Costs {
                passes: units.iter().map(|unit| unit.pass(n)).collect(),
                latencies: Operation::ALL.map(latency),
                limb_bytes: machine.limb_bytes(n),
                transfer: machine.transfer(n),
                memory_latency: machine.memory_latency(),
                generation: machine.generation(n),
            },
        }
    }

    /// The cycle from which there is room for the limb that an event brings.
    fn room(&self, event: usize) -> u64 {
        let room = self.graph.rooms[event];
        self.left.get(room as usize).copied().unwrap_or(0)
    }

    fn fetch(&mut self, event: usize, limb: u32) -> u64 {
        let room = self.room(event);
        let sampled = self
            .work
            .input(limb)
            .is_some_and(|input| input.source.sampled());
        let (channel, cycles, latency) = match self.costs.generation {
            Some((cycles, latency)) if sampled => (&mut self.generators, cycles, latency),
            _ => (
                &mut self.memory,
                self.costs.transfer,
                self.costs.memory_latency,
            ),
        };
        // A limb that comes again comes after it has left.
        let start = room.max(*channel).max(self.held[limb as usize]);
        *channel = start + cycles;
        let ready = start + cycles + latency;
        self.ready[limb as usize] = ready;
        self.fetched[limb as usize] = true;
        self.held[limb as usize] = ready;
        self.ends(ready);
        start
    }

    fn write_back(&mut self, limb: u32) -> u64 {
        let start = self.ready[limb as usize].max(self.memory);
        self.memory = start + self.costs.transfer;
        let held = &mut self.held[limb as usize];
        *held = self.memory.max(*held);
        self.ends(self.memory);
        start
    }

    fn release(&mut self, event: usize, limb: u32) -> u64 {
        self.left[event] = self.held[limb as usize];
        self.left[event]
    }

    fn issue(&mut self, event: usize, instruction: u32) -> u64 {
        let (work, i) = (self.work, instruction as usize);
        let mut place = self.schedule.places[i];
        let chosen = place.cluster;
        let kind = work.kind(i);
        let room = self.room(event);
        let cluster = &mut self.clusters[usize::from(chosen)];

        // Operands that are neither in the register file nor in a buffer come over the ports. A
        // result that is needed elsewhere goes out over them.
        let own = self.machine.clusters()[usize::from(chosen)].kind;
        let (mut computed, mut loaded) = (0, 0);
        let mut moved = u64::from(!self.schedule.inside(i));
        for (operand, limb) in work.operands(i).enumerate() {
            let limb = limb as usize;
            let wait = if self.fetched[limb] {
                &mut loaded
            } else {
                &mut computed
            };
            *wait = self.ready[limb].max(*wait);
            let others = self.buffers.iter().enumerate();
            let mut others = others.filter(|&(kind, _)| kind != own);
            let mut buffered = || others.any(|(_, buffer)| buffer.limbs.contains(&(limb as u32)));
            moved += u64::from(!self.schedule.holds(i, operand) && !buffered());
        }
        self.buffers[own].meet(instruction);
        let ports = (moved * self.costs.limb_bytes).div_ceil(cluster.bytes_per_cycle);

        let (mut free, mut busy) = (0, ports);
        let uses = self.machine.uses(kind);
        for (unit, &of) in place.units.iter_mut().zip(uses) {
            let units = cluster.units[of].iter().enumerate();
            let (first, &from) = units
                .min_by_key(|(_, from)| **from)
                .expect("the cluster has one");
            *unit = first as u8;
            free = from.max(free);
            let passes = self.machine.units()[of].passes(work.terms(i));
            busy = busy.max(self.costs.passes[of] * passes);
        }

        // Cycles from which each cause allows the instruction, in the order of [`Stall::ALL`].
        let waits: [u64; Stall::ALL.len()] = [free, cluster.ports, computed, loaded, room];
        let (cause, &start) = waits
            .iter()
            .enumerate()
            .rev()
            .max_by_key(|(_, wait)| **wait)
            .expect("five waits");
        for (&unit, &of) in place.units.iter().zip(uses) {
            cluster.units[of][usize::from(unit)] = start + busy;
        }
        cluster.ports = start + ports;
        self.schedule.stalls[cause] += start.saturating_sub(cluster.last_start);
        cluster.last_start = start.max(cluster.last_start);

        let end = start + busy;
        let ready = end + self.costs.latencies[kind as usize];
        for limb in work.operands(i) {
            let held = &mut self.held[limb as usize];
            *held = end.max(*held);
        }
        self.ready[i] = ready;
        self.held[i] = ready;
        self.schedule.places[i] = place;
        self.schedule.busy[i] = busy;
        self.schedule.ports[i] = ports;
        self.ends(ready);
        start
    }

    fn ends(&mut self, cycle: u64) {
        self.schedule.cycles = self.schedule.cycles.max(cycle);
    }
}
