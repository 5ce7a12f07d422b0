// pure

/** The IEEE polynomial, its bits reversed. */
const POLYNOMIAL = 0xedb88320;

/** CRC-32 (IEEE) of the text's bytes, as an unsigned number. */
export function crc32(text: string): number {
  let crc = 0xffffffff;
  for (const byte of new TextEncoder().encode(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}
