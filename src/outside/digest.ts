import { createHash } from "node:crypto";

/** SHA-256 of a text in lower hex; the same everywhere, so that it may be called without `Outside`. */
export function sha256Hex(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** SHA-256 of a text in base64, as policies of browsers name it. */
export function sha256Base64(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
