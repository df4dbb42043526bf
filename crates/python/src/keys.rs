//! The client's secret key and the server's evaluation keys.

use client::{Client, StoredSecret, system_rng};
use exchange::{Exchange, Label, Needs, Profile, files};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use runtime::{KeyMemory, StoredKeys};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

use crate::error::ToPython;
use crate::guard::{Line, guard, guard_bytes, guard_with};
use crate::messages::{Answer, Query};
use crate::program::{check_program, hex};
use crate::room::room;
use crate::secret::ClientSecret;
use crate::terms::{Known, Terms};

/// The client's key. It never leaves the client.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct SecretKey(pub(crate) Client);

/// The keys with which the server computes on ciphertexts. Public.
#[pyclass(frozen, module = "palladion")]
pub(crate) struct EvaluationKeys {
    pub(crate) exchange: Exchange,
    place: Place,
}

/// Where the keys are.
enum Place {
    Memory(Arc<exchange::EvaluationKeys>),
    Files(Box<StoredKeys>),
}

/// Memory for the keys that lie in files.
static MEMORY: LazyLock<Arc<KeyMemory>> = LazyLock::new(|| Arc::new(KeyMemory::new(KEY_MEMORY)));

/// Bytes of memory for the keys that lie in files, before the first [`set_key_memory`]: six sets
/// of the packaged network, four of `models/mnist_w7a7.json`.
const KEY_MEMORY: u64 = 2_500_000_000;

/// Sets the bytes of memory for keys that are opened from files. Returns the number before.
#[pyfunction]
pub(crate) fn set_key_memory(py: Python<'_>, budget: u64) -> u64 {
    let before = MEMORY.budget();
    py.detach(|| MEMORY.set_budget(budget));
    before
}

/// Bytes of memory of the keys that were opened from files.
#[pyfunction]
pub(crate) fn key_memory() -> u64 {
    MEMORY.held()
}

/// Generates the keys that a program needs.
#[pyfunction]
pub(crate) fn keygen(py: Python<'_>, terms: Known) -> PyResult<(SecretKey, EvaluationKeys)> {
    let exchange = terms.0;
    room_for_keys(&exchange)?;
    let (client, keys) = guard(py, || -> client::Result<_> {
        let client = Client::generate(&exchange);
        let keys = client.evaluation_keys()?;
        Ok((client, keys))
    })?;
    Ok((SecretKey(client), EvaluationKeys::new(exchange, keys)))
}

/// A file whose writing ends with an error once the caller wants the work to stop.
struct Stoppable<'a, W> {
    file: W,
    line: &'a Line<'a, ()>,
}

