/**
 * The formulas that readers write: a line `name = expression` each, in NumPy's words; the last line is the result. Every value is a
 * matrix. A small interpreter instead of the browser's: the Lab's pages allow no code from text.
 */

/** A matrix by rows. A number is 1 × 1. */
export interface FormulaValue {
  readonly rows: number;
  readonly columns: number;
  readonly data: readonly number[];
}

type Names = ReadonlyMap<string, FormulaValue>;

const matrix = (rows: number, columns: number, at: (i: number, j: number) => number): FormulaValue => ({
  rows,
  columns,
  data: Array.from({ length: rows * columns }, (_, n) => at(Math.floor(n / columns), n % columns)),
});
/** A number as a matrix. */
export const scalar = (value: number): FormulaValue => matrix(1, 1, () => value);
/** The size of a matrix in words. */
export const sizeText = ({ rows, columns }: FormulaValue): string => `${rows} × ${columns}`;
const cell = ({ rows, columns, data }: FormulaValue, i: number, j: number) =>
  data[(rows === 1 ? 0 : i) * columns + (columns === 1 ? 0 : j)];

/** A function of numbers, on matrices that broadcast. */
const each =
  (name: string, of: (...values: number[]) => number) =>
  (...all: FormulaValue[]): FormulaValue => {
    const [rows, columns] = (["rows", "columns"] as const).map((edge) =>
      Math.max(...all.map((one) => one[edge])),
    );
    if (all.some((one) => ![1, rows].includes(one.rows) || ![1, columns].includes(one.columns)))
      throw new SyntaxError(`${name} of ${all.map(sizeText).join(" and ")}: the sizes must be equal, or 1`);
    return matrix(rows, columns, (i, j) => of(...all.map((one) => cell(one, i, j))));
  };
/** A function of a row that gives one number. */
const byRow = (of: (row: readonly number[]) => number) => (a: FormulaValue) =>
  matrix(a.rows, 1, (i) => of(a.data.slice(i * a.columns, (i + 1) * a.columns)));
const sum = byRow((row) => row.reduce((a, b) => a + b, 0));
const max = byRow((row) => Math.max(...row));
const exp = each("exp", Math.exp);
const [minus, over] = [each("−", (a, b) => a - b), each("/", (a, b) => a / b)];

function product(a: FormulaValue, b: FormulaValue): FormulaValue {
  if (a.columns !== b.rows)
    throw new SyntaxError(
      `${sizeText(a)} @ ${sizeText(b)}: the inner sizes, ${a.columns} and ${b.rows}, must be equal`,
    );
  return matrix(a.rows, b.columns, (i, j) =>
    Array.from({ length: a.columns }, (_, c) => cell(a, i, c) * cell(b, c, j)).reduce((x, y) => x + y, 0),
  );
}

const FUNCTIONS: Readonly<
  Record<string, readonly [count: number, of: (...all: FormulaValue[]) => FormulaValue]>
> = {
  exp: [1, exp],
  sqrt: [1, each("sqrt", Math.sqrt)],
  tanh: [1, each("tanh", Math.tanh)],
  log: [1, each("log", Math.log)],
  sum: [1, sum],
  max: [1, max],
  softmax: [1, (a) => ((e) => over(e, sum(e)))(exp(minus(a, max(a))))],
  maximum: [2, each("maximum", Math.max)],
  where: [3, each("where", (condition, a, b) => (condition ? a : b))],
  concat: [
    2,
    (a, b) => {
      if (a.rows !== b.rows)
        throw new SyntaxError(`concat of ${sizeText(a)} and ${sizeText(b)}: rows differ`);
      return matrix(a.rows, a.columns + b.columns, (i, j) =>
        j < a.columns ? cell(a, i, j) : cell(b, i, j - a.columns),
      );
    },
  ],
};

/** Operators between two values, the weakest first. */
const LEVELS: readonly Readonly<Record<string, (a: FormulaValue, b: FormulaValue) => FormulaValue>>[] = [
  { or: each("or", (a, b) => Number(a || b)) },
  { and: each("and", (a, b) => Number(a && b)) },
  {
    "<=": each("<=", (a, b) => Number(a <= b)),
    ">=": each(">=", (a, b) => Number(a >= b)),
    "==": each("==", (a, b) => Number(a === b)),
    "!=": each("!=", (a, b) => Number(a !== b)),
    "<": each("<", (a, b) => Number(a < b)),
    ">": each(">", (a, b) => Number(a > b)),
  },
  { "+": each("+", (a, b) => a + b), "-": minus },
  { "*": each("*", (a, b) => a * b), "/": over, "@": product },
];
const POWER = each("**", (a, b) => a ** b);

