import type { IncomingMessage } from "node:http";

/** Most of an error's text that is passed on. */
const ERROR_TEXT_BYTES = 64 * 1024;

/** The text of an error; a very long one is cut. */
export async function shortText(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= ERROR_TEXT_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, ERROR_TEXT_BYTES).toString("utf8");
}
