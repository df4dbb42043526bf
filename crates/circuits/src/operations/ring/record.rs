//! The mode that writes operations on ciphertexts of a ring down.

use super::integers::integers;
use super::{BlockMatrix, RingOperations};
use crate::approximate::Diagonal;
use crate::error::Result;
use crate::operations::{RecordedCiphertext, Recorder};
use program::recording::{Ciphertext, Message, Op, Plain, Rgsw, Scalar, Secret};
use ring::{Basis, Eval, Poly};
use rlwe::Params;
use std::cell::Cell;
use trace::Constant;

/// The mode that writes operations down, as a [`Recording`](program::recording::Recording).
pub struct RecordRing<'r> {
    recorder: &'r Recorder,
    params: Params,
    /// The form in which the following values hold their messages.
    message: Cell<Message>,
}

impl<'r> RecordRing<'r> {
    /// Makes operations that are written to a recorder.
    pub fn new(recorder: &'r Recorder, params: &Params, message: Message) -> Self {
        Self {
            recorder,
            params: params.clone(),
            message: Cell::new(message),
        }
    }

    /// Sets the step to which the following operations belong, and how its values hold their
    /// messages.
    pub fn begin_step(&self, of: usize, message: Message) {
        self.recorder.begin_step(of);
        self.message.set(message);
    }

    /// An input ciphertext of the given name, at a level.
    pub fn given(&self, name: &str, level: usize) -> RecordedCiphertext {
        let name = name.to_owned();
        self.push(Op::Given { name }, (level, 2))
    }

    fn push(&self, op: Op, (level, components): (usize, usize)) -> RecordedCiphertext {
        let ty = Ciphertext {
            level,
            components,
            extended: false,
            message: self.message.get(),
        };
        self.recorder.push(op, ty)
    }

    /// Records an operation on one value that keeps its message.
    fn push_kept(&self, op: Op, a: &RecordedCiphertext, extended: bool) -> RecordedCiphertext {
        self.recorder.push(op, Ciphertext { extended, ..a.ty })
    }

    fn push_extended(&self, op: Op, level: usize) -> RecordedCiphertext {
        let ty = Ciphertext {
            level,
            components: 2,
            extended: true,
            message: self.message.get(),
        };
        self.recorder.push(op, ty)
    }

    /// Plaintexts whose sum is a polynomial or its negative.
    fn plains(&self, poly: &Poly<Eval>, of: (i64, u64)) -> Result<Vec<Plain>> {
        let parts = integers(poly, of)?.into_iter();
        let plain = |(constant, by)| Plain::Integers(self.recorder.constant(constant), by);
        Ok(parts.map(plain).collect())
    }

    /// A sum of products with plaintexts.
    fn products<'t>(
        &self,
        terms: impl Iterator<Item = (&'t RecordedCiphertext, Poly<Eval>)>,
    ) -> Result<Op> {
        let mut products = Vec::new();
        for (value, factor) in terms {
            let plains = self.plains(&factor, (1, 1))?.into_iter();
            products.extend(plains.map(|plain| (value.id, plain, 1)));
        }
        Ok(Op::MulPlain { terms: products })
    }

    fn term(
        &self,
        a: &mut RecordedCiphertext,
        (term, sign, over): (&Poly<Eval>, i64, u64),
    ) -> Result<()> {
        for plain in self.plains(term, (sign, over))? {
            let value = a.id;
            *a = self.push(Op::AddPlain { value, plain }, parts(a));
        }
        Ok(())
    }

    /// The terms of each row of a matrix whose entries are over `basis`.
    fn rows(
        &self,
        matrix: &BlockMatrix,
        basis: &Basis,
        values: &[&RecordedCiphertext],
    ) -> Result<Vec<Op>> {
        let row = |row: usize| {
            let columns = values.iter().enumerate();
            let entries: Vec<_> = columns
                .filter_map(|(column, &value)| Some((value, matrix.entry(basis, row, column)?)))
                .collect();
            if entries.is_empty() {
                // A row of zeros is recorded as a product with 0.
                return self.products(std::iter::once((values[0], Poly::zero(basis))));
            }
            self.products(entries.into_iter())
        };
        (0..matrix.rows()).map(row).collect()
    }
}

fn parts(a: &RecordedCiphertext) -> (usize, usize) {
    (a.ty.level, a.ty.components)
}

