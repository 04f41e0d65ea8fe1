/**
 * A worker of the explorer: computes for a store, on the GPU where the page asks for it. The page sends the address of that module:
 * bundlers such as Vite write a worker as one script, which no part can be loaded into by its name.
 */
import type { Port } from "../../src/store/compute/messages.ts";
import { serveStore } from "../../src/store/compute/serve.ts";

let gpuModule = "";
addEventListener("message", ({ data }) => {
  if (data.type === "gpu-module") gpuModule = data.address;
});

serveStore(globalThis as unknown as Port, {
  device: async (tell) => (await import(/* @vite-ignore */ /* webpackIgnore: true */ gpuModule)).gpuOf(tell),
});
