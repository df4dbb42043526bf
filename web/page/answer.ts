/** The answer section. */

import type { Prediction } from "../src/client.js";
import { duration, element, show, write } from "./elements.js";

/** Most rows of outputs that are shown. */
const MOST_ROWS = 100;

/** The seconds of a run, by what took them. */
export type Times = readonly (readonly [string, number])[];

/** Shows the answer to the first input. */
export function showAnswer(prediction: Prediction, times: Times): void {
  const outputs = Object.entries(prediction.outputs);
  const [name, output] = outputs.find(([, { kind }]) => kind === "real") ?? (outputs[0] as (typeof outputs)[0]);
  const count = output.shape.reduce((product, side) => product * side, 1);
  const row = output.kind === "text" ? new Float64Array(0) : output.values.subarray(0, count);
  const best = prediction.classes?.[0];
  write("answer", best === undefined ? `${name}: ${count} numbers` : `The answer is ${best}.`);
  const [least, most] = [row.reduce((a, b) => Math.min(a, b), Infinity), row.reduce((a, b) => Math.max(a, b), -Infinity)];
  const rows = shown(row).map((index) => rowOf(index, row[index] as number, { least, most, best: index === best && count > 1 }));
  (element("scores").querySelector("tbody") as HTMLElement).replaceChildren(...rows);
  write("margin", `Noise margin left: ${prediction.marginBits.toFixed(1)} bits. The answer can be trusted as long as any is left.`);
  const clipped = prediction.clipped > 0 ? ` ${prediction.clipped} input values lay outside the calibrated range and were clipped to it.` : "";
  write("times", `${times.map(([step, seconds]) => `${step} ${duration(seconds)}`).join(", ")}.${clipped}`);
  show("answer-section");
  element("answer-section").scrollIntoView({ block: "nearest" });
}

/** Indices of the outputs that are shown: all in order, or the largest ones if there are too many. */
function shown(row: ArrayLike<number>): number[] {
  const all = Array.from(row, (_, index) => index);
  if (all.length <= MOST_ROWS) return all;
  // The order of equal ones stays: sorts are stable.
  return all.sort((a, b) => (row[b] as number) - (row[a] as number)).slice(0, MOST_ROWS);
}

interface Place {
  readonly least: number;
  readonly most: number;
  readonly best: boolean;
}

function rowOf(index: number, score: number, { least, most, best }: Place): HTMLTableRowElement {
  const row = document.createElement("tr");
  if (best) row.className = "best";
  const head = document.createElement("th");
  head.scope = "row";
  head.textContent = String(index);
  const number = document.createElement("td");
  number.textContent = score.toFixed(3);
  const bar = document.createElement("td");
  const meter = document.createElement("meter");
  meter.min = least;
  meter.max = most > least ? most : least + 1;
  meter.value = score;
  meter.setAttribute("aria-label", `score of ${index}`);
  bar.append(meter);
  row.append(head, number, bar);
  return row;
}
