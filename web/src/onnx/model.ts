/**
 * The small ONNX models at both ends of a network, read from their protocol buffers: nodes with
 * attributes, constants, names of inputs and outputs. As `palladion.nn.ends.small_onnx`.
 */

import { PalladionError } from "../errors.js";
import { BOOL, DOUBLE, FLOAT, INT32, INT64, TEXT, type Tensor, type Value, sizeOf } from "./tensor.js";

export interface Node {
  readonly type: string;
  readonly domain: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Numbers and lists of numbers. `null` stands for an attribute of another type. */
  readonly attributes: ReadonlyMap<string, number | readonly number[] | null>;
}

export interface SmallModel {
  readonly nodes: readonly Node[];
  readonly constants: ReadonlyMap<string, Tensor>;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** ONNX's number of the type of the input. */
  readonly inputType: number;
  /** Version of ONNX's own operators. */
  readonly opset: number;
  readonly hasFunctions: boolean;
}

/** Largest model, in bytes. */
const MOST = 1 << 20;

type Field = bigint | Uint8Array;
type Message = ReadonlyMap<number, readonly Field[]>;

/** Reads a model in base64. Throws if it is none. */
export function readModel(text: string): SmallModel {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    if (bytes.length > MOST) throw new RangeError(`${bytes.length} bytes, expected at most ${MOST}`);
    return modelOf(messageOf(bytes));
  } catch (error) {
    throw new PalladionError("data", `an end of the model is no ONNX model: ${(error as Error).message}`);
  }
}

function modelOf(model: Message): SmallModel {
  const graph = messageOf(last(model, 7));
  const versions = all(model, 8).map(messageOf).filter((entry) => ["", "ai.onnx"].includes(text(entry, 1)));
  const inputs = all(graph, 11).map(messageOf);
  const [first] = inputs;
  const tensors = all(graph, 5).map(messageOf).filter((tensor) => READABLE.has(number(tensor, 2)));
  return {
    nodes: all(graph, 1).map((node) => nodeOf(messageOf(node))),
    constants: new Map(tensors.map((tensor) => [text(tensor, 8), tensorOf(tensor)])),
    inputs: inputs.map((entry) => text(entry, 1)),
    outputs: all(graph, 12).map((entry) => text(messageOf(entry), 1)),
    inputType: first === undefined ? 0 : number(messageOf(last(messageOf(last(first, 2)), 1)), 1),
    opset: Math.max(1, ...versions.map((entry) => number(entry, 2))),
    hasFunctions: model.has(25),
  };
}

function nodeOf(node: Message): Node {
  const attributes = all(node, 5).map(messageOf).map((entry) => [text(entry, 1), attributeOf(entry)] as const);
  return {
    type: text(node, 4),
    domain: text(node, 7),
    inputs: all(node, 1).map(decoded),
    outputs: all(node, 2).map(decoded),
    attributes: new Map(attributes),
  };
}

function attributeOf(attribute: Message): number | readonly number[] | null {
  const kind = number(attribute, 20);
  if (kind === 1) return reals(attribute, 2, 4)[0] ?? 0;
  if (kind === 2) return number(attribute, 3);
  if (kind === 6) return reals(attribute, 7, 4);
  return kind === 7 ? numbers(attribute, 8) : null;
}

const READABLE = new Set([FLOAT, INT32, INT64, BOOL, DOUBLE, TEXT]);
const WIDTHS: Readonly<Record<number, number>> = { [FLOAT]: 4, [INT32]: 4, [INT64]: 8, [BOOL]: 1, [DOUBLE]: 8 };

function tensorOf(tensor: Message): Tensor {
  const [type, shape] = [number(tensor, 2), numbers(tensor, 1)];
  const values = type === TEXT ? all(tensor, 6).map(decoded) : numbersOf(tensor, type);
  if (values.length !== sizeOf(shape)) throw new RangeError(`${values.length} values of shape ${shape.join(" x ")}`);
  return { type, shape, values };
}

