//! Exchange with Intel's program mapper: a program trace, the operations on ciphertexts as lines of a table.
//!
//! *Concept.* A [`ProgramTrace`] has one line for each operation, with the registers that it writes and reads. It says
//! which work is done on polynomials of how many limbs, not which words come out: those are for the kernels that the lines
//! are mapped to. `docs/exchange.md` has the table of what maps to what.
//!
//! *Invariant*: a program trace that [`ProgramTrace::parse`] returns is written as the text that it was read from.

mod parse;
mod text;
mod write;

/// Operations on ciphertexts, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramTrace {
    /// Its first line.
    pub header: Header,
    /// The operations.
    pub rows: Vec<Row>,
}

/// Names of columns. All of them are in use, for the same lines: these have no `cipher_degree`, whatever the names say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// `instruction,scheme,poly_modulus_degree,rns_terms,arg0,..`
    Plain,
    /// `instruction,scheme,poly_modulus_degree,rns_terms,cipher_degree,arg0,..`
    Degree,
    /// `instruction,scheme,poly_modulus_degree,keyrns_terms,arg0,..`
    KeyTerms,
    /// `scheme,poly_modulus_degree,rns_terms,cipher_degree,instruction,arg0,..`
    SchemeFirst,
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What is done.
    pub operation: Operation,
    /// To ciphertexts of which scheme.
    pub scheme: Scheme,
    /// Ring degree `N`.
    pub n: usize,
    /// Moduli of keys: those of fresh ciphertexts and the special ones.
    pub key_limbs: usize,
    /// The register that is written, those that are read, then numbers.
    pub registers: Vec<Register>,
    /// Numbers of the operation: first the Galois element of a rotation or the factor of `muli`, then those of
    /// key switching.
    pub numbers: Vec<u64>,
}

/// A ciphertext or plaintext, or the first limbs of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Register {
    /// Its name: ASCII letters, digits and `_`.
    pub name: String,
    /// Polynomials: ciphertext degree plus 1.
    pub parts: usize,
    /// Limbs of each polynomial.
    pub limbs: usize,
}

/// A scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// The message in the low bits.
    Bgv,
    /// Approximate numbers.
    Ckks,
    /// The message in the high bits.
    Bfv,
}

/// An operation of the program mapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Sum of ciphertexts.
    Add,
    /// Sum of a ciphertext and a plaintext.
    AddPlain,
    /// Difference of ciphertexts.
    Sub,
    /// Product of ciphertexts, not relinearised.
    Mul,
    /// Product of a ciphertext and a plaintext.
    MulPlain,
    /// Product of a ciphertext and a number.
    MulNumber,
    /// Product of a ciphertext with itself, not relinearised.
    Square,
    /// To the evaluation domain.
    Ntt,
    /// To coefficients.
    Intt,
    /// Relinearisation.
    Relinearize,
    /// Modulus switch by the last modulus.
    Switch,
    /// Rescaling by the last modulus.
    Rescale,
    /// Automorphism and key switch.
    Rotate,
}
