//! The definition of `docs/int-network.md`, written out: pad, then sum every window.

use crate::*;

/// Accumulators and outputs of every layer.
pub(super) fn evaluate(network: &IntNetwork, image: &[i64]) -> Vec<(Vec<i64>, Vec<i64>)> {
    let mut values = vec![(network.input.shape, image.to_vec())];
    let mut found = Vec::new();
    for layer in &network.layers {
        let mut sum: Option<(Shape, Vec<i64>)> = None;
        for term in &layer.terms {
            let (shape, source) = &values[usize::from(term.source)];
            let (shape, part) = map(&term.linear, *shape, source);
            let (_, sum) = sum.get_or_insert((shape, vec![0; part.len()]));
            sum.iter_mut().zip(part).for_each(|(a, b)| *a += b);
        }
        if let Some(found) = layer.product {
            let (shape, left) = &values[usize::from(found.left)];
            let (other, right) = &values[usize::from(found.right)];
            let part = product(*shape, left, *other, right);
            let (_, sum) = sum.get_or_insert((*shape, vec![0; part.len()]));
            sum.iter_mut().zip(part).for_each(|(a, b)| *a += b);
        }
        let (shape, mut sum) = sum.unwrap();
        let places = shape[1] * shape[2];
        for (index, a) in sum.iter_mut().enumerate() {
            *a += layer.bias[index / places];
        }
        let outputs: Vec<i64> = match &layer.lut {
            None => sum.clone(),
            Some(lut) => sum.iter().map(|&a| value(lut, layer.bound, a)).collect(),
        };
        found.push((sum, outputs.clone()));
        values.push((shape, outputs));
    }
    found
}

/// The value of the run that holds `a`.
pub(super) fn value(lut: &Lut, bound: i64, a: i64) -> i64 {
    let a = a.clamp(-bound, bound);
    let run = (0..lut.starts.len()).rev().find(|&i| lut.starts[i] <= a);
    lut.values[run.unwrap()]
}

/// Product value by value, by coordinates. Where a side of `other` is 1, coordinate 0 is used.
fn product(shape: Shape, left: &[i64], other: Shape, right: &[i64]) -> Vec<i64> {
    let [_, height, width] = shape;
    let factor = |index: usize| {
        let at = [
            index / (height * width),
            index / width % height,
            index % width,
        ];
        let [c, y, x] = [0, 1, 2].map(|axis| at[axis].min(other[axis] - 1));
        right[(c * other[1] + y) * other[2] + x]
    };
    left.iter()
        .enumerate()
        .map(|(index, x)| x * factor(index))
        .collect()
}

fn map(linear: &Linear, shape: Shape, source: &[i64]) -> (Shape, Vec<i64>) {
    match linear {
        Linear::Dense(dense) => {
            let row = |k: usize| &dense.weights[k * dense.inputs..][..dense.inputs];
            let dot = |k| row(k).iter().zip(source).map(|(w, x)| w * x).sum();
            ([dense.outputs, 1, 1], (0..dense.outputs).map(dot).collect())
        }
        Linear::Conv(conv) => {
            let (per_group, taps) = (conv.channels / conv.groups, conv.kernel[0] * conv.kernel[1]);
            let weight = |k: usize, c: usize, tap: usize| {
                let group = k / (conv.kernels / conv.groups);
                match c.checked_sub(group * per_group) {
                    Some(c) if c < per_group => conv.weights[(k * per_group + c) * taps + tap],
                    _ => 0,
                }
            };
            slide(conv.sliding(), conv.kernels, weight, shape, source)
        }
        Linear::Window(window) => {
            let weight = |k: usize, c: usize, tap: usize| {
                if k == window.first + c {
                    window.weights[tap]
                } else {
                    0
                }
            };
            slide(window.sliding(), window.channels, weight, shape, source)
        }
    }
}

/// Applies every kernel `k` to every channel `c`, with weight `weight(k, c, tap)`.
fn slide(
    sliding: Sliding,
    kernels: usize,
    weight: impl Fn(usize, usize, usize) -> i64,
    [channels, height, width]: Shape,
    source: &[i64],
) -> (Shape, Vec<i64>) {
    let Sliding {
        kernel,
        stride,
        dilation,
        pads: [top, left, bottom, right],
    } = sliding;
    let rows = (height as i64 + top + bottom) as usize;
    let columns = (width as i64 + left + right) as usize;
    let mut padded = vec![vec![vec![0; columns]; rows]; channels];
    for (c, plane) in padded.iter_mut().enumerate() {
        for y in 0..height {
            for x in 0..width {
                let (row, column) = (y as i64 + top, x as i64 + left);
                if (0..rows as i64).contains(&row) && (0..columns as i64).contains(&column) {
                    plane[row as usize][column as usize] = source[(c * height + y) * width + x];
                }
            }
        }
    }
    let span = [0, 1].map(|axis| dilation[axis] * (kernel[axis] - 1) + 1);
    let mut out = Vec::new();
    let mut shape = [kernels, 0, 0];
    for k in 0..kernels {
        let tops = (0..=rows - span[0]).step_by(stride[0]);
        shape[1] = tops.clone().count();
        for row in tops {
            let lefts = (0..=columns - span[1]).step_by(stride[1]);
            shape[2] = lefts.clone().count();
            for column in lefts {
                let mut sum = 0;
                for (c, plane) in padded.iter().enumerate() {
                    for i in 0..kernel[0] {
                        for j in 0..kernel[1] {
                            let seen = plane[row + i * dilation[0]][column + j * dilation[1]];
                            sum += weight(k, c, i * kernel[1] + j) * seen;
                        }
                    }
                }
                out.push(sum);
            }
        }
    }
    (shape, out)
}
