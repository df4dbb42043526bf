//! Timelines: schedules as files that open in Perfetto (<https://ui.perfetto.dev>).
//!
//! A timeline has a track for each unit, for the ports of each cluster, and for each channel. A
//! slice is named after its operation and its step of the program, and the step is also its
//! category. One cycle is one nanosecond of the file's time.

mod proto;
#[cfg(test)]
mod tests;

use super::machine::Machine;
use super::passes::{Event, Schedule};
use super::tracks::{Slice, Track, occupancy, tracks};
use super::work::Work;
use crate::error::{Error, Result};
use proto::Packets;
use std::collections::HashMap;
use std::ops::Range;

/// Largest number of slices of a timeline: 100 MB, which the viewer opens in a browser.
pub const MAX_SLICES: usize = 2_000_000;
/// Largest number of changes of a counter that are written.
const MAX_VALUES: usize = 50_000;

/// Names of the annotations of a slice. Files number them from 1.
const NOTES: [&str; 2] = ["instruction", "limb"];
/// Number of the track that counts limbs in the scratchpad. Other tracks follow.
const SCRATCHPAD: u64 = 1;

/// Writes a timeline: a Perfetto trace in protocol buffers. A window limits it to some cycles.
/// Slices that reach beyond the window are cut off.
///
/// # Errors
/// [`Error::Parameters`] for a window that has no cycle of the schedule, and for more than
/// [`MAX_SLICES`] slices.
pub fn timeline(
    machine: &Machine,
    work: &Work,
    schedule: &Schedule,
    window: Option<Range<u64>>,
) -> Result<Vec<u8>> {
    let window = checked(window, schedule.cycles())?;
    let mut tracks = tracks(machine, work, schedule);
    for track in &mut tracks {
        let slices = &mut track.slices;
        slices.retain(|slice| slice.start < window.end && slice.end > window.start);
        for slice in slices {
            slice.start = slice.start.max(window.start);
            slice.end = slice.end.min(window.end);
        }
    }
    check_length(&tracks, &window)?;
    let mut writer = Writer::new(machine, work);
    writer.intern(&tracks);
    writer.packets.counter(SCRATCHPAD, "scratchpad", "limbs");
    for (track, uuid) in tracks.iter().zip(writer.declare(&tracks)) {
        track
            .slices
            .iter()
            .for_each(|slice| writer.slice(uuid, slice));
    }
    writer.counter(&occupancy(schedule), &window);
    Ok(writer.packets.finish())
}

fn checked(window: Option<Range<u64>>, cycles: u64) -> Result<Range<u64>> {
    let wrong = |what: &'static str, found: u64, expected: String| Error::Parameters {
        what,
        found: found as usize,
        expected,
    };
    let Some(window) = window else {
        return Ok(0..cycles);
    };
    if window.start >= cycles {
        let (what, expected) = (
            "the first cycle of the timeline",
            format!("below {cycles}, the cycles of the run"),
        );
        return Err(wrong(what, window.start, expected));
    }
    if window.end <= window.start {
        let (what, expected) = (
            "the end of the timeline",
            format!("a cycle behind its first, {}", window.start),
        );
        return Err(wrong(what, window.end, expected));
    }
    Ok(window.start..window.end.min(cycles))
}

/// Refuses more slices than the viewer opens. The error names a window with about half as many.
fn check_length(tracks: &[Track], window: &Range<u64>) -> Result<()> {
    let slices: usize = tracks.iter().map(|track| track.slices.len()).sum();
    if slices <= MAX_SLICES {
        return Ok(());
    }
    let span = u128::from(window.end - window.start) * (MAX_SLICES as u128 / 2) / slices as u128;
    let end = window.start + (span as u64).max(1);
    Err(Error::Parameters {
        what: "the number of slices of the timeline",
        found: slices,
        expected: format!(
            "at most {MAX_SLICES}: cut a window of cycles, as {}:{end}, with --timeline-cycles A:B",
            window.start
        ),
    })
}

/// The name of a slice: its operation or transfer, and its step if it has one.
type Name = (&'static str, Option<usize>);

/// A timeline under construction, with the numbers of the names of slices.
struct Writer<'a> {
    machine: &'a Machine,
    work: &'a Work,
    packets: Packets,
    names: HashMap<Name, u64>,
}

