/**
 * Einstein's summation: `einsum("bhqd,bhkd->bhqk", q, k)`. Each step joins two operands by one matrix product: letters of both that stay
 * are batch axes, letters of both that go are summed.
 */
import {
  argumentError,
  formatTensor,
  formatValue,
  OptionError,
  ShapeError,
  UnsupportedError,
} from "../../core/errors.ts";
import { sizeOf, type TensorLike } from "../../core/tensor.ts";
import { type FloatTensor, type FloatTensorOf, operand } from "../ops/operand.ts";
import { matmul } from "../ops/products.ts";
import { reshape } from "../ops/shapes.ts";
import { permute } from "./axes.ts";
import { sum } from "./reduce.ts";

const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** A tensor and a letter for each of its axes. */
interface Term {
  readonly t: FloatTensor;
  readonly letters: string;
}

/**
 * The sum of products that an equation names: a letter for each axis, operands joined by commas, and the letters of the result after
 * `->` (without it: the letters that appear once, in alphabetical order). Letters that are not in the result are summed. `...` is the axes
 * that have no letter, aligned at the last of them and broadcast as in NumPy; without `->` they come first in the result.
 *
 * @throws OptionError, ShapeError; UnsupportedError for a letter twice in one operand
 *
 * @example
 * einsum("qd,kd->qk", tensor([[1, 2]]), tensor([[3, 4], [5, 6]])); // → [[11, 17]]
 * einsum("ij->j", tensor([[1, 2], [3, 4]])); // → [4, 6]
 * einsum("...qd,...kd->...qk", randn([2, 3, 5]), randn([2, 4, 5])).shape; // → [2, 3, 4]
 */
export function einsum<T extends TensorLike>(equation: string, ...operands: readonly T[]): FloatTensorOf<T> {
  if (typeof equation !== "string" || operands.length === 0)
    throw argumentError("einsum", 'an equation and tensors, as in einsum("ij,jk->ik", a, b)', equation);
  const first = operand("einsum", "operand 0", operands[0]) as FloatTensor;
  const tensors = operands.map((x, n) => operand("einsum", `operand ${n}`, x, first) as FloatTensor);
  const { written, inputs, output, unnamed } = parsed(
    equation,
    tensors.map(({ shape }) => shape.length),
  );
  if (inputs.length !== operands.length)
    throw new OptionError(
      "equation",
      `einsum: ${formatValue(equation)} has ${inputs.length} operands, got ${operands.length}`,
      { equation },
    );
  const lengths = new Map<string, number>();
  for (const [n, t] of tensors.entries()) {
    const letters = inputs[n];
    if (t.shape.length !== letters.length)
      throw new ShapeError(
        "rank",
        `einsum: ${formatValue(written[n])} names ${letters.length} axes; ${formatTensor(`operand ${n}`, t)}`,
        { letters: written[n], shape: t.shape },
      );
    for (const [i, letter] of [...letters].entries()) {
      const length = lengths.get(letter) ?? t.shape[i];
      const isBroadcast = unnamed.includes(letter) && (length === 1 || t.shape[i] === 1);
      if (length !== t.shape[i] && !isBroadcast)
        throw new ShapeError(
          "einsum",
          `einsum: ${unnamed.includes(letter) ? "an axis of ..." : letter} has length ${length} and, in operand ${n}, ${t.shape[i]}; ${formatTensor(`operand ${n}`, t)}`,
          { letter, lengths: [length, t.shape[i]] },
        );
      lengths.set(letter, length === 1 ? t.shape[i] : length);
    }
  }
  // An axis that is broadcast is left out: its operand is the same for each index.
  const terms = tensors.map((t, n): Term => {
    const axes = [...inputs[n]].map((_, i) => i);
    const others = axes.filter((i) => t.shape[i] === lengths.get(inputs[n][i]));
    if (others.length === axes.length) return { t, letters: inputs[n] };
    return {
      t: reshape(
        t,
        others.map((i) => t.shape[i]),
      ),
      letters: others.map((i) => inputs[n][i]).join(""),
    };
  });
  let result = terms[0];
  for (const [n, term] of terms.slice(1).entries()) {
    const later = output + inputs.slice(n + 2).join("");
    result = product(result, term, later);
  }
  const { t, letters } = without(result, output);
  return permute(
    t,
    [...output].map((letter) => letters.indexOf(letter)),
  ) as FloatTensorOf<T>;
}

