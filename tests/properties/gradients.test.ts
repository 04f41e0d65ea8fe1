/**
 * Gradients in float64 against central differences: the change of the loss Σ output·dOutput along a random direction of each
 * input agrees with the gradient, and the change of the gradients agrees with double backward.
 */
import { type AttentionOptions, attentionBackward, scaledDotProductAttention, Tensor } from "heed";
import { attentionDoubleBackward } from "heed/reference";
import { expect, it } from "vitest";
import { type Case, describeCase } from "../support/cases/problem/case.ts";
import { draw } from "../support/cases/problem/draw.ts";
import { type Random, random } from "../support/cases/random.ts";

const STEP = 1e-5;

/** Dense float64 copies of the inputs, in the case's own shapes. */
const inputs = (c: Case): Tensor[] =>
  [c.query, c.key, c.value].map((t) => new Tensor(t.toFloat64(), [...t.shape], "float64"));

/** A random direction; 0 where the input is NaN, which is masked. */
const direction = (r: Random, t: Tensor): Tensor =>
  new Tensor(
    Float64Array.from(t.data as Float64Array, (x) => (Number.isFinite(x) ? r.normal() : 0)),
    t.shape,
    t.dtype,
  );

const moved = (t: Tensor, by: Tensor, step: number): Tensor =>
  new Tensor(
    Float64Array.from(t.data as Float64Array, (x, n) => x + step * (by.data as Float64Array)[n]),
    t.shape,
    t.dtype,
  );

const product = (a: Tensor, b: Tensor): number => {
  const [x, y] = [a.toFloat64(), b.toFloat64()];
  let sum = 0;
  for (let n = 0; n < x.length; n++) if (y[n] !== 0) sum += x[n] * y[n];
  return sum;
};

/** Cases with ordinary numbers, for which differences are accurate. */
function* ordinary(from: number, count: number, longest: number): Generator<Case> {
  for (let seed = from, n = 0; n < count; seed++) {
    const c = draw(seed, longest, "float64");
    if (!/ normal /.test(c.name) || c.query.size * c.key.size * c.value.size === 0) continue;
    n++;
    yield c;
  }
}

function close(c: Case, name: string, got: number, want: number, size: number): void {
  if (!(Math.abs(got - want) <= 2e-6 * (1 + size)))
    expect.fail(`${name}: ${got}, central differences ${want} (${describeCase(c)})`);
}

it("300 random calls: gradients of query, key, value, sinks and float masks are those of central differences", () => {
  for (const c of ordinary(7_000, 300, 12)) {
    const r = random(c.lengths.Nq + 1000 * c.lengths.Nk);
    const [q, k, v] = inputs(c);
    const dropout = r.chance(0.3) ? { dropoutP: 0.3, seed: 5 } : {};
    const sinks = c.sinks && Float64Array.from(c.sinks);
    const options: AttentionOptions = { ...c.options, ...dropout, ...(sinks && { sinks }) };
    const state = scaledDotProductAttention(q, k, v, options);
    const dOutput = direction(r, state.output);
    const got = attentionBackward(dOutput, q, k, v, state, options);
    const loss = (a: Tensor, b: Tensor, e: Tensor, how: AttentionOptions) =>
      product(scaledDotProductAttention(a, b, e, how).output, dOutput);
    const compare = (name: string, gradient: Tensor, along: Tensor, at: (step: number) => number) =>
      close(c, name, product(gradient, along), (at(STEP) - at(-STEP)) / (2 * STEP), Math.abs(at(0)));
    const [tq, tk, tv] = [q, k, v].map((t) => direction(r, t));
    compare("dQuery", got.dQuery, tq, (s) => loss(moved(q, tq, s), k, v, options));
    compare("dKey", got.dKey, tk, (s) => loss(q, moved(k, tk, s), v, options));
    compare("dValue", got.dValue, tv, (s) => loss(q, k, moved(v, tv, s), options));
    if (sinks) {
      const tensor = new Tensor(sinks, [sinks.length], "float64");
      const along = direction(r, tensor);
      const at = (s: number) => loss(q, k, v, { ...options, sinks: moved(tensor, along, s) });
      compare("dSinks", got.dSinks as Tensor, along, at);
    }
    const list = Array.isArray(options.attnMask) ? options.attnMask : [options.attnMask];
    list.forEach((mask, n) => {
      const gradient = got.dMasks ? got.dMasks[n] : got.dMask;
      if (!(mask instanceof Tensor) || mask.dtype !== "float64" || !gradient) return;
      const dense = mask.contiguous();
      const along = direction(r, dense);
      const at = (s: number) =>
        loss(q, k, v, {
          ...options,
          attnMask: list.map((m, i) => (i === n ? moved(dense, along, s) : m)) as [],
        });
      compare("dMask", gradient, along, at);
    });
  }
});

it("80 random calls: double backward is the change of the gradients along a direction", () => {
  for (const c of ordinary(90_000, 80, 9)) {
    const r = random(c.lengths.Nq + 1000 * c.lengths.Nk);
    const [q, k, v] = inputs(c);
    const options: AttentionOptions = { ...c.options, ...(r.chance(0.3) && { dropoutP: 0.2, seed: 9 }) };
    const dOutput = direction(r, scaledDotProductAttention(q, k, v, options).output);
    const g = [q, k, v].map((t) => direction(r, t));
    const [dQuery, dKey, dValue] = g;
    const got = attentionDoubleBackward(dOutput, q, k, v, { dQuery, dKey, dValue }, options);
    // F = g·∇, a number; double backward returns its gradients.
    const value = (d: Tensor, a: Tensor, b: Tensor, e: Tensor) => {
      const one = attentionBackward(d, a, b, e, scaledDotProductAttention(a, b, e, options), {
        ...options,
        wanted: [],
      });
      return product(one.dQuery, g[0]) + product(one.dKey, g[1]) + product(one.dValue, g[2]);
    };
    const rows: [string, Tensor, Tensor, (x: Tensor) => number][] = [
      ["dDOutput", got.dDOutput, dOutput, (x) => value(x, q, k, v)],
      ["dQuery", got.dQuery, q, (x) => value(dOutput, x, k, v)],
      ["dKey", got.dKey, k, (x) => value(dOutput, q, x, v)],
      ["dValue", got.dValue, v, (x) => value(dOutput, q, k, x)],
    ];
    for (const [name, gradient, input, f] of rows) {
      const along = direction(r, input);
      const want = (f(moved(input, along, STEP)) - f(moved(input, along, -STEP))) / (2 * STEP);
      close(c, name, product(gradient, along), want, 10 * Math.abs(f(input)));
    }
  }
});
