import { describe, expect, it } from "vitest";
import { random } from "../../../tests/support/cases/random.ts";
import { randomInput } from "../../../tests/support/cases/store/draw.ts";
import type { TensorObject } from "../../core/tensor.ts";
import type { HeadRef } from "../block.ts";
import type { HeadArrays } from "../compute/head.ts";
import { Problems } from "../formats/metadata.ts";
import { storeFrom } from "../layout/from.ts";
import { bagFrom } from "../layout/input.ts";
import { layOut } from "../layout/layout.ts";
import { sourceOf } from "../layout/source.ts";
import { onNumber } from "../text/number.ts";
import { hideKeys } from "./aggregate.ts";
import type { Ledger } from "./ledger.ts";
import { rescaledLedger } from "./ledger.ts";

const step = (ledger: Ledger, name: string) => ledger.lines.find((line) => line.step === name)!.value.value;

function headsOf(seed: number, wide: boolean) {
  const input = randomInput(seed, { wide });
  const { blocks } = layOut(bagFrom(input), new Problems());
  const source = sourceOf(bagFrom(input), blocks);
  const store = storeFrom(input);
  const refs = Array.from(
    { length: blocks[0].block.heads },
    (_, head): HeadRef => ({ block: 0, layer: 0, head }),
  );
  return { store, refs, data: (ref: HeadRef) => source.head(ref) as HeadArrays };
}

