//! Bytes and words that the parts of a machine pass, counted limb by limb. They depend neither on
//! the width of a part nor on its speed.

use crate::vector::machine::Machine;
use crate::vector::passes::Schedule;
use crate::vector::work::Work;
use std::collections::{HashMap, VecDeque};

/// Bytes and words that pass the parts of a machine, for a part of the work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Accesses {
    /// Words through units, by kind of unit.
    pub(super) words: Vec<u64>,
    /// Bytes of operands and results at register files, by kind of clusters.
    pub(super) files: Vec<u64>,
    /// Bytes between banks and clusters, and those that one cluster reads from another's buffer.
    pub(super) network: u64,
    /// Bytes in and out of the banks: those of the ports, and those of memory and generators.
    pub(super) scratchpad: u64,
    /// Bytes over the memory channel.
    pub(super) memory: u64,
}

impl Accesses {
    pub(super) fn new(machine: &Machine) -> Self {
        Self {
            words: vec![0; machine.units().len()],
            files: vec![0; machine.kinds().count()],
            ..Self::default()
        }
    }

    /// Adds the counts of `other`.
    pub(super) fn add_assign(&mut self, other: &Self) {
        let words = self.words.iter_mut().zip(&other.words);
        let files = self.files.iter_mut().zip(&other.files);
        words.chain(files).for_each(|(sum, other)| *sum += other);
        self.network += other.network;
        self.scratchpad += other.scratchpad;
        self.memory += other.memory;
    }

    /// Counts by component, as in the report: words of the units by name, then bytes.
    pub(super) fn named(&self, machine: &Machine) -> Vec<(String, u64)> {
        let units = machine.units().iter().zip(&self.words);
        let units = units.map(|(unit, &words)| (unit.name.clone(), words));
        let parts = [
            ("register files", self.files.iter().sum()),
            ("scratchpad", self.scratchpad),
            ("network", self.network),
            ("memory", self.memory),
        ];
        units
            .chain(parts.map(|(name, bytes)| (name.to_owned(), bytes)))
            .collect()
    }

    /// Energy by component, in joules: the units by name, then the other parts.
    pub(super) fn joules(&self, machine: &Machine) -> Vec<(String, f64)> {
        let units = machine.units().iter().zip(machine.word_joules());
        let units = units.zip(&self.words);
        let units =
            units.map(|((unit, joules), &words)| (unit.name.clone(), joules * words as f64));
        let files = self.files.iter().zip(machine.file_joules());
        let files = files.map(|(&bytes, joules)| joules * bytes as f64).sum();
        let [pad, network, memory] = machine.byte_joules();
        let parts = [
            ("register files", files),
            ("scratchpad", pad * self.scratchpad as f64),
            ("network", network * self.network as f64),
            ("memory", memory * self.memory as f64),
        ];
        units
            .chain(parts.map(|(name, joules)| (name.to_owned(), joules)))
            .collect()
    }
}

/// Counts the accesses of instructions in the order of a schedule.
pub(super) struct Counter<'a> {
    machine: &'a Machine,
    work: &'a Work,
    schedule: &'a Schedule,
    buffers: Vec<Buffer>,
}

/// The limbs that clusters of one kind produced last.
#[derive(Default)]
struct Buffer {
    order: VecDeque<u32>,
    /// How often each limb is in `order`.
    limbs: HashMap<u32, u32>,
}

impl Buffer {
    /// Adds a limb, and drops the oldest one where there are more than `room`.
    fn meet(&mut self, limb: u32, room: usize) {
        if room == 0 {
            return;
        }
        self.order.push_back(limb);
        *self.limbs.entry(limb).or_default() += 1;
        if self.order.len() > room {
            let oldest = self.order.pop_front().expect("longer than the room");
            let count = self.limbs.get_mut(&oldest).expect("it was added");
            *count -= 1;
            if *count == 0 {
                self.limbs.remove(&oldest);
            }
        }
    }
}

impl<'a> Counter<'a> {
    pub(super) fn new(machine: &'a Machine, work: &'a Work, schedule: &'a Schedule) -> Self {
        let buffers = machine.kinds().map(|_| Buffer::default()).collect();
        Self {
            machine,
            work,
            schedule,
            buffers,
        }
    }

    /// Adds the accesses of one instruction to `sum`. An operand that the register file does not
    /// hold comes over the ports, or from the buffer of another kind of clusters. A result that is
    /// needed elsewhere goes out over the ports.
    pub(super) fn count(&mut self, instruction: usize, sum: &mut Accesses) {
        let (machine, work, n) = (self.machine, self.work, self.work.n());
        let bytes = machine.limb_bytes(n);
        let place = self.schedule.place(instruction);
        let own = machine.clusters()[usize::from(place.cluster)].kind;
        for &unit in machine.uses(work.kind(instruction)) {
            sum.words[unit] += machine.units()[unit].words(n, work.terms(instruction));
        }
        let result = u64::from(!self.schedule.inside(instruction));
        let (mut ports, mut buffered, mut operands) = (result, 0, 0);
        for (operand, limb) in work.operands(instruction).enumerate() {
            operands += 1;
            if self.schedule.holds(instruction, operand) {
                continue;
            }
            let mut others = self.buffers.iter().enumerate();
            match others.any(|(kind, buffer)| kind != own && buffer.limbs.contains_key(&limb)) {
                true => buffered += 1,
                false => ports += 1,
            }
        }
        self.buffers[own].meet(instruction as u32, machine.buffer_limbs(n));
        sum.files[own] += bytes * (operands + 1);
        sum.network += bytes * (ports + buffered);
        sum.scratchpad += bytes * ports;
    }
}
