/** A call all peers can be asked for: float32, [B, H, N, D], scale 1/√D. */
export interface Case {
  readonly B: number;
  readonly H: number;
  readonly Nq: number;
  readonly Nk: number;
  readonly D: number;
  /** Query i sees keys 0 … i; needs Nq = Nk. */
  readonly causal: boolean;
  readonly threads: number;
  /** [B, H, Nq, D] */
  readonly query: Float32Array;
  /** [B, H, Nk, D] */
  readonly key: Float32Array;
  /** [B, H, Nk, D] */
  readonly value: Float32Array;
}

/** A peer made ready for one case. */
export interface Prepared {
  /** The whole call: it ends when the result can be read in JavaScript. In the peer's own layout, and possibly its own memory: read it before the next run. */
  run(): Float32Array | Promise<Float32Array>;
  /** What `run` gave, as [B, H, Nq, D]; not part of the call, so not of its time. */
  order(result: Float32Array): Float32Array;
  /** Gives up what was made ready. */
  dispose?(): unknown;
}

/** One way one package offers attention. */
export interface Peer {
  /** What a table calls it. */
  readonly name: string;
  /** The npm package, "" for none. */
  readonly package: string;
  /** `portable` runs in browsers too. */
  readonly kind: "native" | "portable";
  /** Makes inputs and graph ready, or says why this peer cannot do the case. */
  prepare(c: Case): Promise<Prepared | { refuses: string }>;
}

/** Every peer whose package is installed. */
export const peers: readonly Peer[];
/** Files that did not load, and why. */
export const missing: Readonly<Record<string, string>>;
