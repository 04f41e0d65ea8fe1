/** The commands of `heed`, in the order of the overview. Loading one does not load the others. */
import type { Command } from "../support/line/command.ts";

/** An entry of the table, for the overview without loading the command. */
export interface Entry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<Command>;
}

const entry = (name: string, summary: string, load: () => Promise<{ command: Command }>): Entry => ({
  name,
  summary,
  load: async () => (await load()).command,
});

/** Every command. Summaries repeat those of the commands; a test compares them. */
export const COMMANDS: readonly Entry[] = [
  entry("show", "show what a trained model attends to in a text", () => import("./show.ts")),
  entry("view", "open a file of attention, or a text, in the explorer", () => import("./view.ts")),
  entry("lab", "learn attention by doing, in the browser", () => import("./lab.ts")),
  entry("learn", "open what a course teaches beside heed's lines and lessons", () => import("./learn.ts")),
  entry("html", "write the explorer and a file of attention as one HTML file", () => import("./html.ts")),
  entry("figure", "draw a head, or all of them, as PDF, SVG, PNG, CSV or JSON", () => import("./figure.ts")),
  entry("capture", "write a model's attention on texts or pictures as a file", () => import("./capture.ts")),
  entry("ablate", "switch off parts of a model and compare its prediction", () => import("./ablate.ts")),
  entry("patch", "replace outputs of a model with those of another text", () => import("./patch.ts")),
  entry("why", "split the score of a link into its reasons", () => import("./why.ts")),
  entry("lens", "show what each layer's state of a token would predict", () => import("./lens.ts")),
  entry("heads", "measure every head over many texts", () => import("./heads.ts")),
  entry("fill", "fill in the masked tokens of a text", () => import("./fill.ts")),
  entry("answer", "find the answer to a question in a text", () => import("./answer.ts")),
  entry("generate", "continue a text with a decoder", () => import("./generate.ts")),
  entry("translate", "translate a text with an encoder–decoder", () => import("./translate.ts")),
  entry("summarize", "summarize a text with an encoder–decoder", () => import("./summarize.ts")),
  entry("embed", "write a vector for each line of a text file", () => import("./embed.ts")),
  entry("similar", "compare texts by the cosines of their vectors", () => import("./similar.ts")),
  entry("pull", "download a model from the Hugging Face hub", () => import("./pull.ts")),
  entry("run", "compute attention over query, key and value in files", () => import("./run.ts")),
  entry("explain", "print how a call would run, without running it", () => import("./explain.ts")),
  entry("inspect", "list the tensors of a file, with statistics", () => import("./inspect.ts")),
  entry("convert", "convert tensors between npy, npz and safetensors", () => import("./convert.ts")),
  entry("train", "train a small language model on text files", () => import("./train.ts")),
  entry("onnx", "make an ONNX model give its attention", () => import("./onnx.ts")),
  entry("bench", "measure the engine on this machine", () => import("./bench.ts")),
  entry("doctor", "report what this machine supports, and how to enable more", () => import("./doctor.ts")),
  entry(
    "completions",
    "print the completion script of a shell for heed's commands",
    () => import("./completions.ts"),
  ),
];
