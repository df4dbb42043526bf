//! The program: compilation, description, runs.

use ::network::IntNetwork;
use compiler::{Choices, Moduli, Options, WordSize};
use exchange::{Exchange, Need, Profile, Verified, files};
use program::{MAX_BATCH, MAX_LOG2_FAILURE, Op, Step};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict};
use runtime::{Checkpoint, Event, Prepared, Report, Server};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::choices::choices;
use crate::error::{ToPython, UsageError};
use crate::guard::{Line, guard, guard_bytes, guard_with};
use crate::keys::{EvaluationKeys, now};
use crate::messages::{Answer, Query};
use crate::room::room;
use crate::terms::{Terms, of_client};
use crate::traces::counts_dict;

/// A network compiled to operations on ciphertexts. It has the weights, so it is the server's.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct Program {
    pub(crate) verified: Verified,
    /// The program prepared for runs, from the first run, costs or trace on. Clients and facts do
    /// not need it.
    prepared: OnceLock<Prepared>,
}

/// The number of programs that this process has prepared for runs.
static PREPARATIONS: AtomicU64 = AtomicU64::new(0);

/// The number of programs that this process has prepared for runs: how often the server's tables
/// were built.
#[pyfunction]
pub(crate) fn preparations() -> u64 {
    PREPARATIONS.load(Ordering::Relaxed)
}

/// Compiles an integer network for `batch` images per run.
#[pyfunction]
#[pyo3(signature = (
    network_json, batch, failure=MAX_LOG2_FAILURE, words=None, flooded_answers=None, profile=None,
))]
pub(crate) fn compile(
    py: Python<'_>,
    network_json: &str,
    batch: usize,
    failure: f64,
    words: Option<u32>,
    flooded_answers: Option<u64>,
    profile: Option<&str>,
) -> PyResult<Program> {
    let options = (failure, words, flooded_answers, profile);
    compiled(py, network_json, batch, options).map(|(program, _)| program)
}

/// Compiles an integer network, and also returns the candidates that were compared.
#[pyfunction]
#[pyo3(signature = (
    network_json, batch, failure=MAX_LOG2_FAILURE, words=None, flooded_answers=None, profile=None,
))]
pub(crate) fn compile_with_choices<'py>(
    py: Python<'py>,
    network_json: &str,
    batch: usize,
    failure: f64,
    words: Option<u32>,
    flooded_answers: Option<u64>,
    profile: Option<&str>,
) -> PyResult<(Program, Bound<'py, PyDict>)> {
    let options = (failure, words, flooded_answers, profile);
    let (program, compared) = compiled(py, network_json, batch, options)?;
    Ok((program, choices(py, &compared)?))
}

fn compiled(
    py: Python<'_>,
    network_json: &str,
    batch: usize,
    (failure, words, flooded_answers, profile): (f64, Option<u32>, Option<u64>, Option<&str>),
) -> PyResult<(Program, Choices)> {
    if !(1..=MAX_BATCH).contains(&batch) {
        let words = format!("a batch of {batch}, expected 1 to {MAX_BATCH}");
        return Err(UsageError::new_err(words));
    }
    let network = guard(py, || IntNetwork::from_json(network_json))?;
    let words = match words {
        None => WordSize::Any,
        Some(bits @ WordSize::LEAST..=64) => WordSize::Bits(bits),
        Some(bits) => {
            let least = WordSize::LEAST;
            let words = format!("words of {bits} bits, expected {least} to 64, or none for any");
            return Err(UsageError::new_err(words));
        }
    };
    let options = Options {
        log2_failure: failure,
        moduli: Moduli::of_words(words),
        flooded_answers,
        ..Options::of_batch(batch)
    };
    let like = profile.map(|text| guard(py, || Profile::from_json(text)?.params()));
    let like = like.transpose()?;
    let (program, choices) = guard(py, || match &like {
        Some(like) => compiler::compile_like(&network, options, like),
        None => compiler::compile_with_choices(&network, options),
    })?;
    PREPARATIONS.fetch_add(1, Ordering::Relaxed);
    let prepared = guard(py, || Prepared::new(program))?;
    let verified = prepared.verified().clone();
    let prepared = OnceLock::from(prepared);
    Ok((Program { verified, prepared }, choices))
}

