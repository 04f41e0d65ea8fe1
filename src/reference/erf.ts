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
  1.2837916709551256e-1, -3.250421072470015e-1, -2.848174957559851e-2, -5.770270296489442e-3,
  -2.3763016656650163e-5,
]; // biome-ignore format: rows of coefficients
const QQ = [
  1, 3.9791722395915535e-1, 6.50222499887673e-2, 5.081306281875766e-3, 1.3249473800432164e-4,
  -3.960228278775368e-6,
]; // biome-ignore format: rows of coefficients

/** 0.84375 ≤ |x| < 1.25: erf(x) = ERX + P(|x| − 1)/Q(|x| − 1). */
const ERX = 8.450629115104675e-1;
const PA = [
  -2.3621185607526594e-3, 4.1485611868374833e-1, -3.722078760357013e-1, 3.1834661990116175e-1,
  -1.1089469428239668e-1, 3.5478304325618236e-2, -2.166375594868791e-3,
]; // biome-ignore format: rows of coefficients
const QA = [
  1, 1.0642088040084423e-1, 5.40397917702171e-1, 7.182865441419627e-2, 1.2617121980876164e-1,
  1.363708391202905e-2, 1.1984499846799107e-2,
]; // biome-ignore format: rows of coefficients

/** 1.25 ≤ |x| < 1/0.35: erfc(x) = e^(−x² − 0.5625 + R(1/x²)/S(1/x²))/x. */
const RA = [
  -9.864944034847148e-3, -6.938585727071818e-1, -1.0558626225323291e1, -6.2375332450326006e1,
  -1.6239666946257347e2, -1.8460509290671104e2, -8.12874355063066e1, -9.814329344169145,
]; // biome-ignore format: rows of coefficients
const SA = [
  1, 1.9651271667439257e1, 1.3765775414351904e2, 4.3456587747522923e2, 6.453872717332679e2,
  4.2900814002756783e2, 1.0863500554177944e2, 6.570249770319282, -6.04244152148581e-2,
]; // biome-ignore format: rows of coefficients

/** 1/0.35 ≤ |x| < 28: the same with other coefficients. */
const RB = [
  -9.8649429247001e-3, -7.99283237680523e-1, -1.7757954917754752e1, -1.6063638485582192e2,
  -6.375664433683896e2, -1.0250951316110772e3, -4.835191916086514e2,
]; // biome-ignore format: rows of coefficients
const SB = [
  1, 3.033806074348246e1, 3.257925129965739e2, 1.536729586084437e3, 3.1998582195085955e3,
  2.5530504064331644e3, 4.7452854120695537e2, -2.244095244658582e1,
]; // biome-ignore format: rows of coefficients

/** erfc(x) = 1 − erf(x), with its relative accuracy kept where it is small. */
function erfc(x: number): number {
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
export const normalDensity = (x: number): number => 3.989422804014327e-1 * Math.exp(-0.5 * x * x);
