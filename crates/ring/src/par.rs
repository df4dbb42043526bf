//! Parallel loops: the only place of the arithmetic crates that uses threads.

use crate::span::{InTurn, recorded_threads};
use rayon::prelude::*;

/// Runs `work(i, limb)` for every limb of `n` words, on the threads of the current pool.
///
/// # Panics
/// If the length of `data` is no multiple of `n`.
pub fn for_each_limb<T: Send>(n: usize, data: &mut [T], work: impl Fn(usize, &mut [T]) + Sync) {
    assert_eq!(data.len() % n, 0, "whole limbs");
    if rayon::current_num_threads() == 1 {
        let (limbs, mut turn) = (data.chunks_exact_mut(n).enumerate(), InTurn::start());
        limbs.for_each(|(i, limb)| turn.run(|| work(i, limb)));
    } else {
        data.par_chunks_exact_mut(n)
            .enumerate()
            .for_each(|(i, limb)| work(i, limb));
    }
}

/// Runs `work(i, item)` for every item, on the threads of the current pool.
pub(crate) fn for_each_item<T: Send>(items: Vec<T>, work: impl Fn(usize, T) + Sync) {
    if rayon::current_num_threads() == 1 {
        let (items, mut turn) = (items.into_iter().enumerate(), InTurn::start());
        items.for_each(|(i, item)| turn.run(|| work(i, item)));
    } else {
        items
            .into_par_iter()
            .enumerate()
            .for_each(|(i, item)| work(i, item));
    }
}

/// Returns `work(0), .., work(count - 1)`, computed on the threads of the current pool.
pub fn map<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    if rayon::current_num_threads() == 1 {
        let mut turn = InTurn::start();
        (0..count).map(|i| turn.run(|| work(i))).collect()
    } else {
        (0..count).into_par_iter().map(&work).collect()
    }
}

/// Returns `a()` and `b()`, computed side by side if there is more than one thread.
pub fn join<A: Send, B: Send>(
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    if rayon::current_num_threads() > 1 {
        return rayon::join(a, b);
    }
    let mut turn = InTurn::start();
    (turn.run(a), turn.run(b))
}

/// Number of threads that the functions of this module use when called here, or that
/// [`with_span`](crate::with_span) measures for.
pub fn threads() -> usize {
    recorded_threads().unwrap_or_else(rayon::current_num_threads)
}

/// Runs `work` on a pool of exactly `threads` threads.
///
/// # Panics
/// If the operating system gives no threads.
pub fn in_pool<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("the operating system gives threads")
        .install(work)
}