#[pymethods]
impl Program {
    /// The facts that the program itself states: parameters, their security, sizes, noise, failure,
    /// and the steps. The call does not prepare the program for runs.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let program = self.verified.program();
        let prediction = &program.prediction;
        let facts = of_client(py, self.verified.exchange())?;
        facts.set_item("predicted_margin_bits", prediction.margin_bits)?;
        facts.set_item("predicted_log2_failure", prediction.log2_failure)?;
        let sigmas = PyDict::new(py);
        for (layer, sigma) in self.verified.sigmas() {
            sigmas.set_item(layer, sigma)?;
        }
        facts.set_item("layer_sigmas", sigmas)?;
        facts.set_item("predicted_ciphertext_bytes", prediction.input_bytes)?;
        let seconds: f64 = program.steps.iter().map(|step| step.seconds).sum();
        facts.set_item("predicted_seconds", seconds)?;
        let steps = program.steps.iter();
        let steps = steps.map(|step| step_dict(py, program, step));
        let steps = steps.collect::<PyResult<Vec<_>>>()?;
        facts.set_item("steps", steps)?;
        Ok(facts)
    }

    /// The costs of a run: memory, work by kind of pass, and the step that is most often wrong. The
    /// call prepares the program for runs.
    fn costs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let prepared = self.prepared(py)?;
        let costs = PyDict::new(py);
        costs.set_item("worst_step", worst_step(py, prepared)?)?;
        let promised = prepared.program().prediction.public_inputs;
        let run = prepared.public_run();
        let refusal = promised.is_none().then(|| match run.promise(MAX_LOG2_FAILURE) {
            Err(refusal) => refusal.to_string(),
            Ok(bound) => format!(
                "a run would be wrong with up to 2^{}, which the program does not promise: compile \
                 it again, perhaps with a larger --failure",
                bound.log2_failure
            ),
        });
        costs.set_item("public_inputs_refusal", refusal)?;
        let memory = prepared.memory();
        costs.set_item("predicted_peak_memory_bytes", memory.peak())?;
        costs.set_item("predicted_run_memory_bytes", memory.run())?;
        costs.set_item("predicted_running_memory_bytes", memory.running)?;
        costs.set_item("predicted_key_memory_bytes", memory.keys)?;
        let exchange = self.verified.exchange();
        let keys = guard(py, || {
            files::keys_file_len(exchange.params(), &exchange.needs())
        })?;
        costs.set_item("predicted_evaluation_key_bytes", keys)?;
        let degree = prepared.program().parameters.n;
        let work = prepared.counts().seconds_by_kind(degree);
        costs.set_item("predicted_work", work.all().into_py_dict(py)?)?;
        Ok(costs)
    }

    /// The facts of the program that a client must know. They have no weight, bias or table.
    fn terms(&self) -> Terms {
        Terms::of(self.verified.exchange())
    }

    /// Deviation of the rounding noise before each table, first to last.
    fn sigmas(&self) -> Vec<f64> {
        self.verified.sigmas().into_iter().map(|(_, s)| s).collect()
    }

    /// The program in its text form.
    fn to_text(&self) -> String {
        self.verified.program().to_string()
    }

    /// Runs the program on ciphertexts, from the bytes of a checkpoint if there is one. `save` gets
    /// the bytes of new checkpoints. With `span_for`, one thread runs it as so many would, and the
    /// report has spans.
    #[pyo3(signature = (keys, query, progress=None, checkpoint=None, save=None, span_for=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        keys: &EvaluationKeys,
        query: &Query,
        progress: Option<Py<PyAny>>,
        checkpoint: Option<&[u8]>,
        save: Option<Py<PyAny>>,
        span_for: Option<usize>,
    ) -> PyResult<(Answer, Bound<'py, PyDict>)> {
        check_keys(&self.verified, keys)?;
        check_query(&self.verified, query)?;
        let prepared = self.prepared(py)?;
        room("this run", prepared.memory().running)?;
        // The checkpoint of a run that was stopped: after an exception, no news is heard.
        let last = Mutex::new(None);
        let ran = guard_with(
            py,
            |py, news| tell(py, progress.as_ref(), save.as_ref(), news),
            |line| {
                let from = checkpoint.map(|data| Checkpoint::from_bytes(prepared, data));
                let from = from.transpose()?;
                let mut clock = Clock::new(prepared, line);
                clock.skip(from.as_ref().map_or(0, Checkpoint::steps));
                let keys = keys.read()?;
                let stop = || !line.go_on();
                let keep = |state: &Checkpoint| {
                    if save.is_none() {
                        return true;
                    }
                    let bytes = state.to_bytes(prepared);
                    if line.go_on() && line.tell(News::Checkpoint(bytes.clone())) {
                        return true;
                    }
                    *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes);
                    false
                };
                let server = Server::new(prepared, &keys).stopped_by(&stop);
                let run = || server.resume(&query.query, from, |event| clock.observe(&event), keep);
                match span_for {
                    Some(threads) => ring::with_span(threads, run).0,
                    None => run(),
                }
            },
        );
        let last: Option<Vec<u8>> = last.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let (Some(bytes), Some(save)) = (last, &save) {
            save.call1(py, (PyBytes::new(py, &bytes),))?;
        }
        let (answer, report) = ran?;
        let answer = Answer {
            exchange: self.verified.exchange().clone(),
            answer,
        };
        Ok((answer, report_dict(py, &report, span_for.is_some())?))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || {
            Ok::<_, PyErr>(files::program_to_bytes(&self.verified))
        })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let verified = guard(py, || files::program_from_bytes(data))?;
        let prepared = OnceLock::new();
        Ok(Self { verified, prepared })
    }

    /// The operations on ciphertexts of a run, as text.
    fn record<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let prepared = self.prepared(py)?;
        guard_bytes(py, || {
            Ok::<_, runtime::Error>(prepared.record()?.to_string().into_bytes())
        })
    }

    /// The instructions on limbs of a run, as the text of a trace, and the number of each.
    fn lower<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyDict>)> {
        let prepared = self.prepared(py)?;
        let (text, counts) = guard(py, || -> runtime::Result<_> {
            let trace = prepared.lower()?;
            let text = runtime::trace_to_text(&self.verified, &trace);
            Ok((text, trace.counts()))
        })?;
        let text = PyBytes::new(py, text.as_bytes());
        Ok((text, counts_dict(py, &counts)?))
    }
}

