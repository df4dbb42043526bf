//! A tile in a run: its kernel, its position in the turn, and its clock.

use super::stream::Stream;
use super::{Kernel, Phase, Usage};

pub(super) struct Running {
    pub(super) kernel: Box<dyn Kernel>,
    /// The stream, and the tile's position among its readers.
    pub(super) inputs: [Option<(usize, usize)>; 2],
    pub(super) outputs: Vec<Option<usize>>,
    pub(super) usage: Usage,
    phases: Vec<Phase>,
    phase: usize,
    step: usize,
    clock: u64,
}

impl Running {
    pub(super) fn new(kind: &'static str, name: String, kernel: Box<dyn Kernel>) -> Self {
        let phases = match kernel.turns() {
            0 => Vec::new(),
            _ => kernel.turn(0),
        };
        Self {
            kernel,
            inputs: [None; 2],
            outputs: vec![None; 2],
            usage: Usage {
                name,
                kind,
                busy: 0,
                computing: 0,
                ends: Vec::new(),
            },
            phases,
            phase: 0,
            step: 0,
            clock: 0,
        }
    }

    pub(super) fn done(&self) -> bool {
        self.usage.ends.len() == self.kernel.turns()
    }

    /// Runs until a word or room is lacking, or all is done. Returns true if it made progress.
    pub(super) fn advance(&mut self, streams: &mut [Stream], words: bool) -> bool {
        let before = (self.usage.ends.len(), self.phase, self.step);
        while !self.done() {
            let ended = match self.phases.get(self.phase).copied() {
                None => {
                    self.usage.ends.push(self.clock);
                    let turn = self.usage.ends.len();
                    if !self.done() {
                        self.phases = self.kernel.turn(turn);
                    }
                    self.phase = 0;
                    continue;
                }
                Some(Phase::Compute { ticks }) => {
                    if words {
                        self.kernel.compute(self.phase);
                    }
                    self.clock += ticks;
                    self.usage.busy += ticks;
                    self.usage.computing += ticks;
                    true
                }
                Some(Phase::Send { words: count, port }) => {
                    self.send((count, port), streams, words)
                }
                Some(Phase::Move {
                    words: count,
                    from,
                    to,
                    ticks,
                }) => self.steps((count, ticks), (from, to), streams, words),
            };
            if !ended {
                break;
            }
            self.phase += 1;
            self.step = 0;
        }
        before != (self.usage.ends.len(), self.phase, self.step)
    }

    /// Sends words to one port until room runs out. Returns true when the phase has ended.
    fn send(&mut self, (count, port): (usize, usize), streams: &mut [Stream], words: bool) -> bool {
        let stream = &mut streams[self.outputs[port].expect("a stream at this output")];
        while self.step < count {
            let Some(room) = stream.writable() else {
                return false;
            };
            self.clock = self.clock.max(room);
            let word = match words {
                true => self.kernel.step(self.phase, self.step, [0; 2])[0],
                false => 0,
            };
            stream.write(self.clock, word);
            self.step += 1;
        }
        true
    }

    /// Runs the steps of a phase until input words or output room run out. Returns true when the
    /// phase has ended.
    fn steps(
        &mut self,
        (count, ticks): (usize, u64),
        (from, to): ([bool; 2], [bool; 2]),
        streams: &mut [Stream],
        words: bool,
    ) -> bool {
        // A kernel that uses a port without a stream is a fault of the graph. The graph's tests
        // show it.
        let inputs =
            [0, 1].map(|p| from[p].then(|| self.inputs[p].expect("a stream at this input")));
        let outputs =
            [0, 1].map(|p| to[p].then(|| self.outputs[p].expect("a stream at this output")));
        while self.step < count {
            let mut start = self.clock;
            for &(stream, reader) in inputs.iter().flatten() {
                match streams[stream].readable(reader) {
                    Some(time) => start = start.max(time),
                    None => return false,
                }
            }
            for &stream in outputs.iter().flatten() {
                match streams[stream].writable() {
                    Some(time) => start = start.max(time),
                    None => return false,
                }
            }
            let taken = inputs.map(|input| {
                input.map_or(0, |(stream, reader)| streams[stream].read(reader, start))
            });
            let sent = match words {
                true => self.kernel.step(self.phase, self.step, taken),
                false => [0; 2],
            };
            self.clock = start + ticks;
            self.usage.busy += ticks;
            for (output, word) in outputs.iter().zip(sent) {
                if let Some(stream) = *output {
                    streams[stream].write(self.clock, word);
                }
            }
            self.step += 1;
        }
        true
    }
}
