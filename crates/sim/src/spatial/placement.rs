//! Places of tiles in the grid, and of channels in shim tiles.
//!
//! *Concept.* Tiles begin in columns up and down, in the order of the graph. Then each tile, and
//! each channel, changes places with another as long as that makes the streams cheaper together.
//! The length of a stream is its columns plus its rows. The result depends on the graph alone.

use super::array::fits;
use super::machine::{Grid, Machine};
use super::network::Network;
use crate::error::Result;
use std::collections::BTreeSet;

/// A tile at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Name of the tile, or of the channel.
    pub name: String,
    /// The kind of tile.
    pub kind: &'static str,
    /// Column, from 0.
    pub column: usize,
    /// Row from 0, which is next to the logic. `None` for the shim tile of a channel.
    pub row: Option<usize>,
}

/// The places of all tiles and channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Tiles and channels, in the order of the graph.
    pub placed: Vec<Placed>,
    /// Columns with a tile.
    pub columns: usize,
    /// Rows with a tile.
    pub rows: usize,
    /// Pairs of a writer and a reader.
    pub streams: usize,
    /// Pairs that are neighbours.
    pub neighbours: usize,
    /// Columns plus rows of the longest.
    pub longest: usize,
}

impl Placement {
    /// Places a network in the grid of a machine.
    ///
    /// # Errors
    /// [`crate::Error::TooSmall`] if there are too few columns with streams to the logic.
    pub(super) fn new(machine: &Machine, network: &Network) -> Result<Self> {
        let grid = machine.grid();
        let names: Vec<_> = network
            .tiles()
            .map(|(name, kind, _)| (name.to_owned(), kind))
            .collect();
        let is_channel: Vec<bool> = names.iter().map(|(_, kind)| *kind == "channel").collect();
        let channels = is_channel.iter().filter(|&&is| is).count();
        let available = grid.last_shim + 1 - grid.first_shim;
        // The machine has a place for each of its tiles, and the design fits them.
        fits(machine, "shim tiles", channels, available)?;
        let mut edges = Vec::new();
        for wire in network.wires() {
            edges.extend(wire.to.iter().map(|to| (wire.from.tile, to.tile)));
        }
        let mut search = Search::new(grid, &is_channel, &edges);
        while search.improve() {}
        let placed = names
            .into_iter()
            .zip(&search.at)
            .map(|((name, kind), at)| Placed {
                name,
                kind,
                column: at.0,
                row: at.1.checked_sub(1),
            });
        let lengths: Vec<usize> = edges
            .iter()
            .map(|&(from, to)| length(search.at[from], search.at[to]))
            .collect();
        let tiles = || search.at.iter().filter(|at| at.1 > 0);
        let columns: BTreeSet<_> = tiles().map(|at| at.0).collect();
        let rows: BTreeSet<_> = tiles().map(|at| at.1).collect();
        Ok(Self {
            placed: placed.collect(),
            columns: columns.len(),
            rows: rows.len(),
            streams: edges.len(),
            neighbours: lengths.iter().filter(|&&length| length == 1).count(),
            longest: lengths.into_iter().max().unwrap_or(0),
        })
    }

    /// Columns plus rows between two tiles of the graph.
    pub(super) fn length(&self, a: usize, b: usize) -> usize {
        let place = |tile: usize| {
            let placed = &self.placed[tile];
            (placed.column, placed.row.map_or(0, |row| row + 1))
        };
        length(place(a), place(b))
    }

    /// Columns of the shim tiles that have a channel, in order.
    pub fn shims(&self) -> Vec<usize> {
        let shims = self.placed.iter().filter(|placed| placed.row.is_none());
        let mut columns: Vec<usize> = shims.map(|placed| placed.column).collect();
        columns.sort_unstable();
        columns
    }
}

/// Column, and row with 0 for the shim tile.
type Place = (usize, usize);

fn length(a: Place, b: Place) -> usize {
    a.0.abs_diff(b.0) + a.1.abs_diff(b.1)
}

