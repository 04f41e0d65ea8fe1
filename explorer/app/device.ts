/** The device that the workers of this page compute with: the reader's choice, and what the workers say about it. */
import type { DeviceState, DeviceUse, FromWorker, Port } from "../../src/store/compute/messages.ts";

const SMALL = "CPU: heads of fewer than 512 × 512 weights are faster there";

/** The choice of a page, for all its elements. */
class PageDevice {
  use: DeviceUse = "auto";
  /** What computes, in words: "GPU: …" or "CPU: …". */
  text = SMALL;
  readonly #ports = new Set<Port>();
  readonly #listeners = new Set<(state: DeviceState) => void>();

  /** Adds a worker. */
  add(port: Port): Port {
    const { terminate } = port;
    this.#ports.add(port);
    port.terminate = () => {
      this.#ports.delete(port);
      terminate?.call(port);
    };
    port.addEventListener("message", ({ data }) => {
      const message = data as FromWorker;
      if (message.type !== "device") return;
      this.text = message.text;
      for (const listen of this.#listeners) listen(message);
    });
    port.postMessage({ type: "device", use: this.use });
    return port;
  }

  /** Chooses a device for what is computed from now on. */
  choose(use: DeviceUse): void {
    this.use = use;
    this.text = use === "cpu" ? "CPU: chosen" : use === "auto" ? SMALL : "CPU: the GPU is not started yet";
    for (const port of this.#ports) port.postMessage({ type: "device", use });
  }

  /** Calls `listen` with each new state; returns what ends that. */
  subscribe(listen: (state: DeviceState) => void): () => void {
    this.#listeners.add(listen);
    return () => void this.#listeners.delete(listen);
  }
}

/** The device of this page. */
export const pageDevice = new PageDevice();
