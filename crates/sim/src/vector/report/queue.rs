//! What a resource takes at least for jobs with chains before and behind them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that a resource does, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Job {
    /// It cannot begin earlier.
    pub(super) head: u64,
    /// The resource is busy for so long.
    pub(super) busy: u64,
    /// Nothing is done earlier than so long behind its end.
    pub(super) tail: u64,
}

/// The largest of `min head + sum of busy / servers + min tail` over all sets of jobs, rounded up. No schedule on so many
/// equal servers is faster: from the first head of a set on they have all its work before them, and a tail behind it.
///
/// It is found as the time of a schedule on one server that is as fast as all of them, may stop in the midst of a job,
/// and always serves the longest tail.
///
/// # Source
/// Jackson's preemptive schedule: Carlier, "The one-machine sequencing problem", European Journal of Operational Research
/// 11(1), 1982, section 2.
pub(super) fn least(mut jobs: Vec<Job>, servers: u64) -> u64 {
    let servers = servers.max(1);
    jobs.sort_unstable();
    let mut coming = jobs.iter().peekable();
    // Longest tail first, with what is left to do.
    let mut waiting: BinaryHeap<(u64, Reverse<u64>)> = BinaryHeap::new();
    // Both in parts of a cycle, of which there are as many as servers.
    let (mut now, mut end) = (0, 0);
    loop {
        while let Some(job) = coming.next_if(|job| job.head * servers <= now) {
            waiting.push((job.tail, Reverse(job.busy)));
        }
        let next = coming.peek().map(|job| job.head * servers);
        let Some((tail, Reverse(left))) = waiting.pop() else {
            let Some(next) = next else { break };
            now = next;
            continue;
        };
        let served = next.map_or(left, |next| left.min(next - now));
        now += served;
        if served < left {
            waiting.push((tail, Reverse(left - served)));
        } else {
            end = end.max(now + tail * servers);
        }
    }
    end.div_ceil(servers)
}

#[cfg(test)]
mod tests {
    use super::{Job, least};
    use crate::vector::testing::Random;

    /// The definition: all sets.
    fn over_all_sets(jobs: &[Job], servers: u64) -> u64 {
        let of = |set: usize| {
            let chosen = || {
                (0..jobs.len())
                    .filter(|job| set >> job & 1 == 1)
                    .map(|job| jobs[job])
            };
            let head = chosen().map(|job| job.head).min().unwrap_or(0);
            let tail = chosen().map(|job| job.tail).min().unwrap_or(0);
            head + tail + chosen().map(|job| job.busy).sum::<u64>().div_ceil(servers)
        };
        (1..1 << jobs.len()).map(of).max().unwrap_or(0)
    }

    #[test]
    fn the_fast_way_is_the_most_over_all_sets() {
        for seed in 0..2000 {
            let mut random = Random::new(seed);
            let mut job = || {
                let [head, busy, tail] = [20, 9, 30].map(|bound| random.below(bound) as u64);
                Job { head, busy, tail }
            };
            let jobs: Vec<Job> = (0..seed as usize % 9).map(|_| job()).collect();
            for servers in [1, 2, 5] {
                let expected = over_all_sets(&jobs, servers);
                assert_eq!(
                    least(jobs.clone(), servers),
                    expected,
                    "seed {seed}, {servers} servers"
                );
            }
        }
    }
}