/// Cost of a stream. With the second term the longest of both sets of the paper have 10 and 9
/// instead of 26 and 28, and 208 of 349 and 306 of 423 join neighbours instead of 268 and 370.
fn cost(length: usize) -> usize {
    const FAR: usize = 8; // rows of the array of the paper
    length + 4 * length.saturating_sub(FAR)
}

/// Places that change until no change makes streams cheaper.
struct Search {
    at: Vec<Place>,
    /// The other ends of the streams of each tile.
    ends: Vec<Vec<usize>>,
    is_channel: Vec<bool>,
    /// Places of channels and of tiles, with what is there.
    shims: Vec<(Place, Option<usize>)>,
    tiles: Vec<(Place, Option<usize>)>,
}

impl Search {
    fn new(grid: Grid, is_channel: &[bool], edges: &[(usize, usize)]) -> Self {
        let mut ends = vec![Vec::new(); is_channel.len()];
        for &(from, to) in edges {
            ends[from].push(to);
            ends[to].push(from);
        }
        let up_and_down = |column: usize| {
            (1..=grid.rows).map(move |row| match column % 2 {
                0 => (column, row),
                _ => (column, grid.rows + 1 - row),
            })
        };
        let free = |place| (place, None);
        let mut search = Self {
            at: vec![(0, 0); is_channel.len()],
            ends,
            is_channel: is_channel.to_vec(),
            shims: (grid.first_shim..=grid.last_shim)
                .map(|column| free((column, 0)))
                .collect(),
            tiles: (0..grid.columns).flat_map(up_and_down).map(free).collect(),
        };
        let count = is_channel.iter().filter(|&&is| !is).count();
        // The tiles begin in the middle of the columns with channels.
        let middle = (grid.first_shim + grid.last_shim) / 2;
        let width = count.div_ceil(grid.rows);
        let column = middle.saturating_sub(width / 2).min(grid.columns - width);
        let (mut shim, mut tile) = (0, column * grid.rows);
        for (id, &is) in is_channel.iter().enumerate() {
            let (places, next) = match is {
                true => (&mut search.shims, &mut shim),
                false => (&mut search.tiles, &mut tile),
            };
            search.at[id] = places[*next].0;
            places[*next].1 = Some(id);
            *next += 1;
        }
        search
    }

    /// Cost of the streams of `id` at `place`, without those to `other`.
    fn costs(&self, id: usize, place: Place, other: Option<usize>) -> usize {
        let ends = self.ends[id].iter().filter(|&&end| Some(end) != other);
        ends.map(|&end| cost(length(place, self.at[end]))).sum()
    }

    /// Takes the best change of each tile and channel, one after the other. Returns true if any made
    /// streams cheaper.
    fn improve(&mut self) -> bool {
        let mut improved = false;
        for id in 0..self.at.len() {
            let from = self.at[id];
            let places = if self.is_channel[id] {
                &self.shims
            } else {
                &self.tiles
            };
            let mut best = (0, None);
            for (index, &(to, other)) in places.iter().enumerate() {
                if to == from {
                    continue;
                }
                let before = self.costs(id, from, other)
                    + other.map_or(0, |other| self.costs(other, to, Some(id)));
                let after = self.costs(id, to, other)
                    + other.map_or(0, |other| self.costs(other, from, Some(id)));
                let gain = before as i64 - after as i64;
                if gain > best.0 {
                    best = (gain, Some(index));
                }
            }
            let Some(index) = best.1 else { continue };
            self.exchange(id, index);
            improved = true;
        }
        improved
    }

    /// Moves `id` to the place `index`, and what is there to the place of `id`.
    fn exchange(&mut self, id: usize, index: usize) {
        let from = self.at[id];
        let places = if self.is_channel[id] {
            &mut self.shims
        } else {
            &mut self.tiles
        };
        let (to, other) = places[index];
        places[index].1 = Some(id);
        self.at[id] = to;
        if let Some(left) = places.iter_mut().find(|(place, _)| *place == from) {
            left.1 = other;
        }
        if let Some(other) = other {
            self.at[other] = from;
        }
    }
}

#[cfg(test)]
mod tests;
