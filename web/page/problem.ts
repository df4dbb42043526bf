/** Errors, each with its cause and the way out. */

import { dataOf, type Kind, PalladionError } from "../src/errors.js";
import { element, show, write } from "./elements.js";

const TITLES: Readonly<Record<Kind, string>> = {
  internal: "A fault of Palladion",
  usage: "This does not fit",
  data: "This cannot be read",
  mismatch: "These do not belong together",
  resources: "There is no room or no time for this now",
  io: "The service or a file cannot be reached",
  noise: "The answer cannot be trusted",
  security: "This would not be secure",
  interrupted: "Stopped",
  terminated: "Stopped",
};

const WAYS: Readonly<Partial<Record<Kind, string>>> = {
  internal: "Please report it, with the text above.",
  mismatch: "Load the page again, so that it takes the model's current file, and send the input again.",
  noise: "Send the input again. If it comes back, tell the operator: the program or the keys are wrong.",
};

/** Shows an error. */
export function showProblem(error: unknown): void {
  const { kind, message, retry } = dataOf(error);
  const unknown = error instanceof PalladionError && (error.status === 401 || error.status === 403);
  write("problem-title", unknown ? "The service does not know you" : (TITLES[kind] ?? "An error"));
  write("problem-text", `${message.charAt(0).toUpperCase()}${message.slice(1)}.`);
  write("problem-way", WAYS[kind] ?? (retry ? "You can try again now: what is done already is kept." : ""));
  show("problem");
  element("problem").scrollIntoView({ block: "nearest" });
}

/** Hides the error. */
export function clearProblem(): void {
  show("problem", false);
}
