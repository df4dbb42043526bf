//! The builder of traces.

use super::context::Context;
use super::ir::{
    Body, Constant, ConstantId, Instruction, ModulusId, Op, SubId, Trace, Type, ValueId,
};
use super::steps::Step;
use super::verify::{MAIN, check_place, check_sub_name};
use crate::error::Result;
use crate::location::Part;
use crate::reading::Checked;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

/// Writes a trace: its moduli, constants and sub-traces, each stored once, and the [main
/// body](TraceBuilder::main).
///
/// ```
/// use palladion_trace::{TraceBuilder, Type};
///
/// // The square of a polynomial, by a sub-trace.
/// let mut builder = TraceBuilder::new(16, &[97, 193])?;
/// let mut main = builder.main();
/// let whole = Type::coeff(0..2);
/// let square = main.sub_trace("square", std::slice::from_ref(&whole), |body| {
///     let x = body.ntt(0);
///     let square = body.mul(x, x);
///     vec![body.intt(square)]
/// });
/// let x = main.load("x", whole);
/// let y = main.call(square, &[x])[0];
/// main.store("y", y);
/// let trace = builder.finish()?;
/// assert_eq!(trace.subs[0].instructions.len(), 3);
/// # Ok::<(), palladion_trace::Error>(())
/// ```
pub struct TraceBuilder {
    shared: Shared,
    main: Open,
}

/// Writes a body, operation by operation, and infers the types of its values.
///
/// The parameters of a sub-trace are the values `0, 1, ..`. A wrong operation is a mistake of the
/// lowering rule that writes it. Therefore methods named after operations panic, with the wrong
/// value and the allowed ones. [`Builder::push`] returns an error instead.
pub struct Builder<'a> {
    pub(super) shared: &'a mut Shared,
    pub(super) open: &'a mut Open,
}

/// The state that the bodies of a trace share: ring and moduli, constants, sub-traces, steps.
pub(super) struct Shared {
    context: Context,
    constants: Vec<Constant>,
    /// Constants by their hash.
    places: HashMap<u64, Vec<ConstantId>>,
    hasher: RandomState,
    subs: Vec<Body>,
    /// Sub-traces by name. `None` while a sub-trace is being written.
    names: HashMap<String, Option<SubId>>,
    /// Names of parts of the main body.
    pub(super) steps: Vec<Step>,
}

/// A body that is being written.
pub(super) struct Open {
    pub(super) body: Body,
    values: Vec<Type>,
}

impl TraceBuilder {
    /// Starts an empty trace.
    ///
    /// # Errors
    /// [`Error::Trace`](crate::Error::Trace) for a ring degree or a modulus that [`Trace::verify`]
    /// refuses.
    pub fn new(n: usize, moduli: &[u64]) -> Result<Self> {
        let context = Context::new(n).and_then(|mut context| {
            moduli.iter().try_for_each(|&q| context.add_modulus(q))?;
            Ok(context)
        });
        let context = context.map_err(|problem| problem.at(None, Part::Ring))?;
        let shared = Shared {
            context,
            constants: Vec::new(),
            places: HashMap::new(),
            hasher: RandomState::new(),
            subs: Vec::new(),
            names: HashMap::new(),
            steps: Vec::new(),
        };
        let main = Open::new(MAIN, &[]);
        Ok(Self { shared, main })
    }

    /// Returns the index of a modulus in the table. A new modulus is appended.
    ///
    /// # Errors
    /// [`Error::Trace`](crate::Error::Trace) for a modulus that [`Trace::verify`] refuses.
    pub fn modulus(&mut self, q: u64) -> Result<ModulusId> {
        let context = &mut self.shared.context;
        if let Some(id) = context.moduli().iter().position(|&known| known == q) {
            return Ok(id);
        }
        let added = context.add_modulus(q);
        added.map_err(|problem| problem.at(None, Part::Ring))?;
        Ok(context.moduli().len() - 1)
    }

    /// Returns the index of `2^bits` in the table. A new power is appended. Odd moduli cannot be
    /// added after it.
    ///
    /// # Errors
    /// [`Error::Trace`](crate::Error::Trace) for a power that [`Trace::verify`] refuses.
    pub fn power(&mut self, bits: u32) -> Result<ModulusId> {
        let context = &mut self.shared.context;
        let known = context.powers().iter().position(|&known| known == bits);
        let place = match known {
            Some(place) => place,
            None => {
                let added = context.add_power(bits);
                added.map_err(|problem| problem.at(None, Part::Ring))?;
                context.powers().len() - 1
            }
        };
        Ok(context.moduli().len() + place)
    }

    /// The main body, for adding operations.
    pub fn main(&mut self) -> Builder<'_> {
        Builder {
            shared: &mut self.shared,
            open: &mut self.main,
        }
    }

    /// Returns the trace.
    ///
    /// # Errors
    /// The errors of [`Trace::verify`] that depend on several operations: names that are stored
    /// twice, or loaded and stored.
    pub fn finish(mut self) -> Result<Trace> {
        let length = self.main.body.instructions.len();
        self.shared.steps.retain(|step| step.first < length);
        let trace = Trace {
            n: self.shared.context.n(),
            moduli: self.shared.context.moduli().to_vec(),
            powers: self.shared.context.powers().to_vec(),
            constants: self.shared.constants,
            subs: self.shared.subs,
            main: self.main.body,
            steps: self.shared.steps,
        };
        trace.verify()?;
        Ok(trace)
    }
}

