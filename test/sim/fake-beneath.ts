import type { Files, FolderChange, SizedEntry } from "../../src/outside/host/host.ts";
import { type FolderNode, failure, type Node, normal } from "./fake-file-nodes.ts";

/** The folder `relativePath` below one; a link on the way is "precondition". */
export function folderBeneath(
  root: Node | undefined,
  relativePath: string,
): FolderNode | undefined {
  let node = root;
  for (const part of normal(relativePath)
    .split("/")
    .filter((name) => name !== "")) {
    if (node?.kind !== "directory") return undefined;
    node = node.entries.get(part);
    if (node && node.kind !== "directory") throw failure("precondition", "open", relativePath);
  }
  return node?.kind === "directory" ? node : undefined;
}

/** The end of a file below a folder; a link on the way is "precondition". */
export function tailBeneath(
  root: Node | undefined,
  relativePath: string,
  maxBytes: number,
): string | undefined {
  if (relativePath.split("/").includes("..")) throw failure("invalid", "read", relativePath);
  const parts = normal(relativePath).split("/");
  const name = parts.pop() ?? "";
  if (name === "") throw failure("invalid", "read", relativePath);
  const node = folderBeneath(root, parts.join("/"))?.entries.get(name);
  if (node === undefined) return undefined;
  if (node.kind !== "file") {
    const code = node.kind === "directory" ? "invalid" : "precondition";
    throw failure(code, "read", relativePath);
  }
  const { content } = node;
  let start = Math.max(0, content.length - maxBytes);
  if (start > 0) while (((content[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return content.subarray(start).toString("utf8");
}

/** What a folder holds, sorted by name. */
export function sizedEntries(folder: FolderNode | undefined): readonly SizedEntry[] | undefined {
  if (!folder) return undefined;
  return [...folder.entries]
    .map(([name, node]) => ({
      name,
      kind: node.kind,
      sizeBytes: "content" in node ? node.content.length : 0,
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Makes changes in a folder by the calls of the files it is in; see `Files.changeBeneath`. */
export async function changeIn(
  files: Pick<Files, "remove" | "rename">,
  { folder, path }: { readonly folder: FolderNode; readonly path: string },
  changes: readonly FolderChange[],
): Promise<void> {
  for (const change of changes) {
    const names = change.kind === "rename" ? [change.from, change.to] : [change.name];
    if (names.some((name) => !isFileName(name))) throw failure("invalid", "change", path);
    if (change.kind === "remove") await files.remove(`${path}/${change.name}`);
    else if (change.kind === "zip") zipIn(folder, change.name);
    else await files.rename(`${path}/${change.from}`, `${path}/${change.to}`);
  }
}

function zipIn(folder: FolderNode, name: string): void {
  const node = folder.entries.get(name);
  if (node === undefined) return;
  if (node.kind !== "file") throw failure("precondition", "zip", name);
  folder.entries.delete(name);
  folder.entries.set(`${name}.gz`, node);
}

/** Whether it names something in a folder, and not the folder or another. */
function isFileName(name: string): boolean {
  return name !== "" && name !== "." && name !== ".." && !/[/\0]/.test(name);
}
