//! The hybrid mode: programs between two parties, the server, and the client.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use ::hybrid::{Activations, Client, Program, Progress, Report, Server, Taken};
use ::network::IntNetwork;
use mpc::{Fingerprint, ServerIdentity};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};

use crate::error::{FormatError, UsageError};
use crate::guard::{Line, guard, guard_bytes, guard_with};

/// A network compiled for two parties. It holds the weights.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct HybridProgram {
    program: Program,
}

/// Compiles a network. With `revealed`, the client applies the tables and sees the accumulators.
#[pyfunction]
pub(crate) fn hybrid_compile(
    py: Python<'_>,
    network_json: &str,
    revealed: bool,
) -> PyResult<HybridProgram> {
    let activations = match revealed {
        true => Activations::Revealed,
        false => Activations::Shares,
    };
    let program = guard(py, || {
        ::hybrid::compile(&IntNetwork::from_json(network_json)?, activations)
    })?;
    Ok(HybridProgram { program })
}

#[pymethods]
impl HybridProgram {
    /// Parameters and predicted costs, as JSON.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        let found = guard(py, || self.program.predict())?;
        let mut found = serde_json::to_value(found).unwrap_or_default();
        found["network"] = json!(self.program.public.name);
        found["program_hash"] = json!(::hybrid::hex(&self.program.fingerprint()));
        found["reveals_accumulators"] =
            json!(self.program.public.activations == Activations::Revealed);
        found["statistical_bits"] = json!(::hybrid::STATISTICAL);
        Ok(found.to_string())
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || Ok::<_, PyErr>(self.program.to_bytes()))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let program = guard(py, || Program::from_bytes(data))?;
        Ok(Self { program })
    }

    /// Serves clients, one after the other, until `hear` raises or `sessions` have ended.
    ///
    /// `hear` is called with the text of a JSON object for each event.
    #[pyo3(signature = (listen, certificate, key, sessions, most_inputs, hear))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn serve(
        &self,
        py: Python<'_>,
        listen: &str,
        certificate: Option<PathBuf>,
        key: Option<PathBuf>,
        sessions: Option<usize>,
        most_inputs: u32,
        hear: Py<PyAny>,
    ) -> PyResult<()> {
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => {
                let (certificate, key) = (read(&certificate)?, read(&key)?);
                guard(py, || ServerIdentity::from_pem(&certificate, &key))?
            }
            (None, None) => guard(py, ServerIdentity::generate)?,
            _ => {
                return Err(UsageError::new_err(
                    "a certificate without its key, or a key alone",
                ));
            }
        };
        let listener = TcpListener::bind(listen)
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(|e| UsageError::new_err(format!("cannot listen at {listen}: {e}")))?;
        guard_with(
            py,
            |py, event: Value| hear.call1(py, (event.to_string(),)).map(drop),
            |line| {
                serve(
                    &self.program,
                    (&listener, &identity),
                    (sessions, most_inputs),
                    line,
                )
            },
        )
    }
}

/// Accepts clients until the caller wants no more.
fn serve(
    program: &Program,
    (listener, identity): (&TcpListener, &ServerIdentity),
    (sessions, most_inputs): (Option<usize>, u32),
    line: &Line<'_, Value>,
) -> ::hybrid::Result<()> {
    let server = Server::new(program, most_inputs)?;
    let address = listener
        .local_addr()
        .map(|a| a.to_string())
        .unwrap_or_default();
    line.tell(json!({
        "event": "listening",
        "address": address,
        "certificate_hash": identity.fingerprint().to_string(),
        "program_hash": ::hybrid::hex(server.fingerprint()),
    }));
    let mut served = 0;
    while line.go_on() && sessions.is_none_or(|most| served < most) {
        let (socket, from) = match listener.accept() {
            Ok(found) => found,
            Err(_) => {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            }
        };
        served += 1;
        let from = from.to_string();
        line.tell(json!({ "event": "connected", "from": from }));
        let session = ::hybrid::accept(socket, identity)
            .and_then(|mut channel| server.serve(&mut channel, &mut |_| line.go_on()));
        // A client's fault ends its session, not the server.
        line.tell(match session {
            Ok(report) => {
                json!({ "event": "served", "from": from, "report": report_json(&report) })
            }
            Err(error) => json!({ "event": "failed", "from": from, "reason": error.to_string() }),
        });
    }
    Ok(())
}

fn taken_json(taken: &Taken) -> Value {
    json!({
        "seconds": taken.seconds,
        "sent": taken.sent,
        "received": taken.received,
        "rounds": taken.rounds,
    })
}

