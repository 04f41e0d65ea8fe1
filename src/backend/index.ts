/**
 * The interface for backends of other devices: the contract, the operations that a backend runs, the storage of its tensors,
 * and `registerBackend`. Programs that only compute do not need it. Its functions check what they get; none is for a loop over elements.
 * @module
 * @beta
 */
export {
  type Device,
  type DeviceData,
  isDeviceData,
  type TensorStorage,
} from "../core/device/device.ts";
export { arrayFor, type DataOf, type DType, type FloatDType, type TypedData } from "../core/dtype.ts";
export { cellBits, dropoutThreshold, headKey, rowKey } from "../core/random/keys.ts";
export {
  type CellStrides,
  cellStrides,
  type Layout,
  type Operand,
  operandOf,
  outputShape,
  rowShape,
  type Shape,
  selectionShape,
} from "../core/shape.ts";
export type { WorkSlices } from "../core/slices.ts";
export { viewOf } from "../core/tensor.ts";
export {
  type BinaryOp,
  Expression,
  type ExprType,
  type Op,
  type Table,
  tablesOf,
  type UnaryOp,
  type VarName,
} from "../masks/expression/expr.ts";
export {
  type ArrayOperation,
  type AssignOperation,
  type BinaryOperation,
  type CastOperation,
  type DivideBackwardOperation,
  type DropoutOperation,
  type ElementFunction,
  type ElementwiseBackwardOperation,
  type ElementwiseOperation,
  type EmbeddingBackwardOperation,
  type EmbeddingOperation,
  type ExtremeBackwardOperation,
  type ExtremeOperation,
  type MergeStatesOperation,
  type RopeOperation,
  type ScaleOperation,
  type SoftmaxBackwardOperation,
  type SoftmaxOperation,
  type SumOperation,
  tensorsOf,
  type WhereOperation,
} from "./array.ts";
export type {
  AttentionOperation,
  Backend,
  BackwardResult,
  BackwardTensors,
  Extra,
  MapCells,
  MatmulOperation,
  Operation,
  Selection,
} from "./contract.ts";
export { cellsShape } from "./map.ts";
export type { Plan, SimdLevel } from "./plan/plan.ts";
export type { RowPositions } from "./positions.ts";
export type { MaskTensor, Problem } from "./problem.ts";
export type { Product } from "./product.ts";
export { registerBackend, rowMajor, sizeOf, tensorOver } from "./register.ts";
export {
  type AdamWOperation,
  type AdamWScalars,
  type AddOperation,
  type ColumnSumsOperation,
  type CrossEntropyOperation,
  type MapBackwardOperation,
  type MapName,
  type MapOperation,
  type NormBackwardOperation,
  type NormOperation,
  type NormShape,
  type RowwiseOperation,
  storageOf,
} from "./rowwise.ts";
