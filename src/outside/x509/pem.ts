// pure

const LINE = 64;

/** `bytes` as a PEM block. */
export function toPem(label: string, bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString("base64");
  const lines: string[] = [];
  for (let at = 0; at < text.length; at += LINE) lines.push(text.slice(at, at + LINE));
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

/** The contents of all blocks of a kind, in order; what stands between blocks is ignored. */
export function pemBlocks(text: string, label: string): readonly Uint8Array[] {
  const begin = `-----BEGIN ${label}-----`;
  const end = `-----END ${label}-----`;
  const blocks: Uint8Array[] = [];
  for (let at = text.indexOf(begin); at >= 0; at = text.indexOf(begin, at)) {
    const until = text.indexOf(end, at);
    if (until < 0) break;
    blocks.push(Buffer.from(text.slice(at + begin.length, until), "base64"));
    at = until + end.length;
  }
  return blocks;
}
