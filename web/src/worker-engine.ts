/** The engine in a worker, so that the page stays alive while keys are made. */

import type { Bytes } from "./bytes.js";
import type { Decrypted, EngineApi, KeyFile, KeyProgress, SecretFile } from "./engine.js";
import { PalladionError, errorOf } from "./errors.js";
import type { Facts } from "./facts.js";
import type { Reply, Request } from "./messages.js";

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: PalladionError) => void;
  readonly onProgress: ((progress: KeyProgress) => void) | undefined;
}

/** An engine in a worker of `worker.js`. */
export class WorkerEngine implements EngineApi {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #next = 0;

  constructor(worker: Worker) {
    this.#worker = worker;
    worker.addEventListener("message", ({ data }: MessageEvent<Reply>) => this.#take(data));
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      const words = event.message || "its files could not be loaded";
      this.#fail(new PalladionError("internal", `the worker has failed: ${words}; load the page again`));
    });
  }

  open(file: Bytes): Promise<Facts> {
    return this.#call("open", [file]);
  }

  newSecret(passphrase: string, days?: number): Promise<SecretFile> {
    return this.#call("newSecret", [passphrase, days]);
  }

  unlock(file: Bytes, passphrase: string): Promise<string> {
    return this.#call("unlock", [file, passphrase]);
  }

  missingKeyBytes(have: readonly string[]): Promise<number> {
    return this.#call("missingKeyBytes", [have]);
  }

  makeKeys(have: readonly string[], onProgress?: (progress: KeyProgress) => void): Promise<KeyFile> {
    return this.#call("makeKeys", [have], onProgress);
  }

  encrypt(integers: Int32Array): Promise<Bytes> {
    return this.#call("encrypt", [integers]);
  }

  decrypt(answer: Bytes, query: Bytes): Promise<Decrypted> {
    return this.#call("decrypt", [answer, query]);
  }

  memory(): Promise<number> {
    return this.#call("memory", []);
  }

  /** Ends the worker: work on its way is given up. */
  end(): void {
    this.#worker.terminate();
    this.#fail(new PalladionError("interrupted", "the work was stopped", true));
  }

  #call<T>(method: Request["method"], given: readonly unknown[], onProgress?: Waiting["onProgress"]): Promise<T> {
    const id = this.#next;
    this.#next += 1;
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as Waiting["resolve"], reject, onProgress });
      this.#worker.postMessage({ id, method, arguments: given } satisfies Request);
    });
  }

  #take(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id);
    if (waiting === undefined) return;
    if ("progress" in reply) return waiting.onProgress?.(reply.progress);
    this.#waiting.delete(reply.id);
    if ("error" in reply) waiting.reject(errorOf(reply.error));
    else waiting.resolve(reply.result);
  }

  #fail(error: PalladionError): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
