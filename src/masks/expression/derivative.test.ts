import { expect, it } from "vitest";
import { alibi } from "../alibi.ts";
import { relativeBias } from "../relative.ts";
import { softcap } from "../softcap.ts";
import { derivative } from "./derivative.ts";
import { type NumberExpression, scoreMod, VARS, withScore } from "./expr.ts";
import { type Cell, compile } from "./js.ts";
import { table } from "./table.ts";

const cells: Cell[] = [];
for (const score of [-3.7, -0.4, 0.3, 2.9])
  for (const [q, k] of [
    [0, 0],
    [5, 2],
    [1, 4],
  ])
    cells.push({ b: 1, h: 1, i: q, q, k, score });

/** Derivatives by central differences, with respect to the score and every table entry. */
function agrees(expr: NumberExpression): void {
  const f = compile(expr);
  const { score, tables } = derivative(expr);
  const slope = score ? compile(score) : () => 1;
  const step = 1e-5;
  for (const cell of cells) {
    const at = (score: number) => f({ ...cell, score });
    expect(slope(cell)).toBeCloseTo((at(cell.score + step) - at(cell.score - step)) / (2 * step), 6);
    for (const { table, partial } of tables) {
      // The sum of the derivatives by all entries of a table is the derivative of moving all of them together.
      const data = table.data as Float64Array;
      const shifted = (by: number) => {
        const copy = data.slice();
        for (let n = 0; n < data.length; n++) data[n] += by;
        const y = f(cell);
        data.set(copy);
        return y;
      };
      const reads = tables.filter((other) => other.table === table);
      const sum = reads.reduce((total, one) => total + compile(one.partial)(cell), 0);
      expect(sum).toBeCloseTo((shifted(step) - shifted(-step)) / (2 * step), 6);
      expect(Number.isFinite(compile(partial)(cell))).toBe(true);
    }
  }
}

const values = Float64Array.from({ length: 16 }, (_, n) => Math.sin(n) + 1.5);

it("the derivative of every operation of a score mod agrees with central differences", () => {
  const lookUp = table({ data: values, shape: [2, 8] });
  const builds: ((v: typeof VARS) => NumberExpression)[] = [
    ({ score }) => score.mul(2).add(1).sub(0.5),
    ({ score, q }) => score.mul(score).div(q.toFloat().add(2)),
    ({ score }) => score.toFloat().tanh().mul(score),
    ({ score }) => score.mul(0.3).exp(),
    ({ score }) => score.mul(2).abs().mul(score),
    ({ score }) => score.abs().add(1).log(),
    ({ score }) => score.mul(score).add(1).sqrt().neg(),
    ({ score, q, k }) => score.min(q.sub(k).toFloat().add(0.25)).max(-1.1),
    ({ score, q, k }) => k.gt(q).select(score.mul(score), score.mul(3)),
    ({ score, h, k }) => score.mul(lookUp.at(h, k)).add(lookUp.at(0, k).exp().div(lookUp.at(h, 1))),
    ({ score, h }) => lookUp.at(h, 3).mul(2).add(score.mul(0)),
  ];
  for (const build of builds) agrees(scoreMod(build).expr);
});

it("so do the derivatives of the library's score mods, alone and composed", () => {
  const slopes = alibi(Float64Array.of(0.3, 0.7));
  const bias = relativeBias({ data: values, shape: [8, 2] });
  for (const mod of [softcap(2), slopes, bias]) agrees(mod.expr);
  agrees(withScore(softcap(1.5).expr, withScore(slopes.expr, bias.expr)));
});

it("the derivative is omitted where it is 1, and is 0 where the score is not used", () => {
  expect(derivative(alibi([1, 2]).expr).score).toBeUndefined();
  const constant = derivative(scoreMod(({ score, q }) => q.toFloat().add(score.mul(0))).expr)
    .score as NumberExpression;
  expect(compile(constant)(cells[0])).toBe(0);
  const unused = derivative(VARS.q.toFloat()).score as NumberExpression;
  expect(compile(unused)(cells[0])).toBe(0);
});

it("an infinity in the branch that is not selected does not propagate", () => {
  const { score } = derivative(
    scoreMod(({ score, k }) => k.lt(3).select(score, score.mul(score).exp())).expr,
  );
  expect(compile(score as NumberExpression)({ ...cells[0], k: 1, score: 100 })).toBe(1);
});
