//! The hybrid mode: programs between two parties, the server, and the client.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
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

/// Compiles a network for a connection of `bandwidth` bytes per second. With `revealed`, the client
/// applies the tables and sees the accumulators.
#[pyfunction]
pub(crate) fn hybrid_compile(
    py: Python<'_>,
    network_json: &str,
    revealed: bool,
    bandwidth: f64,
) -> PyResult<HybridProgram> {
    let activations = match revealed {
        true => Activations::Revealed,
        false => Activations::Shares,
    };
    let program = guard(py, || {
        let network = IntNetwork::from_json(network_json)?;
        ::hybrid::compile(&network, activations, bandwidth)
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

    /// Serves clients, `at_once` of them side by side, until `hear` raises or `sessions` have ended.
    ///
    /// `hear` is called with the text of a JSON object for each event.
    #[pyo3(signature = (listen, certificate, key, sessions, at_once, most_inputs, hear))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn serve(
        &self,
        py: Python<'_>,
        listen: &str,
        certificate: Option<PathBuf>,
        key: Option<PathBuf>,
        sessions: Option<usize>,
        at_once: usize,
        most_inputs: u32,
        hear: Py<PyAny>,
    ) -> PyResult<()> {
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => {
                let files = format!("{} with {}", certificate.display(), key.display());
                let (certificate, key) = (read(&certificate)?, read(&key)?);
                let identity = guard(py, || {
                    Ok::<_, mpc::Error>(ServerIdentity::from_pem(&certificate, &key))
                })?;
                identity.map_err(|e| UsageError::new_err(format!("{files}: {e}")))?
            }
            (None, None) => guard(py, ServerIdentity::generate)?,
            _ => {
                return Err(UsageError::new_err(
                    "a certificate without its key, or a key alone: give both, or neither for a \
                     fresh certificate",
                ));
            }
        };
        let listener = TcpListener::bind(listen)
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(|e| {
                let way_out = match e.kind() {
                    ErrorKind::AddrInUse => "choose another port, or 0 for any that is free",
                    _ => "expected HOST:PORT of this machine, such as 127.0.0.1:7700",
                };
                UsageError::new_err(format!("cannot listen at {listen}: {e}; {way_out}"))
            })?;
        let counts = Counts {
            sessions,
            at_once,
            most_inputs,
        };
        guard_with(
            py,
            |py, event: Value| hear.call1(py, (event.to_string(),)).map(drop),
            |line| serve(&self.program, (&listener, &identity), counts, line),
        )
    }
}

/// How many sessions a server has, and how many inputs one of them may have.
#[derive(Clone, Copy)]
struct Counts {
    /// All sessions; no limit if `None`.
    sessions: Option<usize>,
    at_once: usize,
    most_inputs: u32,
}

/// How long to wait before looking again for clients, and for sessions that have ended.
const PAUSE: Duration = Duration::from_millis(5);

/// Accepts clients until the caller wants no more. A session has a thread of its own, so that a slow
/// or silent client keeps none of the others waiting.
fn serve(
    program: &Program,
    (listener, identity): (&TcpListener, &ServerIdentity),
    counts: Counts,
    line: &Line<'_, Value>,
) -> ::hybrid::Result<()> {
    let server = Server::new(program, counts.most_inputs)?;
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
    let open = Open::default();
    std::thread::scope(|scope| {
        let mut served = 0;
        while line.go_on() && counts.sessions.is_none_or(|most| served < most) {
            let accepted = (open.count() < counts.at_once).then(|| listener.accept());
            let Some(Ok((socket, from))) = accepted else {
                std::thread::sleep(PAUSE);
                continue;
            };
            let Ok(handle) = socket.try_clone() else {
                continue;
            };
            served += 1;
            open.add(served, handle);
            let (open, server) = (&open, &server);
            scope.spawn(move || {
                session(server, (socket, &from.to_string()), identity, line);
                open.remove(served);
            });
        }
        while line.go_on() && open.count() > 0 {
            std::thread::sleep(PAUSE);
        }
        open.shut();
    });
    Ok(())
}

/// One session. A client's fault ends it, not the server.
fn session(
    server: &Server,
    (socket, from): (TcpStream, &str),
    identity: &ServerIdentity,
    line: &Line<'_, Value>,
) {
    line.tell(json!({ "event": "connected", "from": from }));
    // A session changes nothing that others see.
    let served = catch_unwind(AssertUnwindSafe(|| {
        let mut channel = ::hybrid::accept(socket, identity)?;
        server.serve(&mut channel, &mut |_| line.go_on())
    }));
    let reason = match served {
        Ok(Ok(report)) => {
            let report = report_json(&report);
            line.tell(json!({ "event": "served", "from": from, "report": report }));
            return;
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => "a fault in palladion itself, please report it".to_owned(),
    };
    line.tell(json!({ "event": "failed", "from": from, "reason": reason }));
}

/// The sockets of running sessions.
#[derive(Default)]
struct Open(Mutex<HashMap<usize, TcpStream>>);

impl Open {
    fn sockets(&self) -> MutexGuard<'_, HashMap<usize, TcpStream>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self) -> usize {
        self.sockets().len()
    }

    fn add(&self, session: usize, socket: TcpStream) {
        self.sockets().insert(session, socket);
    }

    fn remove(&self, session: usize) {
        self.sockets().remove(&session);
    }

    /// Ends all sessions: whatever they wait for fails.
    fn shut(&self) {
        for socket in self.sockets().values() {
            // One that has ended already needs nothing.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
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
    let found = guard(py, || Ok::<_, mpc::Error>(Fingerprint::of_pem(&bytes)))?;
    let found = found.map_err(|e| UsageError::new_err(format!("{}: {e}", path.display())))?;
    Ok(found.to_string())
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
