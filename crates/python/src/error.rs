//! Errors as Python exceptions. Their classes are in `palladion.errors`.
//!
//! Every variant of every error of the other crates is listed here by name. `tests/test_native.py`
//! compares the lists with the sources of the crates. A variant that is not listed becomes an
//! `InternalError`.

use pyo3::PyErr;
use pyo3::exceptions::PyOSError;
use std::io;

pyo3::import_exception!(palladion.errors, BudgetError);
pyo3::import_exception!(palladion.errors, ExpiredError);
pyo3::import_exception!(palladion.errors, FormatError);
pyo3::import_exception!(palladion.errors, InternalError);
pyo3::import_exception!(palladion.errors, KeyMismatch);
pyo3::import_exception!(palladion.errors, LevelError);
pyo3::import_exception!(palladion.errors, LinkError);
pyo3::import_exception!(palladion.errors, MismatchError);
pyo3::import_exception!(palladion.errors, MissingKeyError);
pyo3::import_exception!(palladion.errors, NetworkError);
pyo3::import_exception!(palladion.errors, NoiseError);
pyo3::import_exception!(palladion.errors, SealError);
pyo3::import_exception!(palladion.errors, SecurityError);
pyo3::import_exception!(palladion.errors, StoppedError);
pyo3::import_exception!(palladion.errors, UsageError);

/// An error of another crate, or an exception that a callback raised.
pub(crate) trait ToPython {
    fn to_python(self) -> PyErr;
}

impl ToPython for PyErr {
    fn to_python(self) -> PyErr {
        self
    }
}

/// The cause of an error, which decides its class.
#[derive(Clone, Copy)]
enum Fault {
    /// A file is damaged, or the program in a file cannot run.
    File,
    /// The life of keys has ended.
    Expired,
    /// An evaluation key is missing.
    Key,
    /// Keys or ciphertexts belong to different secrets.
    KeyMismatch,
    /// A ciphertext has no level left.
    Level,
    /// The other party cannot be reached, or the connection broke.
    Link,
    /// A sound file belongs to something else.
    Mismatch,
    /// The network cannot be evaluated under encryption.
    Network,
    /// Noise has reached the modulus.
    Noise,
    /// A passphrase does not open a secret.
    Seal,
    /// The parameters are below 128-bit security.
    Security,
    /// The callback asked to stop.
    Stop,
    /// An argument of the caller does not fit.
    Usage,
    /// A fault of Palladion.
    Internal,
}

impl Fault {
    fn exception(self, words: String) -> PyErr {
        match self {
            Self::Expired => ExpiredError::new_err(words),
            Self::File => FormatError::new_err(words),
            Self::Key => MissingKeyError::new_err(words),
            Self::KeyMismatch => KeyMismatch::new_err(words),
            Self::Level => LevelError::new_err(words),
            Self::Link => LinkError::new_err(words),
            Self::Mismatch => MismatchError::new_err(words),
            Self::Network => NetworkError::new_err(words),
            Self::Noise => NoiseError::new_err(words),
            Self::Seal => SealError::new_err(words),
            Self::Security => SecurityError::new_err(words),
            Self::Stop => StoppedError::new_err(words),
            Self::Usage => UsageError::new_err(words),
            Self::Internal => InternalError::new_err(words),
        }
    }

    /// The cause during compilation. There is no file yet, and the compiler chose the parameters,
    /// so the network is at fault.
    fn of_compilation(self) -> Self {
        match self {
            Self::File | Self::Mismatch | Self::Security => Self::Network,
            other => other,
        }
    }
}

impl Fault {
    /// The cause for operands that a caller chose. The operands are at fault, not a file.
    fn of_operands(self) -> Self {
        match self {
            Self::File | Self::Mismatch => Self::Usage,
            other => other,
        }
    }
}

impl ToPython for rlwe::Error {
    fn to_python(self) -> PyErr {
        of_direct(&self).exception(self.to_string())
    }
}

impl ToPython for ckks::Error {
    fn to_python(self) -> PyErr {
        of_ckks(&self).exception(self.to_string())
    }
}

