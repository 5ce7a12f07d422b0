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

/** Header of an entry. */
export type TarHeader = { readonly path: string; readonly uid?: number; readonly gid?: number } & (
  | { readonly kind: "file"; readonly sizeBytes: number; readonly mode?: number }
  | { readonly kind: "directory"; readonly mode?: number }
  | { readonly kind: "symlink"; readonly target: string }
  /** Another name of a file that stands earlier in the archive. */
  | { readonly kind: "hardlink"; readonly target: string; readonly mode?: number }
);

const BLOCK_BYTES = 512;
const TYPE_FLAG = {
  file: "0",
  hardlink: "1",
  symlink: "2",
  directory: "5",
  extended: "x",
} as const;
const NAME_BYTES = 100;
const PREFIX_BYTES = 155;

/** The two empty blocks at the end of an archive. */
export const TAR_END: Uint8Array = new Uint8Array(2 * BLOCK_BYTES);

/** The archive as bytes. */
export function writeTar(entries: readonly TarEntry[]): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const entry of entries) {
    if (entry.kind === "file") {
      const { content, ...rest } = entry;
      parts.push(
        tarHeader({ ...rest, sizeBytes: content.length }),
        content,
        tarPadding(content.length),
      );
    } else parts.push(tarHeader(entry));
  }
  parts.push(TAR_END);
  return concatBytes(parts);
}

/** Zeros that pad a content of that size to whole blocks. */
export function tarPadding(sizeBytes: number): Uint8Array {
  return new Uint8Array((BLOCK_BYTES - (sizeBytes % BLOCK_BYTES)) % BLOCK_BYTES);
}

/** The given pieces in one array. */
function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
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

/**
 * The header of an entry: a ustar block, behind an extended header (pax) for a path or target that ustar cannot hold.
 * Numbers that do not fit their octal digits are binary, as GNU tar writes them.
 */
export function tarHeader(entry: TarHeader): Uint8Array {
  const path = entry.kind === "directory" ? `${entry.path}/` : entry.path;
  const target = "target" in entry ? entry.target : "";
  const split = splitPath(path);
  const extended = [
    ...(split === undefined ? [paxRecord("path", path)] : []),
    ...(byteLength(target) > NAME_BYTES ? [paxRecord("linkpath", target)] : []),
  ];
  const { prefix, name } = split ?? { prefix: "", name: path };
  const block = ustarBlock({
    prefix,
    name,
    target,
    type: TYPE_FLAG[entry.kind],
    mode: modeOf(entry),
    uid: entry.uid ?? 0,
    gid: entry.gid ?? 0,
    sizeBytes: entry.kind === "file" ? entry.sizeBytes : 0,
  });
  if (extended.length === 0) return block;
  const content = new TextEncoder().encode(extended.join(""));
  const before = ustarBlock({
    prefix: "",
    name: "././@PaxHeader",
    target: "",
    type: TYPE_FLAG.extended,
    mode: 0o644,
    uid: 0,
    gid: 0,
    sizeBytes: content.length,
  });
  return concatBytes([before, content, tarPadding(content.length), block]);
}

interface UstarFields {
  readonly prefix: string;
  readonly name: string;
  readonly target: string;
  readonly type: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly sizeBytes: number;
}

/** Longer names and targets are cut off: then an extended header has them. */
function ustarBlock(fields: UstarFields): Uint8Array {
  const block = new Uint8Array(BLOCK_BYTES);
  put(block, 0, NAME_BYTES, fields.name);
  putNumber(block, 100, 8, fields.mode);
  putNumber(block, 108, 8, fields.uid);
  putNumber(block, 116, 8, fields.gid);
  putNumber(block, 124, 12, fields.sizeBytes);
  putNumber(block, 136, 12, 0);
  put(block, 148, 8, " ".repeat(8));
  put(block, 156, 1, fields.type);
  put(block, 157, NAME_BYTES, fields.target);
  put(block, 257, 8, "ustar\u000000");
  put(block, 345, PREFIX_BYTES, fields.prefix);
  let sum = 0;
  for (const byte of block) sum += byte;
  put(block, 148, 8, `${sum.toString(8).padStart(6, "0")}\u0000 `);
  return block;
}

function modeOf(entry: TarHeader): number {
  switch (entry.kind) {
    case "file":
    case "hardlink":
      return entry.mode ?? 0o644;
    case "directory":
      return entry.mode ?? 0o755;
    case "symlink":
      return 0o777;
  }
}

/** Names above 100 bytes are cut at a slash into ustar's prefix and name; undefined when they cannot be. */
function splitPath(path: string): { prefix: string; name: string } | undefined {
  const bytes = byteLength(path);
  if (bytes <= NAME_BYTES) return { prefix: "", name: path };
  // Places in the text are places in its bytes only as long as each character is one.
  if (bytes !== path.length) return undefined;
  const cut = path.indexOf("/", path.length - NAME_BYTES - 1);
  if (cut < 0 || cut > PREFIX_BYTES || cut === path.length - 1) return undefined;
  return { prefix: path.slice(0, cut), name: path.slice(cut + 1) };
}

/** `LENGTH key=value`, where the length counts itself. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const restBytes = byteLength(rest);
  let length = restBytes + 1;
  while (String(length).length + restBytes !== length) length += 1;
  return `${length}${rest}`;
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

function putNumber(block: Uint8Array, offset: number, width: number, value: number): void {
  const text = value.toString(8);
  if (text.length < width) {
    put(block, offset, width, text.padStart(width - 1, "0"));
    return;
  }
  block[offset] = 0x80;
  const view = new DataView(block.buffer, block.byteOffset + offset, width);
  let rest = BigInt(value);
  for (let at = width - 1; at > 0; at -= 1) {
    view.setUint8(at, Number(rest & 0xffn));
    rest >>= 8n;
  }
}

function put(block: Uint8Array, offset: number, width: number, text: string): void {
  block.set(new TextEncoder().encode(text).subarray(0, width), offset);
}
