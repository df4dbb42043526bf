//! Cycles of straight-line code on a tile that issues several instructions at once.

use crate::spatial::machine::Machine;
use ring::torus::wavefront::{Element, Instruction, Issue, Section};

/// The cycles in which the instructions of a section are issued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    /// The cycle of each instruction.
    pub(crate) issued: Vec<u64>,
    /// The cycle after the last issue.
    pub(crate) length: u64,
    /// The cycle in which the last result can be read.
    pub(crate) drained: u64,
}

/// Parts of a tile that each take a number of instructions per cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Unit {
    Load,
    Move,
    Store,
    Vector,
}

fn unit(instruction: Instruction) -> Unit {
    match instruction {
        Instruction::Load => Unit::Load,
        // "Two move (update registers)": section II-D of the paper.
        Instruction::Broadcast | Instruction::Shift | Instruction::Narrow => Unit::Move,
        Instruction::MultiplyAccumulate | Instruction::Float => Unit::Vector,
        Instruction::Store => Unit::Store,
    }
}

const UNITS: [Unit; 4] = [Unit::Load, Unit::Move, Unit::Store, Unit::Vector];

fn width(machine: &Machine, unit: Unit) -> usize {
    let tile = machine.tile();
    match unit {
        Unit::Load => tile.loads,
        Unit::Move => tile.moves,
        Unit::Store => tile.stores,
        Unit::Vector => tile.vectors,
    }
}

fn latency(machine: &Machine, instruction: Instruction) -> u64 {
    let latency = machine.latency();
    match instruction {
        Instruction::Load => latency.load,
        Instruction::Broadcast => latency.broadcast,
        Instruction::Shift => latency.shift,
        Instruction::MultiplyAccumulate => latency.multiply_accumulate,
        Instruction::Float => latency.float,
        Instruction::Narrow => latency.narrow,
        Instruction::Store => latency.store,
    }
}

/// Issues each instruction in the first cycle in which its operands are ready and its unit is free.
/// Earlier instructions go first.
pub(crate) fn schedule(machine: &Machine, issues: &[Issue]) -> Schedule {
    let mut issued: Vec<u64> = Vec::with_capacity(issues.len());
    for step in issues {
        let ready = step
            .needs
            .iter()
            .map(|&i| issued[i] + latency(machine, issues[i].instruction));
        let overwrites = step.not_before.iter().map(|&i| issued[i]);
        let mut cycle = ready.chain(overwrites).max().unwrap_or(0);
        let of_unit = unit(step.instruction);
        let taken = |cycle: u64| {
            let others = issued.iter().zip(issues);
            others
                .filter(|(at, other)| **at == cycle && unit(other.instruction) == of_unit)
                .count()
        };
        while taken(cycle) >= width(machine, of_unit) {
            cycle += 1;
        }
        issued.push(cycle);
    }
    let ends = issued
        .iter()
        .zip(issues)
        .map(|(at, step)| at + latency(machine, step.instruction));
    Schedule {
        length: issued.iter().max().map_or(0, |last| last + 1),
        drained: ends.max().unwrap_or(0),
        issued,
    }
}

/// The fewest cycles between two iterations of a software-pipelined loop: the cycles of the busiest
/// unit.
pub(crate) fn interval(machine: &Machine, issues: &[Issue]) -> u64 {
    let fullest = UNITS.iter().map(|&one| {
        let uses = issues
            .iter()
            .filter(|step| unit(step.instruction) == one)
            .count();
        uses.div_ceil(width(machine, one)) as u64
    });
    fullest.max().unwrap_or(0)
}

/// Cycles of all runs of a section. Loops have no overhead, because the tile counts iterations in
/// hardware (UG1079, "Loops").
pub(crate) fn section_cycles(machine: &Machine, section: &Section) -> u64 {
    let schedule = schedule(machine, &section.issues);
    match section.times as u64 {
        0 => 0,
        1 => schedule.drained,
        times if machine.tile().pipelined => {
            schedule.length + (times - 1) * interval(machine, &section.issues)
        }
        times => times * schedule.length,
    }
}