impl<'a> Writer<'a> {
    fn new(machine: &'a Machine, work: &'a Work) -> Self {
        Self {
            machine,
            work,
            packets: Packets::default(),
            names: HashMap::new(),
        }
    }

    fn name(&self, event: Event) -> Name {
        let work = self.work;
        match event {
            Event::Issue(i) => (work.kind(i as usize).name(), Some(work.step(i as usize))),
            Event::Fetch(limb) | Event::Release(limb) => match work.input(limb) {
                None => ("load result", Some(work.step(limb as usize))),
                Some(input) if input.source.of_hint() => ("load hint", None),
                Some(_) => ("load input", None),
            },
            Event::WriteBack(limb) => {
                let is_result = (limb as usize) < work.instructions();
                ("write", is_result.then(|| work.step(limb as usize)))
            }
        }
    }

    /// Declares the names of all slices before slices use them.
    fn intern(&mut self, tracks: &[Track]) {
        let mut names = Vec::new();
        let slices = tracks.iter().flat_map(|track| &track.slices);
        for slice in slices {
            let name = self.name(slice.event);
            if let std::collections::hash_map::Entry::Vacant(entry) = self.names.entry(name) {
                names.push(match name {
                    (what, Some(step)) => format!("{what} ({})", self.work.steps()[step]),
                    (what, None) => what.to_owned(),
                });
                entry.insert(names.len() as u64);
            }
        }
        let steps = self.work.steps().iter().cloned();
        // The last category is for loads that belong to no step.
        let categories: Vec<String> = steps.chain(["inputs and hints".to_owned()]).collect();
        self.packets.interned(&categories, &names, &NOTES);
    }

    /// Declares all tracks, with one parent track for each cluster. Returns the number of each
    /// track.
    fn declare(&mut self, tracks: &[Track]) -> Vec<u64> {
        let (mut next, mut parents) = (SCRATCHPAD, HashMap::new());
        let mut numbers = Vec::with_capacity(tracks.len());
        for (rank, track) in tracks.iter().enumerate() {
            let rank = rank as u64 + 1;
            let parent = track.part.cluster(self.machine).map(|cluster| {
                *parents.entry(cluster).or_insert_with(|| {
                    next += 1;
                    self.packets.track(next, cluster, (None, rank));
                    next
                })
            });
            next += 1;
            let name = track.part.name(self.machine);
            self.packets.track(next, &name, (parent, rank));
            numbers.push(next);
        }
        numbers
    }

    fn slice(&mut self, track: u64, slice: &Slice) {
        let name = self.name(slice.event);
        let category = name.1.unwrap_or(self.work.steps().len()) as u64 + 1;
        let (note, number) = match slice.event {
            Event::Issue(number) => (1, number),
            Event::Fetch(number) | Event::WriteBack(number) | Event::Release(number) => (2, number),
        };
        let notes = [(note, u64::from(number))].into_iter();
        let names = (category, self.names[&name]);
        self.packets.begin((track, slice.start), names, notes);
        self.packets.end(track, slice.end);
    }

    /// Writes the number of limbs in the scratchpad over time: at most one value for each of
    /// [`MAX_VALUES`] equal intervals, the last value of the interval.
    fn counter(&mut self, changes: &[(u64, i64)], window: &Range<u64>) {
        let stride = (window.end - window.start)
            .div_ceil(MAX_VALUES as u64)
            .max(1);
        let before = changes.partition_point(|&(cycle, _)| cycle <= window.start);
        let held = before.checked_sub(1).map_or(0, |last| changes[last].1);
        let mut written = (window.start, held);
        let value = |limbs: i64| limbs.max(0) as u64;
        self.packets.value(SCRATCHPAD, window.start, value(held));
        for group in changes[before..].chunk_by(|a, b| a.0 / stride == b.0 / stride) {
            let &(cycle, held) = group.last().expect("a group has one");
            if cycle >= window.end {
                break;
            }
            if held != written.1 {
                written = (cycle, held);
                self.packets.value(SCRATCHPAD, cycle, value(held));
            }
        }
    }
}
