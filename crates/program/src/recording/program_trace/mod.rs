//! Exchange with Intel's program mapper: a program trace, the operations on ciphertexts as lines of
//! a table.
//!
//! *Concept.* A [`ProgramTrace`] has one line for each operation, with the registers that it writes
//! and reads. It says which work is done and on how many limbs. It does not define the resulting
//! words: that is left to the kernels to which the lines are mapped. `docs/exchange.md` has the
//! table of counterparts.
//!
//! *Invariant*: a program trace that [`ProgramTrace::parse`] returns is written as the text that it
//! was read from.

mod parse;
mod text;
mod write;

/// Operations on ciphertexts, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramTrace {
    /// The header line.
    pub header: Header,
    /// The operations.
    pub rows: Vec<Row>,
}

/// Names of columns. All variants are in use, for the same lines: lines have no `cipher_degree`,
/// even if the names say so.
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
    /// The operation.
    pub operation: Operation,
    /// Scheme of the ciphertexts.
    pub scheme: Scheme,
    /// Ring degree `N`.
    pub n: usize,
    /// Number of moduli of keys: the moduli of fresh ciphertexts and the special moduli.
    pub key_limbs: usize,
    /// The register that is written, then the registers that are read.
    pub registers: Vec<Register>,
    /// Numbers of the operation: first the Galois element of a rotation or the factor of `muli`,
    /// then the numbers of key switching.
    pub numbers: Vec<u64>,
}

/// A ciphertext or plaintext, or the first limbs of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Register {
    /// Name: ASCII letters, digits and `_`.
    pub name: String,
    /// Number of polynomials: ciphertext degree plus 1.
    pub parts: usize,
    /// Number of limbs of each polynomial.
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
