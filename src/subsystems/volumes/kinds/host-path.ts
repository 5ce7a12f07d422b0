import type { HostPathVolumeSource } from "../../../api/generated/types.ts";
import { VOLUME_SOURCES } from "../../../api/pod/volume-sources.ts";
import { OutsideError } from "../../../kit/errors.ts";
import type { FileFacts, PodFiles } from "../../../outside/host/host.ts";
import type { VolumeKind } from "../kind.ts";

const DIRECTORY_MODE = 0o755;
const FILE_MODE = 0o644;

/** File types allowed for each checked `hostPath.type`. */
const EXPECTED: Readonly<
  Record<string, { readonly called: string; readonly test: (facts: FileFacts) => boolean }>
> = {
  Directory: { called: "directory", test: ({ kind }) => kind === "directory" },
  DirectoryOrCreate: { called: "directory", test: ({ kind }) => kind === "directory" },
  File: { called: "file", test: ({ kind }) => kind === "file" },
  FileOrCreate: { called: "file", test: ({ kind }) => kind === "file" },
  Socket: { called: "socket file", test: ({ kind }) => kind === "socket" },
  CharDevice: { called: "character device", test: ({ device }) => device === "character" },
  BlockDevice: { called: "block device", test: ({ device }) => device === "block" },
};

/** Checks a path of the node, and creates it where its type says so (hostpath checkTypeInternal). */
export async function checkHostPath(files: PodFiles, source: HostPathVolumeSource): Promise<void> {
  const { path, type = "" } = source;
  if (type === "") return;
  const found = await files.facts(path, { follow: true });
  if (!found && type === "DirectoryOrCreate") return files.makeDirectory(path, DIRECTORY_MODE);
  // A process that creates the file at the same moment must not lose its content.
  if (!found && type === "FileOrCreate") return files.append(path, "", FILE_MODE);
  const expected = EXPECTED[type];
  if (!expected) throw new OutsideError("invalid", `${type} is an invalid volume type`);
  if (!found || !expected.test(found)) {
    const message = `hostPath type check failed: ${path} is not a ${expected.called}`;
    throw new OutsideError("precondition", message);
  }
}

/** A path of the node, as it is. */
export const hostPathKind: VolumeKind = {
  plugin: VOLUME_SOURCES.hostPath.folder,
  setUp: async ({ volume }, { files }) => {
    const source = volume.hostPath ?? { path: "" };
    await checkHostPath(files, source);
    return { hostPath: source.path, readOnly: false };
  },
};
