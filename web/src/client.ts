/** A client of a service: the secret stays here, and only ciphertexts and public keys leave. */

import { type Bytes, randomHex } from "./bytes.js";
import { Ends, type Integers, type Output } from "./ends.js";
import type { EngineApi, KeyFile } from "./engine.js";
import { PalladionError } from "./errors.js";
import type { Facts } from "./facts.js";
import type { Connection } from "./http.js";
import { fileAt, removeFile } from "./key-file.js";
import { type Job, type ModelData, type ModelName, Service } from "./service.js";
import type { Store } from "./store.js";
import { upload } from "./upload.js";

/** The secret of this browser, which serves all models. */
const SECRET = "secret";

export interface ConnectOptions extends Connection {
  readonly model: string;
  /** A version of the model; by default the one that the service chooses. */
  readonly version?: string;
  /** SHA-256 of the client's file, if it is known by other means than from the service. */
  readonly clientDigest?: string;
  readonly engine: EngineApi;
  readonly store: Store;
}

/** Work that takes a while. */
export interface Progress {
  readonly step: "make keys" | "upload keys" | "encrypt" | "queue" | "compute" | "decrypt";
  /** The part that is done, 0 to 1. */
  readonly done: number;
  readonly secondsLeft?: number;
  /** Jobs of others before this one. */
  readonly ahead?: number;
}

export interface Prediction {
  /** The model's outputs by name, in its units. */
  readonly outputs: Readonly<Record<string, Output>>;
  /** The class of each input, if the model is a classifier. */
  readonly classes: readonly (number | string)[] | null;
  /** The network's integers. */
  readonly integers: Float64Array;
  /** Bits of noise margin that were left. */
  readonly marginBits: number;
  /** Numbers of the inputs that were clipped to the calibrated range. */
  readonly clipped: number;
}

export interface WorkOptions {
  readonly onProgress?: (progress: Progress) => void;
  readonly signal?: AbortSignal;
}

/** A file of keys that is not yet at the service. */
interface KeyRecord extends KeyFile {
  readonly keyId: string;
}

export class PalladionClient {
  readonly service: Service;
  readonly model: Required<ModelName>;
  readonly data: ModelData;
  readonly facts: Facts;
  readonly ends: Ends;
  readonly #engine: EngineApi;
  readonly #store: Store;
  #keyId: string | null = null;

  private constructor(service: Service, model: Required<ModelName>, data: ModelData, facts: Facts, options: ConnectOptions) {
    this.service = service;
    this.model = model;
    this.data = data;
    this.facts = facts;
    this.ends = new Ends(facts);
    this.#engine = options.engine;
    this.#store = options.store;
  }

  /** Connects to a service, and opens the client's file of one of its models. */
  static async connect(options: ConnectOptions): Promise<PalladionClient> {
    if (globalThis.crypto?.subtle === undefined) {
      throw new PalladionError("security", "this page came over an open connection, on which anyone could change it: open it by https, or on this machine");
    }
    const service = new Service(options);
    const wanted = options.version === undefined ? { name: options.model } : { name: options.model, version: options.version };
    const data = await service.model(wanted);
    const version = options.version ?? data.parameters?.version ?? data.versions?.at(-1);
    if (version === undefined) throw new PalladionError("data", `the service does not say which version of ${options.model} it runs`);
    const model = { name: options.model, version };
    const file = await service.clientFile(model, options.clientDigest ?? data.parameters?.client_digest);
    const facts = await options.engine.open(file);
    return new PalladionClient(service, model, data, facts, options);
  }

