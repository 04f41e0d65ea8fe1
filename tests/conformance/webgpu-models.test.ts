/**
 * Whole models on a GPU, or on a software adapter of one: golden checkpoints (tests/golden/models) against the same model on the CPU.
 * Without an adapter the tests are skipped, and say so.
 */
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tensor } from "heed";
import {
  type DecoderModel,
  type DecoderOptions,
  embedTexts,
  embedTextsAsync,
  fillMask,
  fillMaskAsync,
  generate,
  generateText,
  layerWeights,
  locateShipped,
  modelFromFiles,
  readModel,
  translate,
  translateAsync,
  writeModel,
} from "heed/models";
import { webgpu } from "heed/webgpu";
import { afterAll, describe, expect, it } from "vitest";
import { carrierTokenizer } from "../golden/carrier.ts";
import { gpuAtHand } from "../support/backends/gpu.ts";
import { worst } from "../support/shared.ts";

const { gpu, reason } = await gpuAtHand();
const started = gpu && (await webgpu({ gpu }));
afterAll(() => started?.destroy());

const open = async (family: string) => (await openText(family)).model;

async function openText(family: string, folder = "models") {
  const root = join(import.meta.dirname, "../golden", folder, family);
  const file = (name: string) => readFileSync(join(root, name));
  return modelFromFiles(
    new Map<string, Uint8Array>([
      ["config.json", file("config.json")],
      ["model.safetensors", file("model.safetensors")],
      ["tokenizer.json", carrierTokenizer()],
    ]),
  );
}

const FAMILIES = (process.env.HEED_GPU_MODELS ?? "bert,gpt2").split(",");
const ids = [5, 7, 9, 11, 3, 8];

