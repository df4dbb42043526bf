//! The rest of a run: a trace that begins with values that another run stored.

use super::ir::{Instruction, Op, Trace, Type, ValueId};
use crate::error::Result;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

impl Trace {
    /// The rest of a run that has executed this trace up to the last store whose name is `given`.
    ///
    /// The result loads the values that the run stored under such names. No other value of the run
    /// is available, so instructions before that store stay where the rest needs them: keys are
    /// loaded and expanded again, and values computed from keys alone are computed again. These
    /// instructions stand before the first step. Values that the run has stored are not stored
    /// again. If no store has such a name, the result is the whole trace.
    ///
    /// # Errors
    /// [`Error::Trace`](crate::Error::Trace) for a trace that [`Trace::verify`] refuses.
    pub fn resumed(&self, given: impl Fn(&str) -> bool) -> Result<Self> {
        self.verify()?;
        let instructions = &self.main.instructions;
        let stored = instructions.iter().enumerate().rev();
        let mut stored = stored.filter_map(|(place, instruction)| match &instruction.op {
            Op::Store { value, name } if given(name) => Some((place, *value, name.as_str())),
            _ => None,
        });
        let Some((last, value, name)) = stored.next() else {
            return Ok(self.clone());
        };
        let mut names = HashMap::from([(value, name)]);
        names.extend(stored.map(|(_, value, name)| (value, name)));
        Ok(self.rest(last + 1, &names))
    }

    /// The instructions from `border` on, with the earlier instructions that they need.
    fn rest(&self, border: usize, given: &HashMap<ValueId, &str>) -> Self {
        let instructions = &self.main.instructions;
        let made = instructions.iter().scan(0, |next, instruction| {
            let first: ValueId = *next;
            *next += instruction.types.len();
            Some(first..*next)
        });
        let made: Vec<Range<ValueId>> = made.collect();
        let all_given = |place: usize| {
            let mut values = made[place].clone();
            !values.is_empty() && values.all(|value| given.contains_key(&value))
        };
        let kept = self.kept(border, &made, all_given);
        let mut rest = Rest {
            values: vec![0; made.last().map_or(0, |last| last.end)],
            next: 0,
            instructions: Vec::new(),
        };
        let mut steps = self.steps.clone();
        steps.retain(|step| step.first >= border);
        let mut begun = steps.iter_mut().peekable();
        for place in (0..instructions.len()).filter(|&place| kept[place]) {
            if let Some(step) = begun.next_if(|step| step.first == place) {
                step.first = rest.instructions.len();
            }
            if !all_given(place) {
                rest.add(instructions[place].clone(), made[place].clone());
            }
            for (value, ty) in made[place].clone().zip(&instructions[place].types) {
                if let Some(name) = given.get(&value) {
                    rest.add(load(name, ty), value..value + 1);
                }
            }
        }
        let mut trace = Self {
            steps,
            ..self.clone()
        };
        trace.main.instructions = rest.instructions;
        trace
    }

    /// For each instruction of the main body, true if the rest from `border` on needs it.
    fn kept(
        &self,
        border: usize,
        made: &[Range<ValueId>],
        all_given: impl Fn(usize) -> bool,
    ) -> Vec<bool> {
        let mut needed = HashSet::new();
        let mut kept = vec![false; made.len()];
        for (place, instruction) in self.main.instructions.iter().enumerate().rev() {
            let mut values = made[place].clone();
            kept[place] = place >= border || values.any(|value| needed.contains(&value));
            if kept[place] && !all_given(place) {
                let op = &instruction.op;
                op.for_each_operand(|operand| {
                    needed.insert(operand);
                });
            }
        }
        kept
    }
}

/// A main body that is being written, of instructions of another one.
struct Rest {
    /// For each value of the other body, its number here.
    values: Vec<ValueId>,
    next: ValueId,
    instructions: Vec<Instruction>,
}

impl Rest {
    /// Appends an instruction. In the other body its results are `of`.
    fn add(&mut self, mut instruction: Instruction, of: Range<ValueId>) {
        let values = &mut self.values;
        let op = &mut instruction.op;
        op.for_each_operand_mut(|operand| *operand = values[*operand]);
        for value in of {
            values[value] = self.next;
            self.next += 1;
        }
        self.instructions.push(instruction);
    }
}

fn load(name: &str, ty: &Type) -> Instruction {
    let (name, types) = (name.to_owned(), vec![ty.clone()]);
    let ty = ty.clone();
    let op = Op::Load { name, ty };
    Instruction { op, types }
}
