// pure
import type { NamedFile } from "../../outside/serving.ts";

/** One file of a log: the one being written, or one that was rotated away. */
export interface Segment {
  readonly name: string;
  readonly zipped: boolean;
  readonly id: string;
  readonly sizeBytes: number;
  readonly modifiedMs: number;
}

const ROTATED = /^\.(\d{8}-\d{6})(\.gz)?$/;

/**
 * The files that make up the log `name` of a folder, oldest first: `<name>.<time>`, `<name>.<time>.gz`,
 * and `<name>` itself at the end, as container_log_manager.go calls them. While one is being
 * zipped there are both; the plain one counts.
 */
export function segmentsOf(name: string, files: readonly NamedFile[]): readonly Segment[] {
  const rotated = new Map<string, Segment>();
  let current: Segment | undefined;
  for (const { name: other, kind, id, sizeBytes, modifiedMs } of files) {
    if (kind !== "file" || !other.startsWith(name)) continue;
    const match = ROTATED.exec(other.slice(name.length));
    const segment = { name: other, id, sizeBytes, modifiedMs, zipped: match?.[2] !== undefined };
    if (other === name) current = segment;
    const time = match?.[1];
    if (time !== undefined && rotated.get(time)?.zipped !== false) rotated.set(time, segment);
  }
  const old = [...rotated].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, segment]) => segment);
  return current ? [...old, current] : old;
}
