//! Are wrong shapes of tables, rows and inputs rejected?

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use crate::common::{every_operation, expect_step, ty};
use palladion_program::{Form, Op, Type};

#[test]
fn wrong_shapes_of_a_table_are_named() {
    for (segments, digits, about, value) in [
        (2, [2, 2, 1], "", ""),
        (1, [4, 2, 3], "", ""),
        (1, [3, 5, 2], "", ""),
        (0, [2, 2, 1], "the number of segments", "0"),
        (3, [2, 2, 1], "the number of segments", "3"),
        (32, [2, 2, 1], "the number of segments", "32"),
        (
            usize::MAX,
            [2, 2, 1],
            "the number of segments",
            "18446744073709551615",
        ),
        (1, [0, 2, 4], "a digit of the table", "0"),
        (1, [1, 2, 4], "a digit of the table", "1"),
        (1, [2, 1, 4], "a digit of the table", "1"),
        (1, [2, 2, 0], "a digit of the table", "0"),
        (
            1,
            [usize::MAX, 2, 2],
            "a digit of the table",
            "18446744073709551615",
        ),
        (1, [129, 2, 2], "a digit of the table", "129"),
        (1, [128, 128, 9], "the coefficients of the shape", "147456"),
        (1, [2, 2, 1], "the coefficients of the polynomial", "5"),
        (2, [3, 2, 1], "the digits of the table", "[3, 2, 1]"),
        (2, [2, 2, 2], "the digits of the table", "[2, 2, 2]"),
    ] {
        let mut program = every_operation();
        if let Op::Table { shape, .. } = &mut program.steps[5].op {
            (shape.segments, shape.digits) = (segments, digits);
        }
        expect_step(&program, 5, about, value);
    }
}

#[test]
fn a_table_has_its_bound_and_a_border_beyond_it() {
    // t = 257
    for (bound, border, about, value) in [
        (1, 1, "", ""),
        (128, 128, "", ""),
        (0, 90, "the bound of a table", "0"),
        (-1, 90, "the bound of a table", "-1"),
        (129, 129, "the bound of a table", "129"),
        (40, 39, "the border of a table", "39"),
        (40, 129, "the border of a table", "129"),
    ] {
        let mut program = every_operation();
        if let Op::Table { indices, .. } = &mut program.steps[5].op {
            (indices.bound, indices.border) = (bound, border);
        }
        expect_step(&program, 5, about, value);
    }
}

#[test]
fn wrong_rows_are_named() {
    for (step, image, output, about, value) in [
        (6, 2, 0, "an image", "2"),
        (6, 0, 1, "a neuron", "1"),
        (6, usize::MAX, 0, "an image", "18446744073709551615"),
        (8, 2, 0, "an image", "2"),
        (8, 0, 2, "a class", "2"),
        (8, 0, usize::MAX, "a class", "18446744073709551615"),
    ] {
        let mut program = every_operation();
        if let Op::Dense { rows, .. } | Op::Output { rows, .. } = &mut program.steps[step].op {
            (rows[1].image, rows[1].output) = (image, output);
        }
        expect_step(&program, step, about, value);
    }
    // Three inputs of image 1 end beyond the four values.
    let mut program = every_operation();
    program.constants[3].values.push(1);
    if let Op::Dense { inputs, .. } = &mut program.steps[6].op {
        *inputs = 3;
    }
    expect_step(&program, 6, "the last input of an image", "5");
    // A dense layer needs two copies of each value.
    let mut program = every_operation();
    for step in [4, 5] {
        ty(&mut program, step, |form, _, _| *form = Form::Slots(64));
    }
    if let Op::Table { shape, .. } = &mut program.steps[5].op {
        (shape.segments, shape.digits) = (1, [2, 2, 2]);
    }
    expect_step(&program, 6, "the number of copies of a value", "1");
}

#[test]
fn all_inputs_are_at_one_level() {
    let mut program = every_operation();
    let mut other = program.steps[0].clone();
    if let Type::Ciphertext { level, .. } = &mut other.ty {
        *level = 2;
    }
    program.steps.push(other);
    expect_step(&program, 15, "the level", "2");
}
