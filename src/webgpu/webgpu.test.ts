/** What heed/webgpu says where it cannot start. tests/conformance/webgpu.test.ts runs it on an adapter. */
import { expect, it } from "vitest";
import { OptionError, UnsupportedError } from "../core/errors.ts";
import { device } from "./device.ts";
import { webgpu } from "./index.ts";

it("an environment without WebGPU, one without an adapter, and a wrong object are typed errors that say what to do", async () => {
  const none = await webgpu().catch((error: unknown) => error);
  expect(none).toBeInstanceOf(UnsupportedError);
  expect((none as Error).message).toMatch(
    /no navigator\.gpu; in Node install the npm package webgpu and pass/,
  );
  const noAdapter = await webgpu({ gpu: { requestAdapter: async () => null } }).catch(
    (error: unknown) => error,
  );
  expect(noAdapter).toBeInstanceOf(UnsupportedError);
  expect((noAdapter as Error).message).toMatch(/this system has no adapter; in a page check/);
  await expect(webgpu({ gpu: 5 as unknown as GPU })).rejects.toThrow(OptionError);
  await expect(webgpu({ gpu: 5 as unknown as GPU })).rejects.toThrow(/an object with requestAdapter.*got 5/);
});

it("a wrong cache and a wrong tune are refused at the call", async () => {
  const gpu = { requestAdapter: async () => null };
  for (const cache of [5, {}, null, { getItem: 5 }])
    await expect(webgpu({ gpu, cache: cache as never })).rejects.toThrow(/^webgpu: cache must be /);
  await expect(webgpu({ gpu, cache: 5 as never })).rejects.toThrow(
    "webgpu: cache must be a path, or an object with getItem and setItem, as localStorage, got 5",
  );
  await expect(webgpu({ gpu, tune: 5 as never })).rejects.toThrow(
    "webgpu: tune must be true or false, got 5",
  );
});

it("a device that is not started allocates nothing", () => {
  expect(() => device.allocate("float32", 3)).toThrow(
    /not started; call await webgpu\(\) of heed\/webgpu first/,
  );
});