/** What readers are used to write in NumPy and PyTorch, and the same here, where functions are by rows. */
const HABITS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:np|torch|F)\./gu, ""],
  [/,?\s*(?:(?:axis|dim)\s*=\s*-?1\b|keepdims?\s*=\s*True)/gu, ""],
  [/\bconcat(?:enate)?\(\s*[[(]([^\])]*)[\])]\s*\)/gu, "concat($1)"],
  [/\.(?:transpose|t)\(\)/gu, ".T"],
  [/(\w+)\.(max|sum|softmax)\(\)/gu, "$2($1)"],
  [/&/gu, " and "],
  [/\|/gu, " or "],
  [/~/gu, " not "],
];
const withoutHabits = (text: string) => HABITS.reduce((all, [habit, here]) => all.replace(habit, here), text);

/** Reads and computes one expression. */
class Reader {
  readonly #words: readonly string[];
  readonly #names: Names;
  #at = 0;

  constructor(text: string, names: Names) {
    this.#names = names;
    this.#words = text.match(/\d+(?:\.\d+)?|\.T\b|\w+|\*\*|[<>=!]=|\S/gu) ?? [];
  }

  all(): FormulaValue {
    const value = this.#level(0);
    if (this.#at < this.#words.length)
      throw new SyntaxError(
        `“${this.#words[this.#at]}” was not expected here${this.#words[this.#at] === "^" ? ": a power is **" : ""}`,
      );
    return value;
  }

  #take(word: string): boolean {
    if (this.#words[this.#at] !== word) return false;
    this.#at++;
    return true;
  }

  #expect(word: string): void {
    if (!this.#take(word))
      throw new SyntaxError(
        `“${word}” is missing before “${this.#words[this.#at] ?? "the end of the line"}”`,
      );
  }

  #level(level: number): FormulaValue {
    if (level === LEVELS.length) return this.#unary();
    if (level === 2 && this.#take("not")) return each("not", (a) => Number(!a))(this.#level(level));
    let value = this.#level(level + 1);
    for (;;) {
      const word = this.#words[this.#at] ?? "";
      if (!Object.hasOwn(LEVELS[level], word)) return value;
      this.#at++;
      value = LEVELS[level][word](value, this.#level(level + 1));
    }
  }

  #unary(): FormulaValue {
    if (this.#take("-")) return minus(scalar(0), this.#unary());
    let value = this.#primary();
    while (this.#take(".T")) {
      const of = value;
      value = matrix(of.columns, of.rows, (i, j) => of.data[j * of.columns + i]);
    }
    return this.#take("**") ? POWER(value, this.#unary()) : value;
  }

  #primary(): FormulaValue {
    const word = this.#words[this.#at++] ?? "";
    if (/^\d/.test(word)) return scalar(Number(word));
    if (word === "(") {
      const value = this.#level(0);
      this.#expect(")");
      return value;
    }
    if (Object.hasOwn(FUNCTIONS, word)) {
      const [count, of] = FUNCTIONS[word];
      this.#expect("(");
      const values = [this.#level(0)];
      while (values.length < count) {
        this.#expect(",");
        values.push(this.#level(0));
      }
      this.#expect(")");
      return of(...values);
    }
    const value = this.#names.get(word);
    if (value !== undefined) return value;
    throw new SyntaxError(
      word === ""
        ? "The line ends where a name or a number should be"
        : `There is no “${word}” here. There are ${[...this.#names.keys()].join(", ")} and ${Object.keys(FUNCTIONS).join(", ")}`,
    );
  }
}

/** The result of a program: that of its last line. Throws a SyntaxError with a sentence for the reader. */
export function run(program: string, inputs: Names): FormulaValue {
  const names = new Map(inputs);
  let result: FormulaValue | undefined;
  for (const [at, line] of program.split("\n").entries()) {
    const text = line.replace(/#.*/u, "").trim();
    if (text === "") continue;
    const [, name, expression] = /^(?:([A-Za-z]\w*)\s*=(?!=))?(.*)$/su.exec(text)!;
    try {
      result = new Reader(withoutHabits(expression), names).all();
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw new SyntaxError(`Line ${at + 1}: ${error.message}.`);
    }
    if (name !== undefined) names.set(name, result);
  }
  if (result === undefined) throw new SyntaxError("There is nothing to run: write one line.");
  return result;
}
