/** Plans: how a backend would run an operation. */
import type { AttentionOperation, BackendPart } from "../../backend/contract.ts";
import { type Plan, printPlan } from "../../backend/plan/plan.ts";
import type { Product } from "../../backend/product.ts";
import { referencePlans } from "../../reference/backend.ts";
import { wasmAttentionPlans, wasmMatmulPlans } from "../../wasm/backend.ts";
import { attentionDevices, backendFor, type Computation, type Devices, productDevices } from "./rule.ts";

/** A plan that prints. */
export type PrintablePlan = Plan & {
  /** The plan as lines of text. */
  toString(): string;
};

/** The plan of an attention call, with the reason where a faster backend was not chosen. */
export const planOfAttention = (operation: AttentionOperation): PrintablePlan =>
  planOf(operation, attentionDevices(operation), wasmAttentionPlans);

/** The plan of a matrix product, with the reason where a faster backend was not chosen. */
export const planOfProduct = (product: Product): PrintablePlan =>
  planOf({ kind: "matmul", product }, productDevices({ kind: "matmul", product }), wasmMatmulPlans);

function planOf(operation: Computation, devices: Devices, kernels: BackendPart<"plan">): PrintablePlan {
  const { backend, fallbackReason } = backendFor(operation, devices, kernels, referencePlans);
  const plan = { ...backend.plan(operation), ...(fallbackReason === undefined ? {} : { fallbackReason }) };
  return Object.defineProperty(plan, "toString", { value: () => printPlan(plan), enumerable: false });
}