impl ToPython for exact::Error {
    fn to_python(self) -> PyErr {
        let fault = match &self {
            Self::Rlwe(error) => of_direct(error),
            other => of_bfv(other).of_operands(),
        };
        fault.exception(self.to_string())
    }
}

impl ToPython for schemes::Error {
    fn to_python(self) -> PyErr {
        use schemes::ErrorKind::{Format, KeyMismatch, Level, MissingKey, Noise, Security, Usage};
        let fault = match self.kind() {
            Format => Fault::File,
            KeyMismatch => Fault::KeyMismatch,
            Level => Fault::Level,
            MissingKey => Fault::Key,
            Noise => Fault::Noise,
            Security => Fault::Security,
            Usage => Fault::Usage,
            _ => Fault::Internal,
        };
        fault.exception(self.to_string())
    }
}

impl ToPython for ::tfhe::Error {
    fn to_python(self) -> PyErr {
        of_tfhe(&self).exception(self.to_string())
    }
}

impl ToPython for circuits::Error {
    fn to_python(self) -> PyErr {
        of_circuits(&self).of_operands().exception(self.to_string())
    }
}

/// For a circuit that the caller builds. One that is read from a file is refused by
/// [`runtime::Error`].
impl ToPython for program::Error {
    fn to_python(self) -> PyErr {
        of_program(&self).of_operands().exception(self.to_string())
    }
}

/// A trace is always read from a text.
impl ToPython for trace::Error {
    fn to_python(self) -> PyErr {
        of_trace(&self).exception(self.to_string())
    }
}

/// The circuits of applications are ours. A caller chooses only the benchmark and the digits.
impl ToPython for applications::Error {
    fn to_python(self) -> PyErr {
        use applications::Error::{Benchmark, Circuits, Ckks, Exact, Model, Program, Shape};
        match self {
            Circuits(error) => error.to_python(),
            Ckks(error) => error.to_python(),
            Exact(error) => error.to_python(),
            Program(error) => error.to_python(),
            other @ Model { .. } => Fault::File.exception(other.to_string()),
            other @ (Benchmark { .. } | Shape { .. }) => Fault::Usage.exception(other.to_string()),
            other => Fault::Internal.exception(other.to_string()),
        }
    }
}

impl ToPython for ::network::Error {
    fn to_python(self) -> PyErr {
        let fault = match self {
            Self::Stopped { .. } => Fault::Stop,
            _ => Fault::Network,
        };
        fault.exception(self.to_string())
    }
}

impl ToPython for compiler::Error {
    fn to_python(self) -> PyErr {
        of_compiler(&self).exception(self.to_string())
    }
}

impl ToPython for sim::Error {
    fn to_python(self) -> PyErr {
        use sim::Error::{
            Deadlock, Family, Inexact, Key, Missing, NoMapping, NoSource, Parameters, Ring,
            Stopped, Toml, TooLong, TooSmall, Unfit, UnknownMachine, Value, Violation, Words,
        };
        let fault = match &self {
            Toml(_) | Missing { .. } | Value { .. } | Key { .. } => Fault::File,
            UnknownMachine { .. }
            | Family { .. }
            | Unfit { .. }
            | TooLong { .. }
            | NoMapping { .. }
            | TooSmall { .. }
            | Parameters { .. }
            | Words { .. }
            | Inexact { .. }
            | NoSource { .. }
            | Deadlock { .. } => Fault::Usage,
            Ring(error) => of_ring(error).of_operands(),
            Stopped => Fault::Stop,
            Violation(_) => Fault::Internal,
            _ => Fault::Internal,
        };
        fault.exception(self.to_string())
    }
}

impl ToPython for exchange::Error {
    fn to_python(self) -> PyErr {
        match self {
            // Raised as Python's own exception, so that callers can read `strerror` and name the
            // file.
            Self::Io(error) => PyOSError::new_err(number_and_words(&error)),
            other => of_exchange(&other).exception(other.to_string()),
        }
    }
}

