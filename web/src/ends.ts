/** Conversion between a model's numbers and a network's integers: both ends of a run. */

import { EndModel, kindOf } from "./end-model.js";
import { PalladionError } from "./errors.js";
import type { EndsData, Facts } from "./facts.js";
import { roundToEven } from "./rounding.js";

/** An output of a model for some inputs: `values` has one row for each, of `shape`. */
export type Output =
  | { readonly kind: "real" | "whole"; readonly shape: readonly number[]; readonly values: Float64Array }
  | { readonly kind: "text"; readonly shape: readonly number[]; readonly values: readonly string[] };

/** The integers of inputs, and how many numbers were clipped to the range of the integers. */
export interface Integers {
  readonly integers: Int32Array;
  readonly clipped: number;
}

/** The ends of one model. */
export class Ends {
  readonly #facts: Facts;
  readonly #input: EndsData["input"];
  readonly #takes: NonNullable<EndsData["interface"]>["takes"];
  readonly #gives: NonNullable<EndsData["interface"]>["gives"];
  readonly #head: EndModel | null;
  readonly #tail: EndModel | null;

  /** Throws if the model has no ends, or functions there that JavaScript does not have. */
  constructor(facts: Facts) {
    if (facts.ends === null) {
      throw new PalladionError("data", `the program of ${facts.name} does not say what its inputs mean: compile the network again`);
    }
    const { input, interface: own } = facts.ends;
    this.#facts = facts;
    this.#input = input;
    this.#takes = own?.takes ?? { name: "input", shape: facts.shape };
    this.#gives = own?.gives ?? { name: "logits", shape: [facts.outputs], scale: [1] };
    const { head, batched: headBatched = true } = this.#takes;
    const { tail, batched: tailBatched = true } = this.#gives;
    this.#head = head ? new EndModel(head, headBatched, `the beginning of the model ${facts.name}`) : null;
    this.#tail = tail ? new EndModel(tail, tailBatched, `the end of the model ${facts.name}`) : null;
    this.#check();
  }

  #check(): void {
    const { shape, outputs, name } = this.#facts;
    const { order, shape: taken } = this.#takes;
    const { labels, scale, shift, shape: given } = this.#gives;
    const fits =
      (this.#head !== null || product(taken) === product(shape)) &&
      (order === undefined || [...order].sort((a, b) => a - b).every((axis, i) => axis === i)) &&
      (order === undefined || order.length === taken.length) &&
      product(given) === (labels?.length ?? outputs) &&
      (labels ?? []).every((label) => label >= 0 && label < outputs) &&
      [scale, shift ?? [0]].every((part) => part.length > 0 && outputs % part.length === 0);
    if (!fits) throw new PalladionError("data", `the interface of ${name} does not fit its network`);
  }

  /** The shape of one input of the model. */
  get shape(): readonly number[] {
    return this.#takes.shape;
  }

  /** Names of the columns of the model's tables, if it has any. */
  get columns(): readonly string[] {
    return this.#takes.columns ?? [];
  }

  /** Channels, rows, columns of the pictures that the model takes, or null if it takes none. */
  get picture(): readonly [number, number, number] | null {
    return this.#takes.pixels === undefined ? null : this.#facts.shape;
  }

