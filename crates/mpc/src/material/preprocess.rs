//! The offline phase: turns random oblivious transfers into material.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cryprot_core::{AES_PAR_BLOCKS, Block};
use cryprot_net::Connection;
use futures::try_join;
use subtle::Choice;
use zeroize::Zeroizing;

use super::needs::{Needs, index};
use super::squares::SquarePool;
use super::store::{Material, Rows};
use super::{carrier, random, transfers};
use crate::channel::Channel;
use crate::cost::Role;
use crate::slices::{mask, pack, packed_bytes, transpose, unpack};
use crate::{Error, Result};

/// Version of this crate's messages. A change of the messages changes it.
const VERSION: u8 = 2;

/// Number of bytes of the greeting, which each party sends first.
pub(super) const GREETING_BYTES: usize = 10;

/// Generates the material for `needs` with the other party. Neither party needs an input. Both
/// parties call this at the same time with the same needs.
///
/// `progress` receives the number of finished oblivious transfers, and their number in all.
///
/// # Errors
/// [`Error::Message`] if the other party has other needs, another version, or a processor for which
/// the library of oblivious transfers sends other messages; [`Error::Transfers`] and
/// [`Error::Connection`].
pub fn preprocess(
    role: Role,
    channel: &mut dyn Channel,
    needs: &Needs,
    progress: &mut (dyn FnMut(usize, usize) + Send),
) -> Result<Material> {
    greet(channel, needs)?;
    let mut material = Material::default();
    let total = needs.oblivious_transfers();
    if total == 0 {
        return Ok(material);
    }
    let [server_chooses, client_chooses] = needs.counts();
    let (own, others) = match role {
        Role::Server => (server_chooses, client_chooses),
        Role::Client => (client_chooses, server_chooses),
    };
    let mut chosen = Filler::new(role, role, needs);
    let mut sent = Filler::new(role, role.other(), needs);
    let done = AtomicUsize::new(0);
    let progress = Mutex::new(progress);
    let tell = |count: usize| {
        let before = done.fetch_add(count, Ordering::Relaxed);
        if let Ok(mut progress) = progress.lock() {
            progress(before + count, total);
        }
    };
    let (fill_chosen, fill_sent, tell) = (&mut chosen, &mut sent, &tell);
    let both = move |mut connection: Connection| {
        // In the first direction the server chooses.
        let (first, second) = (connection.sub_connection(), connection.sub_connection());
        let (receiving, sending) = match role {
            Role::Server => (first, second),
            Role::Client => (second, first),
        };
        let receive = transfers::receive(receiving, own, move |messages, choices| {
            fill_chosen.chosen(messages, choices);
            tell(messages.len());
        });
        let send = transfers::send(sending, others, move |messages| {
            fill_sent.sent(messages);
            tell(messages.len());
        });
        async move { try_join!(receive, send).map(|_| ()) }
    };
    carrier::carry(channel, transfers::bytes_to(role, needs), both)?;
    channel.add_rounds(transfers::rounds(needs));
    material.transfers[index(role)] = chosen.take_rows();
    material.transfers[index(role.other())] = sent.take_rows();

    // Random bits: the server's correction makes the client's number depend on the server's bit.
    let (bits, squares) = match role {
        Role::Server => (sent.bits, sent.squares),
        Role::Client => (chosen.bits, chosen.squares),
    };
    let mut corrections: Vec<u8> = Vec::new();
    if role == Role::Server {
        for (_, pool) in &bits {
            corrections.extend(&pool.corrections);
        }
        for pool in &squares {
            pool.write_corrections(&mut corrections);
        }
        channel.send(&corrections)?;
        channel.flush()?;
    } else {
        corrections = vec![0; needs.correction_bytes()];
        channel.receive(&mut corrections)?;
    }
    if needs.correction_bytes() > 0 {
        channel.add_rounds(1);
    }
    let mut at = 0;
    for (modulus, mut pool) in bits {
        if role == Role::Client {
            let length = packed_bytes(pool.shares.len(), modulus - 1);
            pool.correct(modulus, &corrections[at..at + length]);
            at += length;
        }
        let rows = material.random_bits.entry(modulus).or_default();
        rows[0].push(&pool.bits);
        rows[1].push(&pool.shares);
    }
    for mut pool in squares {
        if role == Role::Client {
            at += pool.correct(&corrections[at..]);
        }
        material.add_squares(pool.bits(), pool.finish())?;
    }
    Ok(material)
}

