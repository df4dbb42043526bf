/** Errors, with the kinds of `docs/cli.md`. */

export type Kind =
  | "internal"
  | "usage"
  | "data"
  | "mismatch"
  | "resources"
  | "io"
  | "noise"
  | "security"
  | "interrupted"
  | "terminated";

/** An error with its cause and its way out in words for people. */
export class PalladionError extends Error {
  override readonly name = "PalladionError";

  /**
   * @param kind of `docs/cli.md`
   * @param message the cause, and the way out
   * @param retry true if the same may succeed later
   * @param status the status of HTTP, if a service answered
   */
  constructor(
    readonly kind: Kind,
    message: string,
    readonly retry = false,
    readonly status?: number,
  ) {
    super(message);
  }
}

/** An error as plain data, for a message between threads. */
export interface ErrorData {
  readonly kind: Kind;
  readonly message: string;
  readonly retry: boolean;
}

/** Any thrown value as plain data. */
export function dataOf(thrown: unknown): ErrorData {
  if (thrown instanceof PalladionError) {
    return { kind: thrown.kind, message: thrown.message, retry: thrown.retry };
  }
  if (thrown instanceof WebAssembly.RuntimeError || thrown instanceof RangeError) {
    const memory = /memory/i.test(thrown.message);
    return memory
      ? { kind: "resources", message: `there is too little memory: ${thrown.message}; close other pages`, retry: true }
      : { kind: "internal", message: `the module has failed: ${thrown.message}; please report it`, retry: false };
  }
  if (thrown instanceof Error) {
    const kind = (thrown as { kind?: Kind }).kind;
    if (kind !== undefined) return { kind, message: thrown.message, retry: false };
    if (thrown.name === "QuotaExceededError") {
      return { kind: "resources", message: "the browser has no room for the keys: free some disk space", retry: true };
    }
    return { kind: "internal", message: `${thrown.name}: ${thrown.message}`, retry: false };
  }
  return { kind: "internal", message: String(thrown), retry: false };
}

/** Plain data as an error. */
export function errorOf(data: ErrorData): PalladionError {
  return new PalladionError(data.kind, data.message, data.retry);
}
