//! Rules that the rows of every plan keep.

use std::collections::HashSet;
use waves::{Plan, Wave, What};

/// Rows that a wave reads and writes.
fn moved(plan: &Plan, wave: &Wave) -> (Vec<u32>, Vec<u32>) {
    let of = wave.first..wave.first + wave.count;
    match wave.what {
        What::Load => (Vec::new(), rows(&plan.loads[of])),
        What::Store => (rows(&plan.stores[of]), Vec::new()),
        What::Run(stage) => {
            let stage = &plan.stages[stage];
            let cut = |rows: &[u32], each: usize| rows[of.start * each..of.end * each].to_vec();
            (
                cut(&stage.reads, stage.shape.reads),
                cut(&stage.writes, stage.shape.writes),
            )
        }
    }
}

fn rows(moves: &[waves::Move]) -> Vec<u32> {
    moves.iter().flat_map(|one| one.rows.clone()).collect()
}

/// No wave reads a row that it writes or that nothing has written, nor writes a row twice.
pub(crate) fn check(plan: &Plan) {
    let mut made = HashSet::from([Plan::ZERO]);
    for wave in &plan.waves {
        let (reads, writes) = moved(plan, wave);
        let written: HashSet<u32> = writes.iter().copied().collect();
        let spared = writes.iter().filter(|row| **row == Plan::SPARE).count();
        let distinct = written.len() - usize::from(spared > 0);
        assert_eq!(distinct + spared, writes.len(), "a row is written twice");
        assert!(!written.contains(&Plan::ZERO), "the row of zeros");
        for row in reads {
            assert!(!written.contains(&row), "row {row} is read and written");
            assert!(
                made.contains(&row),
                "row {row} is read before it is written"
            );
            assert_ne!(row, Plan::SPARE, "nothing reads the spare row");
        }
        made.extend(written);
    }
    assert!(made.iter().all(|row| (*row as usize) < plan.rows));
    for stage in &plan.stages {
        let of = |wave: &&Wave| wave.what == What::Run(index(plan, stage));
        let count: usize = plan.waves.iter().filter(of).map(|wave| wave.count).sum();
        assert_eq!(stage.reads.len(), count * stage.shape.reads);
        assert_eq!(stage.writes.len(), count * stage.shape.writes);
        let words = stage.shape.kernel.arguments().len();
        assert_eq!(stage.arguments.len(), count * words);
    }
}

fn index(plan: &Plan, stage: &waves::Stage) -> usize {
    let mut stages = plan.stages.iter();
    stages.position(|other| std::ptr::eq(other, stage)).unwrap()
}
