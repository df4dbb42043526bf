//! The macro that makes a language of a table.

/// Makes a language of a table of its operations.
///
/// ```text
/// operations! {
///     /// Docs and attributes of the enum.
///     pub enum Op: names, parser, builder(Builder);
///
///     /// Docs of a method with a value for each operation.
///     pub fn passes(&self, read: u64) -> Passes;
///
///     {
///         /// Docs of the operation.
///         Scale = "scale" fn scale {
///             /// Docs of the operand.
///             value: ValueId as Value,
///             /// Docs of the operand.
///             "by" factors: Vec<u64> as Numbers("a factor"),
///         } => Passes::scalings(read),
///     }
/// }
/// ```
///
/// A row has the variant, the name in the text, and the operands in the order of the text, in
/// braces with docs or in parentheses for a tuple variant. An operand has its type and, after `as`,
/// its [kind](crate::language::Operand): an expression. A literal before an operand is a word of
/// the text. Two operands with one text are joined by `|`, and have a kind of
/// [two](crate::language::OperandPair). An expression in brackets after the name is the name where
/// an operand decides it. An expression after `=>` is the value of the method above the rows: it
/// may use operands, by reference, and the method's arguments.
///
/// The enum must implement [`Language`](crate::language::Language). Every language has the enum,
/// `name`, `operands`, `for_each_operand`, `for_each_operand_mut` and `write`, the text of an
/// operation. Parts that are listed after the name of the enum:
///
/// - `names`: `NAMES`, and `kind`, the index of an operation's name.
/// - `parser`: `read`, for a language that implements
///   [`ReadLanguage`](crate::language::ReadLanguage). It needs `names`.
/// - `builder(Builder)`: for each row with `fn method` a method of `Builder`, which appends the
///   operation with its method `one`. Operands are [arguments](crate::language::Argument).
#[macro_export]
macro_rules! operations {
    // The enum. All other parts get rows of one form, whether operands have names or not.
    (
        $(#[$meta:meta])*
        $vis:vis enum $Op:ident $(: $($part:ident $(($of:ident))?),+)?;
        $( $(#[$own_meta:meta])* $own_vis:vis fn $own:ident(&self $(, $argument:ident: $argument_ty:ty)*) -> $own_ty:ty; )?
        {
            $(
                $(#[$variant_meta:meta])*
                $Variant:ident = $name:literal $([$own_name:expr])? $(fn $method:ident)?
                $( ( $( $($tuple_word:literal)? $tuple_field:ident: $tuple_ty:ty as $tuple_kind:expr ),+ $(,)? ) )?
                $( {
                    $(
                        $(#[$field_meta:meta])*
                        $($word:literal)?
                        $field:ident: $ty:ty
                        $(| $(#[$second_meta:meta])* $second:ident: $second_ty:ty)?
                        as $kind:expr
                    ),+ $(,)?
                } )?
                $(=> $own_value:expr)?
            ),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        $vis enum $Op {
            $(
                $(#[$variant_meta])*
                $Variant
                $( ( $($tuple_ty),+ ) )?
                $( {
                    $(
                        $(#[$field_meta])*
                        $field: $ty,
                        $( $(#[$second_meta])* $second: $second_ty, )?
                    )+
                } )?,
            )+
        }

        $crate::operations! {
            @parts [$vis] $Op
            [
                basis
                $( value [ $(#[$own_meta])* $own_vis $own [$($argument: $argument_ty),*] $own_ty ] )?
                $( $($part $([$of])?)+ )?
            ]
            {
                $(
                    $Variant $name [$($own_name)?] [$($method)?] [$($own_value)?]
                    [ $( ( $($tuple_field),+ ) )? $( { $($field $(, $second)?),+ } )? ]
                    {
                        $( $( [$($tuple_word)?] [$tuple_field: $tuple_ty] [$tuple_kind] )+ )?
                        $( $( [$($word)?] [$field: $ty $(, $second: $second_ty)?] [$kind] )+ )?
                    }
                )+
            }
        }
    };

    (@parts $vis:tt $Op:ident [$($part:ident $([$($of:tt)*])?)+] $rows:tt) => {
        $( $crate::operations! { @$part [$($($of)*)?] $vis $Op $rows } )+
    };

    (@basis [] [$vis:vis] $Op:ident {
        $(
            $Variant:ident $name:literal [$($own_name:expr)?] $method:tt $own_value:tt [$($operands:tt)*]
            { $( [$($word:literal)?] [$($field:ident: $ty:ty),+] [$kind:expr] )* }
        )+
    }) => {
        impl $Op {
            /// Name of the operation, as in the text form.
            #[allow(unused_variables, reason = "few names depend on an operand")]
            $vis fn name(&self) -> &'static str {
                match self {
                    $( Self::$Variant $($operands)* => $crate::operation_part!(name $name $($own_name)?), )+
                }
            }

            /// Calls `visit` with every value that the operation reads, in order. A value that is
            /// used twice is visited twice.
            #[allow(unused_variables, reason = "some operands name no values")]
            #[inline]
            $vis fn for_each_operand(&self, mut visit: impl FnMut(usize)) {
                match self {
                    $(
                        Self::$Variant $($operands)* => {
                            $( $crate::operation_part!(visit visit [$kind] $($field: $ty),+); )*
                        }
                    )+
                }
            }

            /// As [`Self::for_each_operand`], for values that become others.
            #[allow(dead_code, unused_variables, reason = "not every language changes values")]
            pub(crate) fn for_each_operand_mut(&mut self, mut visit: impl FnMut(&mut usize)) {
                match self {
                    $(
                        Self::$Variant $($operands)* => {
                            $( $crate::operation_part!(visit_mut visit [$kind] $($field: $ty),+); )*
                        }
                    )+
                }
            }

            /// Values that the operation reads, in order. A value that is used twice occurs twice.
            $vis fn operands(&self) -> Vec<usize> {
                let mut operands = Vec::new();
                self.for_each_operand(|value| operands.push(value));
                operands
            }

            /// Writes the operation as in the text form.
            #[allow(unused_variables, reason = "some operands are not written")]
            pub(crate) fn write(
                &self,
                f: &mut ::std::fmt::Formatter<'_>,
                context: <Self as $crate::language::Language>::Writing<'_>,
            ) -> ::std::fmt::Result {
                f.write_str(self.name())?;
                match self {
                    $(
                        Self::$Variant $($operands)* => {
                            $(
                                $( f.write_str(concat!(" ", $word))?; )?
                                $crate::operation_part!(write f context [$kind] $($field: $ty),+);
                            )*
                        }
                    )+
                }
                Ok(())
            }
        }
    };

    (@names [] [$vis:vis] $Op:ident { $( $Variant:ident $name:literal $own_name:tt $method:tt $own_value:tt $operands:tt $kinds:tt )+ }) => {
        impl $Op {
            #[doc = concat!("Names of all operations, in the order of [`", stringify!($Op), "`].")]
            $vis const NAMES: [&'static str; [$($name),+].len()] = [$($name),+];

            #[doc = concat!("Index of the operation's name in [`", stringify!($Op), "::NAMES`].")]
            $vis fn kind(&self) -> usize {
                enum Kind { $($Variant),+ }
                match self {
                    $( Self::$Variant { .. } => Kind::$Variant as usize, )+
                }
            }
        }
    };

    (@parser [] $vis:tt $Op:ident {
        $(
            $Variant:ident $name:literal $own_name:tt $method:tt $own_value:tt [$($operands:tt)*]
            { $( [$($word:literal)?] [$($field:ident: $ty:ty),+] [$kind:expr] )* }
        )+
    }) => {
        impl $Op {
            /// Reads an operation, from its name to its last operand.
            pub(crate) fn read(
                words: &mut $crate::reading::Words<'_>,
                context: <Self as $crate::language::ReadLanguage>::Reading<'_>,
            ) -> $crate::reading::Checked<Self> {
                Ok(match words.word("the operation")? {
                    $(
                        $name => {
                            $(
                                $( words.expect($word)?; )?
                                $crate::operation_part!(read words context [$kind] $($field: $ty),+);
                            )*
                            Self::$Variant $($operands)*
                        }
                    )+
                    word => return Err($crate::language::unknown_operation(word, &Self::NAMES)),
                })
            }
        }
    };

    (@value [$(#[$meta:meta])* $own_vis:vis $own:ident [$($argument:ident: $argument_ty:ty),*] $own_ty:ty] $vis:tt $Op:ident {
        $( $Variant:ident $name:literal $own_name:tt $method:tt [$own_value:expr] [$($operands:tt)*] $kinds:tt )+
    }) => {
        impl $Op {
            $(#[$meta])*
            #[allow(unused_variables, reason = "few values depend on all operands")]
            $own_vis fn $own(&self $(, $argument: $argument_ty)*) -> $own_ty {
                match self {
                    $( Self::$Variant $($operands)* => $own_value, )+
                }
            }
        }
    };

    (@builder [$Builder:ident] $vis:tt $Op:ident {
        $(
            $Variant:ident $name:literal $own_name:tt [$($method:ident)?] $own_value:tt $operands:tt
            { $( $word:tt [$($field:ident: $ty:ty),+] $kind:tt )* }
        )+
    }) => {
        impl $Builder<'_> {
            $( $crate::operation_part!(method [$($method)?] $vis $Op $Variant $operands [$($($field: $ty),+),*]); )+
        }
    };
}

/// Parts of [`operations!`](crate::operations) for one operation or operand.
#[doc(hidden)]
#[macro_export]
macro_rules! operation_part {
    (name $name:literal) => { $name };
    (name $name:literal $own:expr) => { $own };

    (visit $visit:ident [$kind:expr] $field:ident: $ty:ty) => {
        $crate::language::Operand::<Self, $ty>::visit(&$kind, $field, &mut $visit)
    };
    (visit $visit:ident [$kind:expr] $field:ident: $ty:ty, $second:ident: $second_ty:ty) => {
        $crate::language::OperandPair::<Self, $ty, $second_ty>::visit(&$kind, ($field, $second), &mut $visit)
    };

    (visit_mut $visit:ident [$kind:expr] $field:ident: $ty:ty) => {
        $crate::language::Operand::<Self, $ty>::visit_mut(&$kind, $field, &mut $visit)
    };
    (visit_mut $visit:ident [$kind:expr] $field:ident: $ty:ty, $second:ident: $second_ty:ty) => {
        $crate::language::OperandPair::<Self, $ty, $second_ty>::visit_mut(&$kind, ($field, $second), &mut $visit)
    };

    (write $f:ident $context:ident [$kind:expr] $field:ident: $ty:ty) => {
        $crate::language::Operand::<Self, $ty>::write(&$kind, $f, $field, $context)?
    };
    (write $f:ident $context:ident [$kind:expr] $field:ident: $ty:ty, $second:ident: $second_ty:ty) => {
        $crate::language::OperandPair::<Self, $ty, $second_ty>::write(&$kind, $f, ($field, $second), $context)?
    };

    (read $words:ident $context:ident [$kind:expr] $field:ident: $ty:ty) => {
        let $field: $ty = $crate::language::ReadOperand::<Self, $ty>::read(&$kind, $words, $context)?;
    };
    (read $words:ident $context:ident [$kind:expr] $field:ident: $ty:ty, $second:ident: $second_ty:ty) => {
        let ($field, $second) =
            $crate::language::ReadOperandPair::<Self, $ty, $second_ty>::read(&$kind, $words, $context)?;
    };

    (method [] $($row:tt)*) => {};
    (method [$method:ident] [$vis:vis] $Op:ident $Variant:ident [$($operands:tt)*] [$($field:ident: $ty:ty),*]) => {
        #[doc = concat!("[`", stringify!($Op), "::", stringify!($Variant), "`].")]
        #[track_caller]
        $vis fn $method(&mut self, $($field: impl $crate::language::Argument<$ty>),*) -> usize {
            $( let $field = $crate::language::Argument::<$ty>::into_operand($field); )*
            self.one($Op::$Variant $($operands)*)
        }
    };
}
