//! Objects of one of the schemes, where Python has one class for all.

use schemes::{bfv, bgv, ckks};

/// An object of CKKS, BFV or BGV.
#[derive(Clone)]
pub(crate) enum OneOf<A, B, C> {
    Ckks(A),
    Bfv(B),
    Bgv(C),
}

pub(crate) type Scheme = OneOf<ckks::Params, bfv::Params, bgv::Params>;

/// The value of `work`, whichever the scheme.
macro_rules! each {
    ($object:expr, $one:ident => $work:expr) => {
        match $object {
            OneOf::Ckks($one) => $work,
            OneOf::Bfv($one) => $work,
            OneOf::Bgv($one) => $work,
        }
    };
}

/// As `each`, for `work` that gives an object of the same scheme.
macro_rules! map {
    ($object:expr, $one:ident => $work:expr) => {
        match $object {
            OneOf::Ckks($one) => OneOf::Ckks($work),
            OneOf::Bfv($one) => OneOf::Bfv($work),
            OneOf::Bgv($one) => OneOf::Bgv($work),
        }
    };
}

pub(crate) use {each, map};
