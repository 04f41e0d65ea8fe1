/** Passes through `heed`: on the CPU, on a device without a GPU, and on a GPU where one is at hand; and what a worker does with a device. */
import { webgpu } from "heed/webgpu";
import { afterAll, describe, expect, it } from "vitest";
import { gpuAtHand } from "../../../tests/support/backends/gpu.ts";
import "../../../tests/support/backends/opaque-backend.ts";
import { randomInput } from "../../../tests/support/cases/store/draw.ts";
import type { Tensor } from "../../index.ts";
import type { HeadStore } from "../head-store.ts";
import { storeFrom } from "../layout/from.ts";
import { type StartDevice, WorkerDevice } from "./device.ts";
import { passDevice } from "./device-pass.ts";
import type { DeviceState, DeviceUse, FromWorker, Port } from "./messages.ts";
import { serveStore } from "./serve.ts";

type Input = ReturnType<typeof randomInput>;

/** A store with one worker on this thread, which uses a device; and what the worker says. */
function storeOn(input: Input, device: StartDevice | undefined, use: DeviceUse) {
  const messages: DeviceState[] = [];
  const worker = () => {
    const { port1, port2 } = new MessageChannel();
    serveStore(
      port2 as unknown as Port,
      device && { device: async (tell) => new WorkerDevice(device, tell) },
    );
    port1.addEventListener("message", ({ data }) => {
      const message = data as FromWorker;
      if (message.type === "device") messages.push(message);
    });
    port1.postMessage({ type: "device", use });
    return port1 as unknown as Port;
  };
  return { store: storeFrom(input, { worker, workers: 1 }), messages };
}

const started =
  (place: (t: Tensor) => Promise<Tensor>): StartDevice =>
  async () => ({ text: "GPU: test", device: passDevice(place) });

/** Every number in measures, by its path. */
function numbersIn(value: unknown, path = ""): Record<string, number> {
  if (typeof value === "number") return { [path]: value };
  if (value === null || typeof value !== "object") return {};
  return Object.assign({}, ...Object.entries(value).map(([key, x]) => numbersIn(x, `${path}.${key}`)));
}

/** Compares sums, measures and overviews of all heads with those of the plain kernel. */
async function compare(input: Input, store: HeadStore, where: string): Promise<void> {
  const plain = storeFrom(input);
  for (let head = 0; head < plain.blocks[0].heads; head++) {
    const ref = { block: 0, layer: 0, head };
    const [a, b] = [await plain.lse(ref), await store.lse(ref)];
    a.forEach((x, i) => {
      if (x === -Infinity) expect(b[i], `${where}, row ${i}`).toBe(-Infinity);
      else
        expect(Math.abs(b[i] - x), `${where}, row ${i}: ${b[i]} and ${x}`).toBeLessThanOrEqual(
          1e-5 * Math.max(1, Math.abs(x)),
        );
    });
    const [m, n] = [numbersIn(await plain.measures(ref)), numbersIn(await store.measures(ref))];
    expect(Object.keys(n)).toEqual(Object.keys(m));
    for (const [key, x] of Object.entries(m))
      if (Number.isNaN(x)) expect(n[key], `${where}, ${key}`).toBeNaN();
      else expect(Math.abs(n[key] - x), `${where}, ${key}`).toBeLessThanOrEqual(2e-5 * Math.max(1, x));
    const [x, y] = [await plain.overview(ref, 8), await store.overview(ref, 8)];
    for (const codes of ["max", "mean"] as const)
      expect(Math.max(0, ...x[codes].map((code, at) => Math.abs(code - y[codes][at])))).toBeLessThanOrEqual(
        1,
      );
    expect([...y.marks], where).toEqual([...x.marks]);
    expect(y.done).toBe(1);
  }
  plain.dispose();
}

