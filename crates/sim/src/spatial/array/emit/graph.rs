//! The written files: the graph with its places, the sizes, and the hashes of streams.

use super::no_source;
use crate::error::Result;
use crate::spatial::array::floorplan::Floorplan;
use crate::spatial::array::switch::Sizes;
use crate::spatial::machine::Machine;
use crate::spatial::network::{Network, Object};
use crate::spatial::placement::{Placed, Placement};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Writes a line into a text.
macro_rules! line {
    ($text:expr, $($words:tt)*) => {
        writeln!($text, $($words)*).expect("text grows")
    };
}

/// The name of a tile or a channel in C++.
fn identifier(name: &str) -> String {
    name.replace('.', "_")
}

/// A channel in the graph: its direction, and its file.
fn channel(name: &str) -> (&'static str, String) {
    match name {
        "out0" => ("output_plio", format!("out/{name}.txt")),
        // The host makes these.
        "in0" | "exponents" => ("input_plio", format!("out/{name}.txt")),
        _ => ("input_plio", format!("data/{name}.txt")),
    }
}

/// `graph.h`: every tile and channel with its place, and every stream.
///
/// # Errors
/// [`crate::Error::NoSource`] for a tile without a kernel.
pub(super) fn header(
    machine: &Machine,
    network: &Network,
    placement: &Placement,
) -> Result<String> {
    let clock = machine.clocks().1;
    let (mut members, mut body) = (String::new(), String::new());
    let mut kinds = BTreeSet::new();
    for ((name, kind, object), placed) in network.tiles().zip(&placement.placed) {
        if let Some(row) = placed.row {
            let object = object.ok_or_else(|| no_source(name))?;
            add_kernel(&mut members, &mut body, &object, (placed, row));
            kinds.insert(kind);
        } else {
            add_channel(&mut members, &mut body, placed, clock);
        }
    }
    let mut text = String::from(
        "// The blind rotation of figure 9, with the place of every tile. Written by Palladion.\n",
    );
    text += "#pragma once\n\n#include <adf.h>\n\n";
    for kind in kinds {
        line!(text, "#include \"kernels/{kind}.h\"");
    }
    text += "#include \"parameters.h\"\n\nclass BlindRotation : public adf::graph {\n public:\n";
    text += &members;
    text += "\n  BlindRotation() {\n";
    text += &body;
    add_streams(&mut text, network, machine.fifo());
    text += "  }\n};\n";
    Ok(text)
}

fn add_channel(members: &mut String, body: &mut String, placed: &Placed, clock: u64) {
    let (name, id, column) = (&placed.name, identifier(&placed.name), placed.column);
    let (class, file) = channel(name);
    let create = format!("\"{name}\", adf::plio_32_bits, \"{file}\", {clock}.0");
    line!(members, "  adf::{class} {id};");
    line!(body, "    {id} = adf::{class}::create({create});");
    line!(
        body,
        "    adf::location<adf::PLIO>({id}) = adf::shim({column});"
    );
}

fn add_kernel(
    members: &mut String,
    body: &mut String,
    object: &Object,
    (placed, row): (&Placed, usize),
) {
    let words = object.arguments.iter().map(|word| format!("{word}u"));
    let arguments = words.collect::<Vec<_>>().join(", ");
    let (class, kind) = (object.class, placed.kind);
    let (id, column) = (identifier(&placed.name), placed.column);
    let place = format!("adf::tile({column}, {row})");
    line!(members, "  adf::kernel {id};");
    line!(
        body,
        "    {id} = adf::kernel::create_object<{class}>({arguments});"
    );
    line!(body, "    adf::source({id}) = \"kernels/{kind}.cc\";");
    line!(body, "    adf::location<adf::kernel>({id}) = {place};");
    line!(body, "    adf::runtime<adf::ratio>({id}) = 1.0;");
}

/// Streams of `fifo` words. One that has several readers is several connections.
fn add_streams(body: &mut String, network: &Network, fifo: usize) {
    let names: Vec<_> = network.tiles().map(|(name, ..)| identifier(name)).collect();
    let pairs = network.wires().into_iter().flat_map(|wire| {
        let from = wire.from;
        wire.to.into_iter().map(move |to| (from, to))
    });
    for (count, (from, to)) in pairs.enumerate() {
        let writer = format!("{}.out[{}]", names[from.tile], from.port);
        let reader = format!("{}.in[{}]", names[to.tile], to.port);
        line!(
            body,
            "    adf::connect<adf::stream> stream{count}({writer}, {reader});"
        );
        line!(body, "    adf::fifo_depth(stream{count}) = {fifo};");
    }
}

/// `parameters.h`: the sizes.
pub(super) fn parameters(floorplan: &Floorplan, sizes: &Sizes) -> String {
    let (parameters, mapping) = (&floorplan.parameters, &floorplan.mapping);
    let mut text =
        String::from("// Sizes of the bootstrapping. Written by Palladion.\n#pragma once\n\n");
    line!(
        text,
        "#define COMPONENTS_PER_STREAM {}\n",
        mapping.components_per_stream
    );
    for (name, value, meaning) in [
        (
            "LWE_DIMENSION",
            parameters.lwe_dimension,
            "n: number of external products",
        ),
        ("ITERATIONS", parameters.lwe_dimension, "runs of the graph"),
        (
            "RANK",
            parameters.rank,
            "k: mask polynomials of a ciphertext",
        ),
        ("N", parameters.n, "ring degree"),
        (
            "LOG_2N",
            (2 * parameters.n).ilog2() as usize,
            "bits of an exponent",
        ),
        (
            "BASE_LOG",
            parameters.decomposition.base_log() as usize,
            "bits of a digit",
        ),
        (
            "SWITCH_BASE_LOG",
            sizes.digits.base_log() as usize,
            "bits of a digit of the key switch",
        ),
        (
            "SWITCH_LEVELS",
            sizes.digits.levels() as usize,
            "digits of a word in the key switch",
        ),
        (
            "BLOCK",
            parameters.n / floorplan.elements(),
            "coefficients of an element",
        ),
        (
            "GROUP",
            mapping.components_per_stream * parameters.n,
            "words of a stream of components",
        ),
    ] {
        line!(text, "constexpr int {name} = {value};  // {meaning}");
    }
    text
}

/// `placement.csv`.
pub(super) fn places(placement: &Placement) -> String {
    let mut text = String::from("name,kind,column,row\n");
    for Placed {
        name,
        kind,
        column,
        row,
    } in &placement.placed
    {
        let row = row.map_or("shim".into(), |row| row.to_string());
        line!(text, "{},{kind},{column},{row}", identifier(name));
    }
    text
}

/// `streams.txt`: a line for each output of a tile, with column, row, output, number of words, and
/// their hash.
pub(super) fn streams(network: &Network, placement: &Placement) -> String {
    let mut text = String::new();
    for wire in network.wires() {
        let &Placed { column, row, .. } = &placement.placed[wire.from.tile];
        if let Some(row) = row {
            let (output, words, hash) = (wire.from.port, wire.words, wire.hash);
            line!(text, "{column} {row} {output} {words} {hash:016x}");
        }
    }
    text
}
