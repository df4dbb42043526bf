//! Random oblivious transfers from `cryprot-ot`, cut into rows of bits.
//!
//! Many transfers are made by silent OT, few by IKNP, whichever sends fewer bytes.
//!
//! Sources: Boyle et al., "Efficient Two-Round OT Extension and Silent Non-Interactive Secure
//! Computation", CCS 2019, with the code of Raghuraman, Rindal, Tanguy, CRYPTO 2023; Ishai, Kilian,
//! Nissim, Petrank, "Extending Oblivious Transfers Efficiently", CRYPTO 2003.

use cryprot_core::Block;
use cryprot_net::Connection;
use cryprot_ot::extension::{SemiHonestOtExtensionReceiver, SemiHonestOtExtensionSender};
use cryprot_ot::silent_ot::{SemiHonestSilentOtReceiver, SemiHonestSilentOtSender};
use cryprot_ot::{RandChoiceRotReceiver, RotSender};
use subtle::Choice;

use super::Needs;
use crate::cost::Cost;
use crate::{Error, Result};

/// Transfers that are made at once. The library's buffers then take about 100 MB.
const BATCH: usize = 1 << 20;

/// Up to this many transfers of a batch are made by IKNP, which sends 16 bytes for each. A silent
/// batch sends at least 100 kB.
const MAX_IKNP: usize = 1 << 13;

/// Exchanges of the transfers that must follow each other.
pub(super) const ROUNDS: u64 = 5;

/// The sizes of the batches in which `count` transfers are made. The last one is rounded up.
fn batches(count: usize) -> impl Iterator<Item = usize> {
    let last = (count % BATCH).next_multiple_of(1024);
    let whole = std::iter::repeat_n(BATCH, count / BATCH);
    whole.chain((last > 0).then_some(last))
}

// Buffers are vectors: `HugePageMemory::grow_zeroed` of cryprot-core 0.3.2 takes its capacity in
// bytes for one in elements, and then leaves the mapped memory.

/// Sends `count` random OTs or a few more. `store` gets the first ones, in order.
pub(super) async fn send(
    mut connection: Connection,
    count: usize,
    mut store: impl FnMut(&[[Block; 2]]),
) -> Result<()> {
    let mut silent = SemiHonestSilentOtSender::new(connection.sub_connection());
    let mut iknp = SemiHonestOtExtensionSender::new(connection.sub_connection());
    let mut left = count;
    for batch in batches(count) {
        let mut found = vec![[Block::ZERO; 2]; batch];
        if batch <= MAX_IKNP {
            iknp.send_into(&mut found).await.map_err(failed)?;
        } else {
            silent.send_into(&mut found).await.map_err(failed)?;
        }
        let used = left.min(batch);
        store(&found[..used]);
        left -= used;
    }
    Ok(())
}

/// Receives `count` random OTs or a few more, with random choices.
pub(super) async fn receive(
    mut connection: Connection,
    count: usize,
    mut store: impl FnMut(&[Block], &[Choice]),
) -> Result<()> {
    let mut silent = SemiHonestSilentOtReceiver::new(connection.sub_connection());
    let mut iknp = SemiHonestOtExtensionReceiver::new(connection.sub_connection());
    let mut left = count;
    for batch in batches(count) {
        let mut found = vec![Block::ZERO; batch];
        let choices = if batch <= MAX_IKNP {
            let made = iknp.rand_choice_receive_into(&mut found).await;
            made.map_err(failed)?
        } else {
            found.resize(SemiHonestSilentOtReceiver::ots_buf_size(batch), Block::ZERO);
            let made = silent.random_receive_into(batch, &mut found).await;
            made.map_err(failed)?
        };
        let used = left.min(batch);
        store(&found[..used], &choices[..used]);
        left -= used;
    }
    Ok(())
}

fn failed(error: impl std::error::Error) -> Error {
    Error::Transfers {
        reason: error.to_string(),
    }
}

/// What [`preprocess`](super::preprocess) sends.
pub(super) fn cost(_needs: &Needs) -> Cost {
    Cost::default()
}
