import { expect, test } from "vitest";
import { explain, explainMatmul, scaledDotProductAttention, type Tensor, tensor } from "../../src/index.ts";
import { and, causal, keyLengths, slidingWindow } from "../../src/masks/index.ts";
import { AdditiveAttention } from "../../src/nn/history/index.ts";
import { matmul, softmax } from "../../src/nn/index.ts";
import { loadNotes, PAGES } from "../pages.ts";
import { type FormulaValue, run } from "./formula.ts";
import { check, drawn } from "./open-task.ts";

const notes = new Map(await Promise.all(PAGES.map(async (name) => [name, await loadNotes(name)] as const)));
const taskOf = (name: string) => notes.get(name)!;
const T = ({ rows, columns, data }: FormulaValue) => tensor(Float64Array.from(data), [rows, columns]);

test("the start of each open task is wrong, its answer is right, and each known mistake gets its own sentence", () => {
  for (const [name, open] of notes) {
    expect(check(open, open.start).right, name).toBe(false);
    expect(check(open, open.answer), name).toMatchObject({ right: true });
    for (const [program, says] of open.mistakes)
      expect(check(open, program), `${name}: ${program}`).toEqual({ right: false, says });
  }
});

/** What heed computes for the answers, from the same numbers. */
const HEED: Readonly<Record<string, (of: (name: string) => Tensor) => Tensor>> = {
  words: (of) => softmax(of("s")),
  steps: (of) => matmul(softmax(of("s")), of("V")),
  scale: (of) => scaledDotProductAttention(of("Q"), of("K"), of("V")).output,
  heads: (of) =>
    matmul(
      tensor(
        Float64Array.from({ length: 16 }, (_, n) => of(n % 4 < 2 ? "A" : "B").at(n >> 2, n % 2)),
        [4, 4],
      ),
      of("WO"),
    ),
  shapes: (of) => matmul(matmul(of("X"), of("Wq")), matmul(of("X"), of("Wk")), { transposeB: true }),
  before: (of) => matmul(softmax(of("s")), of("H")),
  scorers(of) {
    const layer = new AdditiveAttention(3, 3, 4, { dtype: "float64" });
    layer.loadStateDict(
      new Map([
        ["wq", of("Wq").transpose()],
        ["wk", of("Wk").transpose()],
        ["w", of("w").reshape([4])],
      ]),
    );
    const { weights } = layer.forward(of("q"), of("K"), of("K"), { returnWeights: true });
    return weights!;
  },
};

test.for(Object.keys(HEED))("%s: the answer is what heed computes", (name) => {
  const names = drawn(taskOf(name), 1);
  const mine = T(run(taskOf(name).answer, names));
  const ours = HEED[name]((one) => T(names.get(one)!)).toFloat64();
  // Weights of additive scores are softmax of the column.
  const wanted = name === "scorers" ? softmax(mine.transpose()).toFloat64() : mine.toFloat64();
  for (const [n, value] of ours.entries()) expect(value).toBeCloseTo(wanted[n], 6);
});

test("the answers about masks, sums, hiding, counts and derivatives are those of heed and of central differences", () => {
  const mask = run(taskOf("masks").answer, drawn(taskOf("masks"), 2));
  const zeros = tensor(new Float64Array(8), [8, 1]);
  const { weights } = scaledDotProductAttention(zeros, zeros, zeros, {
    attnMask: and(causal(), slidingWindow(2, 0), keyLengths(4)),
    returnWeights: true,
  });
  expect([...weights!.toFloat64()].map((weight) => Number(weight > 0))).toEqual(mask.data);

  const values = drawn(taskOf("variants"), 1);
  const [t, s] = ["t", "s"].map((name) => values.get(name)!.data);
  const M = Math.max(...t, ...s);
  const sum = [...t, ...s].reduce((all, score) => all + Math.exp(score - M), 0);
  expect(run(taskOf("variants").answer, values).data[0]).toBeCloseTo(sum, 12);

  const scores = drawn(taskOf("explanation"), 1);
  const hidden = scaledDotProductAttention(
    tensor(Float64Array.of(1), [1, 1]),
    T(scores.get("s")!).reshape([5, 1]),
    tensor(new Float64Array(5), [5, 1]),
    { scale: 1, attnMask: tensor(Uint8Array.of(1, 1, 0, 1, 1), [1, 5], "bool"), returnWeights: true },
  ).weights!.toFloat64();
  for (const [j, share] of run(taskOf("explanation").answer, scores).data.entries())
    expect(share).toBeCloseTo(hidden[j], 12);

  const [n, d] = [100, 7];
  const sized = (...shape: number[]) => tensor(new Float32Array(shape.reduce((a, b) => a * b)), shape);
  const counted =
    explain(sized(n, d), sized(n, d), sized(n, d)).operations +
    4 * explainMatmul(sized(n, d), sized(d, d)).operations;
  expect(run(taskOf("cost").answer, drawn(taskOf("cost"), 1)).data).toEqual([counted]);

  for (const name of ["saturation", "learned"]) {
    const names = drawn(taskOf(name), 1);
    const result = run(taskOf(name).answer, names);
    const row = names.get("s")!.data;
    const shares = (at: number, step: number) => [
      ...softmax(T({ rows: 1, columns: 5, data: row.map((x, j) => x + (j === at ? step : 0)) })).toFloat64(),
    ];
    for (let j = 0; j < 5; j++) {
      const slope = shares(j, 1e-5).map((p, i) => (p - shares(j, -1e-5)[i]) / 2e-5);
      if (name === "saturation")
        for (let i = 0; i < 5; i++) expect(result.data[i * 5 + j]).toBeCloseTo(slope[i], 8);
      else
        expect(result.data[j]).toBeCloseTo(
          slope.reduce((all, p, i) => all + p * names.get("g")!.data[i], 0),
          8,
        );
    }
  }
});

