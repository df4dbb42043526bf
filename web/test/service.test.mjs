// Does the client come through broken connections, busy services and lost parts?
import assert from "node:assert/strict";
import { test } from "node:test";
import { PalladionClient, PalladionError, Service, memoryStore } from "../dist/index.js";
import { begin, sha256 } from "./mock.mjs";

const FACTS = {
  name: "mnist", batch: 1, shape: [1, 1, 2], range: [0, 9], outputs: 2, keys: 40, key_bytes: 3_500_000, profile_id: "p", program_id: "g", layout_id: "l",
  ends: { input: { scale: 1 }, interface: { takes: { name: "x", shape: [2] }, gives: { name: "y", shape: [2], scale: [0.5] } } },
};

/** An engine whose ciphertexts hide nothing: an answer is the query, and its integers are the bytes. */
function toyEngine(calls = []) {
  const keys = new Uint8Array(3_500_000).map((_, at) => at * 7);
  return {
    open: async () => FACTS,
    newSecret: async (passphrase) => ({ file: new TextEncoder().encode(passphrase), keyId: "k".repeat(32) }),
    unlock: async (file, passphrase) => {
      if (new TextDecoder().decode(file) !== passphrase) throw new PalladionError("data", "the passphrase does not open the secret");
      return "k".repeat(32);
    },
    makeKeys: async (have, onProgress) => {
      calls.push(["makeKeys", have]);
      onProgress?.({ done: keys.length, bytes: keys.length });
      return { digest: sha256(keys), bytes: keys.length, place: { kind: "memory", blob: new Blob([keys]) } };
    },
    encrypt: async (integers) => Uint8Array.from(integers),
    decrypt: async (answer) => ({ integers: Float64Array.from(answer), marginBits: 9 }),
  };
}

async function serve(context, options = {}) {
  const service = await begin({ client: Buffer.from("terms"), compute: (query) => query, ...options });
  context.after(service.end);
  return service;
}

const connect = (service, more = {}) =>
  PalladionClient.connect({ url: service.url, token: "token", model: "mnist", engine: toyEngine(), store: memoryStore(), ...more });

test("a prediction comes through, with its steps in order", async (context) => {
  const service = await serve(context);
  const client = await connect(service);
  await client.unlock("correct horse");
  const steps = [];
  const onProgress = ({ step }) => steps.at(-1) === step || steps.push(step);
  await client.prepareKeys({ onProgress });
  const prediction = await client.predict(client.ends.inputs([[3, 8]]), { onProgress });
  assert.deepEqual(Array.from(prediction.outputs.y.values), [1.5, 4]);
  assert.deepEqual(prediction.classes, [1]);
  assert.equal(prediction.marginBits, 9);
  assert.deepEqual(steps.filter((step) => step !== "queue"), ["make keys", "upload keys", "encrypt", "compute", "decrypt"]);
  await client.prepareKeys({ onProgress: () => assert.fail("the service has the keys") });
});

test("broken connections and busy services are tried again", async (context) => {
  const fault = (name, count) => {
    if (count > 1) return null;
    if (name.endsWith("/parts/1")) return "drop";
    if (name.endsWith("/parts/2")) return { status: 503, headers: { "Retry-After": "1" }, body: { kind: "resources", detail: "busy", retry: true } };
    if (name === "POST /v2/models/mnist/versions/1/jobs" || name.endsWith("/events")) return "drop";
    return null;
  };
  const service = await serve(context, { fault });
  const client = await connect(service);
  await client.unlock("correct horse");
  await client.prepareKeys();
  await client.predict(client.ends.inputs([[3, 8]]));
  assert.equal(service.state.jobs.size, 1, "a query that was sent twice is one job");
  assert.equal(service.state.keys.size, 1);
});

