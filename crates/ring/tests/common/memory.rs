//! A search of this process's memory, for tests of what is erased. Suites of several crates include
//! this file.

use std::fs::{File, read_to_string};
use std::os::unix::fs::FileExt;

/// The most words that a searched run may have.
const LONGEST: usize = 32;
const PAGE: usize = 4096;

/// Searched words are kept masked, so that the search does not find its own copy.
pub(crate) const MASK: u64 = 0x5a5a_1234_5a5a_8765;

/// Number of places in this process's writable memory where a run of words stands. The words are
/// given masked.
pub(crate) fn places(masked: &[u64]) -> usize {
    let len = masked.len();
    assert!(
        (1..=LONGEST).contains(&len),
        "{len} words, at most {LONGEST} are searched"
    );
    let memory = File::open("/proc/self/mem").expect("this process's memory");
    let maps = read_to_string("/proc/self/maps").expect("this process's mappings");
    let mut page = [0u8; PAGE + 8 * LONGEST];
    let own = page.as_ptr_range();
    let own = own.start as u64..own.end as u64;
    // The page that was read last is no place. What lies beside it on the stack may be one.
    let apart = |place: u64| place + 8 * len as u64 <= own.start || place >= own.end;
    let mut found = 0;
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let [from, to] = [from, to].map(|x| u64::from_str_radix(x, 16).unwrap());
        for at in (from..to).step_by(PAGE) {
            // Also read the beginning of the next page, where a run that begins here may end.
            let read = memory.read_at(&mut page, at).unwrap_or(0);
            // Words are compared in place. A buffer of the masked words of a page would be one of
            // true words where the page has masked ones, and would be found when it is searched.
            let word = |i: usize| u64::from_le_bytes(page[8 * i..][..8].try_into().unwrap());
            let starts = 0..(read / 8 + 1).saturating_sub(len).min(PAGE / 8);
            found += starts
                .filter(|s| (0..len).all(|i| word(s + i) ^ MASK == masked[i]))
                .filter(|s| apart(at + 8 * *s as u64))
                .count();
        }
    }
    page.fill(0);
    found
}
