/** Source of randomness; everything below `Outside` gets it from here only. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** `bytes` random bytes in lower hex. */
  hex(bytes: number): string;
}

/** Randomness of the machine. */
export function createSystemRandom(): Random {
  return {
    next: () => Math.random(),
    hex: (bytes) => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex"),
  };
}

/** A repeatable sequence from `seed` (mulberry32), for simulation and property tests. */
export function createSeededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const hex = (bytes: number) => {
    let text = "";
    for (let i = 0; i < bytes; i += 1)
      text += Math.floor(next() * 256)
        .toString(16)
        .padStart(2, "0");
    return text;
  };
  return { next, hex };
}

/** `durationMs` stretched by a random share of up to `factor`: d + U[0,1)·factor·d, as client-go's wait.Jitter. */
export function jitter(random: Random, durationMs: number, factor: number): number {
  return durationMs + random.next() * factor * durationMs;
}
