//! The hybrid mode: programs between two parties, the server, and the client.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use ::hybrid::{
    Activations, Client, HostEvent, Limits, Program, Progress, Report, STATISTICAL, Server, Taken,
    printable,
};
use ::network::IntNetwork;
use mpc::{Clients, Fingerprint, Identity};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};

use crate::error::{FormatError, UsageError};
use crate::guard::{Line, guard, guard_bytes, guard_with};

/// Time that a session may take beyond the time predicted for it.
const GRACE: Duration = Duration::from_secs(60);

/// A network compiled for two parties. The program holds the weights.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct HybridProgram {
    program: Program,
}

/// Compiles a network for a connection of `bandwidth` bytes per second, with floods for `inputs`
/// inputs of one client. With `revealed`, the client applies the tables and sees the accumulators.
#[pyfunction]
#[pyo3(signature = (network_json, revealed, bandwidth, inputs=::hybrid::HIDDEN_INPUTS))]
pub(crate) fn hybrid_compile(
    py: Python<'_>,
    network_json: &str,
    revealed: bool,
    bandwidth: f64,
    inputs: u32,
) -> PyResult<HybridProgram> {
    let activations = match revealed {
        true => Activations::Revealed,
        false => Activations::Shares,
    };
    let program = guard(py, || {
        let network = IntNetwork::from_json(network_json)?;
        ::hybrid::compile_for(&network, activations, bandwidth, inputs)
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
        found["statistical_bits"] = json!(STATISTICAL);
        found["log2_distance"] = json!(guard(py, || self.program.log2_distance())?);
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

    /// Serves clients until `hear` raises or `sessions` sessions have ended. `clients` are the
    /// hashes of the certificates of clients that are served. Without hashes, every client that
    /// connects is served.
    ///
    /// `hear` is called with the text of a JSON object for each event.
    #[pyo3(signature = (listen, hear, *, identity, clients, sessions, at_once, of_address,
                        most_inputs, inputs_of_client, least_rate))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn serve(
        &self,
        py: Python<'_>,
        listen: &str,
        hear: Py<PyAny>,
        identity: Option<(PathBuf, PathBuf)>,
        clients: Vec<String>,
        sessions: Option<usize>,
        at_once: usize,
        of_address: usize,
        most_inputs: u32,
        inputs_of_client: Option<u64>,
        least_rate: f64,
    ) -> PyResult<()> {
        let identity = match identity {
            Some((certificate, key)) => identity_of(py, &certificate, &key)?,
            None => guard(py, Identity::generate)?,
        };
        let known: Vec<Fingerprint> = guard(py, || {
            let all = clients.iter().map(|text| text.parse::<Fingerprint>());
            all.collect::<mpc::Result<_>>()
        })?;
        let clients = match known.is_empty() {
            true => Clients::Any,
            false => Clients::Known(known),
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
        guard_with(
            py,
            |py, event: Value| hear.call1(py, (event.to_string(),)).map(drop),
            |line| {
                let server = Server::new(&self.program, most_inputs)?;
                // The number of inputs that keeps the sum of all distances within the bound.
                let hidden = (-f64::from(STATISTICAL) - server.log2_distance()).exp2();
                let limits = Limits {
                    sessions,
                    at_once,
                    of_address,
                    inputs_of_client: inputs_of_client.unwrap_or(hidden as u64).max(1),
                    least_rate,
                    grace: GRACE,
                };
                serve(&server, (&listener, &identity), (&clients, &limits), line);
                Ok::<_, ::hybrid::Error>(())
            },
        )
    }
}

/// Serves clients and reports each event, until the caller asks to stop.
fn serve(
    server: &Server,
    (listener, identity): (&TcpListener, &Identity),
    (clients, limits): (&Clients, &Limits),
    line: &Line<'_, Value>,
) {
    let address = listener.local_addr().map(|a| a.to_string());
    line.tell(json!({
        "event": "listening",
        "address": address.unwrap_or_default(),
        "certificate_hash": identity.fingerprint().to_string(),
        "program_hash": ::hybrid::hex(server.fingerprint()),
        "log2_distance": server.log2_distance(),
        "inputs_of_client": limits.inputs_of_client,
        "any_client": *clients == Clients::Any,
    }));
    let hear = |from: std::net::SocketAddr, event: HostEvent| {
        let from = from.to_string();
        line.tell(match event {
            HostEvent::Connected => json!({ "event": "connected", "from": from }),
            HostEvent::Served {
                client,
                inputs,
                report,
            } => json!({
                "event": "served",
                "from": from,
                "client": client.map(|client| client.to_string()),
                "inputs": inputs,
                "log2_distance": server.log2_distance() + (inputs as f64).log2(),
                "report": report_json(&report),
            }),
            HostEvent::Failed(reason) => {
                json!({ "event": "failed", "from": from, "reason": reason })
            }
        })
    };
    let parties = (listener, identity);
    ::hybrid::host(
        server,
        parties,
        (clients, limits),
        (&hear, &|| line.go_on()),
    );
}

/// A certificate and its key from their files, which may be one.
fn identity_of(py: Python<'_>, certificate: &Path, key: &Path) -> PyResult<Identity> {
    let files = match certificate == key {
        true => certificate.display().to_string(),
        false => format!("{} with {}", certificate.display(), key.display()),
    };
    let (certificate, key) = (read(certificate)?, read(key)?);
    let identity = guard(py, || {
        Ok::<_, mpc::Error>(Identity::from_pem(&certificate, &key))
    })?;
    identity.map_err(|e| UsageError::new_err(format!("{files}: {e}")))
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
    /// The client. A session takes it out, and it cannot be used again.
    client: Mutex<Option<Client<::hybrid::Connection>>>,
    public: ::hybrid::PublicProgram,
    hash: String,
}

#[pymethods]
impl HybridClient {
    /// Connects to the server whose certificate has the hash `certificate`. With `program`, a
    /// server of another program is refused. Hashes are hexadecimal. `identity` has the files of
    /// the client's own certificate and key. The server has ten seconds to greet, or `patience` if
    /// that is less, and `patience` seconds for each message.
    #[staticmethod]
    #[pyo3(signature = (address, certificate, program=None, identity=None, patience=None))]
    fn connect(
        py: Python<'_>,
        address: &str,
        certificate: &str,
        program: Option<&str>,
        identity: Option<(PathBuf, PathBuf)>,
        patience: Option<f64>,
    ) -> PyResult<Self> {
        let patience = patience.map_or(::hybrid::PATIENCE, |seconds| {
            Duration::try_from_secs_f64(seconds).unwrap_or(::hybrid::PATIENCE)
        });
        let identity = identity
            .map(|(certificate, key)| identity_of(py, &certificate, &key))
            .transpose()?;
        let certificate: Fingerprint = guard(py, || certificate.parse::<Fingerprint>())?;
        let expected = program
            .map(|text| hash("the program's hash", text))
            .transpose()?;
        let client = guard(py, || {
            let waits = [::hybrid::HANDSHAKE.min(patience), patience];
            let channel = ::hybrid::connect(address, certificate, identity.as_ref(), waits)?;
            Client::meet(channel, expected.as_ref())
        })?;
        Ok(Self {
            public: client.public().clone(),
            hash: ::hybrid::hex(client.fingerprint()),
            client: Mutex::new(Some(client)),
        })
    }

    /// The facts of the program that the client has, as JSON: `input`, `interface`, parameters and
    /// costs.
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
        escape(&mut found);
        Ok(found.to_string())
    }

    /// Runs both phases. Returns the logits of each input, and the report of the session's costs as
    /// JSON. Without inputs it runs the offline phase alone, for `count` inputs. `progress` is
    /// called with the name of the current work, the amount that is done and the total amount.
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
                let mut tell = |p: Progress<'_>| line.tell((printable(p.doing), p.done, p.total));
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

/// Makes every text of the other party printable.
fn escape(value: &mut Value) {
    match value {
        Value::String(text) => *text = printable(text),
        Value::Array(values) => values.iter_mut().for_each(escape),
        Value::Object(entries) => entries.values_mut().for_each(escape),
        _ => {}
    }
}

/// A fresh certificate and its private key in PEM form, and the certificate's hash.
#[pyfunction]
pub(crate) fn hybrid_identity(py: Python<'_>) -> PyResult<(String, String)> {
    let pem = guard(py, Identity::generate_pem)?;
    let hash = guard(py, || Fingerprint::of_pem(pem.as_bytes()))?;
    Ok(((*pem).clone(), hash.to_string()))
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
