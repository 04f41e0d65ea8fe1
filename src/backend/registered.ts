/** The backends of devices other than the CPU, by the name of the device: register.ts adds one, dispatch/rule.ts looks them up. */
import type { Backend } from "./contract.ts";

/** Backends by the names of their devices. */
export const backends = new Map<string, Backend>();

/** The backend of a device; undefined where none is registered. */
export const registeredBackend = (device: string): Backend | undefined => backends.get(device);
