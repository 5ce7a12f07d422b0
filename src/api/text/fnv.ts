// pure

/** Bytes of `input`: UTF-8 for text. */
const bytesOf = (input: string | Uint8Array): Uint8Array =>
  typeof input === "string" ? new TextEncoder().encode(input) : input;

/** FNV-1a, 32 bits, as an unsigned number. */
export function fnv1a32(input: string | Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytesOf(input)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

/** The checksum that stands beside the text of a kubelet's checkpoint since 1.37: over the string as Go's spew prints it. */
export function checkpointTextChecksum(text: string): number {
  return fnv1a32(`(string)${text}`);
}

const LIMB = 2 ** 32;

/** FNV-1a, 64 bits, as 16 lower case hex digits. */
export function fnv1a64Hex(input: string | Uint8Array): string {
  // The prime is 2^40 + 0x1b3; two limbs of 32 bits keep every product below 2^53.
  let high = 0xcbf29ce4;
  let low = 0x84222325;
  for (const byte of bytesOf(input)) {
    const mixed = (low ^ byte) >>> 0;
    const product = mixed * 0x1b3;
    low = product % LIMB;
    high = (high * 0x1b3 + Math.floor(product / LIMB) + mixed * 0x100) % LIMB;
  }
  return hex32(high) + hex32(low);
}

/** FNV-1a, 128 bits, as 32 lower case hex digits. */
export function fnv1a128Hex(input: string | Uint8Array): string {
  // The prime is 2^88 + 0x13b; limbs from low to high.
  let [a, b, c, d] = [0x6295c58d, 0x62b82175, 0x07bb0142, 0x6c62272e];
  for (const byte of bytesOf(input)) {
    const mixed = (a ^ byte) >>> 0;
    const low = mixed * 0x13b;
    const second = b * 0x13b + Math.floor(low / LIMB);
    const third = c * 0x13b + Math.floor(second / LIMB) + ((mixed * 0x1000000) % LIMB);
    const fourth = d * 0x13b + Math.floor(third / LIMB) + ((b * 0x1000000) % LIMB) + (mixed >>> 8);
    a = low % LIMB;
    b = second % LIMB;
    c = third % LIMB;
    d = fourth % LIMB;
  }
  return hex32(d) + hex32(c) + hex32(b) + hex32(a);
}

const hex32 = (n: number): string => n.toString(16).padStart(8, "0");
