/** The functions that the ends of most models have, as `palladion.nn.ends.end_functions`. */

import type { Node, SmallModel } from "./model.js";
import {
  along, axisOf, BOOL, broadcast, cast, DOUBLE, FLOAT, INT32, INT64, placeOf, reshaped, sizeOf, type Tensor, type Value,
} from "./tensor.js";

type Attributes = Node["attributes"];
type Operator = (given: readonly Tensor[], attributes: Attributes) => Tensor;

/** The version of ONNX from which on the functions are those of the table. */
const FIRST = 13;
const CASTS = new Set([FLOAT, DOUBLE, INT32, INT64, BOOL]);

const operand = (given: readonly Tensor[], at: number): Tensor => {
  const found = given[at];
  if (found === undefined) throw new RangeError(`operand ${at} is missing`);
  return found;
};
const whole = (attributes: Attributes, name: string, otherwise: number): number => {
  const found = attributes.get(name);
  return typeof found === "number" ? found : otherwise;
};
const each = (compute: (x: number) => number): Operator => (given) =>
  broadcast(operand(given, 0).type, [operand(given, 0)], (x) => compute(x as number));
const pairs = (compute: (x: number, y: number) => number): Operator => (given) =>
  broadcast(operand(given, 0).type, [operand(given, 0), operand(given, 1)], (x, y) => compute(x as number, y as number));
const tests = (compute: (x: Value, y: Value) => boolean): Operator => (given) =>
  broadcast(BOOL, [operand(given, 0), operand(given, 1)], (x, y) => Number(compute(x as Value, y as Value)));
const lines = (compute: (line: number[], round: (x: number) => number) => number[]): Operator => (given, attributes) => {
  const x = operand(given, 0);
  return along(x, whole(attributes, "axis", -1), x.type, (line) => compute(line, (value) => cast(value, x.type) as number));
};
const sum = (line: readonly number[], round: (x: number) => number) => line.reduce((total, value) => round(total + value), 0);
const largest = (line: readonly number[]) => line.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);

const softmax = lines((line, round) => {
  const most = largest(line);
  const powers = line.map((value) => round(Math.exp(round(value - most))));
  const total = sum(powers, round);
  return powers.map((power) => power / total);
});

const logSoftmax = lines((line, round) => {
  const most = largest(line);
  const below = line.map((value) => round(value - most));
  const total = round(Math.log(sum(below.map((value) => round(Math.exp(value))), round)));
  return below.map((value) => value - total);
});

const argMax: Operator = (given, attributes) => {
  const x = operand(given, 0);
  const axis = axisOf(whole(attributes, "axis", 0), x.shape.length);
  const found = along(x, axis, INT64, (line) => [line.indexOf(largest(line))]);
  return whole(attributes, "keepdims", 1) ? found : reshaped(found, found.shape.toSpliced(axis, 1));
};

const sigmoid = each((x) => {
  const power = Math.exp(-Math.abs(x));
  return (x >= 0 ? 1 : power) / (1 + power);
});

const divide: Operator = (given) => {
  const real = [FLOAT, DOUBLE].includes(operand(given, 0).type);
  return pairs((x, y) => (real ? x / y : Math.trunc(x / y)))(given, new Map());
};

const reshape: Operator = (given) => {
  const [x, wanted] = [operand(given, 0), operand(given, 1).values as number[]];
  const sides = wanted.map((side, at) => (side === 0 ? (x.shape[at] ?? 1) : side));
  const known = sizeOf(sides.filter((side) => side !== -1));
  return reshaped(x, sides.map((side) => (side === -1 ? x.values.length / known : side)));
};

const flatten: Operator = (given, attributes) => {
  const x = operand(given, 0);
  const rows = sizeOf(x.shape.slice(0, whole(attributes, "axis", 1)));
  return reshaped(x, [rows, x.values.length / rows]);
};

const squeeze: Operator = (given) => {
  const x = operand(given, 0);
  const axes = (given[1]?.values as number[] | undefined)?.map((axis) => axisOf(axis, x.shape.length));
  return reshaped(x, x.shape.filter((side, axis) => (axes === undefined ? side !== 1 : !axes.includes(axis))));
};

const unsqueeze: Operator = (given) => {
  const [x, axes] = [operand(given, 0), operand(given, 1).values as number[]];
  const rank = x.shape.length + axes.length;
  const fresh = axes.map((axis) => axisOf(axis, rank));
  const sides = [...x.shape];
  return reshaped(x, Array.from({ length: rank }, (_, axis) => (fresh.includes(axis) ? 1 : (sides.shift() as number))));
};

const transpose: Operator = (given, attributes) => {
  const x = operand(given, 0);
  const order = (attributes.get("perm") as readonly number[] | undefined) ?? x.shape.map((_, axis) => x.shape.length - 1 - axis);
  const shape = order.map((axis) => x.shape[axisOf(axis, x.shape.length)] as number);
  return picked(x, shape, (place) => {
    const from = Array<number>(order.length);
    order.forEach((axis, to) => (from[axis] = place[to] as number));
    return from;
  });
};

const gather: Operator = (given, attributes) => {
  const [x, places] = [operand(given, 0), operand(given, 1)];
  const axis = axisOf(whole(attributes, "axis", 0), x.shape.length);
  const [side, rank] = [x.shape[axis] as number, places.shape.length];
  const shape = [...x.shape.slice(0, axis), ...places.shape, ...x.shape.slice(axis + 1)];
  return picked(x, shape, (place) => {
    const at = place.slice(axis, axis + rank).reduce((sum, k, i) => sum * (places.shape[i] as number) + k, 0);
    return [...place.slice(0, axis), axisOf(places.values[at] as number, side), ...place.slice(axis + rank)];
  });
};

