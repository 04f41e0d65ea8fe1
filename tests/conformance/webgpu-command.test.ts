/**
 * The command line on a GPU, or on a software adapter of one: results of `--device gpu` against those of the CPU. Without an adapter the
 * tests are skipped, and say so; that commands refuse a GPU that is not there is tested everywhere.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readNpy, readSafetensors } from "heed/io";
import { afterAll, describe, expect, it } from "vitest";
import { gpuAtHand } from "../support/backends/gpu.ts";
import { runCommand as heed } from "../support/processes/command.ts";
import { worst } from "../support/shared.ts";

const { gpu, reason } = await gpuAtHand();
const folder = mkdtempSync(join(tmpdir(), "heed-gpu-"));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);

describe.skipIf(!gpu)(`heed --device gpu${gpu ? "" : `: ${reason}`}`, () => {
  it("doctor names the adapter and the level of its kernels, and the driver's warnings are not on standard error", async () => {
    const { out, err } = await heed("doctor", "--json");
    const { webgpu } = JSON.parse(out);
    expect(err).toBe("");
    expect(webgpu.available).toBe(true);
    expect(webgpu.text).toMatch(/.; level half, self-test passed(?:; not (?!matrices)\w+: .+)?$/);
  });

  it("generate, embed and capture give the results of the CPU", async () => {
    const prompt = ["generate", "decoder", "The whale", "--tokens", "4", "--json"];
    const [a, b] = [JSON.parse((await heed(...prompt)).out), await heed(...prompt, "--device", "gpu")];
    expect(b.code, b.err).toBe(0);
    expect(JSON.parse(b.out).ids).toEqual(a.ids);
    writeFileSync(at("texts.txt"), "the river bank\n");
    for (const device of ["cpu", "gpu"]) {
      const embed = ["embed", "encoder", at("texts.txt"), "-o", at(`${device}.npy`)];
      expect((await heed(...embed, "--device", device)).code).toBe(0);
      const capture = ["capture", "encoder", "the river bank", "--states", "-o", at(`${device}.safetensors`)];
      expect((await heed(...capture, "--device", device)).code).toBe(0);
    }
    const vectors = (device: string) => readNpy(readFileSync(at(`${device}.npy`))).data as Float32Array;
    expect(worst(vectors("gpu"), vectors("cpu"))).toBeLessThan(1e-4);
    const bundles = ["cpu", "gpu"].map((device) =>
      readSafetensors(readFileSync(at(`${device}.safetensors`))),
    );
    const [cpu, moved] = bundles.map(({ tensors }) => tensors);
    expect([...moved.keys()]).toEqual([...cpu.keys()]);
    for (const [name, want] of cpu)
      expect(worst(moved.get(name)!.data as Float32Array, want.data as Float32Array), name).toBeLessThan(
        1e-4,
      );
  });

  it("train has the losses of the CPU, and writes a model that resumes on either device", async () => {
    writeFileSync(at("text.txt"), "the old ship sailed over the sea and the river. ".repeat(30));
    const small =
      "--steps 2 --layers 1 --heads 1 --width 8 --context 8 --batch 2 --vocab 260 --dtype float32";
    const losses = [];
    for (const device of ["cpu", "gpu"]) {
      const line = ["train", at("text.txt"), "-o", at(`model-${device}`), ...small.split(" "), "--json"];
      const { code, out, err } = await heed(...line, "--device", device);
      expect(code, err).toBe(0);
      losses.push(JSON.parse(out).loss);
    }
    expect(losses[1]).toBeCloseTo(losses[0], 4);
    const resume = ["train", at("text.txt"), "-o", at("model-gpu"), "--resume", "--steps", "3", "--json"];
    const { code, out, err } = await heed(...resume);
    expect(code, err).toBe(0);
    expect(JSON.parse(out).steps).toBe(3);
  });

  it("bench compares both devices, and says that a software adapter tells nothing about a GPU", async () => {
    const line = ["bench", "--shape", "1,1,33,8", "--rounds", "1", "--threads", "1", "--json"];
    const { code, out, err } = await heed(...line, "--device", "cpu", "--device", "gpu");
    expect(code, err).toBe(0);
    const { adapter, results } = JSON.parse(out);
    expect(results.map(({ level }: { level: string }) => level).at(-1)).toBe("gpu");
    expect(results).toHaveLength(2);
    expect(adapter.length).toBeGreaterThan(3);
  });
});

it("a GPU that is not there is an error with the reason, never the CPU; an unknown device is a usage error", async () => {
  const main = join(import.meta.dirname, "../../src/cli/main.ts");
  // The loader of Vulkan finds no driver.
  const env = { ...process.env, VK_DRIVER_FILES: "/dev/null", VK_ICD_FILENAMES: "/dev/null" };
  const line = ["generate", "decoder", "The whale", "--tokens", "1", "--device", "gpu"];
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...line], { env, encoding: "utf8" });
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(
    /this system has no adapter; |the package webgpu does not load here|is not installed: npm install webgpu/,
  );
  const wrong = await heed("generate", "decoder", "The whale", "--device", "tpu");
  expect([wrong.code, wrong.err]).toEqual([
    2,
    'heed generate: --device must be cpu or gpu, got "tpu" (see heed generate --help)\n',
  ]);
});
