/** Requests to a service: errors in its words, and tries again where that helps. */

import { type Kind, PalladionError } from "./errors.js";

export interface Connection {
  /** Address of the service, without `/v2`. */
  readonly url: string;
  readonly token?: string;
  readonly fetch?: typeof fetch;
  /** Tries of each request in all. */
  readonly tries?: number;
}

export interface Call {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: BodyInit;
  readonly signal?: AbortSignal | undefined;
  /** Statuses that are answers and no errors, beside 2xx. */
  readonly accept?: readonly number[];
}

/** An error as the service sends it: `application/problem+json`. */
interface Problem {
  readonly detail?: string;
  readonly title?: string;
  readonly kind?: Kind;
  readonly retry?: boolean;
}

const TRIES = 6;
/** Milliseconds before the second try. They double from try to try. */
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 30_000;
const PASSING = new Set([408, 425, 429, 502, 503, 504]);

/** Requests to one service. */
export class Http {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Sends a request, and again if the connection breaks or the service is busy. All requests of the
   * protocol may be repeated.
   */
  async call(path: string, call: Call = {}): Promise<Response> {
    const tries = this.#connection.tries ?? TRIES;
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.#attempt(path, call);
      if (outcome instanceof Response) return outcome;
      call.signal?.throwIfAborted();
      if (!outcome.error.retry || attempt >= tries) throw outcome.error;
      await pause(outcome.after ?? backoff(attempt), call.signal);
    }
  }

  /** As {@link call}, for an answer in JSON. */
  async json<T>(path: string, call: Call = {}): Promise<T> {
    const response = await this.call(path, call);
    return (await response.json()) as T;
  }

  /** As {@link call}, for an answer of bytes. */
  async bytes(path: string, call: Call = {}): Promise<Uint8Array<ArrayBuffer>> {
    const response = await this.call(path, call);
    return new Uint8Array(await response.arrayBuffer());
  }

  async #attempt(path: string, call: Call): Promise<Response | Failed> {
    const { url, token } = this.#connection;
    const send = this.#connection.fetch ?? fetch;
    const headers: Record<string, string> = { ...call.headers };
    if (token) headers["Authorization"] = `Bearer ${token}`;
    const init: RequestInit = { method: call.method ?? "GET", headers, cache: "no-store" };
    if (call.body !== undefined) init.body = call.body;
    if (call.signal) init.signal = call.signal;
    let response: Response;
    try {
      response = await send(`${url.replace(/\/$/, "")}/v2${path}`, init);
    } catch (error) {
      const message = `the service at ${url} cannot be reached (${(error as Error).message}): check the connection, and whether the service runs`;
      return { error: new PalladionError("io", message, true) };
    }
    if (response.ok || call.accept?.includes(response.status)) return response;
    return failedWith(response);
  }
}

interface Failed {
  readonly error: PalladionError;
  /** Milliseconds after which the service asks to try again. */
  readonly after?: number;
}

async function failedWith(response: Response): Promise<Failed> {
  const { status } = response;
  const problem = await problemOf(response);
  const retry = problem.retry ?? PASSING.has(status);
  const words = problem.detail ?? problem.title ?? `the service answered with status ${status}`;
  const error = new PalladionError(problem.kind ?? kindOf(status), words, retry, status);
  const after = Number(response.headers.get("Retry-After"));
  return after > 0 ? { error, after: Math.min(after * 1000, LONGEST_PAUSE) } : { error };
}

async function problemOf(response: Response): Promise<Problem> {
  try {
    const found: unknown = await response.json();
    return typeof found === "object" && found !== null ? (found as Problem) : {};
  } catch {
    return {}; // a proxy answered in its own words
  }
}

function kindOf(status: number): Kind {
  if (status === 429 || status >= 502) return "resources";
  return status >= 500 ? "internal" : "usage";
}

function backoff(attempt: number): number {
  const longest = Math.min(FIRST_PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE);
  return longest * (0.5 + Math.random() / 2); // so that clients do not come back all at once
}

/** Waits some milliseconds. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
