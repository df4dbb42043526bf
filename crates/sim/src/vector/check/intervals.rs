//! Checks of the users of one resource over time.

use super::Violation;

/// A use of a resource: its first cycle, the cycle after its last, and the number of its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Use {
    pub(super) from: u64,
    pub(super) until: u64,
    pub(super) who: u32,
}

/// Refuses uses that overlap.
pub(super) fn one_at_a_time(
    mut uses: Vec<Use>,
    resource: impl Fn() -> String,
    name: impl Fn(u32) -> String,
) -> Result<(), Violation> {
    uses.sort_unstable();
    for pair in uses.windows(2) {
        let [first, second] = [pair[0], pair[1]];
        if second.from < first.until {
            return Err(Violation::Busy {
                resource: resource(),
                first: name(first.who),
                until: first.until,
                second: name(second.who),
                from: second.from,
            });
        }
    }
    Ok(())
}

/// Refuses more limbs than `capacity` at once. `changes` has the cycle of each limb that arrives
/// (`true`) or leaves (`false`).
pub(super) fn at_most(mut changes: Vec<(u64, bool)>, capacity: usize) -> Result<(), Violation> {
    // Within a cycle, limbs that leave sort before limbs that arrive, because they make room.
    changes.sort_unstable();
    let mut held = 0usize;
    for (cycle, comes) in changes {
        if !comes {
            held = held.saturating_sub(1);
            continue;
        }
        held += 1;
        if held > capacity {
            return Err(Violation::Capacity {
                cycle,
                found: held,
                capacity,
            });
        }
    }
    Ok(())
}
