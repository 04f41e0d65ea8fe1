/**
 * Models of pictures against transformers in float64: states, attention of every head, for pictures of the model's size and of
 * another. A folder in tests/golden/image-models adds a test (models/README.md).
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Tensor, tensor } from "heed";
import { imageModelFromFiles, type LayerAttention, layerWeights, modelFromFiles } from "heed/models";
import { describe, expect, test } from "vitest";
import { readTensors } from "../support/shared.ts";
import { carrierTokenizer } from "./carrier.ts";

const root = join(import.meta.dirname, "image-models");
const families = readdirSync(root);

const PREPROCESSOR = { do_resize: false, image_mean: 0.5, image_std: 0.5 };

/** The files of a model; `config` changes its config.json. */
const filesOf = (family: string, config: Record<string, unknown> = {}) =>
  new Map<string, Uint8Array>([
    [
      "config.json",
      new TextEncoder().encode(
        JSON.stringify({ ...JSON.parse(readFileSync(join(root, family, "config.json"), "utf8")), ...config }),
      ),
    ],
    ["model.safetensors", readFileSync(join(root, family, "model.safetensors"))],
    ["preprocessor_config.json", new TextEncoder().encode(JSON.stringify(PREPROCESSOR))],
  ]);

function worst(got: ArrayLike<number>, want: ArrayLike<number>): number {
  expect(got.length).toBe(want.length);
  let worst = 0;
  // A NaN must not pass as the smaller number.
  for (let i = 0; i < got.length; i++)
    if (!(Math.abs(got[i] - want[i]) <= worst)) worst = Math.abs(got[i] - want[i]);
  return worst;
}

test("there is a folder for every family", () => expect(families.length).toBeGreaterThanOrEqual(10));

describe.each(families)("%s", (family) => {
  const golden = readTensors(join(root, family, "golden.safetensors"));
  const get = (name: string) => (golden.get(name) as Tensor).toFloat64();

  test.each([
    ["float32", "0", 2e-5],
    ["float32", "1", 2e-5],
    ["float64", "0", 1e-11],
    ["float64", "1", 1e-11],
  ] as const)("%s, input %s: states and attention within %s", async (dtype, n, tolerance) => {
    const { model } = await imageModelFromFiles(filesOf(family), { dtype });
    const pixels = golden.get(`pixels.${n}`) as Tensor;
    const attention: LayerAttention[] = [];
    const states: Float64Array[] = [];
    const numbers = dtype === "float64" ? pixels.toFloat64() : Float32Array.from(pixels.toFloat64());
    const hidden = model.hidden(tensor(numbers, pixels.shape, dtype) as never, {
      onAttention: (_, it) => void attention.push(it),
      onHidden: (_, x) => void states.push(x.toFloat64()),
    });
    states[states.length - 1] = hidden.toFloat64();
    const wanted = get(`hidden.${n}`);
    const size = wanted.length / states.length;
    states.forEach((state, layer) => {
      expect(worst(state, wanted.subarray(layer * size, (layer + 1) * size)), `state ${layer}`).toBeLessThan(
        tolerance,
      );
    });
    const weights = get(`attention.${n}`);
    const each = weights.length / attention.length;
    attention.forEach((one, layer) => {
      const want = weights.subarray(layer * each, (layer + 1) * each);
      expect(worst(layerWeights(one).toFloat64(), want), `attention ${layer}`).toBeLessThan(tolerance);
    });
    expect(attention.length).toBe(model.sizes.layers);
  });
});

test("the tower of CLIP for texts: states and attention within 1e-11; it has no head", async () => {
  const golden = readTensors(join(root, "clip", "golden.safetensors"));
  const files = filesOf("clip").set("tokenizer.json", carrierTokenizer());
  const { model } = await modelFromFiles(files, { dtype: "float64" });
  const attention: LayerAttention[] = [];
  const ids = Int32Array.from(golden.get("ids")!.toFloat64());
  const hidden = model.hidden(ids, { onAttention: (_, it) => void attention.push(it) });
  expect(worst(hidden.toFloat64(), golden.get("text-hidden")!.toFloat64())).toBeLessThan(1e-11);
  const weights = attention.flatMap((one) => [...layerWeights(one).toFloat64()]);
  expect(worst(weights, golden.get("text-attention")!.toFloat64())).toBeLessThan(1e-11);
  expect(model).toMatchObject({ type: "clip_text_model", architecture: "decoder", hasHead: false });
});