impl<W: Write> Write for Stoppable<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.line.go_on() {
            true => self.file.write(bytes),
            false => Err(io::Error::other("stopped by the caller")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Checks that the keys that a program needs find room, and their bytes.
fn room_for_keys(exchange: &Exchange) -> PyResult<()> {
    let held = exchange.needs().byte_len(exchange.params());
    let written = files::keys_file_len(exchange.params(), &exchange.needs());
    let (held, written) = (
        held.map_err(ToPython::to_python)?,
        written.map_err(ToPython::to_python)?,
    );
    room(
        "holding the evaluation keys",
        held.saturating_add(written) as u64,
    )
}

/// One list of logits per image.
type Logits = Vec<Vec<i64>>;

#[pymethods]
impl SecretKey {
    /// A secret at work for a program.
    #[staticmethod]
    fn of(py: Python<'_>, terms: Known, secret: &ClientSecret) -> PyResult<Self> {
        let secret = secret.open()?;
        guard(py, || Client::new(&terms.0, secret)).map(Self)
    }

    /// Generates a key from the operating system's randomness.
    #[staticmethod]
    fn generate(py: Python<'_>, terms: Known) -> PyResult<Self> {
        guard(py, || {
            Ok::<_, client::Error>(Self(Client::generate(&terms.0)))
        })
    }

    /// The secret, apart from the program.
    fn secret(&self) -> ClientSecret {
        ClientSecret(self.0.secret().clone().into())
    }

    /// Generates the evaluation keys that the program needs.
    fn evaluation_keys(&self, py: Python<'_>) -> PyResult<EvaluationKeys> {
        room_for_keys(self.0.exchange())?;
        let keys = guard(py, || self.0.evaluation_keys())?;
        let exchange = self.0.exchange().clone();
        Ok(EvaluationKeys::new(exchange, keys))
    }

    /// The number of evaluation keys that `also` and this program need beyond the profiles `have`,
    /// and the length of their file in bytes, 0 without keys.
    fn missing_keys(&self, also: Vec<Known>, have: Vec<String>) -> PyResult<(usize, usize)> {
        let needs = self.needs(&also, &have)?;
        let params = self.0.exchange().params();
        let bytes = match needs.each().count() {
            0 => 0,
            _ => files::keys_file_len(params, &needs).map_err(ToPython::to_python)?,
        };
        Ok((needs.each().count(), bytes))
    }

    /// Generates these keys one at a time and writes them to a new file. Returns its length.
    fn write_evaluation_keys(
        &self,
        py: Python<'_>,
        path: &str,
        also: Vec<Known>,
        have: Vec<String>,
    ) -> PyResult<usize> {
        let exchange = self.0.exchange();
        let needs = &self.needs(&also, &have)?;
        let needed = needs.writing_byte_len(exchange.params());
        room("making the keys", needed as u64)?;
        let work = |line: &Line<'_, ()>| -> client::Result<_> {
            let file = File::create(path).map_err(exchange::Error::from)?;
            let file = BufWriter::with_capacity(1 << 20, file);
            let file = Stoppable { file, line };
            self.0
                .write_evaluation_keys(needs, &mut system_rng(), file)?;
            Ok(files::keys_file_len(exchange.params(), needs)?)
        };
        guard_with(py, |_, ()| Ok(()), work)
    }

    fn encrypt(&self, py: Python<'_>, images: Vec<Vec<i64>>) -> PyResult<Query> {
        let label = self.0.secret().label();
        label
            .check("the secret", now())
            .map_err(ToPython::to_python)?;
        Ok(Query {
            exchange: self.0.exchange().clone(),
            query: guard(py, || self.0.encrypt(&images))?,
        })
    }

    /// The logits of each image of the query, and the noise margin left, in bits.
    fn decrypt(&self, py: Python<'_>, answer: &Answer, query: &Query) -> PyResult<(Logits, f64)> {
        check_program(self.0.exchange(), &answer.exchange, "encrypted results")?;
        let found = guard(py, || self.0.decrypt(&answer.answer, &query.query))?;
        Ok((found.logits, found.margin_bits))
    }

    /// The bytes of the secret, without a seal.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || {
            let stored = StoredSecret::from(self.0.secret().clone());
            Ok::<_, PyErr>(stored.to_bytes())
        })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, terms: Known, data: &[u8]) -> PyResult<Self> {
        let stored = ClientSecret(guard(py, || StoredSecret::from_bytes(data))?);
        Self::of(py, terms, &stored)
    }
}

impl SecretKey {
    /// The keys that this program and the programs `also` need beyond the profiles `have`.
    fn needs(&self, also: &[Known], have: &[String]) -> PyResult<Needs> {
        let own = self.0.exchange().profile();
        let mut needs = own.needs();
        for other in also {
            let profile = other.0.profile();
            profile.check_parameters(own).map_err(ToPython::to_python)?;
            profile.needs().each().for_each(|need| needs.add(need));
        }
        for text in have {
            let profile = Profile::from_json(text).map_err(ToPython::to_python)?;
            profile.check_parameters(own).map_err(ToPython::to_python)?;
            needs = needs.without(&profile.needs());
        }
        Ok(needs)
    }
}

impl EvaluationKeys {
    fn new(exchange: Exchange, keys: exchange::EvaluationKeys) -> Self {
        let place = Place::Memory(Arc::new(keys));
        Self { exchange, place }
    }

    /// The keys, from memory or from their files. That may take a second.
    pub(crate) fn read(&self) -> runtime::Result<Arc<exchange::EvaluationKeys>> {
        match &self.place {
            Place::Memory(keys) => Ok(Arc::clone(keys)),
            Place::Files(keys) => keys.get(),
        }
    }

