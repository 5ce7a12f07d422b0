// pure

/** One line of a container log as the runtime writes it: `<time> <stream> <tags> <content>`. */
interface CriLogLine {
  /** RFC 3339 with nanoseconds, as written. */
  readonly time: string;
  readonly stream: "stdout" | "stderr";
  /** The content goes on in the next line of the same stream. */
  readonly partial: boolean;
  readonly content: string;
}

/** Takes one line (without its newline) apart; `undefined` when it is not in CRI's format. */
export function parseCriLogLine(line: string): CriLogLine | undefined {
  const afterTime = line.indexOf(" ");
  const afterStream = line.indexOf(" ", afterTime + 1);
  if (afterTime <= 0 || afterStream < 0) return undefined;
  const stream = line.slice(afterTime + 1, afterStream);
  if (stream !== "stdout" && stream !== "stderr") return undefined;
  const afterTags = line.indexOf(" ", afterStream + 1);
  const tags = afterTags < 0 ? line.slice(afterStream + 1) : line.slice(afterStream + 1, afterTags);
  const content = afterTags < 0 ? "" : line.slice(afterTags + 1);
  return {
    time: line.slice(0, afterTime),
    stream,
    partial: tags.split(":").includes("P"),
    content,
  };
}

/**
 * The last output of a container as plain text: at most the given lines and bytes of UTF-8, the end kept, no
 * character split. The first line of `tail` is taken as cut when `cut` says so.
 */
export function lastLogText(
  tail: string,
  limits: { readonly maxLines: number; readonly maxBytes: number; readonly cut: boolean },
): string {
  const lines = tail.split("\n");
  if (limits.cut) lines.shift();
  const texts = lines.flatMap((line) => {
    const parsed = parseCriLogLine(line);
    return parsed ? [parsed.partial ? parsed.content : `${parsed.content}\n`] : [];
  });
  return lastBytes(texts.slice(-limits.maxLines).join(""), limits.maxBytes);
}

function lastBytes(text: string, maxBytes: number): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= maxBytes) return text;
  let from = bytes.length - maxBytes;
  // Continuation bytes are 10xxxxxx.
  while (((bytes[from] ?? 0) & 0xc0) === 0x80) from += 1;
  return new TextDecoder().decode(bytes.subarray(from));
}
