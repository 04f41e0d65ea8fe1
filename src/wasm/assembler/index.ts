/** The assembler: WebAssembly only, nothing about attention. */
export {
  callValue,
  type Func,
  type FunctionBuilder,
  Local,
  ModuleBuilder,
} from "./builder.ts";
export {
  type F32Value, 
  f32, f32x4, f64, type I32Value, i16x8, i32, i32x4, select, shuffle32, type V128Value, v128, ZERO,
} from "./value.ts"; // biome-ignore format: one list
