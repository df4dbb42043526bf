//! Times in which kinds of clusters work side by side, and in which steps of the program overlap.
//!
//! A kind of clusters *works* while a unit of one of its clusters does passes. Two kinds that work
//! at the same time are a pipeline: one kind works on results of the other.

use crate::vector::machine::Machine;
use crate::vector::passes::{Event, Schedule};
use crate::vector::work::Work;

/// Cycles in which the kinds of clusters of a machine work, for the whole program or for a part of
/// it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Together {
    /// For each kind of clusters, the cycles in which it works.
    pub works: Vec<u64>,
    /// Cycles in which two kinds or more work at the same time.
    pub together: u64,
    /// The first cycle of the first pass.
    pub begins: u64,
    /// The cycle after the last pass.
    pub ends: u64,
}

/// A range of cycles: the first cycle, and the cycle after the last.
pub(super) type Span = (u64, u64);

/// The spans of the passes of all instructions, for each kind of clusters in order of time. Each
/// span has the step of its instruction.
pub(super) struct Spans {
    kinds: Vec<Vec<(Span, u32)>>,
    steps: usize,
}

impl Spans {
    pub(super) fn new(machine: &Machine, work: &Work, schedule: &Schedule) -> Self {
        let mut kinds = vec![Vec::new(); machine.kinds().count()];
        for (event, start) in schedule.events() {
            let Event::Issue(instruction) = event else {
                continue;
            };
            let i = instruction as usize;
            let cluster = usize::from(schedule.place(i).cluster);
            let units = machine.uses(work.kind(i)).iter();
            let cycles = units.map(|&unit| machine.units()[unit].cycles(work.n(), work.terms(i)));
            let end = start + cycles.max().unwrap_or(0);
            let kind: &mut Vec<(Span, u32)> = &mut kinds[machine.clusters()[cluster].kind];
            kind.push(((start, end), work.step(i) as u32));
        }
        kinds.iter_mut().for_each(|spans| spans.sort_unstable());
        Self {
            kinds,
            steps: work.steps().len(),
        }
    }

    /// For each kind of clusters, the spans in which it works, in order and without overlaps.
    pub(super) fn unions(&self) -> Vec<Vec<Span>> {
        let spans = |kind: &Vec<(Span, u32)>| union(kind.iter().map(|&(span, _)| span));
        self.kinds.iter().map(spans).collect()
    }

    /// For each step of the program, the cycles in which clusters work for it.
    pub(super) fn by_step(&self) -> Vec<Together> {
        let mut steps = vec![vec![Vec::new(); self.kinds.len()]; self.steps];
        for (place, kind) in self.kinds.iter().enumerate() {
            for &(span, step) in kind {
                steps[step as usize][place].push(span);
            }
        }
        let union = |kinds: Vec<Vec<Span>>| -> Vec<Vec<Span>> {
            kinds
                .into_iter()
                .map(|spans| union(spans.into_iter()))
                .collect()
        };
        steps
            .into_iter()
            .map(|kinds| Together::of(&union(kinds)))
            .collect()
    }
}

impl Together {
    /// Counts the cycles of spans. `kinds` has the spans of each kind of clusters, in order and
    /// without overlaps.
    pub(super) fn of(kinds: &[Vec<Span>]) -> Self {
        let cycles = |spans: &Vec<Span>| spans.iter().map(|(start, end)| end - start).sum();
        let all = kinds.iter().flatten();
        Self {
            works: kinds.iter().map(cycles).collect(),
            together: cycles(&together(kinds)),
            begins: all.clone().map(|span| span.0).min().unwrap_or(0),
            ends: all.map(|span| span.1).max().unwrap_or(0),
        }
    }
}

/// The spans in which two kinds or more work.
pub(super) fn together(kinds: &[Vec<Span>]) -> Vec<Span> {
    let edges = kinds.iter().flatten();
    let mut edges: Vec<(u64, i32)> = edges
        .flat_map(|&(from, to)| [(from, 1), (to, -1)])
        .collect();
    edges.sort_unstable();
    let (mut spans, mut working, mut since) = (Vec::new(), 0, 0);
    for (cycle, change) in edges {
        let before = working;
        working += change;
        match (before, working) {
            (1, 2) => since = cycle,
            (2, 1) if cycle > since => spans.push((since, cycle)),
            _ => {}
        }
    }
    spans
}

/// Joins spans that touch or overlap. `spans` are in order of their first cycles.
fn union(spans: impl Iterator<Item = Span>) -> Vec<Span> {
    let mut joined: Vec<Span> = Vec::new();
    for (start, end) in spans {
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}
