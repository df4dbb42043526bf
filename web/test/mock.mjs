// A service for tests: the protocol of docs/service.md, with the faults that a test asks for.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".wasm": "application/wasm" };
const POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; base-uri 'none'; form-action 'none'";

export const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/**
 * Begins a service. `compute(query, keyFiles)` gives the answer's bytes. `fault(request, count)` may
 * return `{status, body, headers}` or "drop" in the place of an answer.
 */
export async function begin({ client, compute, page, token = "token", partBytes = 1 << 20, fault = () => null, parameters = {} }) {
  const state = { uploads: new Map(), keys: new Map(), jobs: new Map(), requests: [], keyState: null, bytesReceived: 0, bodies: [] };
  const server = createServer((request, response) => {
    handle(request, response).catch((error) => send(response, 500, { kind: "internal", detail: String(error) }));
  });

  function send(response, status, body, headers = {}) {
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
    const type = Buffer.isBuffer(body) ? "application/octet-stream" : status < 400 ? "application/json" : "application/problem+json";
    response.writeHead(status, { "Content-Type": type, ...headers });
    response.end(bytes);
  }

  async function handle(request, response) {
    const { pathname: path } = new URL(request.url, "http://x");
    const name = `${request.method} ${path}`;
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    state.bytesReceived += body.length;
    state.bodies.push(body);
    state.requests.push(name);
    if (!path.startsWith("/v2")) return file(path, response);
    const wrong = fault(name, state.requests.filter((each) => each === name).length, state);
    if (wrong === "drop") return request.socket.destroy();
    if (wrong) return send(response, wrong.status, wrong.body ?? {}, wrong.headers);
    if (request.headers.authorization !== `Bearer ${token}`) {
      return send(response, 401, { kind: "usage", detail: "the token is unknown: ask the operator for another", retry: false });
    }
    return route(name, path.split("/").slice(2).map(decodeURIComponent), request, body, response);
  }

  async function file(path, response) {
    if (!page) return send(response, 404, {});
    const name = path === "/" ? "index.html" : path.slice(1);
    try {
      const bytes = await readFile(join(page, name));
      response.writeHead(200, { "Content-Type": TYPES[extname(name)] ?? "application/octet-stream", "Content-Security-Policy": POLICY });
      response.end(bytes);
    } catch {
      send(response, 404, { detail: `no file ${name}` });
    }
  }

  function uploadState(upload) {
    const parts = Math.ceil(upload.bytes / partBytes);
    const missing = Array.from({ length: parts }, (_, part) => part).filter((part) => !upload.parts.has(part));
    return { upload: upload.id, part_bytes: partBytes, parts, missing };
  }

  function publicJob({ answer, ...job }) {
    return { ...job, answer_bytes: answer?.length ?? 0 };
  }

  async function route(name, [first, second, third, fourth, fifth], request, body, response) {
    const method = request.method;
    if (name === "GET /v2/models") return send(response, 200, { models: [{ name: "mnist" }] });
    if (first === "models" && second !== "mnist") return send(response, 404, { kind: "usage", detail: `there is no model ${second}; the models are: mnist`, retry: false });
    if (first === "models" && third === undefined) {
      return send(response, 200, { name: "mnist", versions: ["1"], parameters: { version: "1", client_digest: sha256(client), predicted_seconds: 5, ...parameters } });
    }
    if (first === "models" && fifth === "client") return send(response, 200, client);
    if (first === "models" && fifth === "keys") {
      const held = [...state.keys.values()].map(({ digest, profile }) => ({ digest, profile: profile ?? "" })).filter(({ profile }) => profile);
      const missing = state.keys.size === 0 ? 40 : 0;
      return send(response, 200, state.keyState?.() ?? { missing_keys: missing, missing_bytes: missing * 1e6, held });
    }
    if (name === "POST /v2/uploads") {
      const { digest, bytes } = JSON.parse(body);
      if (state.keys.has(digest)) return send(response, 200, { complete: true });
      const begun = [...state.uploads.values()].find((upload) => upload.digest === digest) ?? { id: `u${state.uploads.size}`, digest, bytes, parts: new Map() };
      state.uploads.set(begun.id, begun);
      return send(response, 201, uploadState(begun));
    }
    if (first === "uploads") {
      const upload = state.uploads.get(second);
      if (!upload) return send(response, 404, { kind: "usage", detail: "there is no such upload", retry: false });
      if (method === "GET") return send(response, 200, uploadState(upload));
      if (method === "PUT") {
        const own = `sha-256=:${createHash("sha256").update(body).digest("base64")}:`;
        if (request.headers["content-digest"] !== own) return send(response, 400, { kind: "data", detail: "the digest of the part does not match", retry: true });
        upload.parts.set(Number(fourth), body);
        return send(response, 204, Buffer.alloc(0));
      }
      const { missing } = uploadState(upload);
      if (missing.length) return send(response, 409, { kind: "usage", detail: `${missing.length} parts are missing`, retry: false });
      const whole = Buffer.concat([...upload.parts].sort(([a], [b]) => a - b).map(([, part]) => part));
      if (sha256(whole) !== upload.digest) return send(response, 400, { kind: "data", detail: "the file has another digest", retry: false });
      state.keys.set(upload.digest, { digest: upload.digest, bytes: whole });
      state.uploads.delete(second);
      return send(response, 201, { digest: upload.digest, bytes: whole.length });
    }
    if (first === "models" && (third === "jobs" || fifth === "jobs")) {
      const key = request.headers["idempotency-key"];
      const known = [...state.jobs.values()].find((job) => job.key === key);
      if (known) return send(response, 200, publicJob(known));
      const job = { id: `j${state.jobs.size}`, key, model: "mnist", version: "1", state: "queued", step: null, done: 0, seconds_left: 5, ahead: 1, error: null };
      state.jobs.set(job.id, job);
      start(job, body);
      return send(response, 202, publicJob(job));
    }
    if (first === "jobs") {
      const job = state.jobs.get(second);
      if (!job) return send(response, 404, { kind: "usage", detail: "there is no such job", retry: false });
      if (method === "DELETE") {
        job.state = "cancelled";
        return send(response, 204, Buffer.alloc(0));
      }
      if (third === "answer") return send(response, 200, job.answer);
      if (third === undefined) return send(response, 200, publicJob(job));
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      const look = setInterval(() => {
        response.write(`event: job\ndata: ${JSON.stringify(publicJob(job))}\n\n`);
        if (!["queued", "running"].includes(job.state)) {
          clearInterval(look);
          response.end();
        }
      }, 50);
      response.on("close", () => clearInterval(look));
      return undefined;
    }
    return send(response, 404, { kind: "usage", detail: `no route ${name}`, retry: false });
  }

  function start(job, query) {
    const steps = setInterval(() => {
      if (job.state === "queued" || job.state === "running") Object.assign(job, { state: "running", ahead: 0, step: "conv", done: Math.min(job.done + 0.1, 0.9), seconds_left: 2 });
    }, 100);
    steps.unref(); // a computation that never ends keeps no test alive
    Promise.resolve(compute(query, [...state.keys.values()].map(({ bytes }) => bytes)))
      .then((answer) => Object.assign(job, { state: job.state === "cancelled" ? "cancelled" : "done", done: 1, seconds_left: 0, answer }))
      .catch((error) => Object.assign(job, { state: "failed", error: { kind: error.kind ?? "internal", detail: error.message, retry: error.retry ?? false } }))
      .finally(() => clearInterval(steps));
  }

  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    state,
    end: () => new Promise((resolve) => {
      server.closeAllConnections();
      server.close(resolve);
    }),
  };
}
