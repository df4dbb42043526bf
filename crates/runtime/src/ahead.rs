//! Steps that are computed together, before their turn.
//!
//! The linear part of a layer is hundreds of short steps, each with too few limbs to keep all
//! threads at work. Steps of different *chains* do not need each other, so chains run side by side.
//! The server still reports the results one by one, in the order of the program.

use crate::error::Result;
use crate::server::StepResult;
use program::{Op, Program};
use ring::{Span, Timer, par_map, threads};
use std::collections::{BTreeMap, VecDeque};

/// Chains for each thread that are computed together. All threads wait for the last one, so there
/// are several; results wait for their turn, so there are not many.
const CHAINS: usize = 8;

/// Results of the next steps of a program, in order.
#[derive(Default)]
pub(crate) struct Ahead {
    ready: VecDeque<(StepResult, Span)>,
}

impl Ahead {
    /// The result of step `index` and its wall-clock time. Calls must be for consecutive steps.
    /// `held` are the results of earlier steps that are still needed, and `run` computes a step, with
    /// a function that returns the results of earlier steps.
    ///
    /// # Errors
    /// Errors of `run`, for this step or for one that is computed together with it.
    pub(crate) fn step(
        &mut self,
        (program, index): (&Program, usize),
        held: &BTreeMap<usize, StepResult>,
        run: impl Fn(&Results, usize) -> Result<StepResult> + Sync,
    ) -> Result<(StepResult, Span)> {
        if self.ready.is_empty() {
            let operands = |step| short_operands(program, index, step);
            self.compute(&chains(index, CHAINS * threads(), operands), held, run)?;
        }
        Ok(self
            .ready
            .pop_front()
            .expect("a step is in the first chain"))
    }

    fn compute(
        &mut self,
        chains: &[Vec<usize>],
        held: &BTreeMap<usize, StepResult>,
        run: impl Fn(&Results, usize) -> Result<StepResult> + Sync,
    ) -> Result<()> {
        let timer = Timer::start();
        let computed = par_map(chains.len(), |chain| {
            let mut own = BTreeMap::new();
            let mut seconds = Vec::new();
            for &step in &chains[chain] {
                let timer = Timer::start();
                let result = run(&Results { held, own: &own }, step)?;
                seconds.push(timer.stop().work);
                own.insert(step, result);
            }
            Ok(own.into_iter().zip(seconds).collect())
        });
        let computed: Vec<Vec<_>> = computed.into_iter().collect::<Result<_>>()?;
        let mut computed: Vec<((usize, StepResult), f64)> =
            computed.into_iter().flatten().collect();
        computed.sort_by_key(|((step, _), _)| *step);
        // Steps that ran side by side share the time that passed, so that the seconds of all steps
        // add up to those of the run.
        let all: f64 = computed.iter().map(|(_, seconds)| seconds).sum();
        let Span { work, span } = timer.stop();
        let ready = computed.into_iter().map(|((_, result), seconds)| {
            let share = seconds / all.max(f64::MIN_POSITIVE);
            let (work, span) = (work * share, span * share);
            (result, Span { work, span })
        });
        self.ready.extend(ready);
        Ok(())
    }
}

/// Results of earlier steps.
pub(crate) struct Results<'a> {
    held: &'a BTreeMap<usize, StepResult>,
    own: &'a BTreeMap<usize, StepResult>,
}

impl<'a> Results<'a> {
    /// The result of a step.
    pub(crate) fn get(&self, step: usize) -> Option<&'a StepResult> {
        self.own.get(&step).or_else(|| self.held.get(&step))
    }
}

/// The operands of a step, if it is short and of the same layer as step `index`.
fn short_operands(program: &Program, index: usize, step: usize) -> Option<Vec<usize>> {
    let next = program.steps.get(step)?;
    let joins = is_short(&next.op) && next.layer == program.steps[index].layer;
    joins.then(|| next.op.operands())
}

/// The chains of the steps with operands from `index` on: at most `most` chains, which together are
/// all steps of a range. A step without operands is alone, and ends the range if it follows.
fn chains(
    index: usize,
    most: usize,
    operands: impl Fn(usize) -> Option<Vec<usize>>,
) -> Vec<Vec<usize>> {
    let mut chains = vec![vec![index]];
    if operands(index).is_none() {
        return chains;
    }
    for step in index + 1.. {
        let Some(operands) = operands(step) else {
            break;
        };
        let needs = |&chain: &usize| operands.iter().any(|id| chains[chain].contains(id));
        let mut of = (0..chains.len()).filter(needs);
        match (of.next(), of.next()) {
            (Some(chain), None) => chains[chain].push(step),
            (None, None) if chains.len() < most => chains.push(vec![step]),
            _ => break,
        }
    }
    chains
}

/// Whether a step has few limbs to work on.
fn is_short(op: &Op) -> bool {
    matches!(
        op,
        Op::MulCoefficients { .. } | Op::AddCoefficients { .. } | Op::ToSamples { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::chains;

    /// Steps by their operands. `None` is a long step.
    fn of(steps: &[Option<&[usize]>], index: usize, most: usize) -> Vec<Vec<usize>> {
        chains(index, most, |step| steps.get(step)?.map(<[usize]>::to_vec))
    }

    #[test]
    fn chains_do_not_need_each_other() {
        let steps: [Option<&[usize]>; 7] = [
            None,
            Some(&[0]),
            Some(&[1]),
            Some(&[0]),
            Some(&[3, 0]),
            Some(&[2]),
            Some(&[2, 4]), // two chains
        ];
        assert_eq!(of(&steps, 1, 9), [vec![1, 2, 5], vec![3, 4]]);
        assert_eq!(of(&steps, 1, 1), [vec![1, 2]]);
        assert_eq!(of(&steps, 6, 9), [vec![6]]);
    }

    #[test]
    fn a_long_step_is_alone_and_ends_a_range() {
        let steps: [Option<&[usize]>; 4] = [Some(&[]), Some(&[]), None, Some(&[])];
        assert_eq!(of(&steps, 0, 9), [vec![0], vec![1]]);
        assert_eq!(of(&steps, 2, 9), [vec![2]]);
        assert_eq!(of(&steps, 3, 9), [vec![3]]);
    }
}
