//! Recordings that break a rule are refused, with what was found and expected.

use crate::recording::text::EVERY;
use palladion_program::recording::Recording;

/// Changes of the text with every operation, and the beginning of the error.
const BROKEN: &[(&str, &str, &str)] = &[
    (
        "ring 16",
        "ring 24",
        "line 2, ring: the ring degree is 24, expected a power of two from 16 to 131072",
    ),
    (
        "moduli 97 193",
        "moduli 97 97",
        "line 3, ring: modulus 1 is 97, expected an odd number above 1 and below 2^60 that is not in the table yet",
    ),
    (
        "moduli 97",
        "moduli 95",
        "line 3, ring: modulus 0 is 95, expected 1 modulo 32, for values at roots",
    ),
    (
        "moduli 97 193 257 353",
        "moduli",
        "line 3, ring: the number of moduli is 0, expected at least 1",
    ),
    (
        "special 449",
        "special 451",
        "line 3, ring: modulus 4 is 451, expected 1 modulo 32, for values at roots",
    ),
    (
        "digits 0..2 2..4",
        "digits 0..2 3..4",
        "line 5, parameters: a digit is 3..4, expected one that begins at 2 and is not empty",
    ),
    (
        "digits 0..2 2..4",
        "digits 0..2",
        "line 5, parameters: the end of the digits is 2, expected 4, the length of the chain",
    ),
    (
        "plain 577",
        "plain 578",
        "line 6, parameters: modulus 6 is 578, expected an odd number above 1 and below 2^60 that is not in the table yet",
    ),
    (
        "dimension 8",
        "dimension 3",
        "line 7, parameters: the LWE dimension is 3, expected a divisor of 16, the ring degree",
    ),
    (
        "bits 4",
        "bits 31",
        "line 7, parameters: the bits of a digit is 31, expected 1 to 30",
    ),
    (
        "relinearization 3",
        "relinearization 4",
        "line 8, keys: the level of a key is 4, expected a level below 4, the length of the chain",
    ),
    (
        "galois 5:3",
        "galois 5:9",
        "line 9, keys: the level of a key is 9, expected a level below 4, the length of the chain",
    ),
    (
        "galois 5:3 25:3",
        "galois 5:3 5:3",
        "line 9, keys: what a key is for is 5, expected one that has no key yet",
    ),
    (
        "packing_keys 8:3",
        "packing_keys",
        "line 25, recorded step %6 (packing_key): the key for packings of 8 values is missing, expected one that reaches level 3",
    ),
    (
        "@0 = words 0",
        "@0 = words",
        "line 11, constant @0: the number of words is 15, expected 16, the ring degree",
    ),
    (
        "values 8 baby 2",
        "values 7 baby 2",
        "line 15, packing 0: the number of values is 7, expected a divisor of 16, the ring degree",
    ),
    (
        "values 8 baby 2",
        "values 8 baby 5",
        "line 15, packing 0: the number of baby steps is 5, expected 1 to 4, the rotations of the secret",
    ),
    (
        "0:3+0:15",
        "0:3+0:16",
        "line 15, packing 0: a coefficient is 16, expected less than 16, the ring degree",
    ),
    (
        "0:3+0:15",
        "1:3+0:15",
        "line 15, packing 0: a source is 1, expected a number below 1",
    ),
    (
        "sources %5",
        "sources %4",
        "line 27, recorded step %8 (mul_masks): a source of the packing is %4, expected earlier samples modulo 577",
    ),
    (
        "switch %3 : level 0",
        "switch %3 : level 4",
        "line 22, recorded step %4 (switch): the level is 4, expected a level below 4, the length of the chain",
    ),
    (
        "switch %3 : level 0",
        "switch %3 : level 1",
        "line 22, recorded step %4 (switch): the level is 1, expected below 1, that of the operand",
    ),
    (
        "level 0, factor 5\n",
        "level 0, factor 577\n",
        "line 18, recorded step %1 (given): the factor is 577, expected a unit modulo 577, less than it",
    ),
    (
        "level 0, factor 5\n",
        "level 0, factor 5 modulo 643\n",
        "line 18, recorded step %1 (given): the plaintext modulus is 643, expected one of the parameters",
    ),
    (
        "level 0, factor 5\n",
        "level 0, factor 5, 4 components\n",
        "line 18, recorded step %1 (given): the number of components is 4, expected 2 or 3",
    ),
    (
        "given low/1",
        "given low//1",
        "line 18, recorded step %1 (given): the name is \"low//1\", expected words of letters, digits, `.`, `-`, `_`, joined by `/`",
    ),
    (
        "given other",
        "given low/1",
        "line 45, recorded step %24 (given): the name is low/1, expected one that is not there before",
    ),
    (
        "output answer/1",
        "output answer/0",
        "line 49, recorded step %28 (output): the name is answer/0, expected one that is not there before",
    ),
    (
        "mul_plain %0*coefficients @0*1",
        "mul_plain",
        "line 20, recorded step %2 (mul_plain): the number of terms is 0, expected at least 1",
    ),
    (
        "mul_plain %0*coefficients @0*1",
        "mul_plain %0*coefficients @9*1",
        "line 20, recorded step %2 (mul_plain): the constant is @9, expected a constant that stands before: a number below 4",
    ),
    (
        "mul_plain %0*coefficients @0*1",
        "mul_plain %0*coefficients @2*1",
        "line 20, recorded step %2 (mul_plain): the constant is @2, a list, expected one of N words",
    ),
    (
        "mul_plain %0*coefficients @0*1",
        "mul_plain %0*coefficients @0*2",
        "line 20, recorded step %2 (mul_plain): the factor of the result is 1, expected 2",
    ),
    (
        "@1 = sparse 0:5",
        "@1 = sparse 0:577",
        "line 21, recorded step %3 (add_plain): a word of @1 is 577, expected a number above -577 and below 577",
    ),
    (
        "to_samples %4",
        "to_samples %3",
        "line 23, recorded step %5 (to_samples): the level of %3 is 1, expected 0",
    ),
    (
        "%4 = switch %3 : level 0, factor 1\n  %5 = to_samples %4 : samples",
        "%4 = switch %3 : samples\n  %5 = to_samples %4 : samples",
        "line 22, recorded step %4 (switch): the type is samples, expected a ciphertext",
    ),
    (
        "packing_key 8/0 : level 3",
        "packing_key 8/0 : level 2",
        "line 25, recorded step %6 (packing_key): the level of the packing key is 3, expected 2, that of the result",
    ),
    (
        "packing_key 8/0",
        "packing_key 4/0",
        "line 25, recorded step %6 (packing_key): the key for packings of 4 values is missing, expected one that reaches level 3",
    ),
    (
        "automorphism %6 by 5",
        "automorphism %6 by 6",
        "line 26, recorded step %7 (automorphism): the Galois element is 6, expected an odd number below 32",
    ),
    (
        "automorphism %6 by 5",
        "automorphism %6 by 7",
        "line 26, recorded step %7 (automorphism): the key for the element 7 is missing, expected one that reaches level 3",
    ),
    (
        "galois 5:3",
        "galois 5:2",
        "line 26, recorded step %7 (automorphism): the key for the element 5 is of level 2, expected one that reaches level 3",
    ),
    (
        "%6*1 %7*1 of packing 0 giant 0",
        "%6*1 of packing 0 giant 0",
        "line 27, recorded step %8 (mul_masks): the number of values is 1, expected 2, the baby steps of the packing",
    ),
    (
        "%6*1 %7*1 of packing 0 giant 0",
        "%6*1 %7*1 of packing 1 giant 0",
        "line 27, recorded step %8 (mul_masks): the packing is 1, expected a number below 1",
    ),
    (
        "%6*1 %7*1 of packing 0 giant 0",
        "%6*1 %7*1 of packing 0 giant 2",
        "line 27, recorded step %8 (mul_masks): the giant step is 2, expected a number below 2",
    ),
    (
        "%6*1 %7*1 of packing 0 giant 0",
        "%6*1 %7*2 of packing 0 giant 0",
        "line 27, recorded step %8 (mul_masks): the factor of the result is 1, expected 2",
    ),
    (
        "add %8 %10",
        "add %8 %3",
        "line 30, recorded step %11 (add): the level of %3 is 1, expected 3, that of the result",
    ),
    (
        "add %8 %10",
        "add %8 %5",
        "line 30, recorded step %11 (add): an operand is %5, samples, expected an earlier ciphertext: a number below %11",
    ),
    (
        "add %8 %10",
        "add %8 %11",
        "line 30, recorded step %11 (add): an operand is %11, expected an earlier ciphertext: a number below %11",
    ),
    (
        "tensor %13*%13 : level 2, factor 306, 3 components",
        "tensor %13*%13 : level 2, factor 306",
        "line 34, recorded step %14 (tensor): the number of components of the result is 2, expected 3",
    ),
    (
        "tensor %13*%13 : level 2",
        "tensor %13*%13 : level 1",
        "line 34, recorded step %14 (tensor): the factor of the result is 306, expected 170",
    ),
    (
        "tensor %13*%13 : level 2, factor 306",
        "tensor %13*%13 : level 2, factor 3",
        "line 34, recorded step %14 (tensor): the factor of the result is 3, expected 306",
    ),
    (
        "tensor %13*%13",
        "tensor %13*%24",
        "line 34, recorded step %14 (tensor): an operand is %24, expected an earlier ciphertext: a number below %14",
    ),
    (
        "tensor %13*%13",
        "tensor %13*%1",
        "line 34, recorded step %14 (tensor): the level of %1 is 0, expected at least 2, that of the result",
    ),
    (
        "relinearize %14",
        "relinearize %13",
        "line 35, recorded step %15 (relinearize): the number of components of %13 is 2, expected 3",
    ),
    (
        "relinearization 3",
        "relinearization 1",
        "line 35, recorded step %15 (relinearize): the key for relinearization is of level 1, expected one that reaches level 2",
    ),
    (
        "relinearization 3",
        "relinearization none",
        "line 35, recorded step %15 (relinearize): the key for relinearization is missing, expected one that reaches level 2",
    ),
    (
        "drop %13 : level 1, factor 257",
        "drop %13 : level 1, factor 1",
        "line 36, recorded step %16 (drop): the factor of the result is 1, expected 257",
    ),
    (
        "drop %13 : level 1",
        "drop %13 : level 3",
        "line 36, recorded step %16 (drop): the level is 3, expected below 2, that of the operand",
    ),
    (
        "list @2 first 1 rows 1 columns",
        "list @0 first 1 rows 1 columns",
        "line 37, recorded step %17 (combine): the constant is @0, words, expected a list",
    ),
    (
        "rows 1 columns",
        "rows 2 columns",
        "line 37, recorded step %17 (combine): the factor of the result is 170, expected 340",
    ),
    (
        "rows 1 columns",
        "rows 1 1 columns",
        "line 37, recorded step %17 (combine): the number of factors of rows is 2, expected 1, one for each value, and at least 1",
    ),
    (
        "rounded %1/0",
        "rounded %1/2",
        "line 39, recorded step %19 (mul_plain): the component is 2, expected 0 or 1",
    ),
    (
        "rounded %1/0",
        "rounded %3/0",
        "line 39, recorded step %19 (mul_plain): the level of what is rounded is 1, expected 0",
    ),
    (
        "2^4/577",
        "2^4/5",
        "line 41, recorded step %21 (scale): the divisor is 5, expected 1, or a plaintext modulus of the parameters",
    ),
    (
        "sub %19 %21",
        "sub %19 %20",
        "line 42, recorded step %22 (sub): the message of %20 is factor 1 modulo 577, expected factor 5 modulo 577, as of the result",
    ),
    (
        "raise %25 : level 2",
        "raise %25 : level 1",
        "line 47, recorded step %26 (raise): the level is 1, expected above 1, that of the operand",
    ),
    (
        "special 449 673",
        "special",
        "line 25, recorded step %6 (packing_key): the number of special moduli is 0, expected at least 1, for key switching",
    ),
    (
        "extend %29 : level 2, scale 2^40, extended",
        "extend %29 : level 2, scale 2^40",
        "line 52, recorded step %30 (extend): the result is not extended, expected extended",
    ),
    (
        "extend %29",
        "extend %24",
        "line 52, recorded step %30 (extend): the message of %24 is factor 3 modulo 641, expected approximate",
    ),
    (
        "by 31 : level 2, scale 2^40, extended",
        "by 31 : level 2, scale 2^41, extended",
        "line 53, recorded step %31 (automorphism): the message of %29 is scale 2^40, expected scale 2^41, as of the result",
    ),
    (
        "%31*integers @1*3*2^4",
        "%24*integers @1*3*2^4",
        "line 54, recorded step %32 (mul_plain): the message of %24 is factor 3 modulo 641, expected approximate",
    ),
    (
        "%30*integers @3",
        "%30*slots @3*1",
        "line 54, recorded step %32 (mul_plain): the message is scale 1.25*2^47, expected one with a plaintext modulus",
    ),
    (
        "add_plain %33 integers @1*-1 : level 1, scale 1.0000000000000002*2^39",
        "add_plain %33 integers @1*-1 : level 1, scale 1.00000001*2^39",
        "line 56, recorded step %34 (add_plain): the message of %33 is scale 1.0000000000000002*2^39, expected scale 1.00000001*2^39, as of the result",
    ),
    (
        "%36 with bits/0 of level 2",
        "%36 with bits/0 of level 3",
        "line 59, recorded step %37 (external_product): the level of the RGSW ciphertext bits/0 is 3, expected 2, as before",
    ),
    (
        "%36 with bits/0 of level 2",
        "%36 with bits/1 of level 0",
        "line 59, recorded step %37 (external_product): the key for the external product is of level 0, expected one that reaches level 1",
    ),
    (
        "%36 with bits/0 of level 2",
        "%36 with bits/1 of level 4",
        "line 59, recorded step %37 (external_product): the level of the RGSW ciphertext is 4, expected a level below 4, the length of the chain",
    ),
    (
        "%36 with bits/0 of level 2",
        "%30 with bits/0 of level 2",
        "line 59, recorded step %37 (external_product): %30 is extended, expected not extended, as the result",
    ),
];

#[test]
fn each_broken_rule_is_named() {
    check(BROKEN);
}

/// Reads each changed text and compares the error.
pub(crate) fn check(changes: &[(&str, &str, &str)]) {
    for &(from, to, expected) in changes {
        assert!(EVERY.contains(from), "{from}");
        let error = Recording::parse(&EVERY.replacen(from, to, 1)).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with(expected), "{from} -> {to}: {error}");
    }
}

/// For a recording that was not read from text, the error names the step without a line.
#[test]
fn a_step_is_named_without_a_line() {
    let mut recording = Recording::parse(EVERY).unwrap();
    recording.keys.relinearization = None;
    assert_eq!(
        recording.verify().unwrap_err().to_string(),
        "recorded step %15 (relinearize): the key for relinearization is missing, expected one that reaches level 2"
    );
}