/// The arguments of Python's exception for an error of the system.
fn number_and_words(error: &io::Error) -> (i32, String) {
    let words = error.to_string();
    let words = words.split(" (os error").next().unwrap_or(&words);
    (error.raw_os_error().unwrap_or(0), words.to_owned())
}

impl ToPython for seal::Error {
    fn to_python(self) -> PyErr {
        match self {
            Self::Client(error) => error.to_python(),
            other => of_seal(&other).exception(other.to_string()),
        }
    }
}

impl ToPython for client::Error {
    fn to_python(self) -> PyErr {
        match self {
            Self::Exchange(error) => error.to_python(),
            other => of_client(&other).exception(other.to_string()),
        }
    }
}

impl ToPython for executor::Error {
    fn to_python(self) -> PyErr {
        match self {
            Self::Waves(error) => error.to_python(),
            // An exception of a machine that is an object of Python.
            Self::Other(error) if error.is::<PyErr>() => match error.downcast() {
                Ok(error) => *error,
                Err(error) => Fault::Internal.exception(error.to_string()),
            },
            other => of_executor(&other).exception(other.to_string()),
        }
    }
}

impl ToPython for evaluate::Error {
    fn to_python(self) -> PyErr {
        match self {
            Self::Executor(error) => error.to_python(),
            other => of_evaluate(&other).exception(other.to_string()),
        }
    }
}

impl ToPython for runtime::Error {
    fn to_python(self) -> PyErr {
        match self {
            Self::Exchange(error) => error.to_python(),
            Self::Executor(error) => error.to_python(),
            Self::Unreadable { path, source } => {
                let (number, words) = number_and_words(&source);
                PyOSError::new_err((number, words, path.into_os_string()))
            }
            other => of_runtime(&other).exception(other.to_string()),
        }
    }
}

impl ToPython for ::waves::Error {
    fn to_python(self) -> PyErr {
        use ::waves::Error::{NotPrime, Power, TooLong, Trace, Wide};
        let fault = match &self {
            Trace(error) => of_trace(error),
            NotPrime { .. } => Fault::File,
            Wide { .. } | Power { .. } | TooLong { .. } => Fault::Usage,
            _ => Fault::Internal,
        };
        fault.exception(self.to_string())
    }
}

impl ToPython for ::mpc::Error {
    fn to_python(self) -> PyErr {
        of_mpc(&self).exception(self.to_string())
    }
}

impl ToPython for ::hybrid::Error {
    fn to_python(self) -> PyErr {
        use ::hybrid::Error::{
            Activation, Bits, File, Input, Memory, Message, Network, NoParameters, Program,
            Protocol, Ring, Stopped, Unreachable, Window,
        };
        let fault = match self {
            Network(error) => return error.to_python(),
            Activation { .. } | Bits { .. } | NoParameters { .. } | Window { .. } => Fault::Network,
            File(ref error) => of_bytes(error),
            Ring(ref error) => of_ring(error),
            Program { .. } | Message { .. } => Fault::File,
            Protocol(ref error) => of_mpc(error),
            Input { .. } | Memory { .. } => Fault::Usage,
            Unreachable { .. } => Fault::Link,
            Stopped => Fault::Stop,
            _ => Fault::Internal,
        };
        fault.exception(self.to_string())
    }
}

impl ToPython for ::packings::Error {
    fn to_python(self) -> PyErr {
        use ::packings::Error::{Ckks, Evaluate, Exact, Packing, Program, Ring, Shape};
        match self {
            Ckks(error) => error.to_python(),
            Exact(error) => error.to_python(),
            Program(error) => error.to_python(),
            Evaluate(error) => error.to_python(),
            other @ (Packing { .. } | Shape { .. }) => Fault::Usage.exception(other.to_string()),
            // The primes of the parameters are found for every ring degree that is allowed.
            other @ Ring(_) => Fault::Internal.exception(other.to_string()),
            other => Fault::Internal.exception(other.to_string()),
        }
    }
}

