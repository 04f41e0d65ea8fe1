/** Matrices that a backend of the CPU packs for its products. */

import type { PackedMatrix } from "../../backend/packed.ts";
import { settings } from "../../backend/settings.ts";
import type { StoredDType } from "../../core/dtype.ts";
import { packedMatrix, packedProduct } from "../../wasm/backend.ts";

/** A packed matrix of zeros [N, K]; undefined where no backend of the CPU packs matrices. */
export const allocatePacked = (
  shape: readonly [number, number],
  dtype: StoredDType,
): PackedMatrix | undefined => (settings().backend === "reference" ? undefined : packedMatrix(shape, dtype));

/** Fills a product with a packed matrix; false where the settings ask for another backend than the one that packed it. */
export const fillPacked = (product: Parameters<typeof packedProduct>[0]): boolean =>
  settings().backend !== "reference" && packedProduct(product);
