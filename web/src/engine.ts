/** The cryptography of a client: the module in WebAssembly, for one model and one secret. */

import init, { Client, Secret, Terms, type InitInput, type InitOutput } from "../build/palladion.js";
import type { Bytes } from "./bytes.js";
import { PalladionError } from "./errors.js";
import type { Facts } from "./facts.js";
import { openSink, type Place } from "./key-file.js";

export interface SecretFile {
  /** The sealed secret. */
  readonly file: Bytes;
  readonly keyId: string;
}

export interface KeyFile {
  /** SHA-256 of the file, in hexadecimal digits. */
  readonly digest: string;
  readonly bytes: number;
  readonly place: Place;
}

export interface Decrypted {
  readonly integers: Float64Array;
  /** Bits of noise margin that were left. */
  readonly marginBits: number;
}

export interface KeyProgress {
  /** Bytes that are made. */
  readonly done: number;
  readonly bytes: number;
}

/** An engine, here or in a worker. */
export interface EngineApi {
  /** Opens a client's file. */
  open(file: Bytes): Promise<Facts>;
  /** Makes a secret, which is used from now on, and seals it under a passphrase. */
  newSecret(passphrase: string, days?: number): Promise<SecretFile>;
  /** Opens a sealed secret, which is used from now on. Returns its identity. */
  unlock(file: Bytes, passphrase: string): Promise<string>;
  /** Bytes of the keys that the model needs beyond some profiles. */
  missingKeyBytes(have: readonly string[]): Promise<number>;
  /** Makes these keys, one at a time. */
  makeKeys(have: readonly string[], onProgress?: (progress: KeyProgress) => void): Promise<KeyFile>;
  /** Encrypts integers of inputs into a query. */
  encrypt(integers: Int32Array): Promise<Bytes>;
  /** Decrypts the answer to a query. */
  decrypt(answer: Bytes, query: Bytes): Promise<Decrypted>;
  /** Bytes of memory that the module has taken. It never gives them back. */
  memory(): Promise<number>;
}

/** The engine in this thread. Keys block it for seconds, so pages use a `WorkerEngine`. */
export class Engine implements EngineApi {
  readonly #module: InitOutput;
  #terms: Terms | null = null;
  #profileId = "";
  #secret: Secret | null = null;
  #client: Client | null = null;

  private constructor(module: InitOutput) {
    this.#module = module;
  }

  /** Loads the module: its bytes or its address, or the file beside this one. */
  static async load(module?: InitInput): Promise<Engine> {
    return new Engine(await (module === undefined ? init() : init({ module_or_path: module })));
  }

  async open(file: Bytes): Promise<Facts> {
    const terms = new Terms(file);
    this.#release();
    this.#terms?.free();
    this.#terms = terms;
    const facts = JSON.parse(terms.facts()) as Facts;
    this.#profileId = facts.profile_id;
    return facts;
  }

  async newSecret(passphrase: string, days?: number): Promise<SecretFile> {
    const secret = Secret.generate(days);
    const sealed = secret.sealed(passphrase);
    this.#use(secret);
    const file = sealed.toBytes() as Bytes;
    sealed.free();
    return { file, keyId: secret.keyId };
  }

  async unlock(file: Bytes, passphrase: string): Promise<string> {
    const sealed = Secret.fromBytes(file);
    try {
      const secret = sealed.unsealed(passphrase);
      this.#use(secret);
      return secret.keyId;
    } finally {
      sealed.free();
    }
  }

  async missingKeyBytes(have: readonly string[]): Promise<number> {
    return this.#ready().missingKeyBytes([...have]);
  }

  async makeKeys(have: readonly string[], onProgress?: (progress: KeyProgress) => void): Promise<KeyFile> {
    const client = this.#ready();
    const bytes = client.missingKeyBytes([...have]);
    const sink = await openSink(`${this.#profileId}.keys`);
    let done = 0;
    try {
      const digest = client.writeKeys([...have], (part: Bytes) => {
        sink.write(part);
        done += part.length;
        onProgress?.({ done, bytes });
      });
      return { digest, bytes: done, place: sink.close() };
    } catch (error) {
      await sink.drop();
      throw error;
    }
  }

  async encrypt(integers: Int32Array): Promise<Bytes> {
    return this.#ready().encrypt(integers) as Bytes;
  }

  async decrypt(answer: Bytes, query: Bytes): Promise<Decrypted> {
    const decrypted = this.#ready().decrypt(answer, query);
    const { integers, marginBits } = decrypted;
    decrypted.free();
    return { integers, marginBits };
  }

  async memory(): Promise<number> {
    return this.#module.memory.buffer.byteLength;
  }

  #use(secret: Secret): void {
    this.#release();
    this.#secret?.free();
    this.#secret = secret;
  }

  #release(): void {
    this.#client?.free();
    this.#client = null;
  }

  #ready(): Client {
    if (this.#terms === null) throw new PalladionError("usage", "no model is open: open a client's file first");
    if (this.#secret === null) throw new PalladionError("usage", "the secret is locked: unlock it with its passphrase first");
    this.#client ??= new Client(this.#terms, this.#secret);
    return this.#client;
  }
}