impl ToPython for inspect::Error {
    fn to_python(self) -> PyErr {
        use inspect::Error::{Bfv, Circuits, Ckks, Client, Evaluate, Misfit, Packings, Runtime};
        match self {
            Client(error) => error.to_python(),
            Runtime(error) => error.to_python(),
            Evaluate(error) => error.to_python(),
            Bfv(error) => of_bfv(&error).exception(error.to_string()),
            Circuits(error) => of_circuits(&error).exception(error.to_string()),
            Ckks(error) => error.to_python(),
            Packings(error) => error.to_python(),
            other @ Misfit { .. } => Fault::Usage.exception(other.to_string()),
            other => Fault::Internal.exception(other.to_string()),
        }
    }
}

impl ToPython for timing::Error {
    fn to_python(self) -> PyErr {
        use timing::Error::{Circuits, Client, Stopped, Tfhe};
        match self {
            Circuits(error) => of_circuits(&error).exception(error.to_string()),
            Client(error) => error.to_python(),
            Tfhe(error) => of_tfhe(&error).exception(error.to_string()),
            other @ Stopped { .. } => Fault::Stop.exception(other.to_string()),
            other => Fault::Internal.exception(other.to_string()),
        }
    }
}

fn of_mpc(error: &::mpc::Error) -> Fault {
    use ::mpc::Error::{Bits, Connection, Exhausted, Length, Message, Range, Tls, Transfers};
    match error {
        Message { .. } | Bits { .. } | Range { .. } | Length { .. } => Fault::File,
        Connection { .. } | Tls { .. } => Fault::Link,
        Transfers { .. } | Exhausted { .. } => Fault::Internal,
        _ => Fault::Internal,
    }
}

fn of_compiler(error: &compiler::Error) -> Fault {
    use compiler::Error::{
        Answers, Batch, Circuits, EmptyBatch, Failure, Flood, Layer, Network, NoParameters,
        Profile, Program, Target, Words,
    };
    match error {
        Network(_) | Layer { .. } | Failure { .. } | Profile { .. } => Fault::Network,
        Answers { .. } | Batch { .. } | EmptyBatch | Target { .. } => Fault::Usage,
        Circuits(error) => of_circuits(error).of_compilation(),
        NoParameters { reason } | Words { reason, .. } | Flood { reason, .. } => {
            of_compiler(reason)
        }
        // The verifier rejected the compiler's output.
        Program(_) => Fault::Internal,
        _ => Fault::Internal,
    }
}

fn of_exchange(error: &exchange::Error) -> Fault {
    use exchange::Error::{
        Bfv, Bytes, Expired, Io, Layout, MissingKey, MissingKeys, MissingPackingKey, OtherQuery,
        Profile, Program, PublicInputs, PublicMasks, Shape,
    };
    match error {
        Program(error) => of_program(error),
        Bfv(error) => of_bfv(error),
        Bytes(error) => of_bytes(error),
        MissingKey { .. } | MissingKeys { .. } | MissingPackingKey { .. } => Fault::Key,
        Expired { .. } => Fault::Expired,
        Layout { .. } | OtherQuery { .. } | Profile { .. } => Fault::Mismatch,
        Shape { .. } => Fault::File,
        PublicInputs | PublicMasks => Fault::Usage,
        // `to_python` raises Python's own exception for it, without a fault.
        Io(_) => Fault::Internal,
        _ => Fault::Internal,
    }
}

fn of_seal(error: &seal::Error) -> Fault {
    use seal::Error::{Client, Cost, Empty, Kind, Passphrase};
    match error {
        Client(error) => of_client(error),
        Cost { .. } => Fault::File,
        Empty | Kind { .. } => Fault::Usage,
        Passphrase { .. } => Fault::Seal,
        _ => Fault::Internal,
    }
}

fn of_client(error: &client::Error) -> Fault {
    use client::Error::{Bfv, Exchange, Image, Key, NoMargin};
    match error {
        Exchange(error) => of_exchange(error),
        Bfv(error) => of_bfv(error),
        Image { .. } | Key { .. } => Fault::Usage,
        NoMargin { .. } => Fault::Noise,
        _ => Fault::Internal,
    }
}

