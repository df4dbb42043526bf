//! The dependences between the events of a plan.
//!
//! A plan fixes the limbs that enter and leave the scratchpad, and the limb whose room each one
//! takes: with a capacity of `c` limbs, the `a`-th limb that enters takes the room of the
//! `(a - c)`-th that leaves. The plan does not fix the order in which units, ports and channels
//! serve events. Any order in which each event comes after the events that it waits for is a
//! schedule.

use super::schedule::Event;
use crate::vector::work::{NONE, Work};

/// The events of a plan, with their dependences.
pub(super) struct Graph {
    /// Packed events, in an order in which each comes after the events that it waits for.
    pub(super) events: Vec<u32>,
    /// For each event that brings a limb, the release whose room the limb takes, or `NONE`.
    pub(super) rooms: Vec<u32>,
    /// Releases that wait for the end of an event: the list of event `e` ends at `leaves_end[e]`.
    leaves: Vec<u32>,
    leaves_end: Vec<u32>,
    /// Other events that wait for an event, in lists of the same form.
    next: Vec<u32>,
    next_end: Vec<u32>,
    /// For each event, the number of events that it waits for.
    pub(super) waits: Vec<u32>,
}

impl Graph {
    /// Builds the graph of planned events for a scratchpad of `capacity` limbs.
    pub(super) fn new(work: &Work, events: Vec<u32>, capacity: usize) -> Self {
        let rooms = rooms(&events, capacity);
        let mut waits = vec![0; events.len()];
        let (leaves_end, leaves) = lists(events.len(), &mut waits, |edge| {
            to_releases(work, &events, edge);
        });
        let (next_end, next) = lists(events.len(), &mut waits, |edge| {
            to_others(work, &events, &rooms, edge);
        });
        Self {
            events,
            rooms,
            leaves,
            leaves_end,
            next,
            next_end,
            waits,
        }
    }

    /// Releases that wait for the end of an event.
    pub(super) fn leaves(&self, event: u32) -> &[u32] {
        list(&self.leaves_end, &self.leaves, event)
    }

    /// Other events that wait for the result of an event.
    pub(super) fn next(&self, event: u32) -> &[u32] {
        list(&self.next_end, &self.next, event)
    }
}

fn list<'a>(ends: &[u32], all: &'a [u32], event: u32) -> &'a [u32] {
    let event = event as usize;
    let first = event.checked_sub(1).map_or(0, |before| ends[before]);
    &all[first as usize..ends[event] as usize]
}

/// For each event that brings a limb, the release whose room it takes, or `NONE`.
pub(super) fn rooms(events: &[u32], capacity: usize) -> Vec<u32> {
    let released = |&event: &u32| matches!(Event::unpack(event), Event::Release(_));
    let mut releases = (0..events.len() as u32).filter(|&e| released(&events[e as usize]));
    let mut entered = 0;
    let room = |&event: &u32| match Event::unpack(event) {
        Event::Issue(_) | Event::Fetch(_) => {
            entered += 1;
            if entered <= capacity {
                NONE
            } else {
                releases.next().expect("limbs leave before others enter")
            }
        }
        Event::WriteBack(_) | Event::Release(_) => NONE,
    };
    events.iter().map(room).collect()
}

/// Builds the list of events that wait for each event, and counts for each event how many it waits
/// for. `edges` must give the same edges each time.
fn lists(
    events: usize,
    waits: &mut [u32],
    edges: impl Fn(&mut dyn FnMut(u32, u32)),
) -> (Vec<u32>, Vec<u32>) {
    let mut ends = vec![0u32; events];
    edges(&mut |from, to| {
        ends[from as usize] += 1;
        waits[to as usize] += 1;
    });
    let mut sum = 0;
    for end in &mut ends {
        sum += std::mem::replace(end, sum);
    }
    let mut all = vec![0; sum as usize];
    edges(&mut |from, to| {
        let place = &mut ends[from as usize];
        all[*place as usize] = to;
        *place += 1;
    });
    (ends, all)
}

/// Calls `edge` for each event that a release waits for.
fn to_releases(work: &Work, events: &[u32], edge: &mut dyn FnMut(u32, u32)) {
    // For each limb, its next release. The loop runs backwards.
    let mut leaves = vec![NONE; work.limbs()];
    for place in (0..events.len() as u32).rev() {
        let mut held = |limb: u32| {
            let leave = leaves[limb as usize];
            if leave != NONE {
                edge(place, leave);
            }
        };
        match Event::unpack(events[place as usize]) {
            Event::Issue(instruction) => {
                work.operands(instruction as usize).for_each(&mut held);
                held(instruction);
            }
            Event::Fetch(limb) | Event::WriteBack(limb) => held(limb),
            Event::Release(limb) => leaves[limb as usize] = place,
        }
    }
}

/// Calls `edge` for each event that an instruction or a transfer waits for.
fn to_others(work: &Work, events: &[u32], rooms: &[u32], edge: &mut dyn FnMut(u32, u32)) {
    // For each limb, the event that brought it last, the event that wrote it, and its last release.
    let mut brought = vec![NONE; work.limbs()];
    let mut written = vec![NONE; work.limbs()];
    let mut released = vec![NONE; work.limbs()];
    for (place, (&event, &room)) in events.iter().zip(rooms).enumerate() {
        let place = place as u32;
        if room != NONE {
            edge(room, place);
        }
        match Event::unpack(event) {
            Event::Issue(instruction) => {
                for limb in work.operands(instruction as usize) {
                    edge(brought[limb as usize], place);
                }
                brought[instruction as usize] = place;
            }
            Event::Fetch(limb) => {
                for before in [written[limb as usize], released[limb as usize]] {
                    if before != NONE {
                        edge(before, place);
                    }
                }
                brought[limb as usize] = place;
            }
            Event::WriteBack(limb) => {
                edge(brought[limb as usize], place);
                written[limb as usize] = place;
            }
            Event::Release(limb) => released[limb as usize] = place,
        }
    }
}
