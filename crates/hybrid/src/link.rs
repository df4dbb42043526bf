pub trait Channel: Send {
    fn send(&mut self, bytes: &[u8]) -> Result<()>;
    fn receive(&mut self, bytes: &mut [u8]) -> Result<()>;
    fn flush(&mut self) -> Result<()>;
    fn traffic(&self) -> Traffic;
}
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub sent: u64,
    pub received: u64,
    pub rounds: u64,
}
use crate::error::{Error, Result};
use std::sync::mpsc::{Receiver, Sender, channel};
pub struct Memory {
    to: Sender<Vec<u8>>,
    from: Receiver<Vec<u8>>,
    out: Vec<u8>,
    have: Vec<u8>,
    traffic: Traffic,
    sent: bool,
}
pub fn memory_pair() -> (Memory, Memory) {
    let (a, b) = channel();
    let (c, d) = channel();
    let end = |to, from| Memory {
        to,
        from,
        out: vec![],
        have: vec![],
        traffic: Traffic::default(),
        sent: false,
    };
    (end(a, d), end(c, b))
}
impl Channel for Memory {
    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.extend_from_slice(bytes);
        self.traffic.sent += bytes.len() as u64;
        self.sent = true;
        Ok(())
    }
    fn flush(&mut self) -> Result<()> {
        let m = std::mem::take(&mut self.out);
        self.to.send(m).map_err(|_| Error::message("a", "b", "c"))
    }
    fn receive(&mut self, bytes: &mut [u8]) -> Result<()> {
        if std::mem::take(&mut self.sent) {
            self.traffic.rounds += 1;
        }
        while self.have.len() < bytes.len() {
            let m = self
                .from
                .recv()
                .map_err(|_| Error::message("end", "b", "c"))?;
            self.have.extend(m);
        }
        bytes.copy_from_slice(&self.have[..bytes.len()]);
        self.have.drain(..bytes.len());
        self.traffic.received += bytes.len() as u64;
        Ok(())
    }
    fn traffic(&self) -> Traffic {
        self.traffic
    }
}
