/** The input section: a drawing, a picture or numbers, as the model takes them. */

import type { Ends, Integers } from "../src/ends.js";
import { PalladionError } from "../src/errors.js";
import { type Pixels, pictureOf } from "../src/pictures.js";
import { Board } from "./board.js";
import { element, show, write } from "./elements.js";
import { clearProblem, showProblem } from "./problem.js";

/** Largest picture, in pixels. */
const MOST_PIXELS = 50_000_000;

/** The user's input. */
export class Input {
  readonly #onChange: (ready: boolean) => void;
  readonly #board: Board;
  #ends: Ends | null = null;
  #picture: Uint8Array | null = null;

  constructor(onChange: (ready: boolean) => void) {
    this.#onChange = onChange;
    this.#board = new Board((digit) => this.#take(digit));
    element("clear").addEventListener("click", () => {
      element<HTMLInputElement>("file").value = "";
      this.#board.clear();
    });
    const file = element<HTMLInputElement>("file");
    file.addEventListener("change", () => {
      const [chosen] = file.files ?? [];
      if (chosen) this.#open(chosen).catch(showProblem);
    });
    const numbers = element<HTMLTextAreaElement>("numbers");
    numbers.addEventListener("input", () => this.#onChange(numbers.value.trim() !== ""));
    const table = element<HTMLInputElement>("table-file");
    table.addEventListener("change", () => {
      const [chosen] = table.files ?? [];
      chosen?.text().then((text) => {
        numbers.value = text;
        this.#onChange(text.trim() !== "");
      }, showProblem);
    });
  }

  /** Asks for the inputs of a model. */
  ask(ends: Ends): void {
    this.#ends = ends;
    this.#take(null);
    this.#board.clear();
    show("drawing", isDigit(ends));
    show("picture", ends.picture !== null);
    show("table", ends.picture === null);
    const { shape, columns } = ends;
    const names = columns.length > 0 ? `: ${columns.slice(0, 20).join(", ")}` : "";
    write("numbers-help", `${shape.join(" x ")} numbers in each line, with commas or spaces between them${names}.`);
  }

  /** The input as integers. */
  integers(): Integers {
    const ends = this.#ends as Ends;
    if (ends.picture !== null) {
      if (this.#picture === null) throw new PalladionError("usage", "there is no picture: draw or open one");
      return ends.pictures([this.#picture]);
    }
    return ends.inputs(rowsOf(element<HTMLTextAreaElement>("numbers").value));
  }

  async #open(file: File): Promise<void> {
    clearProblem();
    this.#take(null);
    const ends = this.#ends as Ends;
    const bitmap = await createImageBitmap(file).catch(() => {
      throw new PalladionError("data", `${file.name} is no picture that this browser reads: open a PNG or a JPEG`);
    });
    try {
      const pixels = pixelsOf(bitmap, file.name);
      if (isDigit(ends)) this.#board.open(bitmap, pixels);
      else this.#take(pictureOf(pixels, ends.picture as [number, number, number]));
    } finally {
      bitmap.close();
    }
  }

  #take(picture: Uint8Array | null): void {
    this.#picture = picture;
    this.#onChange(picture !== null);
  }
}

/** True if a model takes pictures of the size of MNIST's digits. */
export function isDigit(ends: Ends): boolean {
  return ends.picture?.join() === "1,28,28";
}

function pixelsOf(bitmap: ImageBitmap, name: string): Pixels {
  const { width, height } = bitmap;
  if (width * height > MOST_PIXELS) {
    throw new PalladionError("data", `${name} has ${width} x ${height} pixels, expected at most ${MOST_PIXELS}: make it smaller`);
  }
  const context = new OffscreenCanvas(width, height).getContext("2d") as OffscreenCanvasRenderingContext2D;
  context.drawImage(bitmap, 0, 0);
  return context.getImageData(0, 0, width, height);
}

function rowsOf(text: string): number[][] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  return lines.map((line, row) =>
    line.trim().split(/[\s,;]+/).map((word) => {
      const number = Number(word);
      if (word === "" || Number.isNaN(number)) {
        throw new PalladionError("data", `line ${row + 1} has ${JSON.stringify(word)}, expected numbers with commas or spaces between them`);
      }
      return number;
    }),
  );
}
