// Runs Perfetto's trace processor, which is a worker for browsers, in Node: reads a stream of its requests from the
// standard input and writes its stream of replies to the standard output.
//
//     node trace_processor.mjs DIRECTORY   with engine_bundle.js and trace_processor.wasm
import { readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { runInThisContext } from "node:vm";

const directory = process.argv[2];
const file = (name) => readFileSync(join(directory, name));

// What a browser's worker has and Node has not. The standard output belongs to the replies.
delete globalThis.process;
globalThis.self = globalThis;
globalThis.location = { href: "http://localhost/engine_bundle.js" };
globalThis.WorkerGlobalScope = class {};
globalThis.importScripts = () => {};
console.log = console.warn = console.error;
globalThis.fetch = async (name) => ({
  ok: true,
  arrayBuffer: async () => new Uint8Array(file(name.split("/").pop())).buffer,
});
globalThis.XMLHttpRequest = class {
  open(_method, name) {
    this.name = name.split("/").pop();
  }
  send() {
    this.response = new Uint8Array(file(this.name)).buffer;
  }
};
runInThisContext(file("engine_bundle.js").toString());

const write = (bytes) => {
  for (let done = 0; done < bytes.length; ) done += writeSync(1, bytes, done);
};
const port = { postMessage: write, onmessage: undefined };
globalThis.onmessage({ data: port });
const requests = [];
for await (const chunk of process.stdin) requests.push(chunk);
port.onmessage({ data: new Uint8Array(Buffer.concat(requests)) });
