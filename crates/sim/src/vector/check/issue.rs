//! The check of one instruction of a schedule: its place, its durations, its operands.

use super::Violation;
use super::intervals::Use;
use super::replay::Replay;
use crate::vector::machine::Operation;

impl Replay<'_> {
    pub(super) fn issue(&mut self, instruction: usize, cycle: u64) -> Result<(), Violation> {
        let kind = self.work.kind(instruction);
        self.issued[instruction] = self.issued[instruction].saturating_add(1);
        if self.issued[instruction] > 1 {
            return Err(Violation::Times {
                instruction,
                kind: kind.name(),
                times: 2,
            });
        }
        let place = self.schedule.place(instruction);
        let uses = self.machine.uses(kind);
        let wrong_place = |found: String, expected: String| Violation::Place {
            instruction,
            kind: kind.name(),
            found,
            expected,
        };
        let clusters = self.machine.clusters();
        let Some(cluster) = clusters.get(usize::from(place.cluster)) else {
            let expected = format!("one of {} clusters", clusters.len());
            return Err(wrong_place(format!("cluster {}", place.cluster), expected));
        };
        if !cluster.executes(kind) {
            let able = clusters.iter().filter(|one| one.executes(kind));
            let able: Vec<&str> = able.map(|one| one.name.as_str()).collect();
            return Err(wrong_place(cluster.name.clone(), able.join(" or ")));
        }
        let mut passes = 0;
        let mut latency = 0;
        for (&unit, &number) in uses.iter().zip(&place.units) {
            let of = &self.machine.units()[unit];
            if usize::from(number) >= cluster.units[unit] {
                let found = format!("{} {number} of {}", of.name, cluster.name);
                return Err(wrong_place(
                    found,
                    format!("one of {}", cluster.units[unit]),
                ));
            }
            passes = passes.max(of.cycles(self.n, self.work.terms(instruction)));
            latency += of.latency;
        }
        let ports = self.over_ports(instruction, place.cluster, cycle)?;
        self.duration(
            instruction,
            "ports",
            self.schedule.ports(instruction),
            ports,
        )?;
        let busy = passes.max(ports);
        self.duration(instruction, "units", self.schedule.busy(instruction), busy)?;

        let until = cycle + busy;
        for limb in self.work.operands(instruction) {
            let reader = || format!("instruction {instruction} ({})", kind.name());
            let stay = self.read(limb, cycle, reader)?;
            stay.needed = stay.needed.max(until);
        }
        let ready = until + latency;
        self.arrive(instruction as u32, cycle, ready)?;
        let who = instruction as u32;
        for (&unit, &number) in uses.iter().zip(&place.units) {
            let users = self.units.entry((place.cluster, unit, number)).or_default();
            users.push(Use {
                from: cycle,
                until,
                who,
            });
        }
        self.ports[usize::from(place.cluster)].push(Use {
            from: cycle,
            until: cycle + ports,
            who,
        });
        Ok(())
    }

    /// Cycles in which an instruction occupies the ports of its cluster. Operands that are neither
    /// in the register file nor in a buffer come in over the ports. A result that is needed
    /// elsewhere goes out.
    fn over_ports(
        &mut self,
        instruction: usize,
        cluster: u16,
        cycle: u64,
    ) -> Result<u64, Violation> {
        let kind = self.machine.clusters()[usize::from(cluster)].kind;
        let mut limbs = u64::from(!self.schedule.inside(instruction));
        self.files[usize::from(cluster)].next();
        for (operand, limb) in self.work.operands(instruction).enumerate() {
            let file = &mut self.files[usize::from(cluster)];
            let held = self.schedule.holds(instruction, operand);
            let there = if held {
                file.keep(limb)
            } else {
                !self.inside(limb)
            };
            if !there {
                return Err(Violation::Dependence {
                    reader: format!(
                        "instruction {instruction} ({})",
                        self.work.kind(instruction).name()
                    ),
                    limb,
                    cycle,
                    state: match held {
                        true => "its cluster has not met it".into(),
                        false => "it never left the register file in which it was made".into(),
                    },
                });
            }
            let others = self.buffers.iter().enumerate();
            let mut others = others.filter(|(of, _)| *of != kind);
            limbs += u64::from(!held && !others.any(|(_, buffer)| buffer.contains(&limb)));
            self.files[usize::from(cluster)].meet(limb);
        }
        self.files[usize::from(cluster)].meet(instruction as u32);
        let buffer = &mut self.buffers[kind];
        buffer.push_front(instruction as u32);
        buffer.truncate(self.machine.buffer_limbs(self.n));
        let bytes = limbs * self.machine.limb_bytes(self.n);
        Ok(bytes.div_ceil(self.machine.clusters()[usize::from(cluster)].bytes_per_cycle))
    }

    fn duration(
        &self,
        instruction: usize,
        what: &'static str,
        found: u64,
        expected: u64,
    ) -> Result<(), Violation> {
        if found == expected {
            return Ok(());
        }
        let kind: Operation = self.work.kind(instruction);
        Err(Violation::Duration {
            instruction,
            kind: kind.name(),
            what,
            found,
            expected,
        })
    }
}
