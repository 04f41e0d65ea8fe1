/** The backends of the forward pass. */
import { referenceForward, referenceWeights } from "../../reference/backend.ts";
import { wasmForward, wasmWeights } from "../../wasm/backend.ts";
import { attentionDevices, chooserOf } from "./rule.ts";

/** The backend of an attention call's forward pass. */
export const forwardBackend = /* @__PURE__ */ chooserOf(wasmForward, referenceForward, attentionDevices);

/** The backend that rebuilds weights of an attention call. */
export const weightsBackend = /* @__PURE__ */ chooserOf(wasmWeights, referenceWeights, attentionDevices);
