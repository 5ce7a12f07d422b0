// pure
/**
 * A tar writer for images built here: ustar, entries in the given order, no times, no user names, so that the
 * same entries always give the same bytes and with them the same image id.
 */

/** One member of an archive. `path` is relative, without a leading or trailing slash. */
export type TarEntry = { readonly path: string; readonly uid?: number; readonly gid?: number } & (
  | { readonly kind: "file"; readonly content: Uint8Array; readonly mode?: number }
  | { readonly kind: "directory"; readonly mode?: number }
  | { readonly kind: "symlink"; readonly target: string }
);

const BLOCK_BYTES = 512;
const TYPE_FLAG = { file: "0", symlink: "2", directory: "5" } as const;

/** The archive as bytes, ended by two empty blocks. Throws RangeError for names ustar cannot hold. */
export function writeTar(entries: readonly TarEntry[]): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const entry of entries) {
    parts.push(header(entry));
    if (entry.kind !== "file") continue;
    parts.push(entry.content);
    const rest = entry.content.length % BLOCK_BYTES;
    if (rest > 0) parts.push(new Uint8Array(BLOCK_BYTES - rest));
  }
  parts.push(new Uint8Array(2 * BLOCK_BYTES));
  return concatBytes(parts);
}

/** The given pieces in one array. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function header(entry: TarEntry): Uint8Array {
  const block = new Uint8Array(BLOCK_BYTES);
  const { prefix, name } = splitPath(entry.kind === "directory" ? `${entry.path}/` : entry.path);
  put(block, 0, 100, name);
  put(block, 100, 8, octal(modeOf(entry), 7));
  put(block, 108, 8, octal(entry.uid ?? 0, 7));
  put(block, 116, 8, octal(entry.gid ?? 0, 7));
  put(block, 124, 12, octal(entry.kind === "file" ? entry.content.length : 0, 11));
  put(block, 136, 12, octal(0, 11));
  put(block, 148, 8, " ".repeat(8));
  put(block, 156, 1, TYPE_FLAG[entry.kind]);
  if (entry.kind === "symlink") put(block, 157, 100, entry.target);
  put(block, 257, 8, "ustar\u000000");
  put(block, 345, 155, prefix);
  let sum = 0;
  for (const byte of block) sum += byte;
  put(block, 148, 8, `${octal(sum, 6)}\u0000 `);
  return block;
}

function modeOf(entry: TarEntry): number {
  switch (entry.kind) {
    case "file":
      return entry.mode ?? 0o644;
    case "directory":
      return entry.mode ?? 0o755;
    case "symlink":
      return 0o777;
  }
}

/** Names above 100 bytes are cut at a slash into ustar's prefix and name. */
function splitPath(path: string): { prefix: string; name: string } {
  if (path.length <= 100) return { prefix: "", name: path };
  const cut = path.indexOf("/", path.length - 101);
  if (cut < 0 || cut > 155 || cut === path.length - 1)
    throw new RangeError(`path too long for ustar: ${path}`);
  return { prefix: path.slice(0, cut), name: path.slice(cut + 1) };
}

function octal(value: number, digits: number): string {
  const text = value.toString(8).padStart(digits, "0");
  if (text.length > digits) throw new RangeError(`${value} does not fit ${digits} octal digits`);
  return text;
}

function put(block: Uint8Array, offset: number, width: number, text: string): void {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > width) throw new RangeError(`tar field too long: ${text}`);
  block.set(bytes, offset);
}
