// pure
import type { NamedFile } from "../../outside/serving.ts";

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&#34;",
  "'": "&#39;",
};

/** The page that lists a folder, as Go's `http.FileServer` makes it. Names are relative to the page. */
export function folderPage(files: readonly NamedFile[]): string {
  const lines = files.map(({ name, kind }) => {
    const shown = kind === "directory" ? `${name}/` : name;
    return `<a href="${linkTo(shown)}">${escapeHtml(shown)}</a>\n`;
  });
  return `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${lines.join("")}</pre>\n`;
}

/** A relative link; a name with a colon would be read as a scheme. */
function linkTo(name: string): string {
  const target = encodeURI(name).replaceAll("#", "%23").replaceAll("?", "%3F");
  return escapeHtml(target.includes(":") ? `./${target}` : target);
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (char) => ESCAPES[char] ?? char);
}

/** Part of a file: `length` bytes from `start` on. */
interface ByteRange {
  readonly start: number;
  readonly length: number;
}

/**
 * The part of a file that a `Range` header asks for: `undefined` for the whole file (no header, several ranges, or a
 * header that is not understood), `unsatisfiable` for one that begins behind its end (RFC 9110, 14.2).
 */
export function parseRange(
  header: string | undefined,
  sizeBytes: number,
): ByteRange | "unsatisfiable" | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "");
  const [, from = "", to = ""] = match ?? [];
  if (!match || (from === "" && to === "")) return undefined;
  if (from === "") {
    const length = Math.min(Number(to), sizeBytes);
    return length === 0 ? "unsatisfiable" : { start: sizeBytes - length, length };
  }
  const start = Number(from);
  if (start >= sizeBytes) return "unsatisfiable";
  const end = to === "" ? sizeBytes - 1 : Math.min(Number(to), sizeBytes - 1);
  return end < start ? undefined : { start, length: end - start + 1 };
}

/** Type of a file by its name and first bytes; never one that a browser runs. */
export function logContentType(name: string, head: Uint8Array): string {
  if (name.endsWith(".gz")) return "application/gzip";
  return isText(head) ? "text/plain; charset=utf-8" : "application/octet-stream";
}

/** No control characters but those of a terminal (WHATWG MIME sniffing, binary data bytes). */
function isText(head: Uint8Array): boolean {
  return head.every((byte) => byte >= 0x20 || (byte >= 0x09 && byte <= 0x0d) || byte === 0x1b);
}
