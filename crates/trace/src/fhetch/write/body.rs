//! The writer of a body's statements.

use super::names::Names;
use super::operation::coefficients;
use super::plan::{Written, written};
use crate::error::Result;
use crate::fhetch::FILE_END;
use crate::ir::{Body, ModulusId, Op, Trace, Type, ValueId};
use crate::limbs::Limbs;
use crate::location::Part;
use crate::reading::Checked;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

/// Index of a variable: `v0, v1, ..`.
pub(super) type Variable = usize;

/// Limbs in the evaluation domain. Each is a limb of a variable.
pub(super) type Limbwise = BTreeMap<ModulusId, Variable>;

/// Place of a value of the trace in the text.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// In the evaluation domain: limbs of variables.
    Eval(Limbwise),
    /// Coefficients: a vector for each limb, by its name.
    Coeff(BTreeMap<ModulusId, String>),
}

pub(super) struct BodyWriter<'a, 'n> {
    pub(super) trace: &'a Trace,
    body: &'a Body,
    pub(super) names: &'n mut Names<'a>,
    text: String,
    /// Index of the next variable.
    next: Variable,
    places: Vec<Option<Place>>,
    /// Variables by their limbs.
    variables: HashMap<Limbwise, Variable>,
}

impl<'a, 'n> BodyWriter<'a, 'n> {
    pub(super) fn new(trace: &'a Trace, body: &'a Body, names: &'n mut Names<'a>) -> Self {
        Self {
            trace,
            body,
            names,
            text: String::new(),
            next: 0,
            places: Vec::new(),
            variables: HashMap::new(),
        }
    }

    /// Writes the statements.
    pub(super) fn write(mut self) -> Result<String> {
        for ty in &self.body.parameters {
            let variable = self.variable();
            let place = self.limbs_of(variable, &ty.limbs);
            self.places.push(Some(place));
        }
        let body = self.body;
        let instructions = body.instructions.iter().zip(written(self.trace, body));
        for (index, (instruction, written)) in instructions.enumerate() {
            let made = self.instruction(&instruction.op, &written, &instruction.types);
            let made = made.map_err(|problem| {
                let part = Part::Instruction {
                    body: body.name.clone(),
                    index,
                    op: instruction.op.name(),
                };
                problem.at(None, part)
            })?;
            self.places.extend(made);
        }
        let results: Vec<String> = body
            .results
            .iter()
            .map(|&value| {
                let limbs = self.eval(value);
                self.whole(&limbs)
            })
            .collect();
        match &results[..] {
            [] => {}
            [one] => self.line(&format!("return {one};")),
            all => self.line(&format!("return [{}];", all.join(", "))),
        }
        Ok(self.text)
    }

    pub(super) fn line(&mut self, statement: &str) {
        let _ = writeln!(self.text, "    {statement}");
    }

    pub(super) fn variable(&mut self) -> Variable {
        self.next += 1;
        self.next - 1
    }

    pub(super) fn q(&self, limb: ModulusId) -> u64 {
        self.trace.moduli[limb]
    }

    /// Limbs of a variable.
    pub(super) fn limbs_of(&mut self, variable: Variable, limbs: &Limbs) -> Place {
        let limbs: Limbwise = limbs.iter().map(|limb| (limb, variable)).collect();
        self.variables.insert(limbs.clone(), variable);
        Place::Eval(limbs)
    }

    /// Writes a statement that sets a new variable.
    pub(super) fn define(&mut self, value: &str, limbs: &Limbs) -> Place {
        let variable = self.variable();
        self.line(&format!("var v{variable} = {value};"));
        self.limbs_of(variable, limbs)
    }

    /// Makes a new variable with these limbs, from vectors.
    pub(super) fn collect(&mut self, limbs: impl Iterator<Item = (ModulusId, String)>) -> Variable {
        let variable = self.variable();
        let mut rest = "empty_mrp()".to_owned();
        for (limb, vector) in limbs {
            let q = self.q(limb);
            self.line(&format!(
                "var v{variable} = set_mrp_limb({rest}, {q}, {vector});"
            ));
            rest = format!("v{variable}");
        }
        variable
    }

    pub(super) fn get(&self, limb: ModulusId, variable: Variable) -> String {
        format!("get_mrp_limb(v{variable}, {})", self.q(limb))
    }

