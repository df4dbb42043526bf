//! A lower bound on the time in which a resource serves jobs that have chains before and after
//! them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A job of a resource. All times are cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Job {
    /// First cycle in which the job can begin.
    pub(super) head: u64,
    /// Cycles for which the job occupies the resource.
    pub(super) busy: u64,
    /// Cycles that must follow the end of the job.
    pub(super) tail: u64,
}

/// The largest of `min head + sum of busy / servers + min tail` over all sets of jobs, rounded up.
/// No schedule on `servers` equal servers is faster: after the smallest head of a set the servers
/// still have all its work to do, and a tail follows.
///
/// The result is the time of a schedule on one server. This server is as fast as all of them
/// together, may interrupt a job, and always serves the job with the longest tail.
///
/// # Source
/// Jackson's preemptive schedule: Carlier, "The one-machine sequencing problem", European Journal
/// of Operational Research 11(1), 1982, section 2.
pub(super) fn least(mut jobs: Vec<Job>, servers: u64) -> u64 {
    let servers = servers.max(1);
    jobs.sort_unstable();
    let mut coming = jobs.iter().peekable();
    // The longest tail comes first. Beside it stands the remaining work of the job.
    let mut waiting: BinaryHeap<(u64, Reverse<u64>)> = BinaryHeap::new();
    // Both count fractions of a cycle: `1 / servers`.
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

    /// The definition, by trying all sets.
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
