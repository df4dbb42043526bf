/** A board to draw a digit on. */

import { digitOf, type Pixels } from "../src/pictures.js";
import { element } from "./elements.js";

const PEN = 22;

/** The board, and beside it the digit as the model takes it. */
export class Board {
  readonly #board = element<HTMLCanvasElement>("board");
  readonly #preview = element<HTMLCanvasElement>("preview");
  readonly #onChange: (digit: Uint8Array | null) => void;
  #from: readonly [number, number] | null = null;

  constructor(onChange: (digit: Uint8Array | null) => void) {
    this.#onChange = onChange;
    this.clear();
    this.#board.addEventListener("pointerdown", (event) => {
      this.#board.setPointerCapture(event.pointerId);
      this.#from = this.#place(event);
      this.#draw(event);
    });
    this.#board.addEventListener("pointermove", (event) => {
      if (this.#from !== null) this.#draw(event);
    });
    for (const end of ["pointerup", "pointercancel"]) {
      this.#board.addEventListener(end, () => {
        if (this.#from === null) return;
        this.#from = null;
        this.#show(this.#pen.getImageData(0, 0, this.#board.width, this.#board.height));
      });
    }
  }

  /** White paper. */
  clear(): void {
    this.#pen.fillStyle = "#fff";
    this.#pen.fillRect(0, 0, this.#board.width, this.#board.height);
    this.#previewOf(null);
    this.#onChange(null);
  }

  /** A picture in the place of a drawing. Throws if it shows nothing. */
  open(picture: ImageBitmap, pixels: Pixels): void {
    this.clear();
    const { width, height } = this.#board;
    const scale = Math.min(width / picture.width, height / picture.height);
    const [w, h] = [picture.width * scale, picture.height * scale];
    this.#pen.drawImage(picture, (width - w) / 2, (height - h) / 2, w, h);
    this.#show(pixels);
  }

  #show(pixels: Pixels): void {
    const digit = digitOf(pixels);
    this.#previewOf(digit);
    this.#onChange(digit);
  }

  get #pen(): CanvasRenderingContext2D {
    return this.#board.getContext("2d", { willReadFrequently: true }) as CanvasRenderingContext2D;
  }

  #place(event: PointerEvent): readonly [number, number] {
    const { left, top, width, height } = this.#board.getBoundingClientRect();
    const scale = [this.#board.width / width, this.#board.height / height] as const;
    return [(event.clientX - left) * scale[0], (event.clientY - top) * scale[1]];
  }

  #draw(event: PointerEvent): void {
    const to = this.#place(event);
    const [x, y] = this.#from ?? to;
    const pen = this.#pen;
    pen.lineWidth = PEN;
    pen.lineCap = "round";
    pen.strokeStyle = "#000";
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(to[0], to[1]);
    pen.stroke();
    this.#from = to;
  }

  #previewOf(digit: Uint8Array | null): void {
    const context = this.#preview.getContext("2d") as CanvasRenderingContext2D;
    const image = context.createImageData(28, 28);
    image.data.forEach((_, at) => {
      image.data[at] = at % 4 === 3 ? 255 : (digit?.[at >> 2] ?? 0);
    });
    context.putImageData(image, 0, 0);
  }
}
