import { describe, expect, test } from "vitest";
import { tensor } from "../core/create/construct.ts";
import { Tensor } from "../core/tensor.ts";
import { mean, sum } from "../nn/arrays/reduce.ts";
import { fillLinear } from "../nn/initialize.ts";
import { Linear } from "../nn/linear.ts";
import { add, multiply, scale } from "../nn/ops/arithmetic.ts";
import { reshape } from "../nn/ops/shapes.ts";
import { record } from "../nn/record.ts";
import { AdamW } from "./adamw.ts";
import { addTo, Tape } from "./tape.ts";

const of = (...values: number[]) => tensor(Float64Array.from(values), [values.length]);
const values = (t: Tensor | undefined) => t && Array.from(t.toFloat64());

/** Loss and gradients of work. */
function differentiate(work: () => Tensor, wanted: Tensor[]) {
  const tape = new Tape();
  const loss = tape.run(work);
  return tape.gradients(loss, wanted);
}

describe("Tape", () => {
  test("the gradient of a tensor that is read several times is a sum", () => {
    const x = of(1, -2, 3);
    const y = of(5, 7, 11);
    // sum(x·x + x·y + x): 2x + y + 1
    const loss = () => sum(add(add(multiply(x, x), multiply(x, y)), x));
    const gradients = differentiate(loss, [x, y]);
    expect(values(gradients.get(x))).toEqual([8, 4, 18]);
    expect(values(gradients.get(y))).toEqual([1, -2, 3]);
  });

  test("an incoming gradient is not modified: two readers of one sum do not affect each other", () => {
    const x = of(1, 2);
    const y = of(3, 4);
    // add hands the same gradient to both of its inputs; x then gets more.
    const gradients = differentiate(() => sum(add(add(x, y), scale(x, 10))), [x, y]);
    expect(values(gradients.get(x))).toEqual([11, 11]);
    expect(values(gradients.get(y))).toEqual([1, 1]);
  });

  test("an intermediate tensor can be wanted too", () => {
    const x = of(2, 3);
    let middle: Tensor | undefined;
    const tape = new Tape();
    const loss = tape.run(() => sum(multiply((middle = scale(x, 4)), x)));
    const gradients = tape.gradients(loss, [middle as unknown as Tensor, x]);
    expect(values(gradients.get(middle as unknown as Tensor))).toEqual([2, 3]);
    expect(values(gradients.get(x))).toEqual([16, 24]);
  });

  test("only steps between the wanted tensors and the loss run backwards", () => {
    const ran: string[] = [];
    const step = (name: string, inputs: Tensor[]) => {
      const output = of(1);
      const backward = ([d]: readonly (Tensor | undefined)[]) => {
        ran.push(name);
        return inputs.map(() => d);
      };
      record({ name, inputs, outputs: [output], backward });
      return output;
    };
    const [wanted, other] = [of(1), of(2)];
    const gradients = differentiate(() => {
      const constant = step("of another tensor", [other]);
      step("unused", [wanted]);
      return step("last", [step("first", [wanted]), constant]);
    }, [wanted]);
    expect(ran).toEqual(["last", "first"]);
    expect([...gradients.keys()]).toEqual([wanted]);
  });

  test("a tensor that the loss does not depend on has no gradient", () => {
    const [x, y] = [of(1), of(2)];
    const gradients = differentiate(() => sum(x), [x, y]);
    expect(gradients.has(y)).toBe(false);
  });

  test("a scale multiplies the gradients", () => {
    const x = of(1, 2, 3, 4);
    const tape = new Tape();
    const loss = tape.run(() => mean(multiply(x, x)));
    expect(values(tape.gradients(loss, [x], 10).get(x))).toEqual([5, 10, 15, 20]);
  });

  test("views are separate tensors, and the gradient has the source's shape", () => {
    const x = tensor(Float64Array.of(1, 2, 3, 4), [2, 2]);
    const gradients = differentiate(() => sum(multiply(reshape(x, [4]), of(1, 10, 100, 1000))), [x]);
    expect(gradients.get(x)?.shape).toEqual([2, 2]);
    expect(values(gradients.get(x))).toEqual([1, 10, 100, 1000]);
  });

  test("operations are dropped as they run backwards", () => {
    const x = of(1);
    const tape = new Tape();
    const loss = tape.run(() => sum(scale(x, 2)));
    expect(tape.operations.length).toBeGreaterThan(0);
    tape.gradients(loss, [x]);
    expect(tape.operations).toEqual([]);
    expect(() => tape.gradients(loss, [x])).toThrow(
      expect.objectContaining({ name: "OptionError", code: "tape" }),
    );
  });

  test("refuses a loss of several numbers, and a loss computed outside the tape", () => {
    const x = of(1, 2);
    const tape = new Tape();
    const many = tape.run(() => scale(x, 2));
    expect(() => tape.gradients(many, [x])).toThrow(
      expect.objectContaining({ name: "ShapeError", code: "loss" }),
    );
    expect(() => tape.gradients(of(1), [x])).toThrow(
      expect.objectContaining({ name: "OptionError", code: "loss" }),
    );
  });

  test("names the step whose gradient has another shape than its input", () => {
    const x = of(1, 2);
    const wrong = () => {
      const output = of(3);
      record({ name: "bend", inputs: [x], outputs: [output], backward: ([d]) => [d] });
      return output;
    };
    expect(() => differentiate(wrong, [x])).toThrow(
      /bend gave a gradient \[1\] float64 for its input 0, which is \[2\]/,
    );
  });

  test("strided gradients are added by index, not by memory order", () => {
    const total = new Tensor(new Float64Array(4), [2, 2], "float64");
    addTo(total, tensor(Float64Array.of(1, 2, 3, 4), [2, 2]).transpose());
    addTo(total, tensor(Float64Array.of(0.5, 0.5, 0.5, 0.5), [2, 2]));
    expect(values(total)).toEqual([1.5, 3.5, 2.5, 4.5]);
  });
});