test("an upload goes on where it was left, with the same keys", async (context) => {
  let broken = true;
  const fault = (name) => (broken && name.endsWith("/parts/2") ? { status: 400, body: { kind: "data", detail: "the disk is full", retry: false } } : null);
  const service = await serve(context, { fault });
  const [calls, store] = [[], memoryStore()];
  const engine = toyEngine(calls);
  const client = await connect(service, { engine, store });
  await client.unlock("correct horse");
  await assert.rejects(client.prepareKeys(), { kind: "data", message: "the disk is full" });
  broken = false;
  const sent = service.state.requests.filter((name) => name.startsWith("PUT")).length;
  const again = await connect(service, { engine, store }); // as after a reload of the page
  await again.unlock("correct horse");
  await again.prepareKeys();
  assert.equal(calls.length, 1, "keys are made once");
  const parts = service.state.requests.filter((name) => name.startsWith("PUT")).slice(sent);
  assert.ok(parts.length < 4 && parts.some((name) => name.endsWith("/parts/2")), `${parts}`);
  assert.equal(service.state.keys.size, 1);
});

test("keys that the service holds are not made again", async (context) => {
  const service = await serve(context);
  service.state.keyState = () => ({ missing_keys: 3, missing_bytes: 10, held: [{ digest: "d", profile: "{\"n\":1}" }] });
  const calls = [];
  const client = await connect(service, { engine: toyEngine(calls) });
  await client.unlock("correct horse");
  await client.prepareKeys();
  assert.deepEqual(calls, [["makeKeys", ["{\"n\":1}"]]]);
});

test("events may come in pieces, and their end is no end of the job", async () => {
  const job = (state, done) => ({ id: "j", model: "m", version: "1", state, done, step: "é" });
  const text = `: hello\r\n\r\nevent: job\r\ndata: ${JSON.stringify(job("running", 0.5))}\r\n\r\nevent: other\ndata: x\n\n`;
  const bytes = new TextEncoder().encode(text);
  const pieces = [bytes.slice(0, 40), bytes.slice(40, bytes.length - 30), bytes.slice(bytes.length - 30)];
  const answers = {
    "/v2/jobs/j/events": () => new Response(new ReadableStream({ start: (to) => pieces.forEach((piece) => to.enqueue(piece)) || to.close() })),
    "/v2/jobs/j": () => Response.json(job("done", 1)),
  };
  const service = new Service({ url: "http://service", fetch: async (url) => answers[new URL(url).pathname]() });
  const seen = [];
  const ended = await service.follow("j", ({ state, done, step }) => seen.push([state, done, step]));
  assert.deepEqual(seen, [["running", 0.5, "é"], ["done", 1, "é"]]);
  assert.equal(ended.state, "done");
});

test("refusals have the words and the kind of the service, and are not tried again", async (context) => {
  const service = await serve(context);
  await assert.rejects(connect(service, { token: "other" }), { kind: "usage", status: 401, message: /the token is unknown/ });
  assert.equal(service.state.requests.length, 1);
  await assert.rejects(connect(service, { model: "lenet" }), { kind: "usage", status: 404, message: /there is no model lenet; the models are: mnist/ });
  const client = await connect(service);
  assert.throws(() => client.keyId, /the secret is locked/);
});

test("a wrong passphrase, a failed job, a changed client's file, a service that is away", async (context) => {
  const service = await serve(context, { compute: () => Promise.reject(Object.assign(new Error("the keys have expired: make new ones"), { kind: "mismatch" })) });
  const store = memoryStore();
  const client = await connect(service, { store });
  await client.unlock("correct horse");
  await assert.rejects((await connect(service, { store })).unlock("wrong horse"), { kind: "data" });
  await assert.rejects(client.predict(client.ends.inputs([[3, 8]])), { kind: "mismatch", message: "the keys have expired: make new ones" });
  const other = await serve(context, { parameters: { client_digest: "0".repeat(64) } });
  await assert.rejects(connect(other), { kind: "data", message: /expected 000000000000/ });
  await assert.rejects(connect(service, { clientDigest: "1".repeat(64) }), { kind: "data", message: /expected 111111111111/ });
  await other.end();
  await assert.rejects(connect(other, { tries: 2 }), { kind: "io", retry: true, message: /cannot be reached/ });
});

test("a run that is stopped is cancelled at the service", async (context) => {
  const service = await serve(context, { compute: () => new Promise(() => {}) });
  const client = await connect(service);
  await client.unlock("correct horse");
  const stop = new AbortController();
  const onProgress = ({ step }) => step === "compute" && stop.abort();
  await assert.rejects(client.predict(client.ends.inputs([[3, 8]]), { onProgress, signal: stop.signal }), { name: "AbortError" });
  assert.equal([...service.state.jobs.values()][0].state, "cancelled");
});
