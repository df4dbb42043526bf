// Do numbers become the integers that Python makes of them, and integers the same outputs?
import assert from "node:assert/strict";
import { test } from "node:test";
import { Ends, digitOf, pictureOf } from "../dist/index.js";
import { folder, native } from "./native.mjs";

const rows = (flat, count) => Array.from({ length: count }, (_, i) => Array.from(flat.slice(i * (flat.length / count), (i + 1) * (flat.length / count))));

test("inputs and outputs are those of Python", async () => {
  const cases = JSON.parse(await native("ends"));
  assert.ok(cases.length >= 8);
  for (const { facts, x, integers, logits, outputs, classes, pixels, of_pixels: ofPixels } of cases) {
    const ends = new Ends(facts);
    const found = ends.inputs(x);
    assert.deepEqual(rows(found.integers, 3), integers);
    const given = ends.outputs(Float64Array.from(logits.flat()));
    assert.deepEqual(Object.keys(given).sort(), Object.keys(outputs).sort());
    for (const [name, { kind, values }] of Object.entries(given)) {
      if (facts.ends.interface?.gives.tail && kind === "real") {
        values.forEach((value, at) => assert.ok(Math.abs(value - outputs[name][at]) <= 1e-6 * Math.abs(outputs[name][at]) + 1e-30, `${name}: ${value}, ${outputs[name][at]}`));
      } else assert.deepEqual(Array.from(values), outputs[name]);
    }
    assert.deepEqual(ends.classes(given), classes);
    if (pixels) assert.deepEqual(rows(ends.pictures(pixels.map((each) => Uint8Array.from(each))).integers, 2), ofPixels);
  }
});

const facts = (takes = {}, gives = {}) => ({
  name: "small", batch: 2, shape: [1, 1, 2], range: [0, 9], outputs: 2,
  ends: {
    input: { scale: 1 },
    interface: { takes: { name: "x", shape: [2], ...takes }, gives: { name: "y", shape: [2], scale: [1], ...gives } },
  },
});

test("numbers beyond the range are clipped and counted", () => {
  assert.deepEqual(new Ends(facts()).inputs([[-3, 2.5], [9.4, 9.6]]), { integers: Int32Array.from([0, 2, 9, 9]), clipped: 2 });
});

test("what does not fit is refused, with the cause", () => {
  const ends = new Ends(facts());
  assert.throws(() => ends.inputs([[1]]), /input 0 has 1 numbers, expected 2/);
  assert.throws(() => ends.inputs([[1, Number.NaN]]), /number 1 of input 0 is NaN/);
  assert.throws(() => ends.inputs([[1, 2], [1, 2], [1, 2]]), /3 inputs, expected 1 to 2/);
  assert.throws(() => ends.inputs([]), /0 inputs/);
  assert.throws(() => ends.pictures([Uint8Array.of(1, 2)]), /not known what pixels are/);
  assert.throws(() => new Ends({ ...facts(), ends: null }), /does not say what its inputs mean/);
  assert.throws(() => new Ends(facts({ head: "AAAA" })), /no ONNX model/);
  assert.throws(() => new Ends(facts({}, { tail: "!" })), /no ONNX model/);
  assert.throws(() => new Ends(facts({ shape: [3] })), /does not fit/);
  assert.throws(() => new Ends(facts({}, { labels: [0, 2] })), /does not fit/);
  assert.throws(() => new Ends(facts({ order: [1] })), /does not fit/);
});

test("pictures are those of Python: resized like Pillow, digits like MNIST's", async (context) => {
  const { path, remove } = await folder();
  context.after(remove);
  const cases = JSON.parse(await native("pictures", path));
  assert.ok(cases.some(({ shape }) => shape === null) && cases.some(({ shape }) => shape !== null));
  for (const { width, height, pixels, shape, bytes } of cases) {
    const given = { width, height, data: Uint8ClampedArray.from(pixels) };
    const made = Array.from(shape === null ? digitOf(given) : pictureOf(given, shape));
    const off = made.filter((value, at) => value !== bytes[at]).length;
    assert.equal(made.length, bytes.length);
    assert.equal(off, 0, `${off} of ${made.length} bytes of a picture of ${width} x ${height} differ`);
  }
});

test("an empty sheet is no digit, and transparent pixels have no colour", () => {
  const sheet = { width: 30, height: 30, data: new Uint8ClampedArray(3600).fill(255) };
  assert.throws(() => digitOf(sheet), /shows no digit/);
  const glass = { ...sheet, data: sheet.data.map((value, at) => (at === 3 ? 0 : value)) };
  assert.throws(() => pictureOf(glass, [1, 28, 28]), /1 transparent pixels/);
});

test("functions that JavaScript does not have are named", async () => {
  const [head, tail] = JSON.parse(await native("strange"));
  assert.throws(() => new Ends(facts({ head })), { kind: "usage", message: /the beginning of the model small has functions .*\(Sin\): use the client in Python/ });
  assert.throws(() => new Ends(facts({}, { tail })), { kind: "usage", message: /the end of the model small has functions .*\(TopK\)/ });
});
