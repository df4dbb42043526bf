/** Messages between a page and the worker that computes for it. */

import type { EngineApi, KeyProgress } from "./engine.js";
import type { ErrorData } from "./errors.js";

/** Asks for a method of the engine. */
export interface Request {
  readonly id: number;
  readonly method: keyof EngineApi;
  readonly arguments: readonly unknown[];
}

export type Reply =
  | { readonly id: number; readonly progress: KeyProgress }
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: ErrorData };
