//! The operations of a recording: names, operands and texts, all from one table.

use super::ir::{Plain, Rgsw, Scalar, Secret, ValueId};
use super::kinds::{
    Factor, MaskTerms, PackingKeyNumber, PlainTerms, Plaintext, RgswName, SecretName, Tensors,
};
use std::fmt::{Display, Formatter, Result};
use trace::ConstantId;
use trace::language::{
    ConstantNumber, Language, Name, Named, Number, Numbers, ReadLanguage, Value, Values,
};

trace::operations! {
    /// An operation on ciphertexts. Statements on components hold modulo the moduli of the result's
    /// level. Samples of a packing are no operands.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub enum Op: names, parser;

    {
        /// A fresh ciphertext of the client's query.
        Input = "input" {
            /// Index of the ciphertext.
            index: usize as Number("the number of the input"),
        },
        /// An input ciphertext of two components, given by its name.
        Given = "given" {
            /// Its name.
            name: String as Name("the name"),
        },
        /// A ciphertext of a packing key: the LWE secret in the slots, rotated.
        PackingKey = "packing_key" {
            /// Number of values of the layout for which it is.
            values: usize |
            /// Index of the ciphertext in the key.
            index: usize as PackingKeyNumber,
        },
        /// A plaintext as a ciphertext that hides nothing.
        Trivial = "trivial" {
            /// The plaintext.
            plain: Plain as Plaintext,
        },
        /// `t sum_k left_k (x) right_k`. In approximate arithmetic there is no factor `t`.
        Tensor = "tensor" {
            /// Left and right factors.
            terms: Vec<[ValueId; 2]> as Tensors,
        },
        /// `t sum_j (sum_i m_ji low_i) (x) middle_j`, with `m_ji = list[first + j I + i] rows[j]
        /// columns[i] mod t`, where `I` is the number of columns. The list counts as 0 beyond its
        /// end.
        Combine = "combine" {
            /// The values that are combined.
            low: Vec<ValueId> as Values,
            /// The values by which the combinations are multiplied.
            "by" middle: Vec<ValueId> as Values,
            /// A [list](trace::Constant::List).
            "list" list: ConstantId as ConstantNumber,
            /// Index in the list where the matrix begins.
            first: usize as Named("first"),
            /// A factor for each middle value.
            "rows" rows: Vec<u64> as Numbers("the factor of a row"),
            /// A factor for each low value.
            "columns" columns: Vec<u64> as Numbers("the factor of a column"),
        },
        /// Relinearises a product to two components by a key switch. Divides it by the last moduli
        /// of its level, down to the level of the result.
        Relinearize = "relinearize" {
            /// The product.
            value: ValueId as Value,
        },
        /// `sum_k p_k values_k`. A plaintext modulo `t` is multiplied by its unit and centred.
        MulPlain = "mul_plain" {
            /// Terms: the value, the plaintext and its unit.
            terms: Vec<(ValueId, Plain, u64)> as PlainTerms,
        },
        /// `sum_k A_k secret_k`: one giant step of a packing. `A_k` is the plaintext of masks whose
        /// slot `s` belongs to the value `(s - giant baby_steps) mod values` and to entry `k + s`
        /// of the secret, both within the slot's row.
        MulMasks = "mul_masks" {
            /// The secret rotated by `0, 1, ..`.
            secret: Vec<ValueId> |
            /// The unit by which each plaintext is multiplied.
            units: Vec<u64> as MaskTerms,
            /// The packing.
            "of" packing: usize as Named("packing"),
            /// Index of the giant step.
            giant: usize as Named("giant"),
        },
        /// Adds the bodies of a packing's samples.
        AddBodies = "add_bodies" {
            /// The value to which they are added.
            value: ValueId as Value,
            /// The packing.
            "of" packing: usize as Named("packing"),
        },
        /// `left + right`.
        Add = "add" {
            /// A value.
            left: ValueId as Value,
            /// Another value of the same type.
            right: ValueId as Value,
        },
        /// `left - right`.
        Sub = "sub" {
            /// A value.
            left: ValueId as Value,
            /// Another value of the same type.
            right: ValueId as Value,
        },
        /// Adds a plaintext to the first component. Modulo `t`, the term is what its message and
        /// factor require. Of integers, the term is the integers themselves.
        AddPlain = "add_plain" {
            /// The value to which it is added.
            value: ValueId as Value,
            /// The plaintext.
            plain: Plain as Plaintext,
        },
        /// Multiplies by a number. A product by 1 costs nothing: it is the same value, with its
        /// message read at another scale.
        Scale = "scale" {
            /// The value that is multiplied.
            value: ValueId as Value,
            /// The number.
            "by" by: Scalar as Factor,
        },
        /// Multiplies by the special moduli and extends the result to them.
        Extend = "extend" {
            /// The value that is extended.
            value: ValueId as Value,
        },
        /// `X -> X^element`, under the same secret. The result may be extended even if the value is
        /// not. If the value is extended, the result is too.
        Automorphism = "automorphism" {
            /// The value that is mapped.
            value: ValueId as Value,
            /// The Galois element.
            element: usize as Named("by"),
        },
        /// The same message under another secret, by a key switch.
        SwitchSecret = "switch_secret" {
            /// The value that is switched.
            value: ValueId as Value,
            /// The secret.
            "to" to: Secret as SecretName,
        },
        /// Multiplies by the message of an RGSW ciphertext, by the digits of both components. The
        /// result holds the product with the factor or scale of the value.
        ExternalProduct = "external_product" {
            /// The value that is multiplied.
            value: ValueId as Value,
            /// The RGSW ciphertext.
            "with" by: Rgsw as RgswName,
        },
        /// Raises the modulus: the centred components, modulo the moduli of the higher level of the
        /// result.
        Raise = "raise" {
            /// The value that is raised.
            value: ValueId as Value,
        },
        /// Modulus switch: divides by the special moduli, if the value is extended, and by the last
        /// moduli, down to the level of the result.
        Switch = "switch" {
            /// The value that is switched.
            value: ValueId as Value,
        },
        /// Level drop: leaves out the last moduli.
        Drop = "drop" {
            /// The value that is dropped.
            value: ValueId as Value,
        },
        /// Dimension switch at level 0, with rounding to `t`.
        ToSamples = "to_samples" {
            /// The value that is switched.
            value: ValueId as Value,
        },
        /// A result: a ciphertext for the client, or a ciphertext or samples from which another run
        /// goes on.
        Output = "output" {
            /// Name of the result. Results have different names.
            name: String as Name("the name"),
            /// The result.
            value: ValueId as Value,
        },
    }
}

impl Language for Op {
    type Writing<'a> = ();
}

impl ReadLanguage for Op {
    type Reading<'a> = ();
}

impl Display for Op {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.write(f, ())
    }
}
