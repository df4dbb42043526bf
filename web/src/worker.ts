/** The worker: an engine that answers messages, one after the other. */

import { Engine } from "./engine.js";
import { dataOf } from "./errors.js";
import type { Reply, Request } from "./messages.js";

const engine = Engine.load();
/** The end of the work that was asked for so far. */
let last: Promise<void> = Promise.resolve();

function reply(message: Reply): void {
  postMessage(message);
}

async function answer({ id, method, arguments: given }: Request): Promise<void> {
  try {
    const ready = await engine;
    const call = ready[method] as (...given: unknown[]) => Promise<unknown>;
    const progress = method === "makeKeys" ? [(progress: never) => reply({ id, progress })] : [];
    reply({ id, result: await call.apply(ready, [...given, ...progress]) });
  } catch (error) {
    reply({ id, error: dataOf(error) });
  }
}

addEventListener("message", ({ data }: MessageEvent<Request>) => {
  last = last.then(() => answer(data));
});
