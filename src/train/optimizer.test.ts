/** Optimizers beside PyTorch 2, and the mistakes that a step refuses. */
import { randn, type Tensor, tensor } from "heed";
import { add, Linear, multiply, parameter, scale, sum } from "heed/nn";
import { Adam, AdamW, type Optimizer, SGD, Tape } from "heed/train";
import { expect, it } from "vitest";

type Make = (parameters: Tensor[]) => Optimizer;

/** Four steps of float64 parameters on 0.3·Σw² + Σ b·Σw, as torch.optim does them. */
const CASES: [string, Make, number[]][] = [
  [
    "SGD",
    (p) => new SGD(p, { lr: 0.1 }),
    [0.77071636, -1.13281152, 0.38034188, 2.77093328, -0.2808496, -1.4888504],
  ],
  [
    "SGD with momentum",
    (p) => new SGD(p, { lr: 0.1, momentum: 0.9 }),
    [0.49189816, -0.04278912, 0.23919128, 2.48427968, -0.9389476, -2.1065024],
  ],
  [
    "Nesterov with decay",
    (p) => new SGD(p, { lr: 0.1, momentum: 0.9, nesterov: true, weightDecay: 0.05 }),
    [0.529149418699, 0.66592971614, 0.356186571578, 2.395558187353, -1.193987267036, -2.637842661783],
  ],
  [
    "Adam",
    (p) => new Adam(p, { lr: 0.1 }),
    [0.611560607212, -1.599633374287, 0.128634094462, 2.613089455288, -0.143879240797, -1.400025912856],
  ],
  [
    "Adam with decay",
    (p) => new Adam(p, { lr: 0.1, weightDecay: 0.05 }),
    [0.610990819927, -1.599687548559, 0.127744267216, 2.609994588916, -0.143699610432, -1.399900279681],
  ],
  [
    "AdamW with its defaults",
    (p) => new AdamW(p, { lr: 0.1 }),
    [0.608262352737, -1.592263407563, 0.127400026709, 2.601811150399, -0.144211420916, -1.395410113259],
  ],
];

function trained(make: Make, factor = 1): number[] {
  const w = tensor([[1, -2], [0.5, 3]], "float64");
  const b = tensor([0.25, -1], "float64");
  const optimizer = make([w, b]);
  for (let n = 0; n < 4; n++) {
    const tape = new Tape();
    const loss = tape.run(() => scale(add(scale(sum(multiply(w, w)), 0.3), sum(multiply(b, sum(w, 0)))), factor));
    optimizer.step(tape.gradients(loss, [w, b]), { scale: 1 / factor });
  }
  return [...w.toFloat64(), ...b.toFloat64()];
} // biome-ignore format: a row a line

it.each(CASES)("%s has PyTorch's numbers", (_, make, expected) => {
  trained(make).forEach((value, n) => expect(value).toBeCloseTo(expected[n], 10));
});

it.each(CASES)("%s: a scale is the same as scaled gradients", (_, make, expected) => {
  trained(make, 8).forEach((value, n) => expect(value).toBeCloseTo(expected[n], 10));
});

it("decays: matrices leaves vectors without decay", () => {
  const [w, b] = [tensor([[1]]), tensor([1])];
  new AdamW([w, b], { lr: 0.1, weightDecay: 0.5, decays: "matrices" }).step(
    new Map<Tensor, Tensor>([[w, tensor([[0]])], [b, tensor([0])]]),
  );
  expect([w.at(0, 0), b.at(0)]).toEqual([Math.fround(0.95), 1]);
}); // biome-ignore format: a row a line

it("a parameter that was set after the optimizer was created is refused", () => {
  const layer = new Linear(2, 2, { seed: 1 });
  const optimizer = new AdamW(layer.parameters(), { lr: 0.1 });
  Object.assign(layer, { weight: parameter(randn([2, 2], { seed: 2 })) });
  const tape = new Tape();
  const loss = tape.run(() => sum(layer.forward(tensor([[1, 2]]))));
  const gradients = tape.gradients(loss, layer.parameters().values());
  expect(() => optimizer.step(gradients)).toThrow(
    /^AdamW\.step: there is a gradient of a parameter \[2, 2\] float32 that no optimizer has/,
  );
});

it("two optimizers may share the gradients of one tape", () => {
  const [a, b] = [new Linear(2, 2, { seed: 1 }), new Linear(2, 2, { seed: 2 })];
  const [first, second] = [new SGD(a.parameters(), { lr: 0.1 }), new SGD(b.parameters(), { lr: 0.1 })];
  const before = b.weight.toArray();
  const tape = new Tape();
  const loss = tape.run(() => sum(b.forward(a.forward(tensor([[1, 2]])))));
  const gradients = tape.gradients(loss, [...a.parameters().values(), ...b.parameters().values()]);
  first.step(gradients);
  second.step(gradients);
  expect(b.weight.toArray()).not.toEqual(before);
});

it.each([
  ["no gradients", () => new AdamW([tensor([1])]).step(new Map()), "AdamW.step: there are no gradients"],
  ["a misspelled set of parameters", () => new Adam([tensor([1])], { decays: "weights" as never }), 'Adam: decays must be "all", "matrices" or a function'],
  ["Nesterov without momentum", () => new SGD([tensor([1])], { nesterov: true }), "SGD: nesterov must be true or false, and true needs a momentum > 0"],
  ["PyTorch's name of an option", () => new SGD([tensor([1])], { weight_decay: 1 } as never), 'SGD: unknown option "weight_decay"; did you mean weightDecay?'],
  ["a negative momentum", () => new SGD([tensor([1])], { momentum: -1 }), "SGD: momentum must be a number ≥ 0, got -1"],
] as const)("%s is refused", (_, call, message) => {
  expect(call).toThrow(message);
}); // biome-ignore format: a row a line
