//! Random oblivious transfers from `cryprot-ot`, cut into rows of bits.
//!
//! A batch of many transfers runs silent OT, a batch of few runs IKNP: the protocol that sends
//! fewer bytes.
//!
//! Sources: Boyle et al., "Efficient Two-Round OT Extension and Silent Non-Interactive Secure
//! Computation", CCS 2019, with the code of Raghuraman, Rindal, Tanguy, CRYPTO 2023; Ishai, Kilian,
//! Nissim, Petrank, "Extending Oblivious Transfers Efficiently", CRYPTO 2003.

use cryprot_core::{AES_PAR_BLOCKS, Block};
use cryprot_net::Connection;
use cryprot_ot::extension::{
    DEFAULT_OT_BATCH_SIZE, SemiHonestOtExtensionReceiver, SemiHonestOtExtensionSender,
};
use cryprot_ot::silent_ot::{SemiHonestSilentOtReceiver, SemiHonestSilentOtSender};
use cryprot_ot::{RandChoiceRotReceiver, RotSender};
use subtle::Choice;

use super::Needs;
use super::carrier::{END_BYTES, frame_bytes};
use super::preprocess::GREETING_BYTES;
use crate::cost::{Cost, Role};
use crate::{Error, Result};

/// Number of transfers in a batch. The library's buffers then take about 100 MB.
const BATCH: usize = 1 << 20;

/// Largest batch by IKNP, which sends 16 bytes for each transfer. A silent batch sends at least 100
/// kB.
const MAX_IKNP: usize = 1 << 13;

/// The sizes of the batches for `count` transfers. The last one is rounded up.
fn batches(count: usize) -> impl Iterator<Item = usize> {
    let last = (count % BATCH).next_multiple_of(1024);
    let whole = std::iter::repeat_n(BATCH, count / BATCH);
    whole.chain((last > 0).then_some(last))
}

// Buffers are vectors, because `HugePageMemory::grow_zeroed` of cryprot-core 0.3.2 mistakes its
// capacity in bytes for a capacity in elements, and then leaves the mapped memory.

/// Sends `count` random OTs, rounded up to batches. `store` receives the first `count`, in order.
pub(super) async fn send(
    mut connection: Connection,
    count: usize,
    mut store: impl FnMut(&[[Block; 2]]),
) -> Result<()> {
    let mut silent = SemiHonestSilentOtSender::new(connection.sub_connection());
    let mut iknp = SemiHonestOtExtensionSender::new(connection.sub_connection());
    let mut left = count;
    for batch in batches(count) {
        let mut messages = vec![[Block::ZERO; 2]; batch];
        if batch <= MAX_IKNP {
            iknp.send_into(&mut messages).await.map_err(failed)?;
        } else {
            silent.send_into(&mut messages).await.map_err(failed)?;
        }
        let used = left.min(batch);
        store(&messages[..used]);
        left -= used;
    }
    Ok(())
}

/// Receives `count` random OTs with random choices, rounded up to batches. `store` receives the
/// first `count`, in order.
pub(super) async fn receive(
    mut connection: Connection,
    count: usize,
    mut store: impl FnMut(&[Block], &[Choice]),
) -> Result<()> {
    let mut silent = SemiHonestSilentOtReceiver::new(connection.sub_connection());
    let mut iknp = SemiHonestOtExtensionReceiver::new(connection.sub_connection());
    let mut left = count;
    for batch in batches(count) {
        let mut messages = vec![Block::ZERO; batch];
        let choices = if batch <= MAX_IKNP {
            let choices = iknp.rand_choice_receive_into(&mut messages).await;
            choices.map_err(failed)?
        } else {
            messages.resize(SemiHonestSilentOtReceiver::ots_buf_size(batch), Block::ZERO);
            let choices = silent.random_receive_into(batch, &mut messages).await;
            choices.map_err(failed)?
        };
        let used = left.min(batch);
        store(&messages[..used], &choices[..used]);
        left -= used;
    }
    Ok(())
}

fn failed(error: impl std::error::Error) -> Error {
    Error::Transfers {
        reason: error.to_string(),
    }
}

/// The cost of [`preprocess`](super::preprocess).
pub(super) fn cost(needs: &Needs) -> Cost {
    let mut cost = Cost {
        rounds: 1,
        bytes_to_server: GREETING_BYTES as u64,
        bytes_to_client: GREETING_BYTES as u64,
    };
    if needs.oblivious_transfers() == 0 {
        return cost;
    }
    for (chooser, count) in [Role::Server, Role::Client].into_iter().zip(needs.counts()) {
        let sent = direction(count);
        cost.add_bytes(chooser, (sent.to_chooser + END_BYTES) as u64);
        cost.add_bytes(chooser.other(), sent.from_chooser as u64);
    }
    // Each party sends one END byte: the loop adds it to the bytes of each chooser.
    cost.rounds += rounds(needs);
    let corrections = needs.correction_bytes();
    cost.rounds += u64::from(corrections > 0);
    cost.add_bytes(Role::Client, corrections as u64);
    cost
}

