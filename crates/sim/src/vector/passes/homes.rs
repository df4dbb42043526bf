//! Homes: the clusters at which instructions wait. All instructions of one operation modulo one
//! prime have the same home.
//!
//! Products with hints, sums and transforms of one limb therefore find their operands in the
//! register file, and only basis conversions read limbs that other clusters produced. A cluster
//! without work takes an instruction from the longest queue.

use super::model::Model;
use super::profile::Profile;
use crate::vector::machine::{Cluster, Machine, Operation};
use crate::vector::work::Work;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Ticks by which a cluster may be ahead of the least loaded one and still become the home of
/// instructions that read its results.
const AHEAD: u64 = 64;
/// Length of a queue from which idle clusters take work, if there are at least as many moduli as
/// clusters. With fewer moduli some clusters are nobody's home, and they take work from any queue.
const LONG: usize = 2;

/// Events by rank, the lowest first.
type Heap = BinaryHeap<Reverse<(u32, u32)>>;

/// The queues of instructions that wait for units.
pub(super) struct Queues<'a> {
    work: &'a Work,
    /// For each operation, the clusters that execute it.
    able: Vec<Vec<u16>>,
    /// For each instruction, its family: all instructions with the same modulus in one operation of
    /// the trace's main body.
    family: Vec<u32>,
    /// For each family, its home or `NOWHERE`, and the ticks of all its instructions.
    home: Vec<u16>,
    ticks: Vec<u64>,
    /// For each cluster, the ticks of the families whose home it is, divided by its units.
    load: Vec<u64>,
    units: Vec<u64>,
    /// For each class of instructions and each cluster, the waiting events.
    queues: Vec<Vec<Heap>>,
    /// For each class, one bit for each cluster, which is set if an event waits there.
    waiting: Vec<Vec<u64>>,
    /// Length of a queue from which idle clusters take work.
    long: usize,
}

const NOWHERE: u16 = u16::MAX;

impl<'a> Queues<'a> {
    pub(super) fn new(machine: &Machine, work: &'a Work, profile: Profile, classes: usize) -> Self {
        let clusters = machine.clusters();
        let able = Operation::ALL.map(|operation| {
            let able = (0..clusters.len() as u16)
                .filter(|&one| clusters[usize::from(one)].executes(operation));
            able.collect()
        });
        let units = |cluster: &Cluster| cluster.units.iter().sum::<usize>().max(1) as u64;
        let (mut family, mut ticks) = (Vec::with_capacity(work.instructions()), Vec::new());
        // For each modulus, its family in the current operation, or in an older one.
        let mut known: Vec<u32> = Vec::new();
        let mut first = 0;
        for i in 0..work.instructions() {
            if i > 0 && work.group(i) != work.group(i - 1) {
                first = ticks.len() as u32;
            }
            let modulus = work.modulus(i);
            known.resize(known.len().max(modulus + 1), u32::MAX);
            if !(first..ticks.len() as u32).contains(&known[modulus]) {
                known[modulus] = ticks.len() as u32;
            }
            let own = known[modulus];
            ticks.resize(ticks.len().max(own as usize + 1), 0);
            let takes = profile.operation(machine, work.n(), work.kind(i), work.terms(i));
            ticks[own as usize] += takes.busy;
            family.push(own);
        }
        Self {
            work,
            able: able.to_vec(),
            home: vec![NOWHERE; ticks.len()],
            family,
            ticks,
            load: vec![0; clusters.len()],
            units: clusters.iter().map(units).collect(),
            long: if known.len() < clusters.len() {
                1
            } else {
                LONG
            },
            waiting: vec![vec![0; clusters.len().div_ceil(64)]; classes],
            queues: vec![vec![Heap::new(); clusters.len()]; classes],
        }
    }

    /// Adds an instruction whose operands are available to the queue of its home.
    pub(super) fn push(
        &mut self,
        model: &Model<'_>,
        instruction: usize,
        entry: Reverse<(u32, u32)>,
    ) {
        let home = usize::from(self.home(instruction, &model.clusters));
        let class = model.class(instruction);
        self.queues[class][home].push(entry);
        self.waiting[class][home / 64] |= 1 << (home % 64);
    }

    /// Takes the first event that can begin at its home, or else an event of the longest queue.
    /// Returns the event and its cluster.
    pub(super) fn pop(&mut self, model: &mut Model<'_>) -> Option<(u32, u16)> {
        let mut best = None;
        let mut longest = None;
        for (class, queues) in self.queues.iter().enumerate() {
            if !model.able(class) {
                continue;
            }
            for (word, &waiting) in self.waiting[class].iter().enumerate() {
                let able = model.able_in(class, word);
                for place in places(waiting & able) {
                    let cluster = 64 * word + place;
                    let head = queues[cluster].peek().expect("something waits").to_owned();
                    best = best.max(Some((head, class, cluster)));
                }
                if best.is_none() {
                    for place in places(waiting & !able) {
                        let (cluster, length) =
                            (64 * word + place, queues[64 * word + place].len());
                        if length >= self.long {
                            longest = longest.max(Some((length, Reverse((class, cluster)))));
                        }
                    }
                }
            }
        }
        let (class, from, cluster) = match (best, longest) {
            (Some((_, class, home)), _) => (class, home, home as u16),
            (None, Some((_, Reverse((class, from))))) => (class, from, model.next_able(class)),
            (None, None) => return None,
        };
        let Reverse((_, event)) = self.queues[class][from].pop().expect("it has a head");
        if self.queues[class][from].is_empty() {
            self.waiting[class][from / 64] &= !(1 << (from % 64));
        }
        Some((event, cluster))
    }

    /// The home of an instruction: the home of its family, if this cluster executes the operation.
    /// The first instruction of a family chooses the home. It takes the cluster that produced an
    /// operand of the same modulus, unless this is far ahead, or else the least loaded cluster.
    /// `clusters` has the cluster of each result.
    fn home(&mut self, instruction: usize, clusters: &[u16]) -> u16 {
        let work = self.work;
        let family = self.family[instruction] as usize;
        let able = &self.able[work.kind(instruction) as usize];
        let executes = |cluster: &u16| able.binary_search(cluster).is_ok();
        if executes(&self.home[family]) {
            return self.home[family];
        }
        let load = |cluster: u16| self.load[usize::from(cluster)];
        let least = able.iter().copied().min_by_key(|&cluster| load(cluster));
        let least = least.expect("machines are checked");
        let limit = load(least) + AHEAD;
        let near = |limb: u32| {
            let cluster = *clusters.get(limb as usize)?;
            let same =
                executes(&cluster) && work.modulus(limb as usize) == work.modulus(instruction);
            same.then_some(cluster)
        };
        let near = work.operands(instruction).find_map(near);
        let chosen = near
            .filter(|&cluster| load(cluster) <= limit)
            .unwrap_or(least);
        if self.home[family] == NOWHERE {
            let place = usize::from(chosen);
            self.home[family] = chosen;
            self.load[place] += self.ticks[family] / self.units[place];
        }
        chosen
    }
}

/// Indices of the bits that are set.
fn places(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (bits != 0).then(|| bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        place
    })
}
