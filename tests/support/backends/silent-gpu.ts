/** A GPU that computes nothing and writes down what it is asked for: the texts of kernels and the workgroups of each dispatch. */
const nothing = () => undefined;

/** Matrices that an adapter multiplies. */
const subgroupMatrixConfigs = [
  { componentType: "f16", resultComponentType: "f16", M: 16, N: 16, K: 16 },
  { componentType: "f16", resultComponentType: "f32", M: 8, N: 8, K: 8 },
  { componentType: "f16", resultComponentType: "f32", M: 16, N: 16, K: 16 },
];

/** The GPU and its lists. */
export function silentGpu(features: readonly string[] = [], subgroupMinSize = 0) {
  const codes: string[] = [];
  const workgroups: number[] = [];
  const limits = {
    maxBufferSize: 2 ** 28,
    maxStorageBufferBindingSize: 2 ** 28,
    maxStorageBuffersPerShaderStage: 8,
    maxComputeWorkgroupStorageSize: 32768,
    maxComputeInvocationsPerWorkgroup: 256,
    maxComputeWorkgroupSizeX: 256,
  };
  const pass = {
    setPipeline: nothing,
    setBindGroup: nothing,
    end: nothing,
    dispatchWorkgroups: (x: number, y: number) => workgroups.push(x * y),
  };
  const encoder = {
    beginComputePass: () => pass,
    clearBuffer: nothing,
    copyBufferToBuffer: nothing,
    finish: nothing,
  };
  const device = {
    limits,
    features: new Set(features),
    lost: new Promise(nothing),
    queue: { writeBuffer: nothing, submit: nothing },
    pushErrorScope: nothing,
    popErrorScope: async () => null,
    createBuffer: () => ({ destroy: nothing }),
    createCommandEncoder: () => encoder,
    createBindGroupLayout: nothing,
    createPipelineLayout: nothing,
    createBindGroup: nothing,
    createComputePipeline: nothing,
    createShaderModule: ({ code }: { code: string }) => void codes.push(code),
    destroy: nothing,
  };
  const info = {
    vendor: "silent",
    architecture: "",
    device: "",
    description: "",
    subgroupMinSize,
    subgroupMaxSize: subgroupMinSize,
    subgroupMatrixConfigs,
  };
  const adapter = { info, limits, features: new Set(features), requestDevice: async () => device };
  return { gpu: { requestAdapter: async () => adapter } as unknown as GPU, codes, workgroups };
}