fn of_runtime(error: &runtime::Error) -> Fault {
    use runtime::Error::{
        Circuits, Exchange, Executor, Lower, Program, Query, Replaced, Stopped, Trace, Unreadable,
    };
    match error {
        Program(error) => of_program(error),
        Trace(error) => of_trace(error),
        Circuits(error) => of_circuits(error),
        Exchange(error) => of_exchange(error),
        Executor(error) => of_executor(error),
        Query { .. } => Fault::Usage,
        Lower(error) => of_lower(error),
        Replaced { .. } => Fault::Mismatch,
        Stopped { .. } => Fault::Stop,
        // `to_python` raises Python's own exception for it, without a fault.
        Unreadable { .. } => Fault::Internal,
        _ => Fault::Internal,
    }
}

fn of_evaluate(error: &evaluate::Error) -> Fault {
    use evaluate::Error::{Circuit, Circuits, Executor, Lower, Program, Tfhe};
    match error {
        Program(error) => of_program(error),
        Circuits(error) => of_circuits(error),
        Tfhe(error) => of_tfhe(error),
        Executor(error) => of_executor(error),
        Lower(error) => of_lower(error),
        Circuit { .. } => Fault::Usage,
        _ => Fault::Internal,
    }
}

fn of_lower(error: &::lower::Error) -> Fault {
    match error {
        ::lower::Error::Differs { .. } => Fault::File,
        // Programs are rehearsed before they are lowered.
        _ => Fault::Internal,
    }
}

fn of_executor(error: &executor::Error) -> Fault {
    use executor::Error::{Other, Replay, Stopped, Trace};
    match error {
        Trace(error) => of_trace(error),
        Replay { .. } => Fault::File,
        // Instruction streams come from a file.
        Other(error) if error.is::<sim::vector::Fault>() => Fault::File,
        Stopped { .. } => Fault::Stop,
        _ => Fault::Internal,
    }
}

fn of_trace(error: &trace::Error) -> Fault {
    match error {
        trace::Error::Format { .. } | trace::Error::Trace { .. } => Fault::File,
        _ => Fault::Internal,
    }
}

fn of_program(error: &program::Error) -> Fault {
    use program::Error::{
        CircuitConstant, Constant, Format, Json, Line, NoLevel, Parameters, Recorded, Shape, Step,
        Torus, Trace,
    };
    match error {
        Json(_)
        | Format { .. }
        | Parameters { .. }
        | Constant { .. }
        | CircuitConstant { .. }
        | Step { .. }
        | Trace { .. }
        | Torus { .. }
        | Line { .. }
        | Recorded { .. } => Fault::File,
        Shape { .. } => Fault::Usage,
        NoLevel { .. } => Fault::Level,
        _ => Fault::Internal,
    }
}

fn of_circuits(error: &circuits::Error) -> Fault {
    use circuits::Error::{Bfv, Ckks, Exchange, Operand, OutOfLevels, Shape, Stopped};
    match error {
        Bfv(error) => of_bfv(error),
        Ckks(error) => of_ckks(error),
        Exchange(error) => of_exchange(error),
        Operand { .. } | OutOfLevels { .. } | Shape { .. } => Fault::File,
        Stopped => Fault::Stop,
        _ => Fault::Internal,
    }
}

fn of_bfv(error: &bfv::Error) -> Fault {
    use bfv::Error::{
        CoefficientModulus, FactorMismatch, Message, NoiseBudget, OtherParameters,
        PlaintextModulus, Rlwe, TooManyValues,
    };
    match error {
        Rlwe(error) => of_rlwe(error),
        NoiseBudget { .. } => Fault::Noise,
        PlaintextModulus { .. }
        | CoefficientModulus { .. }
        | TooManyValues { .. }
        | Message { .. }
        | OtherParameters { .. }
        | FactorMismatch { .. } => Fault::File,
        _ => Fault::Internal,
    }
}

/// As [`of_rlwe`], for operands that the caller chose.
fn of_direct(error: &rlwe::Error) -> Fault {
    match error {
        rlwe::Error::Bytes(error) => of_bytes(error),
        rlwe::Error::LevelTooLow { .. } => Fault::Level,
        other => of_rlwe(other).of_operands(),
    }
}