    /// The variable that has exactly these limbs.
    fn whole(&mut self, limbs: &Limbwise) -> String {
        let variable = match self.variables.get(limbs) {
            Some(&variable) => variable,
            None => {
                let vectors = limbs.iter().map(|(&limb, &of)| (limb, self.get(limb, of)));
                let vectors: Vec<_> = vectors.collect();
                let variable = self.collect(vectors.into_iter());
                self.variables.insert(limbs.clone(), variable);
                variable
            }
        };
        format!("v{variable}")
    }

    /// The place of a value that was written before.
    pub(super) fn place(&self, value: ValueId) -> &Place {
        let place = self.places[value].as_ref();
        place.expect("what is needed is written")
    }

    pub(super) fn eval(&self, value: ValueId) -> Limbwise {
        match self.place(value) {
            Place::Eval(limbs) => limbs.clone(),
            Place::Coeff(_) => unreachable!("a verified trace has values where it needs them"),
        }
    }

    pub(super) fn vectors(&self, value: ValueId) -> BTreeMap<ModulusId, String> {
        match self.place(value) {
            Place::Coeff(vectors) => vectors.clone(),
            Place::Eval(_) => unreachable!("a verified trace has coefficients where it needs them"),
        }
    }

    pub(super) fn operand(&mut self, value: ValueId) -> String {
        let limbs = self.eval(value);
        self.whole(&limbs)
    }

    /// Writes an instruction. Returns the places of its results.
    fn instruction(
        &mut self,
        op: &Op,
        written: &Written,
        types: &[Type],
    ) -> Checked<Vec<Option<Place>>> {
        let place = match written {
            Written::Nothing => return Ok(vec![None; types.len()]),
            Written::Extend { value, from } => {
                let from = self.part(*value, from);
                self.extend(&from, &types[0].limbs)
            }
            Written::Rescale { value, of, by } => {
                let of = self.part(*value, of);
                let (of, by) = (self.whole(&of), self.names.base(by));
                self.define(&format!("Rescale({of}, {by})"), &types[0].limbs)
            }
            Written::Own => match op {
                Op::Store { value, name } => {
                    if let Place::Coeff(_) = self.place(*value) {
                        return Err(coefficients());
                    }
                    let value = self.operand(*value);
                    self.line(&format!("write_mrp_u32({value}, \"{name}{FILE_END}\");"));
                    return Ok(Vec::new());
                }
                Op::Call { sub, arguments } => return Ok(self.call(*sub, arguments, types)),
                op => self.own(op, &types[0])?,
            },
        };
        Ok(vec![Some(place)])
    }

    /// Some limbs of a value.
    pub(super) fn part(&self, value: ValueId, limbs: &Limbs) -> Limbwise {
        let mut part = self.eval(value);
        part.retain(|&limb, _| limbs.contains(limb));
        part
    }

    /// `BaseExtend`. The result also has the limbs from which it is extended.
    pub(super) fn extend(&mut self, from: &Limbwise, to: &Limbs) -> Place {
        let limbs = Limbs::new(from.keys().map(|&limb| limb..limb + 1));
        let mut origins: Vec<Variable> = from.values().copied().collect();
        origins.dedup();
        let of = match origins[..] {
            [one] => format!("v{one}"),
            _ => self.whole(from),
        };
        let (base, whole) = (self.names.base(&limbs), self.names.base(&limbs.union(to)));
        let variable = self.variable();
        self.line(&format!(
            "var v{variable} = BaseExtend({of}, {base}, {whole});"
        ));
        let new = to.iter().map(|limb| (limb, variable));
        let all: Limbwise = from
            .iter()
            .map(|(&limb, &of)| (limb, of))
            .chain(new)
            .collect();
        self.variables.insert(all, variable);
        Place::Eval(to.iter().map(|limb| (limb, variable)).collect())
    }

    fn call(&mut self, sub: usize, arguments: &[ValueId], types: &[Type]) -> Vec<Option<Place>> {
        if types.is_empty() {
            return Vec::new();
        }
        let arguments: Vec<String> = arguments.iter().map(|&value| self.operand(value)).collect();
        let call = format!("{}({})", self.names.functions[sub], arguments.join(", "));
        if let [ty] = types {
            return vec![Some(self.define(&call, &ty.limbs))];
        }
        let list = self.variable();
        self.line(&format!("var v{list} = {call};"));
        let items = types.iter().enumerate().map(|(index, ty)| {
            let item = format!("get(v{list}, {index})");
            Some(self.define(&item, &ty.limbs))
        });
        items.collect()
    }
}
