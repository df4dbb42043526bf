//! The values that cross the border of a plan, and their places in files, for machines without this
//! crate.

use ::waves::{Move, Plan};
use exchange::{Need, files};
use executor::{Sources, type_of};
use lower::names;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trace::{Op, Trace};

use crate::error::UsageError;
use crate::guard::guard;
use crate::terms::Known;
use crate::waves::Waves;

/// Name of a seed, true if it is the query's seed, and four numbers: the offsets of the seed and of
/// its first body, the length of a body, and the offset behind the last body.
type FileOffsets = (String, bool, [usize; 4]);

/// Kind, name and stream, primes and rows of a value that crosses the border.
type Crossing = (&'static str, String, u32, Vec<usize>, Vec<u32>);

/// The places of seeds and bodies in the payloads of the files of keys and of a query.
#[pyfunction]
pub(crate) fn file_places(py: Python<'_>, terms: Known) -> PyResult<Vec<FileOffsets>> {
    let places = guard(py, || files::offsets(&terms.0))?;
    let place = |place: &files::Offsets| {
        let name = match place.need {
            None => names::QUERY.to_owned(),
            Some(Need::Relinearization { .. }) => names::RELINEARIZATION.to_owned(),
            Some(Need::Galois { element, .. }) => names::galois(element),
            Some(Need::Packing { values, .. }) => names::packing(values),
            Some(Need::Dimension) => names::DIMENSION.to_owned(),
            Some(Need::Public { .. }) => "public".to_owned(),
        };
        let offsets = [place.seed, place.bodies, place.body_len, place.end];
        (name, place.need.is_none(), offsets)
    };
    Ok(places.iter().map(place).collect())
}

/// The loads and the stores of a plan.
#[pyfunction]
pub(crate) fn waves_moves(waves: &Waves) -> (Vec<Crossing>, Vec<Crossing>) {
    let Plan { loads, stores, .. } = &waves.plan;
    let all = |moves: &[Move]| {
        moves
            .iter()
            .map(|one| crossing(one, &waves.trace))
            .collect()
    };
    (all(loads), all(stores))
}

fn crossing(one: &Move, trace: &Trace) -> Crossing {
    let (kind, name, stream, limbs) = match &one.origin.of(trace).op {
        Op::Load { name, ty } => ("body", name.clone(), 0, &ty.limbs),
        Op::Sample {
            seed,
            stream,
            limbs,
        } => ("mask", seed.clone(), *stream, limbs),
        Op::Constant { constant, limbs } => ("constant", constant.to_string(), 0, limbs),
        Op::Store { name, value } => ("result", name.clone(), 0, &type_of(trace, *value).limbs),
        op => unreachable!("{} does not cross the border", op.name()),
    };
    (kind, name, stream, limbs.iter().collect(), one.rows.clone())
}

/// The `N` words of a constant, of 64 bits each.
#[pyfunction]
pub(crate) fn waves_constant<'py>(
    py: Python<'py>,
    waves: &Waves,
    constant: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let count = waves.trace.constants.len();
    if constant >= count {
        let words = format!("constant {constant}, expected one of {count}");
        return Err(UsageError::new_err(words));
    }
    let trace = &*waves.trace;
    let words = guard(py, || {
        let sources = Sources::new(trace)?;
        Ok::<_, executor::Error>(sources.words(constant).into_owned())
    })?;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    Ok(PyBytes::new(py, &bytes))
}