describe("passes on a device give the sums, measures and overviews of the plain kernel, to float32 precision", () => {
  const places = {
    "the CPU": async (t: Tensor) => t,
    "a device without arrays": (t: Tensor) => t.to("opaque"),
  };
  it.each(Object.entries(places))("%s", async (where, place) => {
    for (let seed = 0; seed < 10; seed++) {
      const input = randomInput(seed, { wide: seed % 5 === 0 });
      const { store, messages } = storeOn(input, started(place), "gpu");
      await compare(input, store, `${where}, seed ${seed}`);
      expect(messages[0]).toMatchObject({ text: "GPU: test", failed: false });
      store.dispose();
    }
  });

  it("tiles after such a pass are still exact, and coarse tiles of a long head are cut from its map", async () => {
    const sizes = { Nq: 1030, Nk: 1030, heads: 1, keyHeads: 1, recipe: { mask: "causal" } } as const;
    const input = randomInput(12, sizes);
    const plain = storeFrom(input);
    const { store } = storeOn(
      input,
      started(async (t) => t),
      "auto",
    );
    const ref = { block: 0, layer: 0, head: 0 };
    await store.overview(ref, 16);
    const address = { stage: "weights", transfer: "sqrt", i: 0, j: 0 } as const;
    const [fine, exact] = [
      await store.tile(ref, { ...address, level: 0 }),
      await plain.tile(ref, { ...address, level: 0 }),
    ];
    expect(fine.codes).toEqual(exact.codes);
    const [coarse, wanted] = [
      await store.tile(ref, { ...address, level: 3 }),
      await plain.tile(ref, { ...address, level: 3 }),
    ];
    expect(coarse.marks).toEqual(wanted.marks);
    coarse.codes.forEach((code, at) => expect(Math.abs(code - wanted.codes[at])).toBeLessThanOrEqual(1));
    plain.dispose();
    store.dispose();
  });
});

describe("the device of a worker", () => {
  const input = () => randomInput(3, { Nq: 20, Nk: 20, heads: 1, keyHeads: 1 });

  it("computes small heads on the CPU where the faster one is wanted, and starts nothing", async () => {
    let starts = 0;
    const { store, messages } = storeOn(input(), async () => ({ text: `start ${++starts}` }), "auto");
    await compare(input(), store, "small");
    expect([starts, messages]).toEqual([0, []]);
    store.dispose();
  });

  it("that fails is left: the reason is sent, and the CPU computes the head", async () => {
    let calls = 0;
    const place = async (): Promise<Tensor> => {
      calls++;
      throw new Error("the adapter is gone");
    };
    const { store, messages } = storeOn(input(), started(place), "gpu");
    await compare(input(), store, "failed");
    expect(messages.at(-1)).toMatchObject({ text: "CPU: the GPU failed: the adapter is gone", failed: true });
    expect(calls).toBeLessThanOrEqual(2);
    store.dispose();
  });

  it("that is not there, or that the page has no code for, is named with its reason", async () => {
    const none = storeOn(input(), async () => ({ text: "CPU: no adapter" }), "gpu");
    const without = storeOn(input(), undefined, "gpu");
    await compare(input(), none.store, "none");
    await compare(input(), without.store, "without");
    expect(none.messages.at(-1)?.text).toBe("CPU: no adapter");
    expect(without.messages.at(-1)?.text).toBe("CPU: this page has no code for a GPU");
    for (const { store } of [none, without]) store.dispose();
  });
});

const { gpu, reason } = await gpuAtHand();
const onGpu = gpu && (await webgpu({ gpu }));
afterAll(() => onGpu?.destroy());
describe.skipIf(!gpu)(`passes on webgpu${reason && `: ${reason}`}`, () => {
  it("are those of the plain kernel", { timeout: 120_000 }, async () => {
    for (const seed of [1, 4]) {
      const input = randomInput(seed);
      const { store, messages } = storeOn(
        input,
        started((t) => t.to("webgpu")),
        "gpu",
      );
      await compare(input, store, `seed ${seed}`);
      expect(messages.every(({ failed }) => !failed)).toBe(true);
      store.dispose();
    }
  });
});
