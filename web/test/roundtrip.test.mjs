// Do keys and queries of the module serve the native server, and do answers decrypt to the integers
// that Python decrypts, near those of the integer network? Real parameters, 128-bit security.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Ends, Engine } from "../dist/index.js";
import { sha256 } from "./mock.mjs";
import { folder, moduleBytes, native } from "./native.mjs";

/** Largest memory of the module, of which Argon2id takes 64 MiB, in bytes. */
const MOST_MEMORY = 200e6;

const seconds = async (work) => {
  const begin = performance.now();
  const result = await work();
  return [result, (performance.now() - begin) / 1000];
};

let at, expected, terms, remove;

before(async () => {
  ({ path: at, remove } = await folder());
  await native("prepare", at);
  expected = JSON.parse(readFileSync(join(at, "expected.json"), "utf8"));
  terms = readFileSync(join(at, "program.client"));
});

after(() => remove?.());

const fresh = async () => {
  const engine = await Engine.load(moduleBytes());
  const facts = await engine.open(terms);
  return { engine, facts, ends: new Ends(facts) };
};

test("keys and a query made here run natively, and the answer decrypts as in Python", async () => {
  const { engine, facts, ends } = await fresh();
  assert.equal(facts.program_id, expected.program_id);
  const [{ file: sealed, keyId }, sealing] = await seconds(() => engine.newSecret("correct horse", 30));
  const progress = [];
  const [keys, making] = await seconds(() => engine.makeKeys([], (now) => progress.push(now.done)));
  const bytes = new Uint8Array(await keys.place.blob.arrayBuffer());
  assert.equal(bytes.length, facts.key_bytes);
  assert.equal(keys.digest, sha256(bytes));
  assert.equal(progress.at(-1), bytes.length);
  assert.ok(progress.length > facts.keys, "keys come one at a time");
  const memory = await engine.memory();
  console.log(`keys: ${facts.keys}, ${(bytes.length / 1e6).toFixed(1)} MB in ${making.toFixed(1)} s; memory ${(memory / 1e6).toFixed(0)} MB; a passphrase ${sealing.toFixed(2)} s`);
  assert.ok(memory < MOST_MEMORY, `${memory} bytes`);
  writeFileSync(join(at, "browser.evaluation"), bytes);

  const [picture, inputs, outputs] = [expected.pictures[0], expected.inputs[0], expected.outputs[0]];
  const { integers } = ends.pictures([Uint8Array.from(picture)]);
  assert.deepEqual(Array.from(integers), inputs);
  const [query, encrypting] = await seconds(() => engine.encrypt(integers));
  writeFileSync(join(at, "query"), query);
  await native("run", at);
  const answer = readFileSync(join(at, "answer"));

  // Another engine, as after a reload of the page.
  const again = await fresh();
  const [opened, opening] = await seconds(() => again.engine.unlock(sealed, "correct horse"));
  assert.equal(opened, keyId);
  const [decrypted, decrypting] = await seconds(() => again.engine.decrypt(answer, query));
  writeFileSync(join(at, "browser.key"), sealed);
  const python = JSON.parse(await native("decrypt", at));
  assert.deepEqual({ integers: Array.from(decrypted.integers), margin: decrypted.marginBits }, python);
  assert.ok(decrypted.marginBits > 5 && decrypted.marginBits < 30, `${decrypted.marginBits} bits`);
  // They lie as far from the exact ones as a run's rounding puts them.
  const square = decrypted.integers.reduce((sum, integer, i) => sum + (integer - outputs[i]) ** 2, 0);
  const off = Math.sqrt(square / outputs.length);
  assert.ok(off > expected.spread / 4 && off < 4 * expected.spread, `${off}, expected about ${expected.spread}`);
  assert.equal(ends.classes(ends.outputs(decrypted.integers))[0], expected.labels[0]);
  console.log(`encrypt ${encrypting.toFixed(3)} s, unlock ${opening.toFixed(2)} s, decrypt ${decrypting.toFixed(3)} s, margin ${decrypted.marginBits.toFixed(1)} bits`);

  // Nothing but the answer to this query under this secret is decrypted.
  const other = await engine.encrypt(integers);
  await assert.rejects(engine.decrypt(answer, other), { kind: "mismatch", message: /another query/ });
  const stranger = await fresh();
  await stranger.engine.newSecret("correct horse");
  await assert.rejects(stranger.engine.decrypt(answer, query), { kind: "mismatch", message: /made under one secret/ });
  const damaged = Uint8Array.from(answer);
  damaged[damaged.length >> 1] ^= 1;
  await assert.rejects(engine.decrypt(damaged, query), { kind: "data", message: /checksum/ });

  // Keys that are held are not made again.
  const profile = profileOf(bytes);
  assert.equal(await engine.missingKeyBytes([profile]), 0);
  const fewer = JSON.parse(profile);
  const [dropped] = fewer.galois.splice(0, 1);
  const top = await engine.makeKeys([JSON.stringify(fewer)]);
  assert.ok(top.bytes < bytes.length / 4, `${top.bytes} bytes for the key of element ${dropped[0]}`);
  const others = JSON.stringify({ ...fewer, lwe_dimension: 2048 });
  assert.equal(await engine.missingKeyBytes([others]), bytes.length, "keys of other parameters do not serve");
});

test("a secret that Python sealed opens here, and with no other passphrase", async () => {
  const { engine } = await fresh();
  const file = readFileSync(join(at, "secret.key"));
  const { key_id: keyId } = JSON.parse(readFileSync(join(at, "secret.json"), "utf8"));
  assert.equal(await engine.unlock(file, "correct horse"), keyId);
  await assert.rejects(engine.unlock(file, "wrong horse"), { kind: "data", message: /does not open the secret/ });
  await assert.rejects(engine.newSecret(""), { kind: "usage", message: /passphrase is empty/ });
});

test("wrong bytes and wrong order are refused with their kind", async () => {
  const engine = await Engine.load(moduleBytes());
  await assert.rejects(engine.encrypt(Int32Array.of(1)), { kind: "usage", message: /no model is open/ });
  await assert.rejects(engine.open(Uint8Array.of(1, 2, 3)), { kind: "data" });
  await assert.rejects(engine.open(terms.subarray(0, 500)), { kind: "data" });
  await engine.open(terms);
  await assert.rejects(engine.encrypt(Int32Array.of(1)), { kind: "usage", message: /is locked/ });
  await engine.newSecret("correct horse");
  await assert.rejects(engine.encrypt(Int32Array.of(1)), { kind: "usage", message: /1 integers of inputs/ });
  await assert.rejects(engine.encrypt(new Int32Array(784).fill(1000)), { kind: "usage", message: /a pixel is 1000/ });
  await assert.rejects(engine.missingKeyBytes(["{"]), { kind: "data" });
});

/** The profile of a file of keys: a block of JSON behind the header. */
function profileOf(bytes) {
  const text = Buffer.from(bytes.buffer, 0, 100_000).toString("latin1");
  const start = text.indexOf('{"n":');
  const length = Number(Buffer.from(bytes.buffer).readBigUInt64LE(start - 8));
  return text.slice(start, start + length);
}
