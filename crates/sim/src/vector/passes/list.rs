//! List scheduling on a model machine: gaps are filled with any event that can begin.
//!
//! Time goes on tick by tick. An event whose needs are met is in the list of its resource. As long
//! as some event of a list can begin, the first one does. Only the order of beginnings and the
//! clusters are kept.

use super::graph::Graph;
use super::homes::Queues;
use super::model::Model;
use super::profile::{Profile, Ticks};
use super::schedule::Event;
use crate::vector::machine::{Machine, Operation};
use crate::vector::work::Work;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering};

/// The result of list scheduling: events in the order of their beginnings, and for each instruction
/// its cluster.
pub(super) struct Listed {
    /// The tick in which the last event begins.
    pub(super) ticks: u64,
    pub(super) order: Vec<u32>,
    pub(super) clusters: Vec<u16>,
}

/// Orders the events of a graph by list scheduling. Returns `None` if this takes more ticks than
/// `limit`, which other threads may lower.
pub(super) fn order(
    machine: &Machine,
    work: &Work,
    graph: &Graph,
    profile: Profile,
    limit: &AtomicU64,
) -> Option<Listed> {
    let model = Model::new(machine, work, profile);
    let mut list = List {
        work,
        graph,
        profile,
        ranks: critical(machine, work, graph, profile),
        waits: graph.waits.clone(),
        order: Vec::with_capacity(graph.events.len()),
        instructions: Queues::new(machine, work, profile, model.classes()),
        memory: Channel::default(),
        generators: Channel::default(),
        generates: !machine.uses(Operation::Sample).is_empty(),
        model,
    };
    for (event, &waits) in graph.waits.iter().enumerate() {
        if waits == 0 {
            list.begin_or_list(event as u32);
        }
    }
    while list.order.len() < graph.events.len() {
        list.dispatch();
        if list.model.now() > limit.load(Ordering::Relaxed) {
            return None;
        }
        list.tick();
    }
    Some(Listed {
        ticks: list.model.now(),
        order: list.order,
        clusters: list.model.clusters,
    })
}

/// Events by rank, the lowest first.
type Heap = BinaryHeap<Reverse<(u32, u32)>>;

/// A channel, which serves one transfer at a time.
#[derive(Default)]
struct Channel {
    waiting: Heap,
    busy: bool,
}

/// The state of list scheduling: waiting events, and the order so far.
struct List<'a> {
    work: &'a Work,
    graph: &'a Graph,
    profile: Profile,
    /// For each event, its rank. The event with the longest chain after it has the lowest rank.
    ranks: Vec<u32>,
    /// For each event, how many events it still waits for.
    waits: Vec<u32>,
    order: Vec<u32>,
    instructions: Queues<'a>,
    memory: Channel,
    generators: Channel,
    /// True if the machine has generators.
    generates: bool,
    model: Model<'a>,
}

impl List<'_> {
    fn generated(&self, limb: u32) -> bool {
        let input = self.work.input(limb);
        self.generates && input.is_some_and(|input| input.source.sampled())
    }

    /// Notes that an event waits for one event less.
    fn met(&mut self, event: u32) {
        let waits = &mut self.waits[event as usize];
        *waits -= 1;
        if *waits == 0 {
            self.begin_or_list(event);
        }
    }

    /// Adds an event that waits for no other to the list of its resource. A release needs no
    /// resource, and happens at once.
    fn begin_or_list(&mut self, event: u32) {
        let rank = self.ranks[event as usize];
        let entry = Reverse((rank, event));
        match Event::unpack(self.graph.events[event as usize]) {
            Event::Issue(instruction) => {
                self.instructions
                    .push(&self.model, instruction as usize, entry);
            }
            Event::Fetch(limb) if self.generated(limb) => self.generators.waiting.push(entry),
            Event::Fetch(_) | Event::WriteBack(_) => self.memory.waiting.push(entry),
            Event::Release(_) => {
                self.order.push(event);
                let graph = self.graph;
                graph.next(event).iter().for_each(|&next| self.met(next));
            }
        }
    }

    /// Begins all events that can begin now.
    fn dispatch(&mut self) {
        for (channel, ticks) in [
            (&mut self.memory, self.profile.transfer()),
            (&mut self.generators, self.profile.generation()),
        ] {
            if !channel.busy
                && let Some(Reverse((_, event))) = channel.waiting.pop()
            {
                channel.busy = true;
                self.model.begin(event, ticks.busy, ticks.latency);
                self.order.push(event);
            }
        }
        while let Some((event, cluster)) = self.instructions.pop(&mut self.model) {
            let Event::Issue(instruction) = Event::unpack(self.graph.events[event as usize]) else {
                unreachable!("queues list instructions");
            };
            self.model.issue_on(instruction as usize, event, cluster);
            self.order.push(event);
        }
    }

    fn tick(&mut self) {
        let (ends, gives) = self.model.tick();
        let graph = self.graph;
        for event in ends {
            match Event::unpack(graph.events[event as usize]) {
                Event::Issue(instruction) => self.model.end(instruction as usize),
                Event::Fetch(limb) if self.generated(limb) => self.generators.busy = false,
                Event::Fetch(_) | Event::WriteBack(_) => self.memory.busy = false,
                Event::Release(_) => {}
            }
            graph
                .leaves(event)
                .iter()
                .for_each(|&leave| self.met(leave));
        }
        for event in gives {
            graph.next(event).iter().for_each(|&next| self.met(next));
        }
    }
}

/// Ranks of events by the longest chain after each: the longest chain has the lowest rank.
fn critical(machine: &Machine, work: &Work, graph: &Graph, profile: Profile) -> Vec<u32> {
    let mut behind = vec![0u32; graph.events.len()];
    for event in (0..graph.events.len() as u32).rev() {
        let ticks = match Event::unpack(graph.events[event as usize]) {
            Event::Issue(i) => {
                let i = i as usize;
                profile.operation(machine, work.n(), work.kind(i), work.terms(i))
            }
            Event::Fetch(_) | Event::WriteBack(_) => profile.transfer(),
            Event::Release(_) => Ticks::default(),
        };
        let longest = |events: &[u32]| {
            let behind = events.iter().map(|&next| behind[next as usize]);
            behind.max().unwrap_or(0)
        };
        let (leaves, next) = (longest(graph.leaves(event)), longest(graph.next(event)));
        let chain = u64::from(leaves).max(u64::from(next) + ticks.latency) + ticks.busy;
        behind[event as usize] = u32::try_from(chain).unwrap_or(u32::MAX);
    }
    behind.iter().map(|chain| u32::MAX - chain).collect()
}
