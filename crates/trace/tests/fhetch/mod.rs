//! FHETCH programs: texts that are written are read back, and operations that the format lacks are
//! refused.

mod read;
mod refused;
mod subset;
mod written;
