// pure
import { OutsideError } from "../../src/kit/errors.ts";

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