impl RingOperations for RecordRing<'_> {
    type Ciphertext = RecordedCiphertext;
    type Extended = RecordedCiphertext;
    type Decomposed = ();

    fn begin_scale(&self, scale: f64) {
        self.message.set(Message::Approximate { scale });
    }

    fn read(&self, a: &RecordedCiphertext) -> Option<RecordedCiphertext> {
        let (value, by) = (a.id, Scalar::ONE);
        let changes = a.ty.message != self.message.get();
        changes.then(|| self.push(Op::Scale { value, by }, parts(a)))
    }

    fn restate(&self, a: &mut RecordedCiphertext) {
        a.ty.message = self.message.get();
        self.recorder.restate(a);
    }

    fn restate_extended(&self, a: &mut RecordedCiphertext) {
        self.restate(a);
    }

    fn level(&self, a: &RecordedCiphertext) -> usize {
        a.ty.level
    }

    fn components(&self, a: &RecordedCiphertext) -> usize {
        a.ty.components
    }

    fn add_assign(&self, a: &mut RecordedCiphertext, b: &RecordedCiphertext) -> Result<()> {
        let (left, right) = (a.id, b.id);
        let components = a.ty.components.max(b.ty.components);
        *a = self.push(Op::Add { left, right }, (a.ty.level, components));
        Ok(())
    }

    fn sub_assign(&self, a: &mut RecordedCiphertext, b: &RecordedCiphertext) -> Result<()> {
        let (left, right) = (a.id, b.id);
        let components = a.ty.components.max(b.ty.components);
        *a = self.push(Op::Sub { left, right }, (a.ty.level, components));
        Ok(())
    }

    fn add_scaled(
        &self,
        a: &mut RecordedCiphertext,
        b: &RecordedCiphertext,
        c: Scalar,
    ) -> Result<()> {
        let mut b = self.drop_to(*b, a.ty.level)?;
        self.scale_assign(&mut b, c);
        self.add_assign(a, &b)
    }

    fn scale_assign(&self, a: &mut RecordedCiphertext, by: Scalar) {
        let value = a.id;
        *a = self.push(Op::Scale { value, by }, parts(a));
    }

    fn add_term(&self, a: &mut RecordedCiphertext, term: &Poly<Eval>, over: u64) -> Result<()> {
        self.term(a, (term, 1, over))
    }

    fn sub_term(&self, a: &mut RecordedCiphertext, term: &Poly<Eval>, over: u64) -> Result<()> {
        self.term(a, (term, -1, over))
    }

    fn add_integer(&self, a: &mut RecordedCiphertext, c: Scalar) {
        let one = self.recorder.constant(Constant::Sparse(vec![(0, 1)]));
        let (value, plain) = (a.id, Plain::Integers(one, c));
        *a = self.push(Op::AddPlain { value, plain }, parts(a));
    }

    fn switch_secret(&self, a: &RecordedCiphertext, to: Secret) -> Result<RecordedCiphertext> {
        let value = a.id;
        Ok(self.push(Op::SwitchSecret { value, to }, parts(a)))
    }

    fn external_product(&self, a: &RecordedCiphertext, by: &Rgsw) -> Result<RecordedCiphertext> {
        let (value, by) = (a.id, by.clone());
        Ok(self.push_kept(Op::ExternalProduct { value, by }, a, false))
    }

    fn raise(&self, a: &RecordedCiphertext, level: usize) -> Result<RecordedCiphertext> {
        let op = Op::Raise { value: a.id };
        Ok(self.push(op, (level, a.ty.components)))
    }

    fn tensor_sum(
        &self,
        left: &[&RecordedCiphertext],
        right: &[&RecordedCiphertext],
        _: Option<u64>,
    ) -> Result<RecordedCiphertext> {
        let terms = left.iter().zip(right).map(|(a, b)| [a.id, b.id]);
        let terms = terms.collect();
        Ok(self.push(Op::Tensor { terms }, (left[0].ty.level, 3)))
    }

    fn relinearize(
        &self,
        product: &RecordedCiphertext,
        dropped: usize,
    ) -> Result<RecordedCiphertext> {
        let op = Op::Relinearize { value: product.id };
        Ok(self.push(op, (product.ty.level - dropped, 2)))
    }

    fn mul_plain_sum(
        &self,
        values: &[&RecordedCiphertext],
        factors: &[&Poly<Eval>],
    ) -> Result<RecordedCiphertext> {
        let terms = values.iter().zip(factors);
        let op = self.products(terms.map(|(&value, &factor)| (value, factor.clone())))?;
        Ok(self.push(op, (values[0].ty.level, 2)))
    }

    fn combine(
        &self,
        matrix: &BlockMatrix,
        values: &[&RecordedCiphertext],
    ) -> Result<Vec<RecordedCiphertext>> {
        let level = values[0].ty.level;
        let rows = self.rows(matrix, self.params.basis(level), values)?;
        Ok(rows
            .into_iter()
            .map(|op| self.push(op, (level, 2)))
            .collect())
    }

    fn switch_to(&self, a: RecordedCiphertext, level: usize) -> Result<RecordedCiphertext> {
        if level == a.ty.level {
            return Ok(a);
        }
        let op = Op::Switch { value: a.id };
        Ok(self.push(op, (level, a.ty.components)))
    }

    fn drop_to(&self, a: RecordedCiphertext, level: usize) -> Result<RecordedCiphertext> {
        if level == a.ty.level {
            return Ok(a);
        }
        let op = Op::Drop { value: a.id };
        let message = match a.ty.message {
            Message::Modulo { .. } => self.message.get(),
            scale @ Message::Approximate { .. } => scale,
        };
        let ty = Ciphertext {
            level,
            message,
            ..a.ty
        };
        Ok(self.recorder.push(op, ty))
    }

    fn decompose(&self, _: &RecordedCiphertext) -> Result<()> {
        Ok(())
    }

    fn automorphism(&self, a: &RecordedCiphertext, element: usize) -> Result<RecordedCiphertext> {
        if element == 1 {
            return Ok(*a);
        }
        let value = a.id;
        Ok(self.push_kept(Op::Automorphism { value, element }, a, false))
    }

    fn automorphism_hoisted(
        &self,
        a: &RecordedCiphertext,
        (): &(),
        element: usize,
    ) -> Result<RecordedCiphertext> {
        self.automorphism(a, element)
    }

    fn automorphism_extended(
        &self,
        a: &RecordedCiphertext,
        (): &(),
        element: usize,
    ) -> Result<RecordedCiphertext> {
        if element == 1 {
            return self.extend(a);
        }
        let value = a.id;
        Ok(self.push_kept(Op::Automorphism { value, element }, a, true))
    }

    fn extend(&self, a: &RecordedCiphertext) -> Result<RecordedCiphertext> {
        Ok(self.push_kept(Op::Extend { value: a.id }, a, true))
    }

    fn turn(&self, a: RecordedCiphertext, element: usize) -> Result<RecordedCiphertext> {
        if element == 1 {
            return Ok(a);
        }
        self.automorphism_extended(&a, &(), element)
    }

    fn dot(
        &self,
        terms: &[&RecordedCiphertext],
        factors: &[&Diagonal],
    ) -> Result<RecordedCiphertext> {
        let level = terms[0].ty.level;
        let basis = self.params.extended(level);
        let terms = terms.iter().zip(factors);
        let op = self.products(terms.map(|(&value, factor)| (value, factor.to_poly(&basis))))?;
        Ok(self.push_extended(op, level))
    }

    fn combine_extended(
        &self,
        matrix: &BlockMatrix,
        values: &[&RecordedCiphertext],
    ) -> Result<Vec<RecordedCiphertext>> {
        let level = values[0].ty.level;
        let rows = self.rows(matrix, &self.params.extended(level), values)?;
        let rows = rows.into_iter();
        Ok(rows.map(|op| self.push_extended(op, level)).collect())
    }

    fn add_extended(&self, a: &mut RecordedCiphertext, b: &RecordedCiphertext) -> Result<()> {
        let (left, right) = (a.id, b.id);
        *a = self.push_extended(Op::Add { left, right }, a.ty.level);
        Ok(())
    }

    fn scale_extended(&self, a: &mut RecordedCiphertext, by: Scalar) {
        let value = a.id;
        *a = self.push_extended(Op::Scale { value, by }, a.ty.level);
    }

    fn divide(&self, a: RecordedCiphertext, dropped: usize) -> Result<RecordedCiphertext> {
        let op = Op::Switch { value: a.id };
        Ok(self.push(op, (a.ty.level - dropped, 2)))
    }
}