/** The letters of the operands and of the result, with free letters for the axes of `...`: `unnamed`. */
function parsed(equation: string, ranks: readonly number[]) {
  const text = equation.replaceAll(" ", "");
  const [left, right, ...more] = text.split("->");
  const written = left.split(",");
  const counts = written.map((one, n) => (one.includes("...") ? Math.max(0, ranks[n] - one.length + 3) : 0));
  const unnamed = [...LETTERS]
    .filter((l) => !text.includes(l))
    .slice(0, Math.max(...counts))
    .join("");
  const inputs = written.map((one, n) => one.replace("...", unnamed.slice(unnamed.length - counts[n])));
  const all = inputs.join("");
  const once = [...new Set(all)].filter((l) => !unnamed.includes(l) && all.split(l).length === 2);
  const output = right?.replace("...", unnamed) ?? unnamed + once.sort().join("");
  const isWrong = more.length > 0 || !/^[A-Za-z]*$/.test(all + output);
  if (isWrong || [...output].some((letter) => !all.includes(letter)) || hasTwice(output))
    throw new OptionError(
      "equation",
      `einsum: ${formatValue(equation)} must be letters, commas and one "->", and the result each of its letters once, from the operands, as in "ij,jk->ik" or "...qd,...kd->...qk"`,
      { got: equation },
    );
  const repeated = inputs.find(hasTwice);
  if (repeated !== undefined)
    throw new UnsupportedError(
      "equation",
      `einsum: ${formatValue(repeated)} names an axis twice, which is a diagonal; multiply by eye(n) and sum instead`,
      { got: equation },
    );
  return { written, inputs, output, unnamed };
}

const hasTwice = (letters: string): boolean => new Set(letters).size < letters.length;

/** A term summed over its letters that are not wanted. */
function without({ t, letters }: Term, wanted: string): Term {
  const axes = [...letters].flatMap((letter, n) => (wanted.includes(letter) ? [] : [n]));
  if (axes.length === 0) return { t, letters };
  return { t: sum(t, axes), letters: [...letters].filter((letter) => wanted.includes(letter)).join("") };
}

/** Two terms joined by a matrix product; `later` has the letters that are read after it. */
function product(x: Term, y: Term, later: string): Term {
  const a = without(x, later + y.letters);
  const b = without(y, later + x.letters);
  const of = (letters: string, isIn: (letter: string) => boolean) => [...letters].filter(isIn);
  const batch = of(a.letters, (l) => b.letters.includes(l) && later.includes(l));
  const summed = of(a.letters, (l) => b.letters.includes(l) && !later.includes(l));
  const rows = of(a.letters, (l) => !b.letters.includes(l));
  const columns = of(b.letters, (l) => !a.letters.includes(l));
  const lengths = (letters: readonly string[]) =>
    letters.map((l) =>
      a.letters.includes(l) ? a.t.shape[a.letters.indexOf(l)] : b.t.shape[b.letters.indexOf(l)],
    );
  const matrices = ({ t, letters }: Term, m: readonly string[], n: readonly string[]) =>
    reshape(
      permute(
        t,
        [...batch, ...m, ...n].map((l) => letters.indexOf(l)),
      ),
      [sizeOf(lengths(batch)), sizeOf(lengths(m)), sizeOf(lengths(n))],
    );
  const z = matmul(matrices(a, rows, summed), matrices(b, summed, columns)) as FloatTensor;
  return {
    t: reshape(z, lengths([...batch, ...rows, ...columns])),
    letters: [...batch, ...rows, ...columns].join(""),
  };
}
