/** Array operations: loops on the CPU, where no backend has kernels for them, or the backend of another device. */
import { type ArrayOperation, tensorsOf } from "../../backend/array.ts";
import { sameDevice, Tensor } from "../../core/tensor.ts";
import { deviceBackend, devicesOf } from "./rule.ts";

/** Runs an array operation: on the CPU with `loops`, on another device with its backend. */
export function runArray<O extends ArrayOperation>(operation: O, loops: (operation: O) => void): void {
  // Fast path: all tensors are on the CPU.
  const isOnDevice = (x: unknown) => x instanceof Tensor && x.device !== "cpu";
  if (operation.name !== "mergeStates" && !Object.values(operation).some(isOnDevice)) {
    loops(operation);
    return;
  }
  const caller = "function" in operation ? operation.function : operation.name;
  const device = sameDevice(caller, devicesOf(tensorsOf(operation)));
  if (device === "cpu") loops(operation);
  else deviceBackend(device, caller, { kind: "array", operation }).array(operation);
}
