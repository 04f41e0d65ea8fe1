/** The backends of row-wise operations. */
import { referenceRowwise } from "../../reference/backend.ts";
import { wasmRowwise } from "../../wasm/backend.ts";
import { chooserOf } from "./rule.ts";

/** The backend of a row-wise operation. */
export const rowwiseBackend = /* @__PURE__ */ chooserOf(wasmRowwise, referenceRowwise);
