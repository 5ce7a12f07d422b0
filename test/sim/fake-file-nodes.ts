// pure
import { OutsideError } from "../../src/kit/errors.ts";
import type { TreeSize } from "../../src/outside/host/host.ts";

/** A file, a socket, or a block device. */
export interface FileNode {
  readonly kind: "file" | "socket" | "other";
  /** Of a block device: its number, `major:minor`. */
  readonly device?: string;
  content: Buffer;
  mode: number;
  modifiedMs: number;
}

/** A folder, and whether something is mounted on it. */
export interface FolderNode {
  readonly kind: "directory";
  readonly entries: Map<string, Node>;
  mode: number;
  modifiedMs: number;
  isMount: boolean;
  /** The same one wherever the folder is shown. */
  readonly group: { id: number };
}

/** A symbolic link. */
export interface LinkNode {
  readonly kind: "link";
  readonly target: string;
  readonly mode: number;
  readonly modifiedMs: number;
}

/** What a name stands for. */
export type Node = FileNode | FolderNode | LinkNode;

/** Whether something is mounted there or below. */
export function holdsMount(node: Node): boolean {
  if (node.kind !== "directory") return false;
  return node.isMount || [...node.entries.values()].some(holdsMount);
}

/** The path without `.`, `..` and empty names. */
export function normal(path: string): string {
  if (!/\/(?:[./]|$)/.test(path) && path.startsWith("/")) return path;
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/** The folder a path is in. */
export function parentOf(path: string): string {
  return normal(`${path}/..`);
}

/** Where a link leads that stands in a folder. */
export function resolved(target: string, folder: string): string {
  return target.startsWith("/") ? target : `${folder}/${target}`;
}

/** The error of a call. */
export function failure(
  code: "notFound" | "alreadyExists" | "precondition" | "invalid" | "exhausted",
  action: string,
  path: string,
): OutsideError {
  return new OutsideError(code, `${action} ${path}: ${code}`, { retryable: false });
}

/**
 * A fault of `append` that leaves the first half of the text in the file: the disk is full, and what it took cannot be cut
 * off again.
 */
export class TornAppend extends OutsideError {
  constructor() {
    super("exhausted", "append: no space left on device (ENOSPC)");
  }
}

/** What a folder takes; all is on one device, and counting takes no time. */
export function sizeOf(top: Node, maxEntries: number): TreeSize {
  const counted = { usedBytes: 0, inodes: 0, complete: true };
  const visit = (at: Node): void => {
    if (counted.inodes >= maxEntries) counted.complete = false;
    if (!counted.complete) return;
    counted.inodes += 1;
    if (at.kind === "file") counted.usedBytes += Math.ceil(at.content.length / 4096) * 4096;
    if (at.kind !== "directory") return;
    for (const child of at.entries.values())
      if (child.kind !== "directory" || !child.isMount) visit(child);
  };
  visit(top);
  return { ...counted, device: 1, tookMs: 0 };
}
