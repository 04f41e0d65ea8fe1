/**
 * Φ(x), the share of a standard normal distribution below x, which GELU multiplies by: Φ(x) = erfc(−x/√2)/2. The relative error is below 1e-14.
 */

/** erfc(x) = 1 − erf(x), with its relative accuracy kept where it is small. */
function erfc(x: number): number {
  const a = Math.abs(x);
  if (!(a < 28)) return x > 0 ? 0 : x < 0 ? 2 : x;
  // With 24 bits, z² is exact; the rest of a² is (a − z)(a + z).
  const z = Math.fround(a);
  const density = (Math.exp(-z * z) * Math.exp((z - a) * (z + a))) / Math.sqrt(Math.PI);
  if (a < 1) {
    // erf(a) = 2·density·(a + 2a³/3 + 4a⁵/(3·5) + …): all terms are positive.
    let [sum, term] = [0, a];
    for (let n = 1; term > 1e-17 * sum; n++) {
      sum += term;
      term *= (2 * a * a) / (2 * n + 1);
    }
    return 1 - Math.sign(x) * 2 * density * sum;
  }
  // density/(a + (1/2)/(a + (2/2)/(a + (3/2)/(a + …))))
  let rest = a;
  for (let n = Math.ceil(20 + 200 / (a * a)); n > 0; n--) rest = a + n / 2 / rest;
  return x > 0 ? density / rest : 2 - density / rest;
}

/** Φ(x): the standard normal distribution function. */
export const normalCdf = (x: number): number => 0.5 * erfc(-x * Math.SQRT1_2);

/** φ(x) = Φ′(x): the standard normal density. */
export const normalDensity = (x: number): number => 3.989422804014327e-1 * Math.exp(-0.5 * x * x);