const concat: Operator = (given, attributes) => {
  const first = operand(given, 0);
  const axis = axisOf(whole(attributes, "axis", 0), first.shape.length);
  const inner = given.map((part) => sizeOf(part.shape.slice(axis)));
  const outer = sizeOf(first.shape.slice(0, axis));
  const values = Array.from({ length: outer }, (_, row) =>
    given.flatMap((part, i) => part.values.slice(row * (inner[i] as number), (row + 1) * (inner[i] as number))),
  ).flat();
  const side = given.reduce((total, part) => total + (part.shape[axis] as number), 0);
  return reshaped({ ...first, values }, first.shape.with(axis, side));
};

const matMul: Operator = (given) => {
  const [x, y] = [operand(given, 0), operand(given, 1)];
  const [[rows = 0, inner = 0], [also, columns = 0]] = [x.shape, y.shape];
  if (x.shape.length !== 2 || y.shape.length !== 2 || inner !== also) throw new RangeError("a product of other arrays than matrices");
  const values = Array.from({ length: rows * columns }, (_, at) => {
    const [row, column] = [Math.floor(at / columns), at % columns];
    const terms = Array.from({ length: inner }, (_, k) => (x.values[row * inner + k] as number) * (y.values[k * columns + column] as number));
    return cast(terms.reduce((total, term) => total + term, 0), x.type);
  });
  return { type: x.type, shape: [rows, columns], values };
};

/** The values of an array at other places. */
function picked(x: Tensor, shape: readonly number[], from: (place: readonly number[]) => readonly number[]): Tensor {
  const values = Array.from({ length: sizeOf(shape) }, (_, at) => {
    const place = from(placeOf(at, shape));
    return x.values[place.reduce((sum, k, axis) => sum * (x.shape[axis] as number) + k, 0)] as Value;
  });
  return { ...x, shape, values };
}

const OPERATORS: Readonly<Record<string, Operator>> = {
  Add: pairs((x, y) => x + y),
  And: tests((x, y) => Boolean(x) && Boolean(y)),
  ArgMax: argMax,
  Cast: (given, attributes) => broadcast(whole(attributes, "to", 0), [operand(given, 0)], (x) => x),
  Concat: concat,
  Div: divide,
  Equal: tests((x, y) => x === y),
  Exp: each(Math.exp),
  Flatten: flatten,
  Gather: gather,
  Greater: tests((x, y) => x > y),
  GreaterOrEqual: tests((x, y) => x >= y),
  Identity: (given) => operand(given, 0),
  Less: tests((x, y) => x < y),
  LessOrEqual: tests((x, y) => x <= y),
  LogSoftmax: logSoftmax,
  MatMul: matMul,
  Mul: pairs((x, y) => x * y),
  Neg: each((x) => -x),
  Not: each((x) => Number(x === 0)),
  Or: tests((x, y) => Boolean(x) || Boolean(y)),
  Relu: each((x) => Math.max(x, 0)),
  Reshape: reshape,
  Sigmoid: sigmoid,
  Softmax: softmax,
  Squeeze: squeeze,
  Sub: pairs((x, y) => x - y),
  Transpose: transpose,
  Unsqueeze: unsqueeze,
  Where: (given) => broadcast(operand(given, 1).type, given.slice(0, 3), (test, x, y) => (test ? x : y) as Value),
};

const ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  ArgMax: ["axis", "keepdims"], Cast: ["to"], Concat: ["axis"], Flatten: ["axis"], Gather: ["axis"],
  LogSoftmax: ["axis"], Softmax: ["axis"], Transpose: ["perm"],
};

/** Operators of a model that are not in the table, or are used as the table does not have them. */
export function lacking(model: SmallModel): string[] {
  const known = new Set([...model.constants.keys(), ...model.inputs, ...model.nodes.flatMap(({ outputs }) => outputs)]);
  const missing = model.nodes.filter(({ type, domain, inputs, attributes }) => {
    const taken = ATTRIBUTES[type] ?? [];
    return (
      model.opset < FIRST ||
      model.hasFunctions ||
      !["", "ai.onnx"].includes(domain) ||
      !Object.hasOwn(OPERATORS, type) ||
      (type === "Cast" && !CASTS.has(attributes.get("to") as number)) ||
      [...attributes].some(([name, value]) => value === null || !taken.includes(name)) ||
      inputs.some((name) => !known.has(name))
    );
  });
  return [...new Set(missing.map(({ type }) => type))].sort();
}

/** The outputs of a model of which nothing is lacking, by name. */
export function evaluate(model: SmallModel, x: Tensor): Map<string, Tensor> {
  const known = new Map(model.constants);
  known.set(model.inputs[0] as string, x);
  const find = (name: string): Tensor => {
    const found = known.get(name);
    if (found === undefined) throw new RangeError(`${name} is used before it is computed`);
    return found;
  };
  for (const { type, inputs, outputs, attributes } of model.nodes) {
    const compute = OPERATORS[type] as Operator;
    known.set(outputs[0] as string, compute(inputs.map(find), attributes));
  }
  return new Map(model.outputs.map((name) => [name, find(name)]));
}