  /**
   * The model's inputs as integers. Each input is a list of numbers in the model's own order, with
   * the last axis of its shape first to change.
   */
  inputs(inputs: readonly ArrayLike<number>[]): Integers {
    const values = product(this.#takes.shape);
    const rows = inputs.map((numbers, i) => {
      if (numbers.length !== values) {
        throw new PalladionError("usage", `input ${i} has ${numbers.length} numbers, expected ${values}: ${this.#takes.shape.join(" x ")}`);
      }
      const row = Float64Array.from(numbers);
      // To the beginning of a model NaN is a missing value.
      const wrong = row.findIndex((number) => !Number.isFinite(number) && !(this.#head !== null && Number.isNaN(number)));
      if (wrong >= 0) throw new PalladionError("usage", `number ${wrong} of input ${i} is ${numbers[wrong]}, expected a finite one`);
      return row;
    });
    return this.#integers(this.#head === null ? rows.map((row) => this.#arranged(row)) : this.#begun(this.#head, rows));
  }

  /** Pictures of bytes, 0 to 255, in the order channel, row, column, as integers. */
  pictures(pictures: readonly Uint8Array[]): Integers {
    const { pixels } = this.#takes;
    if (pixels === undefined) {
      throw new PalladionError("usage", "it is not known what pixels are to this model: give numbers as the model takes them");
    }
    const [channels, height, width] = this.#facts.shape;
    const values = channels * height * width;
    const of = (part: readonly number[], channel: number) => part[part.length === 1 ? 0 : channel] as number;
    const rows = pictures.map((picture) => {
      if (picture.length !== values) {
        throw new PalladionError("usage", `a picture has ${picture.length} bytes, expected ${channels} x ${height} x ${width}`);
      }
      return Float64Array.from(picture, (byte, at) => {
        const channel = Math.floor(at / (height * width));
        return (byte / 255 - of(pixels.mean, channel)) / of(pixels.std, channel);
      });
    });
    return this.#integers(rows);
  }

  /** What the beginning of the model makes of inputs: all its outputs, one behind the other. */
  #begun(head: EndModel, rows: readonly Float64Array[]): Float64Array[] {
    const outputs = [...head.run(rows.flatMap((row) => Array.from(row)), this.#takes.shape).values()];
    return rows.map((_, i) => {
      const parts = outputs.flatMap(({ values }) => {
        const size = values.length / rows.length;
        return values.slice(i * size, (i + 1) * size);
      });
      const row = Float64Array.from(parts, Number);
      if (row.length !== product(this.#facts.shape) || row.some((number) => !Number.isFinite(number))) {
        throw new PalladionError("usage", `the beginning of the model gives ${row.length} values for input ${i}, expected ${product(this.#facts.shape)} finite ones: replace missing values`);
      }
      return row;
    });
  }

  /** One input in the network's order. */
  #arranged(row: Float64Array): Float64Array {
    const { order, shape } = this.#takes;
    if (order === undefined) return row;
    const strides = shape.map((_, axis) => product(shape.slice(axis + 1)));
    const sides = order.map((axis) => shape[axis] as number);
    return row.map((_, at) => {
      let rest = at;
      let from = 0;
      for (let i = order.length - 1; i >= 0; i -= 1) {
        const side = sides[i] as number;
        from += (rest % side) * (strides[order[i] as number] as number);
        rest = Math.floor(rest / side);
      }
      return row[from] as number;
    });
  }

  /** Numbers in the network's order as integers: normalised, divided by the scale, rounded. */
  #integers(rows: readonly Float64Array[]): Integers {
    const { batch, name, shape, range } = this.#facts;
    if (rows.length < 1 || rows.length > batch) {
      throw new PalladionError("usage", `${rows.length} inputs, expected 1 to ${batch}: ${name} was compiled for so many at once`);
    }
    const [channels, height, width] = shape;
    const { scale, mean = [], std = [] } = this.#input;
    const single = this.#takes.own_grid === true;
    const integers = new Int32Array(rows.length * channels * height * width);
    let clipped = 0;
    rows.forEach((row, input) => {
      row.forEach((number, at) => {
        const channel = Math.floor(at / (height * width));
        const real = (number - (mean[channel] ?? 0)) / (std[channel] ?? 1) / scale;
        const rounded = roundToEven(single ? Math.fround(real) : real);
        const integer = Math.min(Math.max(rounded, range[0]), range[1]);
        if (integer !== rounded) clipped += 1;
        integers[input * row.length + at] = integer;
      });
    });
    return { integers, clipped: single ? 0 : clipped };
  }

  /** Decrypted integers as the model's outputs, by name and in their units. */
  outputs(integers: Float64Array): Record<string, Output> {
    const { outputs } = this.#facts;
    const { labels, scale, shift = [0], shape, name } = this.#gives;
    const of = (part: readonly number[], value: number) => part[Math.floor(value / (outputs / part.length))] as number;
    const chosen = labels ?? Array.from({ length: outputs }, (_, value) => value);
    const count = integers.length / outputs;
    const values = new Float64Array(count * chosen.length);
    for (let input = 0; input < count; input += 1) {
      chosen.forEach((value, at) => {
        const integer = integers[input * outputs + value] as number;
        values[input * chosen.length + at] = integer * of(scale, value) + of(shift, value);
      });
    }
    if (this.#tail === null) return { [name]: { kind: "real", shape, values } };
    const ended = this.#tail.run(Array.from(values), shape);
    return Object.fromEntries(Array.from(ended, ([own, tensor]): [string, Output] => {
      const kind = kindOf(tensor);
      const each = tensor.shape.slice(1);
      if (kind === "text") return [own, { kind, shape: each, values: tensor.values as readonly string[] }];
      return [own, { kind, shape: each, values: Float64Array.from(tensor.values, Number) }];
    }));
  }

  /**
   * The class of each input, if the model is a classifier: its own label if there is one. Otherwise
   * the first of its largest numbers, or for one number whether it is above 0, or above 1/2 for a
   * probability.
   */
  classes(outputs: Readonly<Record<string, Output>>): (number | string)[] | null {
    const all = Object.entries(outputs);
    const own = all.find(([, { kind, shape }]) => kind !== "real" && product(shape) === 1);
    if (own !== undefined) return Array.from<number | string>(own[1].values);
    const deciding = all.find(([, { kind, shape }]) => kind === "real" && !shape.slice(1).some((side) => side > 1));
    if (deciding === undefined) return null;
    const [name, { shape, values }] = deciding;
    const least = this.#tail?.isProbability(name) ? 0.5 : 0;
    return rowsOf(values as Float64Array, product(shape)).map((row) =>
      row.length === 1 ? Number((row[0] as number) > least) : row.indexOf(row.reduce((a, b) => Math.max(a, b))),
    );
  }
}

/** Values as rows of a length. */
export function rowsOf(values: Float64Array, length: number): Float64Array[] {
  return Array.from({ length: values.length / length }, (_, i) => values.subarray(i * length, (i + 1) * length));
}

/** The product of some sides. */
export function product(sides: readonly number[]): number {
  return sides.reduce((result, side) => result * side, 1);
}