    pub(crate) fn label(&self) -> &Label {
        match &self.place {
            Place::Memory(keys) => keys.label(),
            Place::Files(keys) => keys.label(),
        }
    }

    pub(crate) fn needs(&self) -> Needs {
        match &self.place {
            Place::Memory(keys) => keys.needs(),
            Place::Files(keys) => keys.needs().clone(),
        }
    }
}

#[pymethods]
impl EvaluationKeys {
    /// The terms of the program with which it was read or made.
    fn terms(&self) -> Terms {
        Terms::of(&self.exchange)
    }

    /// Identity of the secret that the keys belong to: 32 hexadecimal digits, zeros if the keys do
    /// not state one.
    #[getter]
    fn key(&self) -> String {
        hex(&self.label().key.to_bytes())
    }

    /// From when on they are not to be used, in seconds since 1970.
    #[getter]
    fn expires(&self) -> Option<u64> {
        self.label().expires
    }

    /// The profile of the keys, as JSON.
    fn profile(&self) -> String {
        Profile::new(self.exchange.params(), &self.needs()).to_json()
    }

    /// Length of [`EvaluationKeys::to_bytes`].
    fn byte_len(&self, py: Python<'_>) -> PyResult<usize> {
        guard(py, || {
            files::keys_file_len(self.exchange.params(), &self.needs())
        })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guard_bytes(py, || -> runtime::Result<_> {
            let keys = self.read()?;
            Ok(files::keys_to_bytes(self.exchange.params(), &keys)?)
        })
    }

    /// Reads keys from the bytes of one file, or of several that complete each other.
    #[staticmethod]
    #[pyo3(signature = (terms, data, *more))]
    fn from_bytes(
        py: Python<'_>,
        terms: Known,
        data: &[u8],
        more: Vec<PyBackedBytes>,
    ) -> PyResult<Self> {
        let exchange = terms.0;
        room_for_keys(&exchange)?;
        let keys = guard(py, || -> exchange::Result<_> {
            let mut keys = files::some_keys_from_bytes(&exchange, data)?;
            for data in &more {
                keys.merge(files::some_keys_from_bytes(&exchange, data)?)?;
            }
            keys.label().check("the evaluation keys", now())?;
            keys.check(&exchange.needs())?;
            Ok(keys)
        })?;
        Ok(Self::new(exchange, keys))
    }

    /// Reads keys from one file, or from several that complete each other. They are read again when
    /// they are used after they have left the memory for other keys.
    #[staticmethod]
    fn open(py: Python<'_>, terms: Known, paths: Vec<PathBuf>) -> PyResult<Self> {
        let exchange = terms.0;
        let held = exchange.needs().byte_len(exchange.params());
        let held = held.map_err(ToPython::to_python)?;
        room("holding the evaluation keys", held as u64)?;
        let keys = guard(py, || -> runtime::Result<_> {
            let keys = StoredKeys::open(&MEMORY, &exchange, &paths)?;
            keys.label().check("the evaluation keys", now())?;
            Ok(keys)
        })?;
        let place = Place::Files(Box::new(keys));
        Ok(Self { exchange, place })
    }

    /// Whether they are in memory. Those of a file are read again if not.
    #[getter]
    fn in_memory(&self) -> bool {
        match &self.place {
            Place::Memory(_) => true,
            Place::Files(keys) => keys.in_memory(),
        }
    }

    /// Drops keys that lie in files from the memory. A run that uses them keeps them to its end.
    /// Returns whether they were there.
    fn release(&self, py: Python<'_>) -> bool {
        let Place::Files(keys) = &self.place else {
            return false;
        };
        py.detach(|| keys.release())
    }

    /// The profile of a file of keys, as JSON; the identity of its secret, when that was made and
    /// until when the keys may be used, in seconds since 1970.
    #[staticmethod]
    fn head(py: Python<'_>, path: PathBuf) -> PyResult<(String, String, Option<u64>, Option<u64>)> {
        let (profile, label) = guard(py, || files::keys_head(File::open(path)?))?;
        let key = hex(&label.key.to_bytes());
        Ok((profile.to_json(), key, label.created, label.expires))
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
