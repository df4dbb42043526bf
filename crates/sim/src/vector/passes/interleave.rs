//! Instructions that do not wait for each other come together.
//!
//! Units serve instructions in order, so one that waits holds up those behind it. A window of instructions is therefore
//! ordered by depth: first those that read nothing of this window, then those that read only these, and so on. A larger
//! window has more of each depth, and needs more room in the scratchpad.

use crate::vector::work::Work;

/// Orders windows of so many instructions by depth, each depth in the given order.
pub(super) fn by_depth(work: &Work, mut order: Vec<u32>, window: usize) -> Vec<u32> {
    if window <= 1 {
        return order;
    }
    // Depth within the window that the instruction was in; windows are told apart by their number.
    let mut depths = vec![(u32::MAX, 0u32); work.instructions()];
    for (number, chunk) in order.chunks_mut(window).enumerate() {
        let number = number as u32;
        for &instruction in chunk.iter() {
            let own = work
                .operands(instruction as usize)
                .filter_map(|limb| depths.get(limb as usize));
            let deepest = own
                .filter(|(other, _)| *other == number)
                .map(|(_, depth)| depth + 1)
                .max();
            depths[instruction as usize] = (number, deepest.unwrap_or(0));
        }
        chunk.sort_by_key(|&instruction| depths[instruction as usize].1);
    }
    order
}