function numbersOf(tensor: Message, type: number): Value[] {
  if (tensor.has(9)) {
    const raw = bytesOf(last(tensor, 9));
    const [view, width] = [new DataView(raw.buffer, raw.byteOffset, raw.byteLength), WIDTHS[type] as number];
    return Array.from({ length: Math.floor(raw.length / width) }, (_, at) => rawNumber(view, type, at * width));
  }
  return [...reals(tensor, 4, 4), ...numbers(tensor, 5), ...numbers(tensor, 7), ...reals(tensor, 10, 8)];
}

function rawNumber(view: DataView, type: number, at: number): number {
  if (type === FLOAT) return view.getFloat32(at, true);
  if (type === DOUBLE) return view.getFloat64(at, true);
  if (type === INT32) return view.getInt32(at, true);
  return type === INT64 ? Number(view.getBigInt64(at, true)) : view.getUint8(at);
}

/** The values of a message by the numbers of their fields. */
function messageOf(field: Field | Uint8Array): Message {
  const bytes = bytesOf(field);
  const found = new Map<number, Field[]>();
  let place = 0;
  const varint = (): bigint => {
    for (let value = 0n, shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[place];
      if (byte === undefined) break;
      place += 1;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
    throw new RangeError(`no number ends before byte ${place}`);
  };
  while (place < bytes.length) {
    const key = Number(varint());
    const name = Math.floor(key / 8);
    const values = found.get(name) ?? [];
    found.set(name, values);
    if ((key & 7) === 0) {
      values.push(varint());
      continue;
    }
    const length = { 1: 8, 5: 4, 2: (key & 7) === 2 ? Number(varint()) : 0 }[key & 7];
    if (length === undefined || place + length > bytes.length) throw new RangeError(`byte ${place} is not within a field`);
    values.push(bytes.subarray(place, place + length));
    place += length;
  }
  return found;
}

function bytesOf(field: Field): Uint8Array {
  if (typeof field === "bigint") throw new TypeError("a number, expected bytes");
  return field;
}

function all(message: Message, field: number): readonly Field[] {
  return message.get(field) ?? [];
}

/** The last value of a field, which is the one that counts. */
function last(message: Message, field: number): Field {
  const found = all(message, field).at(-1);
  if (found === undefined) throw new RangeError(`a message without field ${field}`);
  return found;
}

function signed(value: bigint): number {
  return Number(BigInt.asIntN(64, value));
}

function number(message: Message, field: number): number {
  const found = all(message, field).at(-1) ?? 0n;
  if (typeof found !== "bigint") throw new TypeError(`field ${field} is no number`);
  return signed(found);
}

function decoded(field: Field): string {
  return new TextDecoder("utf-8", { fatal: true }).decode(bytesOf(field));
}

function text(message: Message, field: number): string {
  const found = all(message, field).at(-1);
  return found === undefined ? "" : decoded(found);
}

/** A list of numbers, packed or not. */
function numbers(message: Message, field: number): number[] {
  return all(message, field).flatMap((value) => {
    if (typeof value === "bigint") return [signed(value)];
    const found: number[] = [];
    let [sum, shift] = [0n, 0n];
    for (const byte of value) {
      sum |= BigInt(byte & 127) << shift;
      shift += 7n;
      if (byte < 128) {
        found.push(signed(sum));
        [sum, shift] = [0n, 0n];
      }
    }
    return found;
  });
}

/** A list of real numbers of so many bytes, packed or not. */
function reals(message: Message, field: number, width: 4 | 8): number[] {
  return all(message, field).flatMap((value) => {
    const bytes = bytesOf(value);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return Array.from({ length: Math.floor(bytes.length / width) }, (_, at) =>
      width === 4 ? view.getFloat32(at * 4, true) : view.getFloat64(at * 8, true),
    );
  });
}