impl Program {
    /// The program prepared for runs.
    pub(crate) fn prepared(&self, py: Python<'_>) -> PyResult<&Prepared> {
        if let Some(prepared) = self.prepared.get() {
            return Ok(prepared);
        }
        PREPARATIONS.fetch_add(1, Ordering::Relaxed);
        let prepared = guard(py, || Prepared::of(&self.verified))?;
        Ok(self.prepared.get_or_init(|| prepared))
    }
}

/// Raises if `other` was made for another program.
pub(crate) fn check_program(own: &Exchange, other: &Exchange, what: &str) -> PyResult<()> {
    if own.fingerprint() == other.fingerprint() {
        return Ok(());
    }
    Err(UsageError::new_err(format!(
        "these {what} were made for another program"
    )))
}

/// Raises unless the keys serve a program.
pub(crate) fn check_keys(own: &Exchange, keys: &EvaluationKeys) -> PyResult<()> {
    let check = || -> exchange::Result<()> {
        let profile = keys.exchange.profile();
        profile.check_parameters(own.profile())?;
        keys.label().check("the evaluation keys", now())?;
        own.needs().check_met_by(&keys.needs())
    };
    check().map_err(ToPython::to_python)
}

/// As [`check_keys`], for what executes a trace: it names the limbs of each key, so that keys of a
/// higher level do not serve.
pub(crate) fn check_keys_of_trace(own: &Exchange, keys: &EvaluationKeys) -> PyResult<()> {
    check_keys(own, keys)?;
    let has: Vec<Need> = keys.needs().each().collect();
    match own.needs().each().find(|need| !has.contains(need)) {
        None => Ok(()),
        Some(need) => Err(UsageError::new_err(format!(
            "{need} is of a higher level in these evaluation keys: a run outside the CPU needs keys \
             made for this program alone, by keygen without --have and other programs"
        ))),
    }
}

/// Raises unless a program takes the query.
pub(crate) fn check_query(own: &Exchange, query: &Query) -> PyResult<()> {
    let checked = query.query.check_program(own);
    checked.map_err(ToPython::to_python)
}

/// As [`check_query`], for what executes a trace: it expands masks from seeds.
pub(crate) fn check_query_of_trace(own: &Exchange, query: &Query) -> PyResult<()> {
    check_query(own, query)?;
    query.query.check_seeded().map_err(ToPython::to_python)
}

/// A message of a run.
pub(crate) enum News {
    /// The current step, and the seconds predicted for the work done and for all work, on one
    /// thread.
    Progress { step: String, done: f64, total: f64 },
    /// The bytes of a checkpoint.
    Checkpoint(Vec<u8>),
}

/// Converts a run's events to [`News::Progress`].
pub(crate) struct Clock<'a> {
    steps: &'a [Step],
    line: &'a Line<'a, News>,
    done: f64,
    total: f64,
}

/// Seconds added to each step's prediction, so that steps too short to be predicted count too.
const LEAST: f64 = 1e-3;

impl<'a> Clock<'a> {
    pub(crate) fn new(prepared: &'a Prepared, line: &'a Line<'a, News>) -> Self {
        let steps = &prepared.program().steps;
        Self {
            line,
            done: 0.0,
            total: steps.iter().map(|s| s.seconds + LEAST).sum(),
            steps,
        }
    }