/// Cycles in which an element computes, for one product.
pub(crate) fn compute_cycles(machine: &Machine, element: &Element) -> u64 {
    cycles(machine, &element.sections())
}

/// Cycles of sections, one after the other.
pub(crate) fn cycles(machine: &Machine, sections: &[Section]) -> u64 {
    sections
        .iter()
        .map(|section| section_cycles(machine, section))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::torus::Wavefront;

    fn inner_loop() -> Section {
        let chain = Wavefront::new(1024, 32).expect("whole vectors").chain();
        chain[0].sections().swap_remove(1)
    }

    fn machine() -> Machine {
        Machine::named("versal").expect("built in")
    }

    fn changed(from: &str, to: &str) -> Machine {
        let text = crate::family::built_in("versal").expect("built in");
        assert!(text.contains(from), "{from}");
        Machine::from_toml(&text.replacen(from, to, 1)).expect("in range")
    }

    #[test]
    fn an_iteration_of_32_products_takes_a_load_a_broadcast_and_four_macs() {
        let section = inner_loop();
        let macs = section
            .issues
            .iter()
            .filter(|s| s.instruction == Instruction::MultiplyAccumulate);
        assert_eq!(macs.count(), 4);
        // 7 cycles for loading the digit, one for its broadcast, one for each of four
        // multiply-accumulates.
        assert_eq!(schedule(&machine(), &section.issues).length, 7 + 1 + 4);
        for (from, to, length) in [
            ("load = 7", "load = 6", 11),
            ("vectors = 1", "vectors = 2", 10),
            ("loads = 2", "loads = 1", 12), // the last vector's loads end before its shift
            ("load = 7", "load = 0", 5),
        ] {
            assert_eq!(
                schedule(&changed(from, to), &section.issues).length,
                length,
                "{to}"
            );
        }
    }

    #[test]
    fn no_step_is_issued_before_its_operands_or_on_a_taken_unit() {
        let issues = inner_loop().issues;
        for machine in [
            machine(),
            changed("moves = 2", "moves = 1"),
            changed("loads = 2", "loads = 1"),
        ] {
            let schedule = schedule(&machine, &issues);
            for (i, step) in issues.iter().enumerate() {
                for &j in &step.needs {
                    assert!(
                        schedule.issued[i]
                            >= schedule.issued[j] + latency(&machine, issues[j].instruction)
                    );
                }
                for &j in &step.not_before {
                    assert!(schedule.issued[i] >= schedule.issued[j]);
                }
            }
            for cycle in 0..schedule.length {
                for one in UNITS {
                    let issued = schedule.issued.iter().zip(&issues);
                    let issued =
                        issued.filter(|(at, s)| **at == cycle && unit(s.instruction) == one);
                    assert!(issued.count() <= width(&machine, one), "{one:?} in {cycle}");
                }
            }
        }
    }

    #[test]
    fn a_pipelined_loop_is_as_fast_as_its_fullest_unit() {
        let section = inner_loop();
        assert_eq!(
            interval(&machine(), &section.issues),
            4,
            "four multiply-accumulates"
        );
        let pipelined = changed("pipelined = false", "pipelined = true");
        assert_eq!(section_cycles(&pipelined, &section), 12 + 1023 * 4);
        assert_eq!(section_cycles(&machine(), &section), 1024 * 12);
    }

    #[test]
    fn an_element_takes_its_loops_and_what_starts_and_ends_them() {
        let chain = Wavefront::new(1024, 16).expect("whole vectors").chain();
        // Two loops. At the start four loads on two units, then 7 cycles. At the end four
        // accumulators narrowed on two units, 4 cycles, and stored one by one.
        let (start, end) = (1 + 7, 4 + 4);
        let cycles = compute_cycles(&machine(), &chain[0]);
        assert_eq!(cycles, 2 * (start + 1024 * 12 + end));
    }
}
