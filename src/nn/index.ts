/** heed/nn: operations and layers, each of which hands its derivative to whoever records. */
export * from "./ops/index.ts";
export { isRecording, type Recorder, record, recording, type Step } from "./record.ts";