impl Open {
    fn new(name: &str, parameters: &[Type]) -> Self {
        let body = Body {
            name: name.into(),
            parameters: parameters.to_vec(),
            ..Body::default()
        };
        let values = parameters.to_vec();
        Self { body, values }
    }
}

impl Builder<'_> {
    /// Ring degree `N`.
    pub fn n(&self) -> usize {
        self.shared.context.n()
    }

    /// The odd moduli of the table.
    pub fn moduli(&self) -> &[u64] {
        self.shared.context.moduli()
    }

    /// Type of a value of this body.
    ///
    /// # Panics
    /// If there is no such value.
    #[track_caller]
    pub fn ty(&self, value: ValueId) -> &Type {
        &self.open.values[value]
    }

    /// Types of all values that this body has so far, by index.
    pub fn values(&self) -> &[Type] {
        &self.open.values
    }

    /// Returns the index of a constant. Equal constants are stored once.
    ///
    /// # Panics
    /// For a constant that [`Trace::verify`] refuses.
    #[track_caller]
    pub fn define(&mut self, constant: Constant) -> ConstantId {
        let Shared {
            context,
            constants,
            places,
            hasher,
            ..
        } = &mut *self.shared;
        let place = places.entry(hasher.hash_one(&constant)).or_default();
        if let Some(&id) = place.iter().find(|&&id| constants[id] == constant) {
            return id;
        }
        let id = constants.len();
        if let Err(problem) = context.add_constant(&constant) {
            panic!("{}", problem.at(None, Part::Constant(id)));
        }
        place.push(id);
        constants.push(constant);
        id
    }

    /// Returns the index of the sub-trace with a name. If there is none yet, `work` writes it: it
    /// gets a body with values for the parameters, and returns the results. It may make sub-traces
    /// of its own.
    ///
    /// # Panics
    /// If the name is not valid, if the sub-trace with that name has other parameters, or if `work`
    /// asks for itself.
    #[track_caller]
    pub fn sub_trace(
        &mut self,
        name: &str,
        parameters: &[Type],
        work: impl FnOnce(&mut Builder) -> Vec<ValueId>,
    ) -> SubId {
        if let Some(&known) = self.shared.names.get(name) {
            let id = known.unwrap_or_else(|| panic!("sub-trace {name} needs itself"));
            let own = &self.shared.subs[id].parameters;
            assert_eq!(own, parameters, "parameters of sub-trace {name}");
            return id;
        }
        if let Err(problem) = self.check_signature(name, parameters) {
            panic!("{}", problem.at(None, Part::Body { name: name.into() }));
        }
        self.shared.names.insert(name.into(), None);
        let mut open = Open::new(name, parameters);
        let results = work(&mut Builder {
            shared: self.shared,
            open: &mut open,
        });
        let type_of = |&value: &ValueId| match open.values.get(value) {
            Some(ty) => ty.clone(),
            None => panic!("sub-trace {name} gives %{value}, which it has not made"),
        };
        let types = results.iter().map(type_of).collect();
        open.body.results = results;
        let id = self.shared.subs.len();
        self.shared.context.add_sub(&open.body, types);
        self.shared.subs.push(open.body);
        self.shared.names.insert(name.into(), Some(id));
        id
    }

    fn check_signature(&self, name: &str, parameters: &[Type]) -> Checked<()> {
        check_sub_name(name)?;
        let context = &self.shared.context;
        parameters.iter().try_for_each(|ty| context.ty(ty))
    }

    /// Appends an operation. Returns the indices of its results.
    ///
    /// # Errors
    /// [`Error::Trace`](crate::Error::Trace) with the wrong value and the values that the operation
    /// allows.
    pub fn push(&mut self, op: Op) -> Result<Range<ValueId>> {
        let Open { body, values } = &mut *self.open;
        let found = check_place(body.name == MAIN, &op)
            .and_then(|()| self.shared.context.infer(values, &op));
        let types = found.map_err(|problem| {
            let part = Part::Instruction {
                body: body.name.clone(),
                index: body.instructions.len(),
                op: op.name(),
            };
            problem.at(None, part)
        })?;
        let first = values.len();
        values.extend_from_slice(&types);
        body.instructions.push(Instruction { op, types });
        Ok(first..values.len())
    }

    /// As [`Builder::push`], for operations of lowering rules, which must be correct.
    ///
    /// # Panics
    /// With the error of [`Builder::push`].
    #[track_caller]
    pub(super) fn must(&mut self, op: Op) -> Range<ValueId> {
        match self.push(op) {
            Ok(results) => results,
            Err(error) => panic!("{error}"),
        }
    }
}
