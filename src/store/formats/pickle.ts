/** Python pickles are never read, because opening one can run code. The error has the two lines of Python that convert one. */
import { UnsupportedError } from "../../core/errors.ts";

/** The refusal of a pickle, torch's old and new files among them. */
export function pickle(name: string): UnsupportedError {
  const path = JSON.stringify(name);
  const out = JSON.stringify(`${name.replace(/\.(?:pt|pth|bin|pkl|pickle|ckpt)$/i, "")}.safetensors`);
  return new UnsupportedError(
    "pickle",
    [
      `openStore: ${name} is a Python pickle, which can run code when it is opened, so it is not read. Save it as safetensors with these two lines:`,
      "import torch; from safetensors.torch import save_file",
      `save_file({k: v.contiguous() for k, v in torch.load(${path}, weights_only=True).items()}, ${out})`,
    ].join("\n"),
    { name },
  );
}