/// Exchanges greetings, and checks that version, processor and needs are equal.
fn greet(channel: &mut dyn Channel, needs: &Needs) -> Result<()> {
    let mut greeting = vec![VERSION, AES_PAR_BLOCKS as u8];
    greeting.extend(needs.digest().to_le_bytes());
    debug_assert_eq!(greeting.len(), GREETING_BYTES, "as the cost says");
    channel.send(&greeting)?;
    channel.flush()?;
    let mut others = [0; GREETING_BYTES];
    channel.receive(&mut others)?;
    if others[0] != VERSION {
        let found = format!("version {} of the protocols", others[0]);
        return Err(Error::message(found, format!("version {VERSION}")));
    }
    if others[1] != greeting[1] {
        return Err(Error::message(
            format!("a processor that encrypts {} blocks at once", others[1]),
            format!("{AES_PAR_BLOCKS}: both parties on the same kind of processor"),
        ));
    }
    if others[2..] != greeting[2..] {
        return Err(Error::message(
            "needs that differ from ours",
            "the same list of protocols and lengths",
        ));
    }
    Ok(())
}

/// Sorts OTs into rows, in the order of their widths, and then into random bits and squares.
struct Filler {
    is_chooser: bool,
    widths: Vec<(usize, usize, Zeroizing<Vec<u64>>)>,
    bits: Vec<(u32, BitPool)>,
    squares: Vec<SquarePool>,
    at_width: usize,
    at_bits: usize,
    at_squares: usize,
}

#[derive(Default)]
struct BitPool {
    words: usize,
    bits: Zeroizing<Vec<u64>>,
    shares: Zeroizing<Vec<u64>>,
    corrections: Vec<u8>,
    /// Corrections before their packing, until the pool is full.
    unpacked: Vec<u64>,
}

impl Filler {
    fn new(role: Role, chooser: Role, needs: &Needs) -> Self {
        let widths = needs.transfers[index(chooser)].iter();
        // Room for all rows: a growing vector would move, and leave a copy of its words behind.
        let room = |words| Zeroizing::new(Vec::with_capacity(words));
        let is_chooser = chooser == role;
        let widths = widths.map(|(&width, &words)| {
            let row = super::store::stride(is_chooser, width);
            (width, words, room(words * row))
        });
        let bits = needs.random_bits.iter().filter(|_| chooser == Role::Client);
        let bits = bits.map(|(&bits, &words)| {
            let pool = BitPool {
                words,
                bits: room(words),
                shares: room(64 * words),
                ..BitPool::default()
            };
            (bits, pool)
        });
        let squares = needs.made_squares.iter();
        let squares = squares.filter(|&(_, &count)| chooser == Role::Client && count > 0);
        Self {
            is_chooser,
            widths: widths.collect(),
            bits: bits.collect(),
            squares: squares
                .map(|(&bits, &count)| SquarePool::new(bits, count))
                .collect(),
            at_width: 0,
            at_bits: 0,
            at_squares: 0,
        }
    }

    fn chosen(&mut self, messages: &[Block], choices: &[Choice]) {
        for (messages, choices) in messages.chunks(64).zip(choices.chunks(64)) {
            let bits = choices.iter().rev();
            let choices = bits.fold(0, |word, c| word << 1 | u64::from(c.unwrap_u8()));
            match self.next_row() {
                Place::Width(width, rows) => {
                    rows.push(choices);
                    rows.extend(planes(messages.iter().copied(), width));
                }
                Place::Bits(_, pool) => {
                    pool.bits.push(choices);
                    pool.shares.extend(messages.iter().map(Block::low));
                }
                Place::Squares(pool) => pool.chosen(choices, messages.iter().map(Block::low)),
            }
        }
    }

