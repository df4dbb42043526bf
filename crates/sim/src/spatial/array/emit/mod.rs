//! A bootstrapping as source code: kernels for AI engines, the graph that places and connects them,
//! and the steps of the host.
//!
//! *Concept.* The graph is written from the same [`Network`](crate::spatial::network) that the
//! emulation runs, so a tile of one is a tile of the other. Kernels, host and shim are files of
//! `source/`, with sizes in a written `parameters.h`. The shim gives the names of AMD's libraries
//! that they use a meaning for an ordinary compiler. Words for a run come with the code: inputs,
//! and what the emulation gave, with a hash of the words of every stream.
//!
//! *Source.* Wu, Arafin, "ATHENA", section III-B and figure 9. Names and forms of the libraries:
//! AMD, UG1079 (kernels and graphs) and UG1529 (intrinsics).

mod graph;
mod words;

use super::blind::{Around, Graph, Job};
use super::bootstrapping::Bootstrapping;
use super::processor::{accumulator, extract, key_switch, modulus_switch};
use crate::error::{Error, Result};
use crate::spatial::placement::Placement;
use words::{Words, bytes, lines};

/// A folder of source code and words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emitted {
    /// Paths in the folder, with `/`, and contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// The places of tiles and channels.
    pub placement: Placement,
}

/// Files that are the same for every design.
const FIXED: [(&str, &str); 12] = [
    ("graph.cpp", include_str!("source/graph.cpp")),
    ("Makefile", include_str!("source/Makefile")),
    ("README.md", include_str!("source/README.md")),
    ("kernels/words.h", include_str!("source/kernels/words.h")),
    ("host/host.cc", include_str!("source/host/host.cc")),
    ("host/steps.cc", include_str!("source/host/steps.cc")),
    ("host/steps.h", include_str!("source/host/steps.h")),
    ("shim/adf.h", include_str!("source/shim/adf.h")),
    ("shim/array.h", include_str!("source/shim/array.h")),
    ("shim/array.cc", include_str!("source/shim/array.cc")),
    ("shim/object.h", include_str!("source/shim/object.h")),
    (
        "shim/aie_api/aie.hpp",
        include_str!("source/shim/aie_api/aie.hpp"),
    ),
];

/// Header and source of the kernel of a kind of tile.
macro_rules! kernel {
    ($kind:literal) => {
        (
            $kind,
            include_str!(concat!("source/kernels/", $kind, ".h")),
            include_str!(concat!("source/kernels/", $kind, ".cc")),
        )
    };
}

const KERNELS: [(&str, &str, &str); 7] = [
    kernel!("rotation"),
    kernel!("decomposition"),
    kernel!("split"),
    kernel!("element"),
    kernel!("merge"),
    kernel!("composition"),
    kernel!("accumulation"),
];

impl Bootstrapping {
    /// Writes the bootstrapping as source code, in the order of the paper's algorithm 1, with words
    /// for a run. The key switch is that of the host, wherever it is simulated.
    ///
    /// The words are arbitrary, keys among them, and the same in every call. They are no
    /// ciphertexts, and what is computed does not depend on that.
    ///
    /// # Errors
    /// [`Error::NoSource`] unless the multipliers are direct, [`Error::TooSmall`] if there are too
    /// few shim tiles, and [`Error::Deadlock`] if streams are too short.
    pub fn emit(&self) -> Result<Emitted> {
        let (floorplan, sizes) = (self.rotation().floorplan(), self.sizes());
        let (machine, parameters) = (&floorplan.machine, &floorplan.parameters);
        let (n, turns) = (parameters.n, parameters.lwe_dimension);
        let mut words = Words::new();
        let (sample, test) = (words.take(turns + 1), words.take(n));
        let rows = words.take(turns * parameters.ggsw_words());
        let key = words.take(sizes.key_words());

        let exponents = modulus_switch(&sample, (2 * n).ilog2());
        let (mask, body) = exponents.split_at(turns);
        let start = accumulator(&test, parameters.rank, body[0]);
        let job = Job {
            accumulator: start.clone(),
            exponents: mask.to_vec(),
            rows: rows.clone(),
        };
        let mut design = Graph::new(floorplan, Around::NOTHING, turns, job)?;
        let placement = Placement::new(machine, &design.network)?;
        let header = graph::header(machine, &design.network, &placement)?;
        design.network.run()?;
        let rotated = design.network.take(design.sink);
        let result = key_switch(&sizes, &extract(&rotated, n), &key);

        let text = |path: &str, text: String| (path.to_owned(), text.into_bytes());
        let mut files: Vec<_> = FIXED
            .iter()
            .map(|&(path, content)| text(path, content.to_owned()))
            .collect();
        for (kind, header, source) in KERNELS {
            if design.network.count(kind) > 0 {
                files.push(text(&format!("kernels/{kind}.h"), header.to_owned()));
                files.push(text(&format!("kernels/{kind}.cc"), source.to_owned()));
            }
        }
        files.push(text("graph.h", header));
        files.push(text("parameters.h", graph::parameters(floorplan, &sizes)));
        files.push(text("placement.csv", graph::places(&placement)));
        files.push(text("data/sample.txt", lines(&sample)));
        files.push(text("data/test.txt", lines(&test)));
        for row in 0..parameters.rows() {
            let words = parameters.keys_of_row(row, turns, &rows);
            files.push(text(&format!("data/key{row}.txt"), lines(&words)));
        }
        files.push(("data/switch_key.bin".into(), bytes(&key)));
        files.push(text("expected/exponents.txt", lines(mask)));
        files.push(text("expected/in0.txt", lines(&start)));
        files.push(text(
            "expected/streams.txt",
            graph::streams(&design.network, &placement),
        ));
        files.push(text("expected/out0.txt", lines(&rotated)));
        files.push(text("expected/sample.txt", lines(&result)));
        Ok(Emitted { files, placement })
    }
}

/// The error of a tile without a kernel.
fn no_source(tile: &str) -> Error {
    Error::NoSource {
        tile: tile.to_owned(),
    }
}

#[cfg(test)]
mod tests;