    /// Counts the first `steps` steps as done.
    fn skip(&mut self, steps: usize) {
        let skipped = self.steps[..steps].iter();
        self.done += skipped.map(|s| s.seconds + LEAST).sum::<f64>();
    }

    /// Takes an event. Returns `false` if the caller wants the run to stop.
    pub(crate) fn observe(&mut self, event: &Event<'_>) -> bool {
        let step = match *event {
            Event::Begin { step } => step,
            Event::End { step, .. } => {
                self.done += self.steps[step].seconds + LEAST;
                step
            }
        };
        self.line.tell(News::Progress {
            step: name(&self.steps[step]),
            done: self.done,
            total: self.total,
        })
    }
}

/// Calls `progress(step, done, total)`, whose return value `False` stops the run, or `save(bytes)`.
pub(crate) fn tell(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    save: Option<&Py<PyAny>>,
    news: News,
) -> PyResult<()> {
    let (step, done, total) = match (news, save) {
        (News::Progress { step, done, total }, _) => (step, done, total),
        (News::Checkpoint(data), Some(save)) => {
            return save.bind(py).call1((PyBytes::new(py, &data),)).map(drop);
        }
        (News::Checkpoint(_), None) => return Ok(()),
    };
    let Some(callback) = progress else {
        return Ok(());
    };
    let answer = callback.bind(py).call1((step, done, total))?;
    if answer.is(pyo3::types::PyBool::new(py, false)) {
        return Err(crate::error::StoppedError::new_err(
            "the progress callback stopped the run",
        ));
    }
    Ok(())
}

/// A step before it runs. It has only the entries of its operation: products, values packed, table
/// entries.
fn step_dict<'py>(
    py: Python<'py>,
    program: &program::Program,
    step: &Step,
) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("name", name(step))?;
    entry.set_item("layer", &step.layer)?;
    entry.set_item("operation", step.op.name())?;
    entry.set_item("predicted_seconds", step.seconds)?;
    match &step.op {
        Op::MulCoefficients { terms } => entry.set_item("products", terms.len())?,
        Op::Dense { .. } | Op::Product { .. } => entry.set_item("products", 1)?,
        Op::Pack { values, .. } => entry.set_item("values", values.len())?,
        Op::PackAll { outputs, batch, .. } => entry.set_item("values", outputs.len() * batch)?,
        &Op::Table { polynomial, .. } => {
            entry.set_item("entries", program.constants[polynomial].values.len())?;
        }
        _ => {}
    }
    Ok(entry)
}

/// The step with the largest probability of a wrong result, and log2 of that probability.
fn worst_step<'py>(py: Python<'py>, prepared: &Prepared) -> PyResult<Bound<'py, PyDict>> {
    let steps = prepared.program().steps.iter().zip(prepared.failure());
    let worst = steps.max_by(|(_, a), (_, b)| a.total_cmp(b));
    let (step, &log2) = worst.expect("a program has steps");
    let entry = PyDict::new(py);
    entry.set_item("name", name(step))?;
    entry.set_item("log2_failure", log2.max(circuits::LEAST_LOG2_FAILURE))?;
    if let Op::Table { indices, .. } = step.op {
        entry.set_item("bound", indices.bound)?;
        entry.set_item("border", indices.border)?;
    }
    Ok(entry)
}

/// Layer and operation, as in [`runtime::StepReport`].
fn name(step: &Step) -> String {
    format!("{}: {}", step.layer, step.op.name())
}

/// A report as a dictionary, with or without the spans.
pub(crate) fn report_dict<'py>(
    py: Python<'py>,
    report: &Report,
    spans: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let steps = report.steps.iter().map(|step| {
        let entry = PyDict::new(py);
        entry.set_item("name", &step.name)?;
        entry.set_item("seconds", step.seconds)?;
        if spans {
            entry.set_item("span_seconds", step.span_seconds)?;
        }
        entry.set_item("predicted_seconds", step.predicted_seconds)?;
        Ok(entry)
    });
    let found = PyDict::new(py);
    found.set_item("seconds", report.seconds)?;
    if spans {
        found.set_item("span_seconds", report.span_seconds)?;
    }
    found.set_item("resumed_steps", report.resumed)?;
    found.set_item("raw_digest", hex(&report.raw_digest))?;
    found.set_item("steps", steps.collect::<PyResult<Vec<_>>>()?)?;
    Ok(found)
}

/// A digest as hexadecimal digits.
pub(crate) fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
