/** Maps of attention on a GPU, or on a software adapter of one: those of src/api/map.test.ts. */
import { webgpu } from "heed/webgpu";
import { afterAll, describe, it } from "vitest";
import { gpuAtHand } from "../support/backends/gpu.ts";
import { checkMap, MAPS } from "../support/cases/maps.ts";

const { gpu, reason } = await gpuAtHand();
const started = gpu && (await webgpu({ gpu }));
afterAll(() => started?.destroy());

/** A software driver takes seconds to compile a kernel: by default a part of the maps. */
const FIRST = /^(?:one query|sizes|cells of 8|causal|empty rows)/;

describe.skipIf(!gpu)(`attentionMap on webgpu${reason && `: ${reason}`}`, () => {
  const names = Object.keys(MAPS).filter((name) => process.env.HEED_GPU === "all" || FIRST.test(name));
  for (const name of names) it(name, () => checkMap(name, (t) => t.to("webgpu")));
});