describe("a tensor that changes in place after it was recorded", () => {
  const L = new Linear(2, 2, { seed: 1 });
  const M = new Linear(2, 1, { seed: 2 });
  L.parameters();
  const x = tensor([[1, 1]]);
  const record = () => {
    const tape = new Tape();
    return { tape, loss: tape.run(() => sum(M.forward(L.forward(x)))) };
  };
  const step = () => {
    const { tape, loss } = record();
    new AdamW(M.parameters(), { lr: 0.5 }).step(tape.gradients(loss, M.parameters().values()));
  };

  test("by AdamW.step is an error, which names the operation and the tensor", () => {
    const { tape, loss } = record();
    step();
    expect(() => tape.gradients(loss, [L.weight])).toThrow(
      /^Tape\.gradients: input 1 of linear, \[1, 2\] float32, was changed in place after the tape recorded it; take the gradients before/,
    );
  });

  test("by loadStateDict or a fill is an error as well, through a view too", () => {
    for (const change of [
      () => M.loadStateDict(new Linear(2, 1, { seed: 3 }).stateDict()),
      () => fillLinear(M.weight, 4, 2),
    ]) {
      const { tape, loss } = record();
      change();
      expect(() => tape.gradients(loss, [L.weight])).toThrow(expect.objectContaining({ code: "changed" }));
    }
    const tape = new Tape();
    const loss = tape.run(() => sum(multiply(M.weight.reshape([2]), tensor([1, 2]))));
    fillLinear(M.weight, 4, 2);
    expect(() => tape.gradients(loss, [M.weight])).toThrow(/input 0 of reshape/);
  });

  test("is no error before it is recorded, after the gradients, or where no gradient flows", () => {
    step();
    const { tape, loss } = record();
    expect(tape.gradients(loss, [L.weight]).size).toBe(1);
    step();
    // The gradient of M does not reach L.
    const other = new Tape();
    const both = other.run(() => add(sum(M.forward(x)), scale(sum(L.forward(x)), 0)));
    fillLinear(L.weight, 5, 2);
    expect(other.gradients(both, [M.weight]).size).toBe(1);
  });
});
