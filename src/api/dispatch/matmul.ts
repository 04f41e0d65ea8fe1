/** The backends of matrix products. */
import { referenceMatmul } from "../../reference/backend.ts";
import { wasmMatmul } from "../../wasm/backend.ts";
import { chooserOf, productDevices } from "./rule.ts";

/** The backend of a matrix product. */
export const matmulBackend = /* @__PURE__ */ chooserOf(wasmMatmul, referenceMatmul, productDevices);