describe("ledger", () => {
  it("ends at the weight of the row, and at the cell, to the bit, for any recipe", () => {
    let [empty, hidden] = [0, 0];
    for (let seed = 0; seed < 120; seed++) {
      const { store, refs, data } = headsOf(seed, seed % 2 === 0);
      for (const ref of refs) {
        const { Nq, Nk } = data(ref);
        const r = random(seed * 31 + ref.head);
        for (let n = 0; n < 6; n++) {
          const [i, j] = [r.int(0, Nq - 1), r.int(0, Nk - 1)];
          const ledger = store.ledger(ref, i, j);
          expect(Object.is(ledger.weight.value, store.row(ref, i, "weights")[j])).toBe(true);
          expect(Object.is(ledger.weight.value, store.cell(ref, i, j, "weights"))).toBe(true);
          expect(store.visible(ref, i)[j] === 1).toBe(ledger.visible);
          if (ledger.emptyRow) empty++;
          if (!ledger.visible) hidden++;
        }
      }
      store.dispose();
    }
    expect(empty).toBeGreaterThan(10);
    expect(hidden).toBeGreaterThan(50);
  });

  it("each line follows from the one before, by its own formula", () => {
    for (let seed = 200; seed < 240; seed++) {
      const { store, refs, data } = headsOf(seed, true);
      for (const ref of refs.slice(0, 2)) {
        const head = data(ref);
        const r = random(seed);
        const [i, j] = [r.int(0, head.Nq - 1), r.int(0, head.Nk - 1)];
        const ledger = store.ledger(ref, i, j);
        const { recipe } = head;
        const sum = ledger.products.reduce((a, b) => a + b, 0);
        expect(step(ledger, "dot")).toBeCloseTo(sum, 10);
        expect(step(ledger, "scale")).toBe(step(ledger, "dot") * recipe.scale);
        expect(step(ledger, "dot")).toBe(store.cell(ref, i, j, "scores"));
        expect(step(ledger, "scale")).toBe(store.cell(ref, i, j, "scaled"));
        const mask = ledger.lines.find((line) => line.step === "mask");
        if (mask) expect(mask.value.value).toBe(store.cell(ref, i, j, "masked"));
        else expect(recipe.mask === "none" && recipe.keyLength === undefined && ledger.visible).toBe(true);
        if (recipe.softcap !== undefined)
          expect(step(ledger, "softcap")).toBe(
            recipe.softcap * Math.tanh(step(ledger, "scale") / recipe.softcap),
          );
        if (!ledger.emptyRow) {
          expect(step(ledger, "weight")).toBe(step(ledger, "exp") / step(ledger, "sum"));
          expect(step(ledger, "exp")).toBe(ledger.visible ? Math.exp(step(ledger, "max")) : 0);
        }
        expect(step(ledger, "value")).toBe(store.cell(ref, i, j, "contribution"));
        expect(
          [...ledger.contribution].map((x, e) => x - ledger.weight.value * ledger.v[e]).every((x) => x === 0),
        ).toBe(true);
      }
      store.dispose();
    }
  });

  it("every number of it goes through num, with the function that gave it", () => {
    const { store, refs } = headsOf(3, true);
    const values = new Set<number>();
    const off = onNumber(({ value, source }) => {
      expect(source).not.toBe("");
      values.add(value);
    });
    const ledger = store.ledger(refs[0], 0, 0);
    off();
    for (const { value, formula } of ledger.lines)
      for (const part of [value, ...formula])
        if (typeof part !== "string") expect(values.has(part.value) || part.value !== part.value).toBe(true);
    store.dispose();
  });

  it("edits of query, key and scale are a store of edited arrays", () => {
    const input = randomInput(11, {
      Nq: 6,
      Nk: 6,
      heads: 2,
      keyHeads: 2,
      d: 4,
      dv: 3,
      recipe: { mask: "causal", softcap: 5 },
      wide: true,
    });
    const store = storeFrom(input);
    const ref = { block: 0, layer: 0, head: 1 };
    const [i, j] = [4, 2];
    const query = store.vector(ref, "query", i).map((x, e) => (e === 1 ? 2.5 : x));
    const key = { index: 3, values: store.vector(ref, "key", 3).map(() => 0.75) };
    const edited = store.ledger(ref, i, j, { query, key, scale: 0.9 });
    expect(edited.changed).toBe(true);

    const [layer] = input.blocks[0].layers;
    const q = ((layer.query as TensorObject).data as Float64Array).slice();
    const k = ((layer.key as TensorObject).data as Float64Array).slice();
    q.set(query, (6 + i) * 4);
    k.set(key.values, (6 + 3) * 4);
    const other = storeFrom({
      blocks: [
        {
          ...input.blocks[0],
          recipe: { mask: "causal", softcap: 5, scale: 0.9 },
          layers: [{ ...layer, query: { data: q, shape: [2, 6, 4] }, key: { data: k, shape: [2, 6, 4] } }],
        },
      ],
    });
    const fresh = other.ledger(ref, i, j);
    expect(edited.lines.map(({ step, value }) => [step, value.value])).toEqual(
      fresh.lines.map(({ step, value }) => [step, value.value]),
    );
    expect(store.row(ref, i, "weights", { query, key, scale: 0.9 })).toEqual(other.row(ref, i, "weights"));
    expect(store.output(ref, i, { query, key, scale: 0.9 })).toEqual(other.output(ref, i));
    expect(store.ledger(ref, i, j).changed).toBe(false);
    expect(() => store.ledger(ref, i, j, { query: [1, 2] })).toThrow(
      /an edited query needs 4 numbers, got 2/,
    );
    expect(() => store.ledger(ref, i, j, { key: { index: 9, values: key.values } })).toThrow(
      /j must be an integer from 0 to 5, got 9/,
    );
  });

  it("a weight that was given is one line, and × ‖v‖ where there are values", () => {
    const store = storeFrom({
      blocks: [
        {
          layers: [
            {
              weights: { data: Float32Array.of(0.25, 0.75), shape: [1, 1, 2] },
              value: { data: Float32Array.of(3, 4, 0, 0), shape: [1, 2, 2] },
            },
          ],
        },
      ],
    });
    const ledger = store.ledger({ block: 0, layer: 0, head: 0 }, 0, 0);
    expect(ledger.lines.map(({ step, value }) => [step, value.value])).toEqual([
      ["given", 0.25],
      ["value", 1.25],
    ]);
    expect(ledger.weight.value).toBe(0.25);
    expect([...ledger.contribution]).toEqual([0.75, 1]);
    expect(ledger.q.length).toBe(0);
  });

  it("reads as the formula: ÷ √d_k, a mask only where there is one, a sentence and a line of code a step", () => {
    const input = (recipe: object, d = 4) =>
      storeFrom(randomInput(5, { Nq: 6, Nk: 6, heads: 1, keyHeads: 1, d, dv: 2, recipe }));
    const ref = { block: 0, layer: 0, head: 0 };
    const names = (store: ReturnType<typeof input>, i = 4, j = 2) =>
      store.ledger(ref, i, j).lines.map(({ name }) => name);
    expect(names(input({}))).toEqual([
      "q·k",
      "÷ √d_k",
      "− largest",
      "exp",
      "sum over 6 keys",
      "exp ÷ sum",
      "× ‖v‖",
    ]);
    expect(names(input({ mask: "causal" }))[2]).toBe("mask: visible");
    expect(names(input({ mask: "causal" }), 1, 3)[2]).toBe("mask: hidden");
    expect(names(input({ scale: 0.3 }))[1]).toBe("× scale");
    const { lines, scale } = input({}).ledger(ref, 4, 2);
    expect(scale).toBe(0.5);
    expect(lines[1].about).toContain("(= √4)");
    // With another scale, such as that of a temperature, the line does not call it the model's.
    const changed = input({}).ledger(ref, 4, 2, { scale: 0.125 }).lines[1];
    expect(changed.about).toBe("Multiply by a scale of 0.1250; the model's is 0.5000.");
    // The line of the sum has numbers, not its name again.
    const sum = lines[4].formula.map((part) => (typeof part === "string" ? part : part.text)).join("");
    expect(sum).toMatch(/^Σ exp\(score − [−\d.]+\)$/);
    for (const { about, code } of lines) {
      expect(about).toMatch(/^[A-Z].*\.$/);
      expect(code).toMatch(/^\w+ = /);
    }
  });

  it("with keys left out and the rest rescaled, ends at the rescaled weight", () => {
    const store = storeFrom(randomInput(5, { Nq: 6, Nk: 6, heads: 1, keyHeads: 1, dv: 2, recipe: {} }));
    const ref = { block: 0, layer: 0, head: 0 };
    const row = store.row(ref, 4, "weights");
    const { row: rescaled, missing } = hideKeys(row, (j) => j === 0, "renormalize");
    const plain = store.ledger(ref, 4, 2);
    const total = row.reduce((a, b) => a + b, 0);
    const ledger = rescaledLedger(plain, { left: total - missing, total });
    expect(ledger.weight.value).toBeCloseTo(rescaled[2], 12);
    expect(ledger.lines.map(({ step }) => step).slice(-3)).toEqual(["weight", "rescale", "value"]);
    expect(ledger.lines.at(-2)!.value.value).toBe(ledger.weight.value);
    expect(ledger.lines.at(-1)!.value.value).toBeCloseTo(
      rescaled[2] * Math.hypot(...store.vector(ref, "value", 2)),
      12,
    );
    expect(ledger.contribution[0]).toBeCloseTo(rescaled[2] * store.vector(ref, "value", 2)[0], 12);
    const hidden = rescaledLedger(store.ledger(ref, 4, 0), { left: total - missing, hidden: true });
    expect(hidden.weight.value).toBe(0);
  });
});