test("a program that cannot be read or does not fit says where and why", () => {
  const open = taskOf("shapes");
  const say = (program: string) => check(open, program).says;
  expect(say(open.start)).toBe("Line 1: 6 × 3 @ 6 × 8: the inner sizes, 3 and 6, must be equal.");
  expect(say("Q = X @ Wq\nQ @ softmax(Wx)")).toMatch(
    /^Line 2: There is no “Wx” here\. There are X, Wq, Wk, Q and /,
  );
  expect(say("exp(X")).toBe("Line 1: “)” is missing before “the end of the line”.");
  expect(say("X +")).toBe("Line 1: The line ends where a name or a number should be.");
  expect(say("X X")).toBe("Line 1: “X” was not expected here.");
  expect(say(" # nothing")).toBe("There is nothing to run: write one line.");
  expect(say("X @ Wq")).toBe("Your result is 6 × 3; it should be 6 × 6.");
  expect(say("2 * (X @ Wq @ (X @ Wk).T)")).toMatch(/^It runs, and the sizes are right\. Row 1, column 1 is /);
});

test("precedence and functions are Python's", () => {
  const names = new Map([["a", { rows: 1, columns: 3, data: [1, -2, 3] }]]);
  const value = (program: string) => run(program, names).data;
  expect(value("-2**2 + 3 * 2 - 8 / 2 / 2")).toEqual([0]);
  expect(value("2**3**2")).toEqual([512]);
  expect(value("not 1 > 2 and 1 != 2 or 0")).toEqual([1]);
  expect(value("a.T @ a")).toEqual([1, -2, 3, -2, 4, -6, 3, -6, 9]);
  expect(value("where(a > 0, a, -a) - maximum(a, 0)")).toEqual([0, 2, 0]);
  expect(value("sum(a) + max(a)")).toEqual([5]);
  expect(value("b = a * 2\nb == a + a")).toEqual([1, 1, 1]);
});

test("habits of NumPy and PyTorch are read: prefixes, axes of rows, methods, & for and; ^ is answered", () => {
  for (const [name, program] of [
    ["scale", "F.softmax(Q @ K.transpose() / np.sqrt(dk), dim=-1) @ V"],
    ["masks", "(j <= i) & (i - j <= 2) & (j < n)"],
    ["masks", "(j <= i) & ~(i - j > 2) & (j < n)"],
    ["steps", "e = np.exp(s - s.max(axis=1, keepdims=True))\ne / e.sum() @ V"],
    ["steps", "e = exp(s - max(s, axis=1, keepdims=True))\ne / sum(e) @ V"],
    ["heads", "np.concatenate([A, B], axis=1) @ WO"],
    ["heads", "np.concatenate((A, B), axis=-1) @ WO"],
  ] as const)
    expect(check(taskOf(name), program), program).toMatchObject({ right: true });
  expect(check(taskOf("cost"), "4 * n^2 * d").says).toBe("Line 1: “^” was not expected here: a power is **.");
  // The first axis is not that of rows.
  expect(check(taskOf("scale"), "softmax(Q @ K.T / sqrt(dk), axis=0) @ V").right).toBe(false);
});
