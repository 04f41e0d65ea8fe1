/** The backends of the backward pass. */
import { referenceBackward } from "../../reference/backend.ts";
import { wasmBackward } from "../../wasm/backend.ts";
import { attentionDevices, chooserOf } from "./rule.ts";

/** The backend of an attention call's backward pass. */
export const backwardBackend = /* @__PURE__ */ chooserOf(wasmBackward, referenceBackward, attentionDevices);