    fn sent(&mut self, messages: &[[Block; 2]]) {
        let own = random::words(messages.len().div_ceil(64));
        for (messages, &bits) in messages.chunks(64).zip(own.iter()) {
            match self.next_row() {
                Place::Width(width, rows) => {
                    rows.extend(planes(messages.iter().map(|m| m[0]), width));
                    rows.extend(planes(messages.iter().map(|m| m[0] ^ m[1]), width));
                }
                Place::Bits(modulus, pool) => pool.send(modulus, bits, messages),
                Place::Squares(pool) => {
                    let messages = messages.iter().map(|m| [m[0].low(), m[1].low()]);
                    pool.send(messages);
                }
            }
        }
    }

    fn next_row(&mut self) -> Place<'_> {
        while let Some((width, words, rows)) = self.widths.get(self.at_width) {
            if rows.len() < words * super::store::stride(self.is_chooser, *width) {
                let (width, _, rows) = &mut self.widths[self.at_width];
                return Place::Width(*width, rows);
            }
            self.at_width += 1;
        }
        while let Some((_, pool)) = self.bits.get(self.at_bits) {
            if pool.bits.len() < pool.words {
                let (modulus, pool) = &mut self.bits[self.at_bits];
                return Place::Bits(*modulus, pool);
            }
            self.at_bits += 1;
        }
        while self.squares[self.at_squares].is_full() {
            self.at_squares += 1;
        }
        Place::Squares(&mut self.squares[self.at_squares])
    }

    fn take_rows(&mut self) -> BTreeMap<usize, Rows> {
        let widths = std::mem::take(&mut self.widths).into_iter();
        let rows = widths.map(|(width, _, words)| (width, Rows::new(words)));
        rows.collect()
    }
}

enum Place<'a> {
    Width(usize, &'a mut Vec<u64>),
    Bits(u32, &'a mut BitPool),
    Squares(&'a mut SquarePool),
}

impl BitPool {
    /// Adds the server's part of 64 random bits. The server's own bits are `word`.
    ///
    /// With the server's bit `r` and messages `m0` and `m1`, the server's share of the product of
    /// both parties' bits is `-m0`. The correction `r - m1 + m0` makes the client's share `m0` or
    /// `m0 + r`, by the client's bit. The random bit is the sum of both bits minus twice their
    /// product, so the product is needed modulo half the modulus.
    fn send(&mut self, modulus: u32, word: u64, messages: &[[Block; 2]]) {
        self.bits.push(word);
        for (at, [first, second]) in messages.iter().enumerate() {
            let bit = word >> at & 1;
            let (first, second) = (first.low(), second.low());
            let correction = bit.wrapping_sub(second).wrapping_add(first);
            self.unpacked.push(correction);
            let share = bit.wrapping_add(first.wrapping_mul(2));
            self.shares.push(share & mask(modulus));
        }
        if self.bits.len() == self.words {
            self.corrections = pack(std::mem::take(&mut self.unpacked), modulus - 1);
        }
    }

    /// Computes the client's shares from its messages and the server's corrections.
    fn correct(&mut self, modulus: u32, corrections: &[u8]) {
        let corrections = unpack(corrections, self.shares.len(), modulus - 1);
        for (at, (share, correction)) in self.shares.iter_mut().zip(corrections).enumerate() {
            let bit = self.bits[at / 64] >> (at % 64) & 1;
            let product = share.wrapping_add(bit.wrapping_mul(correction));
            *share = bit.wrapping_sub(product.wrapping_mul(2)) & mask(modulus);
        }
    }
}

/// The first `width` bits of 64 blocks, as a word for each bit.
fn planes(blocks: impl Iterator<Item = Block> + Clone, width: usize) -> Vec<u64> {
    if width <= 2 {
        // Few bits are cheaper without a transposition.
        return (0..width)
            .map(|bit| {
                let bits = blocks.clone().enumerate();
                bits.fold(0, |word, (at, block)| word | (block.low() >> bit & 1) << at)
            })
            .collect();
    }
    let half = |of: fn(&Block) -> u64| {
        let mut words = [0; 64];
        for (word, block) in words.iter_mut().zip(blocks.clone()) {
            *word = of(&block);
        }
        transpose(&mut words);
        words
    };
    let mut planes = half(Block::low).to_vec();
    if width > 64 {
        planes.extend(half(Block::high));
    }
    planes.truncate(width);
    planes
}
