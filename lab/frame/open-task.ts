/** Runs what a reader has written for the open task of a page, on numbers drawn anew, and says what is wrong with it. */
import { Normals } from "./chance.ts";
import { type FormulaValue, run, scalar, sizeText } from "./formula.ts";
import type { OpenTask } from "./page.ts";
import { number } from "./words.ts";

/** Draws of the numbers: a program that is right for one by chance is not for all. */
const DRAWS = [1, 2, 3];

/** The values that a program may use: sizes are drawn, texts are programs, numbers are as they are. */
export function drawn({ inputs }: OpenTask, seed: number): Map<string, FormulaValue> {
  const names = new Map<string, FormulaValue>();
  for (const [at, [name, value]] of Object.entries(inputs).entries()) {
    if (typeof value === "string") names.set(name, run(value, names));
    else if (typeof value === "number") names.set(name, scalar(value * seed));
    else {
      const [rows, columns] = value;
      const data = [...new Normals(seed, at + 1).list(rows * columns)];
      names.set(name, { rows, columns, data });
    }
  }
  return names;
}

const isNear = (a: number, b: number) =>
  Object.is(a, b) || Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b));
const isEqual = (a: FormulaValue, b: FormulaValue) =>
  a.rows === b.rows && a.columns === b.columns && a.data.every((value, n) => isNear(value, b.data[n]));

/** What a program's results say about it. */
export function check(task: OpenTask, program: string): { readonly right: boolean; readonly says: string } {
  try {
    const draws = DRAWS.map((seed) => drawn(task, seed));
    const results = draws.map((names) => run(program, names));
    const wanted = draws.map((names) => run(task.answer, names));
    const at = results.findIndex((result, n) => !isEqual(result, wanted[n]));
    if (at < 0) return { right: true, says: `Right, on ${DRAWS.length} draws of the numbers.` };
    const [a, b] = [results[at], wanted[at]];
    const mistake = task.mistakes.find(([other]) =>
      draws.every((names, n) => isEqual(results[n], run(other, names))),
    );
    if (mistake !== undefined) return { right: false, says: mistake[1] };
    if (a.rows !== b.rows || a.columns !== b.columns)
      return { right: false, says: `Your result is ${sizeText(a)}; it should be ${sizeText(b)}.` };
    const cell = a.data.findIndex((value, n) => !isNear(value, b.data[n]));
    const [row, column] = [Math.floor(cell / a.columns) + 1, (cell % a.columns) + 1];
    return {
      right: false,
      says: `It runs, and the sizes are right. Row ${row}, column ${column} is ${number(a.data[cell])}; it should be ${number(b.data[cell])}.`,
    };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { right: false, says: error.message };
  }
}
