/** The functions at one end of a model, which the client computes. */

import { PalladionError } from "./errors.js";
import { evaluate, lacking } from "./onnx/functions.js";
import { readModel, type SmallModel } from "./onnx/model.js";
import { cast, isReal, sizeOf, type Tensor, TEXT, type Value } from "./onnx/tensor.js";

/** Operators that only move values, so that a probability stays one. */
const MOVES = new Set([
  "Concat", "Dropout", "Expand", "Flatten", "Gather", "GatherElements", "Identity", "Reshape", "Shape", "Slice", "Split", "Squeeze", "Transpose",
  "Unsqueeze",
]);

/** One end of a model: its beginning or its end. */
export class EndModel {
  readonly #model: SmallModel;
  readonly #batched: boolean;
  readonly #words: string;

  /**
   * Reads it. Throws if it has functions that JavaScript does not have.
   *
   * @param text the model in base64
   * @param batched true if it takes several inputs at once
   * @param words name of the end in messages, such as "the end of the model mnist"
   */
  constructor(text: string, batched: boolean, words: string) {
    this.#model = readModel(text);
    this.#batched = batched;
    this.#words = words;
    const missing = lacking(this.#model);
    if (missing.length > 0 || this.#model.inputs.length !== 1) {
      throw new PalladionError(
        "usage",
        `${words} has functions that this client in JavaScript does not compute (${missing.join(", ")}): use the client in Python, palladion.connect`,
      );
    }
  }

  /** The outputs by name, for inputs of a shape, one behind the other. */
  run(values: readonly Value[], shape: readonly number[]): Map<string, Tensor> {
    const size = sizeOf(shape);
    const count = values.length / size;
    const rows = Array.from({ length: count }, (_, i) => values.slice(i * size, (i + 1) * size));
    try {
      return joined((this.#batched ? [values] : rows).map((part) => this.#evaluated(part, [part.length / size, ...shape])));
    } catch (error) {
      throw new PalladionError("data", `${this.#words} cannot be computed: ${(error as Error).message}`);
    }
  }

  #evaluated(values: readonly Value[], shape: readonly number[]): Map<string, Tensor> {
    const { inputType: type } = this.#model;
    return evaluate(this.#model, { type, shape, values: values.map((value) => cast(value, type)) });
  }

  /** True if an output is the output of a Sigmoid, possibly in another shape. */
  isProbability(output: string): boolean {
    let name = output;
    for (;;) {
      const maker = this.#model.nodes.find(({ outputs }) => outputs.includes(name));
      if (maker === undefined || !MOVES.has(maker.type)) return maker?.type === "Sigmoid";
      name = maker.inputs[0] as string;
    }
  }
}

/** The outputs of several inputs, one behind the other. */
function joined(parts: readonly Map<string, Tensor>[]): Map<string, Tensor> {
  const [first] = parts as [Map<string, Tensor>];
  return new Map([...first].map(([name, { type, shape }]) => {
    const all = parts.map((part) => part.get(name) as Tensor);
    const rows = all.reduce((sum, part) => sum + (part.shape[0] ?? 1), 0);
    return [name, { type, shape: [rows, ...shape.slice(1)], values: all.flatMap(({ values }) => values) }];
  }));
}

/** The kind of the values of an array. */
export function kindOf({ type }: Tensor): "real" | "whole" | "text" {
  if (type === TEXT) return "text";
  return isReal(type) ? "real" : "whole";
}
