/**
 * Pictures in the form that networks take, as `palladion.support.image` makes them: resized like
 * Pillow, and digits prepared like MNIST's.
 */

import { PalladionError } from "./errors.js";
import { roundToEven } from "./rounding.js";

/** One channel of a picture, row by row, with bytes 0 to 255. */
export interface Plane {
  readonly width: number;
  readonly height: number;
  readonly values: Uint8Array;
}

/** Pixels of four bytes: red, green, blue, and how opaque. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8ClampedArray;
}

const SIDE = 28;
const INK_SIDE = 20;
/** Of 255; an empty sheet of paper varies by less. */
const MIN_CONTRAST = 30;
/** Of the full contrast; shadows and JPEG artefacts are below. */
const INK = 0.25;

/** The picture of a digit as MNIST has them: 28 x 28, white on black, the centre of mass at the centre. */
export function digitOf(pixels: Pixels): Uint8Array {
  const { width, height, values } = greyOf(onPaper(pixels));
  const at = (x: number, y: number) => values[y * width + x] as number;
  const border: number[] = [];
  for (let x = 0; x < width; x += 1) border.push(at(x, 0), at(x, height - 1));
  for (let y = 0; y < height; y += 1) border.push(at(0, y), at(width - 1, y));
  const ground = median(border);
  const light = ground > 127;
  if (width === SIDE && height === SIDE && !light) return values;
  const ink = Float64Array.from(values, (value) => Math.max(light ? ground - value : value - ground, 0));
  const contrast = ink.reduce((most, value) => Math.max(most, value), 0);
  if (contrast < MIN_CONTRAST) {
    throw new PalladionError("data", `the picture shows no digit: its contrast is ${contrast.toFixed(0)} of 255, expected at least ${MIN_CONTRAST}`);
  }
  const clean = ink.map((value) => (value < INK * contrast ? 0 : value / contrast));
  return centred(fitted(clean, width, height));
}

interface Ink {
  readonly width: number;
  readonly height: number;
  readonly values: Float64Array;
}

/** The inked part, resized to at most 20 x 20. */
function fitted(ink: Float64Array, width: number, height: number): Ink {
  let [left, top, right, bottom] = [width, height, 0, 0];
  ink.forEach((value, at) => {
    if (value === 0) return;
    const [x, y] = [at % width, Math.floor(at / width)];
    [left, right] = [Math.min(left, x), Math.max(right, x + 1)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y + 1)];
  });
  const part = { width: right - left, height: bottom - top, values: new Uint8Array((right - left) * (bottom - top)) };
  part.values.forEach((_, at) => {
    const [x, y] = [left + (at % part.width), top + Math.floor(at / part.width)];
    part.values[at] = Math.trunc((ink[y * width + x] as number) * 255);
  });
  const factor = INK_SIDE / Math.max(part.width, part.height);
  const side = (length: number) => Math.max(1, roundToEven(length * factor));
  const small = resized(part, side(part.width), side(part.height), factor < 1 ? BOX : BILINEAR);
  const most = Math.max(small.values.reduce((a, b) => Math.max(a, b), 0), 1);
  return { ...small, values: Float64Array.from(small.values, (value) => value * (255 / most)) };
}

/** Ink on 28 x 28, with its centre of mass at the centre if it stays inside. */
function centred({ width, height, values }: Ink): Uint8Array {
  let [mass, sumX, sumY] = [0, 0, 0];
  values.forEach((value, at) => {
    mass += value;
    sumX += value * (at % width);
    sumY += value * Math.floor(at / width);
  });
  const place = (sum: number, length: number) => Math.min(Math.max(roundToEven(SIDE / 2 - sum / mass), 0), SIDE - length);
  const [left, top] = [place(sumX, width), place(sumY, height)];
  const canvas = new Uint8Array(SIDE * SIDE);
  values.forEach((value, at) => {
    canvas[(top + Math.floor(at / width)) * SIDE + left + (at % width)] = roundToEven(value);
  });
  return canvas;
}