fn of_ckks(error: &ckks::Error) -> Fault {
    use ckks::Error::{
        Bound, Constant, Doubtful, EmptyLevel, LevelExhausted, Lost, NotFinite, OtherKey,
        OtherParameters, Overflow, Rlwe, Scale, ScaleMismatch, Slots, TooManyValues,
    };
    match error {
        Rlwe(error) => of_direct(error),
        LevelExhausted { .. } => Fault::Level,
        Lost { .. } | Doubtful { .. } => Fault::Noise,
        Bound { .. }
        | Constant { .. }
        | EmptyLevel { .. }
        | NotFinite { .. }
        | OtherKey { .. }
        | OtherParameters { .. }
        | Overflow { .. }
        | Scale { .. }
        | ScaleMismatch { .. }
        | Slots { .. }
        | TooManyValues { .. } => Fault::Usage,
        _ => Fault::Internal,
    }
}

fn of_tfhe(error: &::tfhe::Error) -> Fault {
    use ::tfhe::Error::{
        Blocks, Bytes, Carry, Encoding, Fingerprint, Insecure, KeyMismatch, Message, Multiplier,
        Noise, Parameter, Ring, TableLength, Tables, Word,
    };
    match error {
        Ring(error) => of_ring(error).of_operands(),
        Bytes(error) => of_bytes(error),
        Insecure { .. } => Fault::Security,
        Noise { .. } => Fault::Noise,
        KeyMismatch(_) => Fault::KeyMismatch,
        Blocks { .. }
        | Carry { .. }
        | Fingerprint { .. }
        | Encoding { .. }
        | Message { .. }
        | Multiplier { .. }
        | Parameter { .. }
        | TableLength { .. }
        | Tables { .. }
        | Word { .. } => Fault::Usage,
        _ => Fault::Internal,
    }
}

fn of_rlwe(error: &rlwe::Error) -> Fault {
    use rlwe::Error::{
        Bytes, Components, DigitBits, DigitLimbs, Index, Insecure, InsecureSparse, KeyLevel,
        KeyMismatch, LevelMismatch, LevelTooLow, LweDimension, MissingGaloisKey, Ring,
    };
    match error {
        Ring(error) => of_ring(error),
        Insecure { .. } | InsecureSparse { .. } => Fault::Security,
        MissingGaloisKey { .. } => Fault::Key,
        KeyMismatch(_) => Fault::KeyMismatch,
        DigitBits { .. }
        | DigitLimbs { .. }
        | LevelTooLow { .. }
        | LevelMismatch { .. }
        | Components { .. }
        | KeyLevel { .. }
        | LweDimension { .. }
        | Index { .. } => Fault::File,
        Bytes(error) => of_bytes(error),
        _ => Fault::Internal,
    }
}

fn of_ring(error: &ring::Error) -> Fault {
    use ring::Error::{
        Decomposition, Degree, Elements, EmptyBasis, NotNttFriendly, RepeatedModulus, Residue,
        TooFewPrimes, TransformLength, Words,
    };
    match error {
        Decomposition { .. }
        | Degree { .. }
        | Elements { .. }
        | EmptyBasis
        | NotNttFriendly { .. }
        | RepeatedModulus { .. }
        | TooFewPrimes { .. }
        | TransformLength { .. }
        | Residue { .. }
        | Words { .. } => Fault::File,
        _ => Fault::Internal,
    }
}

fn of_bytes(error: &rlwe::bytes::BytesError) -> Fault {
    use rlwe::bytes::BytesError::{
        Checksum, Fingerprint, Kind, Length, Magic, Trailing, Truncated, Value, Version,
    };
    match error {
        Magic
        | Kind { .. }
        | Version { .. }
        | Length { .. }
        | Checksum
        | Truncated { .. }
        | Trailing { .. }
        | Value { .. } => Fault::File,
        Fingerprint { .. } => Fault::Mismatch,
        _ => Fault::Internal,
    }
}
