import type { HostPathVolumeSource } from "../../../api/generated/types.ts";
import { VOLUME_SOURCES } from "../../../api/pod/volume-sources.ts";
import { OutsideError } from "../../../kit/errors.ts";
import type { FileFacts, PodFiles } from "../../../outside/host/host.ts";
import type { VolumeKind } from "../kind.ts";

const DIRECTORY_MODE = 0o755;
const FILE_MODE = 0o644;

/** Types of files by the names that `hostPath.type` has for them. */
type FileType = "Directory" | "File" | "Socket" | "CharDevice" | "BlockDevice";

/** What each checked `hostPath.type` expects, and how the Go kubelet calls it. */
const EXPECTED: Readonly<
  Record<string, { readonly called: string; readonly type: FileType } | undefined>
> = {
  Directory: { called: "directory", type: "Directory" },
  DirectoryOrCreate: { called: "directory", type: "Directory" },
  File: { called: "file", type: "File" },
  FileOrCreate: { called: "file", type: "File" },
  Socket: { called: "socket file", type: "Socket" },
  CharDevice: { called: "character device", type: "CharDevice" },
  BlockDevice: { called: "block device", type: "BlockDevice" },
};

const UNKNOWN_TYPE = "only recognise file, directory, socket, block device and character device";

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
  const foundType = found && typeOf(found);
  if (foundType === expected.type) return;
  const check = "hostPath type check failed";
  const isNot = `${path} is not a ${expected.called}`;
  const why = found ? UNKNOWN_TYPE : `path "${path}" does not exist`;
  throw new OutsideError(
    "precondition",
    foundType
      ? `${check}: ${isNot}, it's a ${foundType}`
      : `${check}, ${isNot}, unable to determine its type: ${why}`,
  );
}

function typeOf({ kind, device }: FileFacts): FileType | undefined {
  switch (kind) {
    case "directory":
      return "Directory";
    case "file":
      return "File";
    case "socket":
      return "Socket";
    default:
      return device && (device === "character" ? "CharDevice" : "BlockDevice");
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
