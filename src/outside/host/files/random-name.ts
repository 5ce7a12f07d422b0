import { closeSync, openSync, readSync } from "node:fs";

/**
 * Random bytes in hexadecimal for the name of a temporary file, which a pod that sees the folder cannot guess. From the kernel:
 * node:crypto, which nothing else in a file worker needs, takes 2 MiB.
 */
export function randomHex(bytes: number): string {
  const buffer = Buffer.alloc(bytes);
  const descriptor = openSync("/dev/urandom", "r");
  try {
    readSync(descriptor, buffer);
  } finally {
    closeSync(descriptor);
  }
  return buffer.toString("hex");
}
