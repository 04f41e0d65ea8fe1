/** EXAONE 4 (arXiv 2507.11407): norms of q and k and of each branch's output; with windows, only their layers have positions. */
import { decoderFamily, number, POST_NORM_NAMES, QK_NORMS } from "../recipe-family.ts";

export const exaone4 = decoderFamily({
  modelTypes: ["exaone4"],
  names: { ...POST_NORM_NAMES, ...QK_NORMS },
  read: (fields) => ({ norm: { kind: "rms", eps: number(fields, "rms_norm_eps", 1e-5) } }),
  layers(fields) {
    // Files name every layer's type; null is no window.
    const hasWindow = fields.value("sliding_window") !== null;
    const pattern = fields.value("layer_types")
      ? 4
      : fields.one<number>(["sliding_window_pattern", "size", 1024], 4);
    return {
      ...(hasWindow && { window: 4096 }),
      slides: (layer) => hasWindow && (layer + 1) % pattern !== 0,
      rotates: (_, sliding) => !hasWindow || sliding,
    };
  },
});
