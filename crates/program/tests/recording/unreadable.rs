//! Text that is not a recording is refused with its line, and what was found and expected.

use crate::recording::refused::check;

/// Changes of the text with every operation, and the beginning of the error.
const UNREADABLE: &[(&str, &str, &str)] = &[
    (
        "ring 16",
        "degree 16",
        "line 2: the next word is `degree`, expected `ring`",
    ),
    (
        "digits 0..2",
        "digits 2..0",
        "line 5: the limbs of a digit is `2..0`, expected a range as 3..5, not empty",
    ),
    (
        "galois 5:3",
        "galois 5-3",
        "line 9: a key is `5-3`, expected a number and the level of its key as 5:20",
    ),
    (
        "@3 = repeat",
        "@4 = repeat",
        "line 14: the number of a constant is @4, expected @3, the next one",
    ),
    (
        "0:3+0:15",
        "0.3",
        "line 15: a sample is `0.3`, expected a source and a coefficient as 0:5",
    ),
    (
        "step 0:\n",
        "",
        "line 16: the line is `%0 = input 0 : level 1, factor 1`, expected a constant, a packing, `step 0:` or `end`, in this order",
    ),
    (
        "step 3:",
        "step three:",
        "line 33: the number of the step is `three:`, expected a number as 5:",
    ),
    (
        "%4 = switch %3",
        "%9 = switch %3",
        "line 22: the number of a value is %9, expected %4, the next one",
    ),
    (
        "switch %3",
        "halve %3",
        "line 22: the operation is `halve`, expected an operation: input, given, ",
    ),
    (
        "switch %3 : level 0, factor 1",
        "switch %3",
        "line 22: the line is `%4 = switch %3`, expected an operation and its type as `%5 = add %3 %4 : level 1, factor 1`",
    ),
    (
        "level 0, factor 5\n",
        "level 0, weight 5\n",
        "line 18: the message is `weight 5`, expected a factor or a scale",
    ),
    (
        "level 0, factor 5\n",
        "level 0, factor 5, raised\n",
        "line 18: the type is `raised`, expected `extended`, then the number of components unless it is 2",
    ),
    (
        "mul_plain %0*coefficients @0*1",
        "mul_plain %0*coefficients @0",
        "line 20: the plaintext is `@0`, expected a plaintext times its unit, as @2*5",
    ),
    (
        "mul_plain %0*coefficients @0*1",
        "mul_plain %0*digits @0*1",
        "line 20: the kind of the plaintext is `digits`, expected coefficients, slots, rounded, blocks or integers",
    ),
    (
        "to sparse",
        "to none",
        "line 46: the secret is `none`, expected sparse or dense",
    ),
    (
        "scale 1.25*2^47",
        "scale 2.5*2^46",
        "line 54: the scale is `2.5*2^46`, expected a number from 1 to 2 times a power of two, as 1.25*2^36",
    ),
    (
        "scale 1.25*2^47",
        "scale 1.25*2^1024",
        "line 54: the scale is `1.25*2^1024`, expected a number from 1 to 2 times a power of two, as 1.25*2^36",
    ),
    (
        "scale 1.25*2^47",
        "scale huge",
        "line 54: the scale is `huge`, expected a number from 1 to 2 times a power of two, as 1.25*2^36",
    ),
    (
        "answer/2 %34 :",
        "answer/2 :",
        "line 57: an operand is the end of the line, expected a word",
    ),
    (
        "end\n",
        "",
        "line 60: the text is cut off after line 60, expected a last line `end`",
    ),
    (
        "end\n",
        "end\nstep 6:\n",
        "line 62: the line is `step 6:`, expected none after `end`",
    ),
    (
        "with bits/0 of level 2",
        "by bits/0 of level 2",
        "line 58: the next word is `by`, expected `with`",
    ),
    (
        "with bits/0 of level 2",
        "with bits/0 of level x",
        "line 58: level is `x`",
    ),
];

#[test]
fn each_line_that_cannot_be_read_is_named() {
    check(UNREADABLE);
}
