//! The state of a model machine over time: free units and ports, and events that end.

use super::profile::Profile;
use crate::vector::machine::{Machine, Operation};
use crate::vector::work::{NONE, Work};

/// Units and ports of a model machine, tick by tick.
pub(super) struct Model<'a> {
    machine: &'a Machine,
    work: &'a Work,
    profile: Profile,
    classes: Vec<Class>,
    /// For each operation, its class.
    class_of: [u8; Operation::ALL.len()],
    /// For each cluster and kind of unit, the number of free units. For each kind of unit, the
    /// clusters that have a free one.
    units: Vec<Vec<u32>>,
    with_unit: Vec<Bits>,
    with_ports: Bits,
    /// For each cluster, its number of units of all kinds.
    size: Vec<u64>,
    /// For each instruction, the cluster that executes it.
    pub(super) clusters: Vec<u16>,
    /// For each cluster, the limbs that it read or produced last.
    files: Vec<[u32; FILE]>,
    /// For each cluster, the index of the oldest limb in its file. The next limb replaces it.
    next: Vec<usize>,
    /// The cluster that [`next_able`](Self::next_able) chose last.
    last: usize,
    /// The current tick.
    now: usize,
    /// Rings by tick: events that end, events whose results become available, and clusters whose
    /// ports become free.
    ends: Vec<Vec<u32>>,
    gives: Vec<Vec<u32>>,
    ports: Vec<Vec<u16>>,
}

/// A class of operations, which occupy the same units of the same clusters.
#[derive(PartialEq)]
struct Class {
    units: Vec<usize>,
    clusters: Bits,
}

/// One bit for each cluster.
type Bits = Vec<u64>;

const NOWHERE: u16 = u16::MAX;
/// Limbs in the register file of a cluster of a model machine.
const FILE: usize = 8;

impl<'a> Model<'a> {
    pub(super) fn new(machine: &'a Machine, work: &'a Work, profile: Profile) -> Self {
        let clusters = machine.clusters();
        let words = clusters.len().div_ceil(64);
        let mut classes: Vec<Class> = Vec::new();
        let class_of = Operation::ALL.map(|operation| {
            let mut class = Class {
                units: machine.uses(operation).to_vec(),
                clusters: vec![0; words],
            };
            for (place, cluster) in clusters.iter().enumerate() {
                if cluster.executes(operation) {
                    set(&mut class.clusters, place);
                }
            }
            let known = classes.iter().position(|one| *one == class);
            known.unwrap_or_else(|| {
                classes.push(class);
                classes.len() - 1
            }) as u8
        });
        let mut with_unit = vec![vec![0; words]; machine.units().len()];
        let mut with_ports = vec![0; words];
        for (place, cluster) in clusters.iter().enumerate() {
            set(&mut with_ports, place);
            for (unit, &count) in cluster.units.iter().enumerate() {
                if count > 0 {
                    set(&mut with_unit[unit], place);
                }
            }
        }
        let count = |&count: &usize| count as u32;
        let units = clusters
            .iter()
            .map(|cluster| cluster.units.iter().map(count).collect());
        let size = clusters
            .iter()
            .map(|cluster| cluster.units.iter().sum::<usize>().max(1) as u64);
        let ring = profile.longest(machine, work.n()) as usize + 1;
        Self {
            machine,
            work,
            profile,
            classes,
            class_of,
            units: units.collect(),
            with_unit,
            with_ports,
            size: size.collect(),
            clusters: vec![NOWHERE; work.instructions()],
            files: vec![[NONE; FILE]; clusters.len()],
            next: vec![0; clusters.len()],
            last: 0,
            now: 0,
            ends: vec![Vec::new(); ring],
            gives: vec![Vec::new(); ring],
            ports: vec![Vec::new(); ring],
        }
    }

    /// The current tick.
    pub(super) fn now(&self) -> u64 {
        self.now as u64
    }

    /// Number of classes of operations that occupy the same units.
    pub(super) fn classes(&self) -> usize {
        self.classes.len()
    }

    /// The class of an instruction.
    pub(super) fn class(&self, instruction: usize) -> usize {
        usize::from(self.class_of[self.work.kind(instruction) as usize])
    }

    /// Returns true if an instruction of the class can begin now.
    pub(super) fn able(&self, class: usize) -> bool {
        (0..self.with_ports.len()).any(|word| self.able_in(class, word) != 0)
    }

    /// The clusters that can begin an instruction of the class: one bit for each of the 64 clusters
    /// of a word.
    pub(super) fn able_in(&self, class: usize, word: usize) -> u64 {
        let Class { units, clusters } = &self.classes[class];
        let units = units.iter().map(|&unit| self.with_unit[unit][word]);
        let free = self.with_ports[word] & clusters[word];
        units.fold(free, |all, with| all & with)
    }