/** A picture in the order channel, row, column: grey for 1 channel, red, green, blue for 3. */
export function pictureOf(pixels: Pixels, [channels, height, width]: readonly [number, number, number]): Uint8Array {
  if (channels !== 1 && channels !== 3) {
    throw new PalladionError("usage", `the network takes ${channels} channels of ${height} x ${width}, and a picture has 1 or 3: give numbers as the model takes them`);
  }
  const clear = pixels.data.filter((value, at) => at % 4 === 3 && value < 255).length;
  if (clear > 0) {
    throw new PalladionError("data", `the picture has ${clear} transparent pixels, whose colour depends on what lies behind them: put it on a background, and save it without transparency`);
  }
  const planes = channels === 1 ? [greyOf(pixels)] : [0, 1, 2].map((channel) => planeOf(pixels, channel));
  const out = new Uint8Array(channels * height * width);
  planes.forEach((plane, channel) => {
    const same = plane.width === width && plane.height === height;
    out.set((same ? plane : resized(plane, width, height, BICUBIC)).values, channel * height * width);
  });
  return out;
}

function planeOf({ width, height, data }: Pixels, channel: number): Plane {
  return { width, height, values: Uint8Array.from({ length: width * height }, (_, at) => data[4 * at + channel] as number) };
}

/** Brightness by the weights of ITU-R 601, in the integers of Pillow. */
function greyOf({ width, height, data }: Pixels): Plane {
  const values = Uint8Array.from({ length: width * height }, (_, at) => {
    const [red, green, blue] = [data[4 * at] as number, data[4 * at + 1] as number, data[4 * at + 2] as number];
    return (red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16;
  });
  return { width, height, values };
}

/** The picture with white paper behind transparent pixels. */
function onPaper({ width, height, data }: Pixels): Pixels {
  const opaque = data.map((value, at) => {
    const cover = data[at - (at % 4) + 3] as number;
    return at % 4 === 3 ? 255 : Math.round((value * cover + 255 * (255 - cover)) / 255);
  });
  return { width, height, data: opaque };
}

interface Filter {
  readonly support: number;
  weight(distance: number): number;
}

const BOX: Filter = { support: 0.5, weight: (x) => (x > -0.5 && x <= 0.5 ? 1 : 0) };
const BILINEAR: Filter = { support: 1, weight: (x) => Math.max(1 - Math.abs(x), 0) };
const BICUBIC: Filter = {
  support: 2,
  weight(signed) {
    const x = Math.abs(signed);
    if (x < 1) return ((1.5 * x) - 2.5) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0;
  },
};

/** A plane in another size: columns first, then rows, each rounded to bytes. */
function resized(plane: Plane, width: number, height: number, filter: Filter): Plane {
  const { width: from, height: rows, values } = plane;
  const across = new Uint8Array(width * rows);
  weightsOf(from, width, filter).forEach(({ start, weights }, x) => {
    for (let y = 0; y < rows; y += 1) {
      across[y * width + x] = byte(weights.reduce((sum, weight, k) => sum + weight * (values[y * from + start + k] as number), 0));
    }
  });
  const down = new Uint8Array(width * height);
  weightsOf(rows, height, filter).forEach(({ start, weights }, y) => {
    for (let x = 0; x < width; x += 1) {
      down[y * width + x] = byte(weights.reduce((sum, weight, k) => sum + weight * (across[(start + k) * width + x] as number), 0));
    }
  });
  return { width, height, values: down };
}

/** One in the weights, which are integers as Pillow's are. */
const ONE = 2 ** 22;

/** For each new place the first old one that counts, and the weights from it on. */
function weightsOf(from: number, to: number, { support, weight }: Filter): { start: number; weights: number[] }[] {
  const scale = from / to;
  const wide = Math.max(scale, 1);
  return Array.from({ length: to }, (_, at) => {
    const centre = (at + 0.5) * scale;
    const start = Math.max(Math.trunc(centre - support * wide + 0.5), 0);
    const end = Math.min(Math.trunc(centre + support * wide + 0.5), from);
    const weights = Array.from({ length: end - start }, (_, k) => weight((start + k - centre + 0.5) / wide));
    const sum = weights.reduce((a, b) => a + b, 0);
    return { start, weights: weights.map((one) => Math.trunc((one / sum) * ONE + (one < 0 ? -0.5 : 0.5))) };
  });
}

/** A sum of weighted bytes as a byte. */
function byte(sum: number): number {
  return Math.min(Math.max(Math.floor((sum + ONE / 2) / ONE), 0), 255);
}

function median(values: number[]): number {
  const sorted = values.sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] as number;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] as number)) / 2;
}