fn report_json(report: &Report) -> Value {
    let layers = report.layers.iter().map(|layer| {
        json!({
            "name": layer.name,
            "linear": taken_json(&layer.linear),
            "activation": taken_json(&layer.activation),
        })
    });
    json!({
        "inputs": report.inputs,
        "handshake": taken_json(&report.handshake),
        "offline": taken_json(&report.offline),
        "online": taken_json(&report.online()),
        "layers": layers.collect::<Vec<_>>(),
    })
}

/// A client that has met a server.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct HybridClient {
    /// Taken by the session: nothing of it can be used again.
    client: Mutex<Option<Client<::hybrid::Connection>>>,
    public: ::hybrid::PublicProgram,
    hash: String,
}

#[pymethods]
impl HybridClient {
    /// Connects to the server whose certificate has the hash `certificate`. With `program`, a server
    /// of another program is refused. Hashes are hexadecimal.
    #[staticmethod]
    #[pyo3(signature = (address, certificate, program=None))]
    fn connect(
        py: Python<'_>,
        address: &str,
        certificate: &str,
        program: Option<&str>,
    ) -> PyResult<Self> {
        let certificate: Fingerprint = guard(py, || certificate.parse::<Fingerprint>())?;
        let expected = program
            .map(|text| hash("the program's hash", text))
            .transpose()?;
        let client = guard(py, || {
            Client::meet(::hybrid::connect(address, certificate)?, expected.as_ref())
        })?;
        Ok(Self {
            public: client.public().clone(),
            hash: ::hybrid::hex(client.fingerprint()),
            client: Mutex::new(Some(client)),
        })
    }

    /// What the client knows of the program, as JSON: `input`, `interface`, parameters and costs.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        let found = guard(py, || ::hybrid::Prediction::new(&self.public))?;
        let mut found = serde_json::to_value(found).unwrap_or_default();
        let last = self
            .public
            .layers
            .last()
            .map(|layer| layer.shape.iter().product::<usize>());
        found["network"] = json!(self.public.name);
        found["input"] = json!(self.public.input);
        found["interface"] = json!(self.public.interface);
        found["classes"] = json!(last);
        found["program_hash"] = json!(self.hash);
        found["reveals_accumulators"] = json!(self.public.activations == Activations::Revealed);
        Ok(found.to_string())
    }

    /// Runs both phases: the logits of each input, and what the session took, as JSON. Without
    /// inputs it runs the offline phase alone, for `count` inputs. `progress` is called with what is
    /// done, and how much of how much.
    fn run(
        &self,
        py: Python<'_>,
        inputs: Vec<Vec<i64>>,
        count: u32,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Vec<Vec<i64>>, String)> {
        let only_offline = inputs.is_empty();
        if !only_offline {
            guard(py, || self.public.check_inputs(&inputs, count))?;
        }
        let taken = self.client.lock().ok().and_then(|mut client| client.take());
        let Some(client) = taken else {
            return Err(UsageError::new_err("this session has ended: connect again"));
        };
        guard_with(
            py,
            |py, (doing, done, total): (String, usize, usize)| match &progress {
                Some(progress) => progress.call1(py, (doing, done, total)).map(drop),
                None => Ok(()),
            },
            |line| -> ::hybrid::Result<_> {
                let mut tell = |p: Progress<'_>| line.tell((p.doing.to_owned(), p.done, p.total));
                let ready = client.prepare(count, &mut tell)?;
                if only_offline {
                    return Ok((Vec::new(), report_json(ready.report()).to_string()));
                }
                let (logits, report) = ready.run(&inputs, &mut tell)?;
                Ok((logits, report_json(&report).to_string()))
            },
        )
    }
}

/// The hash of a server's certificate, from its file in PEM form.
#[pyfunction]
pub(crate) fn hybrid_certificate_hash(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let bytes = read(&path)?;
    guard(py, || {
        Ok::<_, mpc::Error>(Fingerprint::of_pem(&bytes)?.to_string())
    })
}

fn read(path: &Path) -> PyResult<Vec<u8>> {
    let fault = |e| UsageError::new_err(format!("cannot read {}: {e}", path.display()));
    std::fs::read(path).map_err(fault)
}

fn hash(what: &str, text: &str) -> PyResult<[u8; 32]> {
    let digits = text.as_bytes();
    let byte = |i: usize| {
        let pair = digits.get(2 * i..2 * i + 2)?;
        u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()
    };
    let bytes: Option<Vec<u8>> = (0..32).map(byte).collect();
    match (digits.len(), bytes) {
        (64, Some(bytes)) => Ok(std::array::from_fn(|i| bytes[i])),
        _ => Err(FormatError::new_err(format!(
            "{what} is {text:?}, expected 64 hexadecimal digits"
        ))),
    }
}
