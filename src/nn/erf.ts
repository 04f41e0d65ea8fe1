/**
 * Φ(x), the share of a standard normal distribution below x, which GELU multiplies by: Φ(x) = erfc(−x/√2)/2.
 *
 * erfc by the rational approximations of FreeBSD's msun, s_erf.c (Copyright 1993 Sun Microsystems, Inc.; "Permission to
 * use, copy, modify, and distribute this software is freely granted, provided that this notice is preserved"), whose
 * error is below 1 ulp: four intervals of |x|, and e^(−x²) split so that x² has no rounding error.
 */

/** p[0] + p[1]·x + p[2]·x² + … */
function polynomial(p: readonly number[], x: number): number {
  let sum = 0;
  for (let n = p.length - 1; n >= 0; n--) sum = sum * x + p[n];
  return sum;
}

/** |x| < 0.84375: erf(x) = x + x·P(x²)/Q(x²). */
const PP = [
  1.28379167095512558561e-1, -3.25042107247001499370e-1, -2.84817495755985104766e-2, -5.77027029648944159157e-3,
  -2.37630166566501626084e-5,
]; // biome-ignore format: rows of coefficients
const QQ = [
  1, 3.97917223959155352819e-1, 6.50222499887672944485e-2, 5.08130628187576562776e-3, 1.32494738004321644526e-4,
  -3.96022827877536812320e-6,
]; // biome-ignore format: rows of coefficients

/** 0.84375 ≤ |x| < 1.25: erf(x) = ERX + P(|x| − 1)/Q(|x| − 1). */
const ERX = 8.45062911510467529297e-1;
const PA = [
  -2.36211856075265944077e-3, 4.14856118683748331666e-1, -3.72207876035701323847e-1, 3.18346619901161753674e-1,
  -1.10894694282396677476e-1, 3.54783043256182359371e-2, -2.16637559486879084300e-3,
]; // biome-ignore format: rows of coefficients
const QA = [
  1, 1.06420880400844228286e-1, 5.40397917702171048937e-1, 7.18286544141962662868e-2, 1.26171219808761642112e-1,
  1.36370839120290507362e-2, 1.19844998467991074170e-2,
]; // biome-ignore format: rows of coefficients

/** 1.25 ≤ |x| < 1/0.35: erfc(x) = e^(−x² − 0.5625 + R(1/x²)/S(1/x²))/x. */
const RA = [
  -9.86494403484714822705e-3, -6.93858572707181764372e-1, -1.05586262253232909814e1, -6.23753324503260060396e1,
  -1.62396669462573470355e2, -1.84605092906711035994e2, -8.12874355063065934246e1, -9.81432934416914548592,
]; // biome-ignore format: rows of coefficients
const SA = [
  1, 1.96512716674392571292e1, 1.37657754143519042600e2, 4.34565877475229228821e2, 6.45387271733267880336e2,
  4.29008140027567833386e2, 1.08635005541779435134e2, 6.57024977031928170135, -6.04244152148580987438e-2,
]; // biome-ignore format: rows of coefficients

/** 1/0.35 ≤ |x| < 28: the same with other coefficients. */
const RB = [
  -9.86494292470009928597e-3, -7.99283237680523006574e-1, -1.77579549177547519889e1, -1.60636384855821916062e2,
  -6.37566443368389627722e2, -1.02509513161107724954e3, -4.83519191608651397019e2,
]; // biome-ignore format: rows of coefficients
const SB = [
  1, 3.03380607434824582924e1, 3.25792512996573918826e2, 1.53672958608443695994e3, 3.19985821950859553908e3,
  2.55305040643316442583e3, 4.74528541206955367215e2, -2.24409524465858183362e1,
]; // biome-ignore format: rows of coefficients

/** erfc(x) = 1 − erf(x), with its relative accuracy kept where it is small. */
export function erfc(x: number): number {
  const a = Math.abs(x);
  if (a < 0.84375) {
    const y = polynomial(PP, x * x) / polynomial(QQ, x * x);
    return x < 0.25 ? 1 - (x + x * y) : 0.5 - (x - 0.5 + x * y);
  }
  if (a < 1.25) {
    const y = polynomial(PA, a - 1) / polynomial(QA, a - 1);
    return x >= 0 ? 1 - ERX - y : 1 + (ERX + y);
  }
  if (!(a < 28)) return x > 0 ? 0 : x < 0 ? 2 : x;
  if (x < -6) return 2;
  const s = 1 / (a * a);
  const ratio = a < 1 / 0.35 ? polynomial(RA, s) / polynomial(SA, s) : polynomial(RB, s) / polynomial(SB, s);
  // With 24 bits, z² is exact; the rest of x² is (a − z)(a + z).
  const z = Math.fround(a);
  const tail = (Math.exp(-z * z - 0.5625) * Math.exp((z - a) * (z + a) + ratio)) / a;
  return x > 0 ? tail : 2 - tail;
}

/** Φ(x): the standard normal distribution function. */
export const normalCdf = (x: number): number => 0.5 * erfc(-x * Math.SQRT1_2);

/** φ(x) = Φ′(x): the standard normal density. */
export const normalDensity = (x: number): number => 0.3989422804014327 * Math.exp(-0.5 * x * x);
