/** The routes of the service: `docs/service.md`. */

import { type Bytes, base64, hex, sha256 } from "./bytes.js";
import { PalladionError } from "./errors.js";
import { eventsOf } from "./events.js";
import { type Connection, Http, pause } from "./http.js";

export interface ModelName {
  readonly name: string;
  readonly version?: string;
}

/** The metadata of a version of a model. */
export interface ModelData {
  readonly name: string;
  readonly versions?: readonly string[];
  readonly parameters?: {
    readonly program_id?: string;
    readonly profile_id?: string;
    readonly layout_id?: string;
    readonly client_digest?: string;
    readonly batch?: number;
    readonly predicted_seconds?: number;
    readonly key_bytes?: number;
    readonly version?: string;
  };
}

/** The keys of a secret that the service has for a model. */
export interface KeyState {
  readonly missing_keys: number;
  readonly missing_bytes: number;
  readonly held: readonly { readonly digest: string; readonly profile: string }[];
}

export interface UploadState {
  readonly upload?: string;
  readonly part_bytes?: number;
  readonly parts?: number;
  /** Numbers of the parts that the service lacks, from 0. */
  readonly missing?: readonly number[];
  /** True if the service has the file already. */
  readonly complete?: boolean;
}

export type JobState = "queued" | "running" | "done" | "failed" | "cancelled" | "expired";

export interface Job {
  readonly id: string;
  readonly model: string;
  readonly version: string;
  readonly state: JobState;
  readonly step?: string | null;
  /** The part that is done, 0 to 1. */
  readonly done?: number;
  readonly seconds_left?: number | null;
  /** Jobs before this one. */
  readonly ahead?: number | null;
  readonly error?: { readonly kind: PalladionError["kind"]; readonly detail: string; readonly retry: boolean } | null;
}

const OCTETS = { "Content-Type": "application/octet-stream" };
const ENDED: ReadonlySet<JobState> = new Set(["done", "failed", "cancelled", "expired"]);
/** Milliseconds between two looks at a job whose events do not come. */
const BETWEEN_LOOKS = 1000;

/** A service, by its routes. */
export class Service {
  readonly #http: Http;

  constructor(connection: Connection) {
    this.#http = new Http(connection);
  }

  /** Names of the models that the service has. */
  async models(): Promise<string[]> {
    const found = await this.#http.json<{ models: (string | { name: string })[] }>("/models");
    return found.models.map((model) => (typeof model === "string" ? model : model.name));
  }

  /** The metadata of a model. */
  model(model: ModelName): Promise<ModelData> {
    return this.#http.json(pathOf(model));
  }

  /** The client's file of a version, checked against its digest. */
  async clientFile(model: Required<ModelName>, digest?: string): Promise<Bytes> {
    const file = await this.#http.bytes(`${pathOf(model)}/client`);
    const own = hex(await sha256(file));
    if (digest !== undefined && own !== digest) {
      throw new PalladionError("data", `the client's file of ${model.name} has the SHA-256 ${own.slice(0, 12)}, expected ${digest.slice(0, 12)}: connect again, for the model may have changed just now`);
    }
    return file;
  }

  /** Which keys of a secret are there for a model. */
  keyState(model: Required<ModelName>, keyId: string): Promise<KeyState> {
    return this.#http.json(`${pathOf(model)}/keys/${keyId}`);
  }

  /** Opens an upload, or finds the one that was begun. */
  openUpload(digest: string, bytes: number, signal?: AbortSignal): Promise<UploadState> {
    return this.#http.json("/uploads", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ digest, bytes }),
      signal,
    });
  }

  /** Sends a part. */
  async sendPart(upload: string, part: number, bytes: Bytes, signal?: AbortSignal): Promise<void> {
    const digest = `sha-256=:${base64(await sha256(bytes))}:`;
    await this.#http.call(`/uploads/${upload}/parts/${part}`, {
      method: "PUT",
      headers: { ...OCTETS, "Content-Digest": digest },
      body: bytes,
      signal,
    });
  }

  /** Ends an upload: the service checks the whole file. */
  async completeUpload(upload: string, signal?: AbortSignal): Promise<void> {
    await this.#http.call(`/uploads/${upload}/complete`, { method: "POST", signal });
  }

  /** Submits a query. The same idempotency key names the same job. */
  submit(model: Required<ModelName>, query: Bytes, idempotencyKey: string, signal?: AbortSignal): Promise<Job> {
    return this.#http.json(`${pathOf(model)}/jobs`, {
      method: "POST",
      headers: { ...OCTETS, "Idempotency-Key": idempotencyKey },
      body: query,
      signal,
    });
  }

  /** The job now. */
  job(id: string, signal?: AbortSignal): Promise<Job> {
    return this.#http.json(`/jobs/${id}`, { signal });
  }

  /** Follows a job to its end, by events or, where they do not come, by looking at it. */
  async follow(id: string, onChange: (job: Job) => void, signal?: AbortSignal): Promise<Job> {
    for (;;) {
      try {
        const response = await this.#http.call(`/jobs/${id}/events`, {
          headers: { Accept: "text/event-stream" },
          signal,
        });
        for await (const { event, data } of eventsOf(response)) {
          if (event !== "job") continue;
          const job = JSON.parse(data) as Job;
          onChange(job);
          if (ENDED.has(job.state)) return job;
        }
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof PalladionError && !error.retry && error.status !== 404) throw error;
      }
      const job = await this.job(id, signal); // says that the job is gone, if it is
      onChange(job);
      if (ENDED.has(job.state)) return job;
      await pause(BETWEEN_LOOKS, signal);
    }
  }

  /** The encrypted answer of a job that is done. */
  answer(id: string, signal?: AbortSignal): Promise<Bytes> {
    return this.#http.bytes(`/jobs/${id}/answer`, { signal });
  }

  /** Cancels a job. */
  async cancel(id: string): Promise<void> {
    await this.#http.call(`/jobs/${id}`, { method: "DELETE", accept: [404, 409] });
  }
}

function pathOf({ name, version }: ModelName): string {
  const path = `/models/${encodeURIComponent(name)}`;
  return version === undefined ? path : `${path}/versions/${encodeURIComponent(version)}`;
}
