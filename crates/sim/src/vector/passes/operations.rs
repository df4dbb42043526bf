//! Operations: the instructions of each instruction of the trace's main body, and their
//! dependences.

use crate::vector::work::Work;
use std::ops::Range;

/// The number that stands for "no hint".
pub(super) const NO_HINT: u32 = u32::MAX;

/// The operations of the main body that have instructions, in order.
pub(super) struct Operations {
    /// For each operation, its instructions.
    instructions: Vec<Range<u32>>,
    /// For each operation, the hint that it reads first.
    hints: Vec<u32>,
    /// For each operation, the number of its results that other operations read, or that are
    /// outputs.
    limbs: Vec<u32>,
    before: Lists,
    after: Lists,
}

/// A list of operations for each operation: the list of `i` is `all[first[i]..first[i + 1]]`.
struct Lists {
    all: Vec<u32>,
    first: Vec<u32>,
}

impl Lists {
    fn of(&self, operation: usize) -> &[u32] {
        &self.all[self.first[operation] as usize..self.first[operation + 1] as usize]
    }

    /// The transposed lists: for each operation, the operations whose lists have it.
    fn turned(&self) -> Self {
        let count = self.first.len() - 1;
        let mut first = vec![0; count + 1];
        self.all
            .iter()
            .for_each(|&one| first[one as usize + 1] += 1);
        for place in 0..count {
            first[place + 1] += first[place];
        }
        let (mut all, mut next) = (vec![0; self.all.len()], first.clone());
        for operation in 0..count {
            for &one in self.of(operation) {
                all[next[one as usize] as usize] = operation as u32;
                next[one as usize] += 1;
            }
        }
        Self { all, first }
    }
}

impl Operations {
    pub(super) fn of(work: &Work) -> Self {
        let mut before = Lists {
            all: Vec::new(),
            first: vec![0],
        };
        let (mut instructions, mut hints) = (Vec::new(), Vec::new());
        let mut owner: Vec<u32> = Vec::with_capacity(work.instructions());
        let mut outside = vec![false; work.instructions()];
        for &output in &work.outputs {
            if let Some(outside) = outside.get_mut(output as usize) {
                *outside = true;
            }
        }
        // For each operation, the last operation that is known to wait for it.
        let mut known: Vec<u32> = Vec::new();
        let mut start = 0;
        while start < work.instructions() {
            let own = instructions.len() as u32;
            let group = work.groups[start];
            let same = work.groups[start..]
                .iter()
                .take_while(|&&other| other == group);
            let end = start + same.count();
            let mut hint = NO_HINT;
            owner.resize(end, own);
            for limb in (start..end).flat_map(|i| work.operands(i)) {
                match work.input(limb) {
                    Some(input) if hint == NO_HINT => hint = input.hint().unwrap_or(NO_HINT),
                    Some(_) => {}
                    None => {
                        let from = owner[limb as usize];
                        if from != own {
                            outside[limb as usize] = true;
                            if std::mem::replace(&mut known[from as usize], own) != own {
                                before.all.push(from);
                            }
                        }
                    }
                }
            }
            instructions.push(start as u32..end as u32);
            hints.push(hint);
            before.first.push(before.all.len() as u32);
            known.push(NO_HINT);
            start = end;
        }
        let mut limbs = vec![0; hints.len()];
        for (owner, outside) in owner.iter().zip(outside) {
            limbs[*owner as usize] += u32::from(outside);
        }
        Self {
            after: before.turned(),
            before,
            instructions,
            hints,
            limbs,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.instructions.len()
    }

    pub(super) fn instructions(&self, operation: usize) -> Range<u32> {
        self.instructions[operation].clone()
    }

    pub(super) fn hint(&self, operation: usize) -> u32 {
        self.hints[operation]
    }

    /// Number of an operation's results that other operations read, or that are outputs.
    pub(super) fn limbs(&self, operation: usize) -> u32 {
        self.limbs[operation]
    }

    /// Operations whose results an operation reads.
    pub(super) fn before(&self, operation: usize) -> &[u32] {
        self.before.of(operation)
    }

    /// Operations that read an operation's results.
    pub(super) fn after(&self, operation: usize) -> &[u32] {
        self.after.of(operation)
    }
}
