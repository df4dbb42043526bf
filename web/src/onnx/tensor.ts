/** Small arrays of numbers or words, with the types of ONNX. */

export const FLOAT = 1;
export const INT32 = 6;
export const INT64 = 7;
export const TEXT = 8;
export const BOOL = 9;
export const DOUBLE = 11;

export type Value = number | string;

/** An array, the last axis first to change. Truth values are 0 and 1. */
export interface Tensor {
  /** ONNX's number of its type. */
  readonly type: number;
  readonly shape: readonly number[];
  readonly values: readonly Value[];
}

/** The number of values of a shape. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, side) => product * side, 1);
}

/** True for a type of real numbers. */
export function isReal(type: number): boolean {
  return type === FLOAT || type === DOUBLE;
}

/** A number as a value of a type. */
export function cast(value: Value, type: number): Value {
  if (type === FLOAT) return Math.fround(Number(value));
  if (type === BOOL) return Number(Number(value) !== 0);
  if (type === INT32 || type === INT64) return Math.trunc(Number(value));
  return type === DOUBLE ? Number(value) : value;
}

/** An axis counted from the front. */
export function axisOf(axis: number, rank: number): number {
  const found = axis < 0 ? axis + rank : axis;
  if (!Number.isInteger(found) || found < 0 || found >= rank) throw new RangeError(`no axis ${axis} of ${rank}`);
  return found;
}

/** A function of values at the same place. A side of 1 is repeated. */
export function broadcast(type: number, tensors: readonly Tensor[], compute: (...values: Value[]) => Value): Tensor {
  const rank = Math.max(...tensors.map(({ shape }) => shape.length));
  const sides = tensors.map(({ shape }) => [...Array<number>(rank - shape.length).fill(1), ...shape]);
  const shape = Array.from({ length: rank }, (_, axis) => {
    const own = sides.map((each) => each[axis] as number).filter((side) => side !== 1);
    if (own.some((side) => side !== own[0])) throw new RangeError(`sides ${own.join(", ")} of one axis`);
    return own[0] ?? 1;
  });
  const values = Array.from({ length: sizeOf(shape) }, (_, at) => {
    const place = placeOf(at, shape);
    const given = tensors.map((tensor, i) => {
      const own = sides[i] as number[];
      const from = own.reduce((sum, side, axis) => sum * side + (side === 1 ? 0 : (place[axis] as number)), 0);
      return tensor.values[from] as Value;
    });
    return cast(compute(...given), type);
  });
  return { type, shape, values };
}

/** The place of a value along each axis. */
export function placeOf(at: number, shape: readonly number[]): number[] {
  const place = Array<number>(shape.length);
  let rest = at;
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    const side = shape[axis] as number;
    place[axis] = rest % side;
    rest = Math.floor(rest / side);
  }
  return place;
}

/** A function of the values along an axis, which gives as many or one. */
export function along(tensor: Tensor, axis: number, type: number, compute: (line: number[]) => number[]): Tensor {
  const at = axisOf(axis, tensor.shape.length);
  const side = tensor.shape[at] as number;
  const inner = sizeOf(tensor.shape.slice(at + 1));
  const outer = sizeOf(tensor.shape.slice(0, at));
  const lines = Array.from({ length: outer * inner }, (_, line) => {
    const start = Math.floor(line / inner) * side * inner + (line % inner);
    return compute(Array.from({ length: side }, (_, k) => tensor.values[start + k * inner] as number));
  });
  const count = lines[0]?.length ?? side;
  const shape = tensor.shape.with(at, count);
  const values = Array.from({ length: outer * count * inner }, (_, place) => {
    const [before, after] = [Math.floor(place / (count * inner)), place % inner];
    const k = Math.floor(place / inner) % count;
    return cast((lines[before * inner + after] as number[])[k] as number, type);
  });
  return { type, shape, values };
}

/** The same values in another shape. */
export function reshaped(tensor: Tensor, shape: readonly number[]): Tensor {
  if (sizeOf(shape) !== tensor.values.length) {
    throw new RangeError(`${tensor.values.length} values in the shape ${shape.join(" x ")}`);
  }
  return { ...tensor, shape };
}
