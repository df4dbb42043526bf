/** Rounding as numpy and Python round. */

/** The nearest integer, of two the even one. */
export function roundToEven(number: number): number {
  const above = Math.round(number);
  return above - number === 0.5 && above % 2 !== 0 ? above - 1 : above;
}