describe.skipIf(!started)(`models on a GPU${started ? "" : `: ${reason}`}`, () => {
  // A padded causal mask takes a software driver half a minute to compile.
  it.each(process.env.HEED_GPU === "all" ? ["bert", "gpt2"] : ["bert"])(
    "%s: a batch with padding before or after a text has the states of the CPU",
    async (family) => {
      const [cpu, moved] = [await open(family), await (await open(family)).to("webgpu")];
      const batch = tensor([ids, ids], "int32");
      const [no, yes] = [false, true];
      const keyMask = tensor(
        [
          [no, no, yes, yes, yes, yes],
          [yes, yes, yes, yes, yes, no],
        ],
        "bool",
      );
      const run = (model: typeof cpu) => model.hidden(batch, { keyMask } as DecoderOptions);
      expect(worst(await run(moved).read(), run(cpu).data)).toBeLessThan(1e-4);
    },
  );

  it("for await of generate and generateText yields the tokens of the CPU, and releases its cache", async () => {
    const [cpu, text] = [await openText("gpt2"), await openText("gpt2")];
    await text.model.to("webgpu");
    const [decoder, decoderOnCpu] = [text.model as DecoderModel, cpu.model as DecoderModel];
    for (const options of [{ maxTokens: 5 }, { maxTokens: 5, temperature: 1, seed: 3 }]) {
      const tokens: number[] = [];
      for await (const id of generate(decoder, ids, { ...options, stop: [] })) tokens.push(id);
      expect(tokens).toEqual([...generate(decoderOnCpu, ids, { ...options, stop: [] })]);
    }
    const pieces: string[] = [];
    for await (const piece of generateText(text, "a b", { maxTokens: 4 })) pieces.push(piece);
    expect(pieces).toEqual([...generateText(cpu, "a b", { maxTokens: 4 })]);
    const round = async () => {
      for await (const _ of generate(decoder, ids, { stop: [] })) break;
      return started!.memory();
    };
    const before = await round();
    for (let n = 0; n < 4; n++) expect(await round()).toBe(before);
    expect(() => [...generate(decoder, ids, { maxTokens: 2 })]).toThrow(
      'generate: the model is on the device "webgpu", whose numbers are read asynchronously; iterate with for await',
    );
  });

  it("an unknown device changes nothing, and a model moves back to the CPU", async () => {
    const [cpu, moved] = [await open("gpt2"), await (await open("gpt2")).to("webgpu")];
    await expect(moved.to("gpu9")).rejects.toThrow('unknown device "gpu9"');
    expect(moved.hidden(ids).device).toBe("webgpu");
    await moved.to("cpu");
    expect(moved.hidden(ids).data).toEqual(cpu.hidden(ids).data);
  });

  it("embedTextsAsync has the vectors of the CPU; embedTexts and saving name the conversion, and weights are on the device", async () => {
    const [cpu, text] = [await openText("bert"), await openText("bert")];
    await text.model.to("webgpu");
    const name = /await tensor\.to\("cpu"\)/;
    expect(() => embedTexts(text, ["a"])).toThrow(
      'embedTexts: the model is on the device "webgpu", whose numbers are read asynchronously; call embedTextsAsync, or move the model: await model.to("cpu")',
    );
    const [vectors, want] = [await embedTextsAsync(text, ["a b", "b"]), embedTexts(cpu, ["a b", "b"])];
    expect([vectors.device, vectors.shape]).toEqual(["cpu", want.shape]);
    expect(worst(vectors.data, want.data)).toBeLessThan(1e-4);
    const { model, tokenizer } = text;
    await expect(writeModel(join(tmpdir(), "heed-never-written"), model, tokenizer)).rejects.toThrow(name);
    const weightsOf = ({ attention }: typeof text) => layerWeights(attention("a").layers[0]);
    expect(weightsOf(text).device).toBe("webgpu");
    const read = await weightsOf(text).to("cpu");
    expect(worst(read.toFloat64(), weightsOf(cpu).toFloat64())).toBeLessThan(1e-4);
  });

  it("fillMaskAsync has the tokens of the CPU, and releases what it computes", async () => {
    const [cpu, text] = [
      await readModel(locateShipped("encoder")),
      await readModel(locateShipped("encoder")),
    ];
    await text.model.to("webgpu");
    const sentence = "the president of the united [MASK] and the [MASK]";
    const round = async () => {
      const fills = await fillMaskAsync(text, sentence);
      return { fills, memory: started!.memory() };
    };
    const [first, second] = [await round(), await round()];
    fillMask(cpu, sentence).forEach(({ position, candidates }, n) => {
      expect(first.fills[n].position).toBe(position);
      expect(first.fills[n].candidates.map(({ token }) => token)).toEqual(
        candidates.map(({ token }) => token),
      );
      candidates.forEach(({ probability }, i) =>
        expect(first.fills[n].candidates[i].probability).toBeCloseTo(probability, 4),
      );
    });
    expect(second).toEqual(first);
    expect(() => fillMask(text, sentence)).toThrow("call fillMaskAsync, or move the model");
  });

  it("translateAsync writes the texts of the CPU, greedily and with beams, and releases its caches", {
    timeout: 240_000,
  }, async () => {
    const [cpu, text] = [
      await openText("bart", "encoder-decoders"),
      await openText("bart", "encoder-decoders"),
    ];
    await text.model.to("webgpu");
    const sentence = "a b c";
    for (const options of [{}, { beams: 3 }, { beams: 4, lengthPenalty: 2, noRepeat: 2 }]) {
      const all = { ...options, maxTokens: 6 };
      const round = async () => {
        const { ids } = await translateAsync(text, sentence, all);
        return { ids, memory: started!.memory() };
      };
      const [first, second] = [await round(), await round()];
      expect(first.ids).toEqual(translate(cpu, sentence, all).ids);
      expect(second).toEqual(first);
    }
  });

  it.each(FAMILIES)("%s has the hidden states and logits of the CPU", async (family) => {
    const [cpu, moved] = [await open(family), await (await open(family)).to("webgpu")];
    const hidden = moved.hidden(ids);
    expect(hidden.device).toBe("webgpu");
    expect(worst(await hidden.read(), cpu.hidden(ids).data)).toBeLessThan(1e-4);
    if (cpu.hasHead) expect(worst(await moved.forward(ids).read(), cpu.forward(ids).data)).toBeLessThan(1e-4);
    if (cpu.architecture !== "decoder") return;
    const cache = (moved as DecoderModel).cache(8);
    (moved as DecoderModel).hidden(ids.slice(0, 4), { cache });
    const copy = cache.copy();
    for (const each of [cache, copy]) {
      const last = (moved as DecoderModel).hidden(ids.slice(4), { cache: each });
      expect(worst(await last.read(), cpu.hidden(ids).data.slice(-last.size))).toBeLessThan(1e-4);
    }
  });
});
