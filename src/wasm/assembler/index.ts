/** The assembler: WebAssembly only, nothing about attention. */
export {
  callValue,
  type Func,
  type FunctionBuilder,
  Local,
  ModuleBuilder,
} from "./builder.ts";
export * as f32 from "./f32.ts";
export * as f32x4 from "./f32x4.ts";
export * as f64 from "./f64.ts";
export * as i16x8 from "./i16x8.ts";
export * as i32 from "./i32.ts";
export * as i32x4 from "./i32x4.ts";
export * as v128 from "./v128.ts";
export { type F32Value, type I32Value, select, shuffle32, type V128Value, ZERO } from "./value.ts";