    /// Returns true if an instruction of the class can begin now on the cluster.
    fn able_on(&self, class: usize, cluster: u16) -> bool {
        let (word, bit) = (usize::from(cluster) / 64, cluster % 64);
        self.able_in(class, word) >> bit & 1 == 1
    }

    /// Begins an instruction that can begin: on the cluster that produced an operand if possible,
    /// or else on the next cluster that is able. Rings list the instruction as `name`.
    pub(super) fn issue(&mut self, instruction: usize, name: u32) {
        let class = self.class(instruction);
        let near = |limb: u32| {
            let cluster = *self.clusters.get(limb as usize)?;
            (cluster != NOWHERE && self.able_on(class, cluster)).then_some(cluster)
        };
        let near = self.work.operands(instruction).find_map(near);
        let cluster = near.unwrap_or_else(|| self.next_able(class));
        self.issue_on(instruction, name, cluster);
    }

    /// Begins an instruction on a cluster that is able. Rings list the instruction as `name`.
    pub(super) fn issue_on(&mut self, instruction: usize, name: u32, cluster: u16) {
        let work = self.work;
        let class = self.class(instruction);
        self.clusters[instruction] = cluster;
        let place = usize::from(cluster);
        let terms = work.terms(instruction);
        let ticks = self
            .profile
            .operation(self.machine, work.n(), work.kind(instruction), terms);
        let mut limbs = 1;
        for limb in work.operands(instruction).chain([instruction as u32]) {
            let known = self.files[place][..self.profile.file].contains(&limb)
                || limb as usize == instruction;
            limbs += u64::from(!known);
            self.files[place][self.next[place]] = limb;
            self.next[place] = (self.next[place] + 1) % self.profile.file.max(1);
        }
        let ports = self.profile.ports(limbs, self.size[place]);
        for &unit in &self.classes[class].units {
            let free = &mut self.units[place][unit];
            *free -= 1;
            if *free == 0 {
                clear(&mut self.with_unit[unit], place);
            }
        }
        clear(&mut self.with_ports, place);
        let ring = self.ports.len();
        self.ports[(self.now + ports as usize) % ring].push(cluster);
        self.begin(name, ticks.busy.max(ports), ticks.latency);
    }

    /// The first cluster that can begin an instruction of the class, searched from the last answer
    /// on.
    pub(super) fn next_able(&mut self, class: usize) -> u16 {
        let clusters = self.files.len();
        let able = |&cluster: &usize| self.able_in(class, cluster / 64) >> (cluster % 64) & 1 == 1;
        let mut places = (self.last + 1..clusters).chain(0..=self.last);
        let cluster = places.find(able).expect("one is able");
        self.last = cluster;
        cluster as u16
    }

    /// Notes the end and the result of an event that begins now. Units are not counted here.
    pub(super) fn begin(&mut self, name: u32, busy: u64, latency: u64) {
        let ring = self.ends.len();
        let end = self.now + busy as usize;
        self.ends[end % ring].push(name);
        self.gives[(end + latency as usize) % ring].push(name);
    }

    /// Goes to the next tick in which an event ends or gives its result; there must be one. Returns
    /// the events that end, and the events whose results become available.
    pub(super) fn tick(&mut self) -> (Vec<u32>, Vec<u32>) {
        let happens = |place: usize| {
            let all = self.ends[place].len() + self.gives[place].len() + self.ports[place].len();
            all > 0
        };
        let ring = self.ends.len();
        let ticks = (1..=ring).find(|ticks| happens((self.now + ticks) % ring));
        self.now += ticks.expect("something is under way");
        let place = self.now % ring;
        while let Some(cluster) = self.ports[place].pop() {
            set(&mut self.with_ports, usize::from(cluster));
        }
        let (ends, gives) = (&mut self.ends[place], &mut self.gives[place]);
        (std::mem::take(ends), std::mem::take(gives))
    }

    /// Frees the units of an instruction that has ended.
    pub(super) fn end(&mut self, instruction: usize) {
        let place = usize::from(self.clusters[instruction]);
        let class = self.class(instruction);
        for &unit in &self.classes[class].units {
            self.units[place][unit] += 1;
            set(&mut self.with_unit[unit], place);
        }
    }
}

fn set(bits: &mut Bits, place: usize) {
    bits[place / 64] |= 1 << (place % 64);
}

fn clear(bits: &mut Bits, place: usize) {
    bits[place / 64] &= !(1 << (place % 64));
}