/// Number of bytes of the frames that a party receives.
pub(super) fn bytes_to(role: Role, needs: &Needs) -> u64 {
    let cost = cost(needs);
    let (all, corrections) = match role {
        Role::Server => (cost.bytes_to_server, 0),
        Role::Client => (cost.bytes_to_client, needs.correction_bytes()),
    };
    all - (GREETING_BYTES + END_BYTES + corrections) as u64
}

/// Number of messages of the transfers that must follow each other. Both directions run at once.
pub(super) fn rounds(needs: &Needs) -> u64 {
    let of_direction = |count: usize| {
        let (mut silent, mut iknp) = (0, 0);
        for batch in batches(count) {
            *(if batch <= MAX_IKNP {
                &mut iknp
            } else {
                &mut silent
            }) += 1;
        }
        // Base OTs take three messages, the last one together with the choices of IKNP. A silent
        // batch takes these and the trees.
        let silent_rounds = if silent > 0 { 2 + 2 * silent } else { 0 };
        silent_rounds + 3 * iknp
    };
    needs
        .counts()
        .into_iter()
        .map(of_direction)
        .max()
        .unwrap_or(0)
}

/// Number of bytes of one direction's transfers.
#[derive(Clone, Copy, Default)]
struct Sent {
    to_chooser: usize,
    from_chooser: usize,
}

/// Numbers of parts in the names of streams: of IKNP's base OTs and extensions (silent OT has them
/// one level deeper), and of silent OT's trees.
const IKNP_DEPTH: usize = 4;
const TREE_DEPTH: usize = 4;

/// Number of bytes before a value on a stream.
const LENGTH_BYTES: usize = 4;

fn direction(count: usize) -> Sent {
    let mut sent = Sent::default();
    let (mut has_silent, mut has_iknp) = (false, false);
    for batch in batches(count) {
        if batch <= MAX_IKNP {
            extension(&mut sent, IKNP_DEPTH, batch, &mut has_iknp);
        } else {
            let tree = Trees::new(batch);
            let base = (tree.count * tree.depth).next_multiple_of(128);
            extension(&mut sent, IKNP_DEPTH + 1, base, &mut has_silent);
            trees(&mut sent, tree);
        }
    }
    sent
}

/// Adds the bytes of an extension by IKNP. The first one computes 128 base OTs with exchanged
/// roles.
fn extension(sent: &mut Sent, depth: usize, count: usize, has_base: &mut bool) {
    if !std::mem::replace(has_base, true) {
        // A point and a commitment; a point for each OT; the commitment's seed.
        sent.from_chooser += frame_bytes(depth, LENGTH_BYTES + 32 + 32);
        sent.to_chooser += frame_bytes(depth, LENGTH_BYTES + POINTS_BYTES + BASE_OTS * 32);
        sent.from_chooser += frame_bytes(depth, LENGTH_BYTES + 16);
        end_stream(sent, depth);
    }
    for at in (0..count).step_by(DEFAULT_OT_BATCH_SIZE) {
        let part = DEFAULT_OT_BATCH_SIZE.min(count - at);
        sent.from_chooser += BASE_OTS * frame_bytes(depth, part / 8);
    }
    end_stream(sent, depth);
}

/// Adds the bytes of a silent batch's trees, in groups that the library encrypts at once.
fn trees(sent: &mut Sent, tree: Trees) {
    for group in (0..tree.count).step_by(AES_PAR_BLOCKS) {
        let sums = 1 + (tree.depth - 1) * AES_PAR_BLOCKS * 16;
        let last = 1 + AES_PAR_BLOCKS * 4 * 16;
        let number = if group < 1 << 7 { 1 } else { 2 };
        sent.to_chooser += frame_bytes(TREE_DEPTH, LENGTH_BYTES + number + 2 * sums + last);
    }
    end_stream(sent, TREE_DEPTH);
}

/// Adds the empty frames by which both ends close a stream.
fn end_stream(sent: &mut Sent, depth: usize) {
    sent.to_chooser += frame_bytes(depth, 0);
    sent.from_chooser += frame_bytes(depth, 0);
}

/// Number of IKNP's base OTs, and the bytes of this number on a stream.
const BASE_OTS: usize = 128;
const POINTS_BYTES: usize = 2;

/// Sizes of silent OT's trees, which the library chooses for 128 bits of security.
#[derive(Clone, Copy)]
struct Trees {
    count: usize,
    depth: usize,
}

impl Trees {
    /// Computes the sizes for a batch. The noise of a code whose relative distance is 0.15 needs
    /// `128 / -log2(1 - 2 * 0.15)` points.
    fn new(batch: usize) -> Self {
        let points = (-128.0 / (1.0f64 - 2.0 * 0.15).log2()) as usize;
        let count = points.next_multiple_of(AES_PAR_BLOCKS);
        let leaves = (2 * batch).div_ceil(count).next_multiple_of(2);
        let depth = leaves.next_power_of_two().ilog2() as usize;
        Self { count, depth }
    }
}