  /** Identity of the secret, once it is unlocked. */
  get keyId(): string {
    if (this.#keyId === null) throw new PalladionError("usage", "the secret is locked: unlock it with its passphrase first");
    return this.#keyId;
  }

  /** Opens the secret of this browser with its passphrase, or makes one if there is none. */
  async unlock(passphrase: string): Promise<void> {
    const stored = await this.#store.get<Bytes>(SECRET);
    if (stored !== undefined) {
      this.#keyId = await this.#engine.unlock(stored, passphrase);
      return;
    }
    const { file, keyId } = await this.#engine.newSecret(passphrase);
    await this.#store.put(SECRET, file);
    this.#keyId = keyId;
  }

  /** Makes the keys that the service lacks, and uploads them. */
  async prepareKeys({ onProgress, signal }: WorkOptions = {}): Promise<void> {
    const { keyId } = this;
    const state = await this.service.keyState(this.model, keyId);
    if (state.missing_keys === 0) return;
    const record = (await this.#begun(keyId)) ?? (await this.#make(keyId, state.held.map(({ profile }) => profile), onProgress));
    const file = await fileAt(record.place);
    if (file === null || file.size !== record.bytes) {
      await this.#forgetKeys(record);
      throw new PalladionError("io", "the browser has removed the file of the keys: make them again", true);
    }
    const left = estimate();
    await upload(
      this.service,
      file,
      record.digest,
      ({ done, bytes }) => onProgress?.({ step: "upload keys", done: done / bytes, ...left(done, bytes) }),
      signal,
    );
    await this.#forgetKeys(record);
  }

  /** The keys that were made for this model and are not yet at the service. */
  async #begun(keyId: string): Promise<KeyRecord | null> {
    const record = await this.#store.get<KeyRecord>(this.#keysName);
    if (record === undefined) return null;
    const file = await fileAt(record.place);
    if (record.keyId === keyId && file?.size === record.bytes) return record;
    await this.#forgetKeys(record);
    return null;
  }

  async #make(keyId: string, have: readonly string[], onProgress: WorkOptions["onProgress"]): Promise<KeyRecord> {
    const left = estimate();
    const made = await this.#engine.makeKeys(have, ({ done, bytes }) =>
      onProgress?.({ step: "make keys", done: done / bytes, ...left(done, bytes) }),
    );
    const record = { ...made, keyId };
    await this.#store.put(this.#keysName, record);
    return record;
  }

  async #forgetKeys(record: KeyRecord): Promise<void> {
    await this.#store.remove(this.#keysName);
    await removeFile(record.place);
  }

  get #keysName(): string {
    return `keys/${this.facts.profile_id}`;
  }

  /** Encrypts inputs, has them computed, and decrypts the answer. */
  async predict(inputs: Integers, { onProgress, signal }: WorkOptions = {}): Promise<Prediction> {
    onProgress?.({ step: "encrypt", done: 0 });
    const query = await this.#engine.encrypt(inputs.integers);
    const job = await this.service.submit(this.model, query, randomHex(16), signal);
    const ended = await this.#ended(job, { onProgress, signal });
    if (ended.state !== "done") throw refusal(ended);
    onProgress?.({ step: "decrypt", done: 0 });
    const answer = await this.service.answer(job.id, signal);
    const { integers, marginBits } = await this.#engine.decrypt(answer, query);
    const outputs = this.ends.outputs(integers);
    return { outputs, classes: this.ends.classes(outputs), integers, marginBits, clipped: inputs.clipped };
  }

  async #ended(job: Job, { onProgress, signal }: { onProgress: WorkOptions["onProgress"]; signal: AbortSignal | undefined }): Promise<Job> {
    const show = (now: Job) => {
      const left = now.seconds_left == null ? {} : { secondsLeft: now.seconds_left };
      const ahead = now.ahead == null ? {} : { ahead: now.ahead };
      onProgress?.({ step: now.state === "queued" ? "queue" : "compute", done: now.done ?? 0, ...left, ...ahead });
    };
    show(job);
    try {
      return await this.service.follow(job.id, show, signal);
    } catch (error) {
      if (signal?.aborted) await this.service.cancel(job.id);
      throw error;
    }
  }
}

/** True if this browser has a secret. */
export async function hasSecret(store: Store): Promise<boolean> {
  return (await store.get(SECRET)) !== undefined;
}

/** Removes the secret of this browser. Keys and answers that belong to it are of no more use. */
export async function forgetSecret(store: Store): Promise<void> {
  await store.remove(SECRET);
}

function refusal(job: Job): PalladionError {
  if (job.error != null) return new PalladionError(job.error.kind, job.error.detail, job.error.retry);
  const words = job.state === "cancelled" ? "the run was cancelled" : "the answer was kept for its time, which is over";
  return new PalladionError("interrupted", `${words}: send the input again`, true);
}

/** Seconds that are left, from the pace since the beginning. */
function estimate(): (done: number, all: number) => { secondsLeft?: number } {
  let begin: { time: number; done: number } | null = null;
  return (done, all) => {
    const time = performance.now();
    begin ??= { time, done };
    const pace = (done - begin.done) / (time - begin.time);
    return pace > 0 ? { secondsLeft: (all - done) / pace / 1000 } : {};
  };
}
