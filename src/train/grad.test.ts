/** `grad`, `valueAndGrad`, `stopGradient` and `noGrad`; what a tape and a layer refuse instead of wrong gradients. */
import { type Tensor, tensor } from "heed";
import { add, buffer, Linear, Module, multiply, noGrad, parameter, square, stopGradient, sum } from "heed/nn";
import { AdamW, grad, Tape, valueAndGrad } from "heed/train";
import { expect, it } from "vitest";

const x = tensor([1, 2, 3]);

it("grad is the gradient by the first argument, in its structure", () => {
  const slope = grad((t: Tensor, factor: number) => sum(multiply(square(t), factor)));
  expect(slope(x, 3).toArray()).toEqual([6, 12, 18]);
  const y = tensor([4, 5, 6]);
  expect(grad(([a, b]: Tensor[]) => sum(multiply(a, b)))([x, y]).map((t) => t.toArray())).toEqual([[4, 5, 6], [1, 2, 3]]);
  expect(grad((p: { a: Tensor; b: Tensor }) => sum(multiply(p.a, p.b)))({ a: x, b: y }).b.toArray()).toEqual([1, 2, 3]);
  const byName = grad((p: Map<string, Tensor>) => sum(p.get("w")!))(new Map([["w", x], ["unused", y]]));
  expect([...byName].map(([name, t]) => [name, t.toArray()])).toEqual([["w", [1, 1, 1]], ["unused", [0, 0, 0]]]);
  const [value, gradient] = valueAndGrad((t: Tensor) => sum(square(t)))(tensor([1, 2]));
  expect([value.at(), gradient.toArray()]).toEqual([5, [2, 4]]);
}); // biome-ignore format: a row a line

it("grad takes nested arrays", () => {
  expect(grad((t: Tensor) => sum(square(t)))([[1], [2]]).toArray()).toEqual([[2], [4]]);
});

it("a gradient of a gradient throws, with what to do", () => {
  const second = grad((t: Tensor) => sum(grad((u: Tensor) => sum(square(u)))(t)));
  expect(() => second(x)).toThrow(
    "Tape.gradients: no gradient is defined through this result; second derivatives",
  );
});

it("no gradient flows through stopGradient and noGrad", () => {
  expect(grad((t: Tensor) => sum(multiply(t, stopGradient(t))))(x).toArray()).toEqual([1, 2, 3]);
  expect(
    grad((t: Tensor) =>
      sum(
        multiply(
          t,
          noGrad(() => square(t)),
        ),
      ),
    )(x).toArray(),
  ).toEqual([1, 4, 9]);
  expect(stopGradient(x).data).toBe(x.data);
});

it("a recorded result that is read out and put back is refused", () => {
  const reads = [
    (z: Tensor) => tensor(z.data as Float32Array, [3]),
    (z: Tensor) => ({ data: z.data, shape: [3] }),
  ];
  for (const read of reads)
    expect(() =>
      grad((t: Tensor) => {
        const z = square(t);
        return sum(add(z, read(z)));
      })(x),
    ).toThrow("these are the numbers of a recorded result");
  // A constant that is no result is fine.
  const data = Float32Array.of(1, 2, 3);
  expect(grad((t: Tensor) => sum(multiply(t, tensor(data, [3]))))(x).toArray()).toEqual([1, 2, 3]);
});

class Net extends Module {
  readonly first = new Linear(2, 2, { seed: 1 });
  readonly scale = parameter([2]);
  readonly table = buffer(tensor([1, 2]));
}

it("buffers are saved and not trained", () => {
  const net = new Net();
  expect([...net.parameters().keys()]).toEqual(["first.weight", "first.bias", "scale"]);
  expect([...net.buffers().keys()]).toEqual(["table"]);
  expect([...net.stateDict().keys()]).toEqual(["first.weight", "first.bias", "scale", "table"]);
  const state = net.stateDict();
  state.set("table", tensor([5, 6]));
  net.loadStateDict(state);
  expect(net.table.toArray()).toEqual([5, 6]);
});

it("frozen layers are saved and not trained until they are released", async () => {
  const net = new Net();
  net.first.freeze();
  expect([...net.parameters().keys()]).toEqual(["scale"]);
  expect([...net.buffers().keys()]).toEqual(["table"]);
  expect(net.stateDict().size).toBe(4);
  await net.to("cpu");
  net.first.freeze(false);
  expect(net.parameters().size).toBe(3);
});

it("a plain tensor as a field is refused, with both ways out", () => {
  class Positions extends Module {
    readonly positions = tensor([1, 2]);
  }
  expect(() => new Positions().parameters()).toThrow(
    "Module: field positions is a plain tensor; write parameter(t) where it is trained, buffer(t) where it is only saved, or make the field #private",
  );
});

it("a layer of another copy of heed is refused", () => {
  const other = { parameters: () => new Map(), forward: () => x };
  class Mixed extends Module {
    readonly layer = other;
  }
  expect(() => new Mixed().parameters()).toThrow(
    "Module: field layer has parameters() and is no Module of this copy of heed",
  );
});

it("a tape refuses to train a model without the layer in its #private field", () => {
  class Hidden extends Module {
    readonly first = new Linear(2, 2, { seed: 1 });
    readonly #second = new Linear(2, 2, { seed: 2 });
    forward(t: Tensor) {
      return this.#second.forward(this.first.forward(t));
    }
    override freeze() {
      this.#second.freeze();
      return this;
    }
  }
  const gradients = (net: Hidden) => {
    const tape = new Tape();
    const loss = tape.run(() => sum(net.forward(tensor([[1, 2]]))));
    return tape.gradients(loss, net.parameters().values());
  };
  expect(() => gradients(new Hidden())).toThrow(
    "Tape.gradients: the loss depends on a parameter [2, 2] float32 of linear that no parameters() lists",
  );
  expect(gradients(new Hidden().freeze()).size).toBe(2);
});

it("a step between a recording and its gradients is refused", () => {
  const [L, M] = [new Linear(2, 2, { seed: 1 }), new Linear(2, 1, { seed: 2 })];
  const optimizer = new AdamW(M.parameters(), { lr: 0.5 });
  L.parameters();
  const input = tensor([[1, 1]]);
  const [first, second] = [new Tape(), new Tape()];
  const a = first.run(() => sum(M.forward(L.forward(input))));
  const b = second.run(() => sum(M.forward(input)));
  optimizer.step(second.gradients(b, M.parameters().values()));
  expect(() => first.gradients(a, L.parameters().values())).toThrow(
    "was changed in place after the tape recorded it",
  );
});
