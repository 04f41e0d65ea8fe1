/** The backends of row-wise operations. */
import type { Operation } from "../../backend/contract.ts";
import { storageOf } from "../../backend/rowwise.ts";
import { isDeviceData } from "../../core/device/device.ts";
import { referenceRowwise } from "../../reference/backend.ts";
import { wasmRowwise } from "../../wasm/backend.ts";
import { chooserOf, type Devices } from "./rule.ts";

function rowwiseDevices({ operation }: Extract<Operation, { kind: "rowwise" }>): Devices {
  // Fast path: all storage is on the CPU.
  const devices = Object.values(operation).some(isOnDevice)
    ? Object.entries(storageOf(operation)).map(
        ([name, s]) => [name, isDeviceData(s) ? s.device.name : "cpu"] as const,
      )
    : [];
  return [operation.name, devices];
}

const isOnDevice = (field: unknown): boolean =>
  typeof field === "object" && !ArrayBuffer.isView(field) && field !== null && "device" in field;

/** The backend of a row-wise operation. */
export const rowwiseBackend = /* @__PURE__ */ chooserOf(wasmRowwise, referenceRowwise, rowwiseDevices);
