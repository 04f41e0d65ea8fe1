/**
 * A GPU that is lost, full, or asked for too much; memory over many calls; training. Needs an adapter, as
 * tests/conformance/webgpu.test.ts, and is skipped without one.
 */
import { cast, scaledDotProductAttention, tensor, UnsupportedError } from "heed";
import * as nn from "heed/nn";
import { AdamW, crossEntropy, Tape } from "heed/train";
import { webgpu } from "heed/webgpu";
import { afterAll, describe, expect, it } from "vitest";
import { tidy } from "../../src/api/tidy.ts";
import { device, gpuStorage, session, uninitialized } from "../../src/webgpu/device.ts";
import { KernelParams, runEach } from "../../src/webgpu/kernel.ts";
import { gpuAtHand } from "../support/backends/gpu.ts";
import { wrongGpu } from "../support/backends/wrong-gpu.ts";

const { gpu, reason } = await gpuAtHand();
const started = gpu && (await webgpu({ gpu }));
afterAll(() => started?.destroy());

describe.skipIf(!gpu)(`webgpu${reason && `: ${reason}`}`, () => {
  const x = tensor([1, 2, 3], "float32");

  it("after each of 20 losses tensors reject with the reason, and moving numbers again continues", async () => {
    for (let loss = 0; loss < 20; loss++) {
      const moved = await x.to("webgpu");
      const before = nn.scale(moved, 2);
      expect([...(await before.read())]).toEqual([2, 4, 6]);
      const pending = nn.scale(before, 2).read();
      session().device.destroy();
      const error = await pending.catch((thrown: unknown) => thrown);
      // The work may have ended before the loss.
      if (error instanceof Float32Array) expect([...error]).toEqual([4, 8, 12]);
      else expect(error).toMatchObject({ code: "device-lost" });
      await expect(before.read()).rejects.toThrow(UnsupportedError);
      await expect(before.read()).rejects.toMatchObject({ code: "device-lost" });
      const again = await x.to("webgpu");
      expect(() => nn.add(again, moved)).toThrow(/belongs to a session that was lost or ended/);
    }
  });

  it("to() at any moment after a loss moves the tensor, and does not reject", async () => {
    for (let ticks = 0; ticks < 12; ticks++) {
      await x.to("webgpu");
      session().device.destroy();
      for (let n = 0; n < ticks; n++) await undefined;
      await x.to("webgpu");
    }
    const { device: gpuDevice } = session();
    gpuDevice.destroy();
    await gpuDevice.lost;
    expect([...(await (await x.to("webgpu")).read())]).toEqual([1, 2, 3]);
  });

  it("an adapter that computes wrong numbers is refused with the first that differs, and is not tested again", async () => {
    started!.destroy();
    const { gpu: sums, codes } = wrongGpu(gpu!, "l0 = l0 * alpha0", "l0 = l0", "sums");
    const error = await webgpu({ gpu: sums }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error).toMatchObject({ code: "self-test", fields: { adapter: "wrong sums" } });
    expect((error as Error).message).toMatch(
      /adapter wrong sums computes wrong numbers with the kernel "forward, tiles of 32 × 32", which is not used: in its self-test element \d+ of output is [-.\d]+, the formula in float64 gives [-.\d]+; update its driver/,
    );
    const first = codes.length;
    expect(first).toBeGreaterThan(0);
    await expect(webgpu({ gpu: sums })).rejects.toMatchObject({ code: "self-test" });
    expect(codes.length).toBe(first);
    expect(() => device.allocate("float32", 1)).toThrow(/not started/);
    await expect(webgpu({ gpu: wrongGpu(gpu!, "fn main", "fn other", "text").gpu })).rejects.toThrow(
      /adapter wrong text computes wrong numbers with the kernel "forward, tiles of 32 × 32", which is not used: .*could not run/s,
    );
    await webgpu({ gpu: gpu! });
    expect([...(await nn.scale(await x.to("webgpu"), 3).read())]).toEqual([3, 6, 9]);
  });

  it("a tensor beyond the largest buffer is refused with both figures, before any work", () => {
    const { tensorBytes } = started!.limits;
    const error = (() => {
      try {
        device.allocate("float32", tensorBytes / 4 + 1);
      } catch (thrown) {
        return thrown as UnsupportedError;
      }
    })();
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error).toMatchObject({
      code: "device-limit",
      fields: { bytes: tensorBytes + 4, limit: tensorBytes },
    });
  });

  it("a tensor beyond memoryLimit is a typed error with the figures; free buffers are destroyed first, and later work is right", async () => {
    const memoryLimit = started!.memory() + 2 ** 20;
    await webgpu({ gpu: gpu!, memoryLimit });
    const half = device.allocate("float32", 150_000);
    device.dispose(half);
    // The free buffer is not of this size: it gives way.
    const large = device.allocate("float32", 240_000);
    const error = (() => {
      try {
        device.allocate("float32", 240_000);
      } catch (thrown) {
        return thrown as UnsupportedError;
      }
    })();
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error).toMatchObject({ code: "memory", fields: { allowed: memoryLimit } });
    expect(error?.message).toMatch(/does not fit: tensors take .* that memoryLimit allows; release tensors/);
    expect(started!.memory()).toBeLessThanOrEqual(memoryLimit);
    // The limit outlives the device.
    const { device: gpuDevice } = session();
    gpuDevice.destroy();
    await gpuDevice.lost;
    await x.to("webgpu");
    expect(() => device.allocate("float32", memoryLimit / 4 + 1)).toThrow(/memoryLimit allows/);
    await webgpu({ gpu: gpu!, memoryLimit: Infinity });
    device.dispose(device.allocate("float32", memoryLimit / 4 + 1));
    expect([...(await nn.scale(await x.to("webgpu"), 3).read())]).toEqual([3, 6, 9]);
    expect(large.length).toBe(240_000);
    await expect(webgpu({ gpu: gpu!, memoryLimit: -1 })).rejects.toThrow(/positive number of bytes, got -1/);
  });

  it("a driver without memory is an error of code memory for what it would have written, and for nothing else", async () => {
    const moved = await x.to("webgpu");
    const gpuDevice = session().device;
    const pop = gpuDevice.popErrorScope;
    let scopes = 0;
    // A batch pops three scopes; the second one reports memory.
    gpuDevice.popErrorScope = async () => {
      const error = await pop.call(gpuDevice);
      return scopes++ === 1 ? ({ message: "Out of memory." } as GPUOutOfMemoryError) : error;
    };
    const refused = nn.scale(moved, 2);
    const read = refused.read();
    await expect(read).rejects.toMatchObject({ code: "memory" });
    await expect(read).rejects.toThrow(/has no memory for this tensor: Out of memory\.; release tensors/);
    gpuDevice.popErrorScope = pop;
    expect([...(await nn.scale(moved, 3).read())]).toEqual([3, 6, 9]);
  });

  it("for every length of a tile ± 1 a query that points at one key returns that key's value", async () => {
    for (const N of [31, 32, 33, 63, 64, 65, 127, 129]) {
      const eye = (size: number) =>
        tensor(
          Float32Array.from({ length: N * N }, (_, n) => (Math.floor(n / N) === n % N ? size : 0)),
          [N, N],
        );
      // The other weights are exp(−1e4) = 0, so the output is the identity, and lse the score.
      const [q, k, v] = await Promise.all(
        [eye(1e4 * Math.sqrt(N)), eye(1), eye(1)].map((t) => t.to("webgpu")),
      );
      const { output, lse } = scaledDotProductAttention(q, k, v);
      expect(await output.read(), `${N} keys`).toEqual(eye(1).data);
      for (const score of await lse.read()) expect(Math.abs(score - 1e4)).toBeLessThan(0.01);
      // With equal scores every key counts once, and none after the last.
      const even = scaledDotProductAttention(nn.scale(q, 0), k, v);
      for (const score of await even.lse.read()) expect(score, `${N} keys`).toBeCloseTo(Math.log(N), 4);
    }
  });

  it("a kernel that does not compile is an error of what it would have written, and of what reads that", async () => {
    const [first, second] = [device.allocate("float32", 4), device.allocate("float32", 4)];
    const [a, b] = [first, second].map(gpuStorage);
    const common = { params: new KernelParams(), count: 4 };
    runEach(session(), { ...common, inputs: {}, outputs: { y: a }, body: "store_y(n, nothing);" });
    await expect(device.read(first)).rejects.toThrow(/could not run the work of this tensor.*nothing/s);
    runEach(session(), {
      ...common,
      params: new KernelParams(),
      inputs: { x: a },
      outputs: { y: b },
      body: "store_y(n, load_x(n));",
    });
    await expect(device.read(second)).rejects.toThrow(/could not run the work of this tensor/);
    // Other tensors are not affected, nor is the next in the buffer of one that is disposed, which no fill with zeros restores.
    for (const storage of [a, b]) {
      device.dispose(storage);
      const y = uninitialized("float32", 4);
      expect(y.buffer).toBe(storage.buffer);
      runEach(session(), {
        params: new KernelParams(),
        count: 4,
        inputs: {},
        outputs: { y },
        body: "store_y(n, 1.0);",
      });
      expect([...(await device.read(y))]).toEqual([1, 1, 1, 1]);
    }
    expect([...(await nn.scale(await x.to("webgpu"), 3).read())]).toEqual([3, 6, 9]);
  });

  it("1,000 calls in tidy take the memory of the first ones", async () => {
    const moved = await x.to("webgpu");
    const round = (calls: number) => {
      for (let n = 0; n < calls; n++) tidy(() => void nn.scale(nn.add(moved, moved), 0.5));
    };
    round(10);
    const before = started!.memory();
    round(1000);
    expect(started!.memory()).toBe(before);
    expect([...(await moved.read())]).toEqual([1, 2, 3]);
  });

  it("equal numbers keep their order, halves round to even, and 16-bit views are copied whole", async () => {
    const equal = await tensor([2, 1, 2, 1, 2], "float32").to("webgpu");
    expect([...(await nn.sort(equal).indices.read())]).toEqual([1, 3, 0, 2, 4]);
    const ties = tensor([1 + 2 ** -11, 1 + 3 * 2 ** -11, 5, 7], "float32").reshape([2, 2]);
    const halves = cast(await ties.to("webgpu"), "float16");
    expect(await halves.read()).toEqual(cast(ties, "float16").data);
    expect(await halves.transpose().contiguous().read()).toEqual(
      cast(ties, "float16").transpose().contiguous().data,
    );
  });

  it("the tape trains on it, with the losses of the CPU", async () => {
    const ids = tensor(
      Int32Array.from({ length: 24 }, (_, n) => (n * n) % 7),
      [2, 12],
    );
    const train = async (place: string) => {
      const tokens = new nn.Embedding(7, 8, { seed: 1 });
      const block = new nn.DecoderBlock(8, 2, { seed: 2, normFirst: true });
      const head = new nn.Linear(8, 7, { seed: 3 });
      const modules = [tokens, block, head];
      await Promise.all(modules.map((module) => module.to(place)));
      const parameters = modules.flatMap((module) => [...module.parameters().values()]);
      const optimizer = new AdamW(parameters, { lr: 0.02 });
      const losses: number[] = [];
      for (let step = 0; step < 4; step++) {
        const tape = new Tape();
        const loss = tape.run(() =>
          crossEntropy(head.forward(block.forward(tokens.forward(ids)).output), ids),
        );
        optimizer.step(tape.gradients(loss, parameters));
        losses.push((await loss.read())[0]);
      }
      return losses;
    };
    const [cpu, losses] = [await train("cpu"), await train("webgpu")];
    losses.forEach((loss, n) => expect(loss).toBeCloseTo(cpu[n], 4));
    expect(losses[3]).toBeLessThan(losses[0]);
  });
});
