import { OutsideError } from "../../kit/errors.ts";
import { isTree } from "../../kit/json.ts";
import type { PodFiles } from "../../outside/host/host.ts";

/** What a folder of a volume says of it; fields of the Go kubelet's `vol_data.json`. */
export interface VolumeData {
  readonly driverName: string;
  readonly volumeHandle: string;
  /** Name of the persistent volume, or of the volume in the pod's spec. Absent where it is staged. */
  readonly specVolID?: string;
  readonly nodeName?: string;
  readonly attachmentID?: string;
  readonly volumeLifecycleMode?: string;
}

const MODE = 0o644;
const FOLDER_MODE = 0o750;
const MAX_BYTES = 64 * 1024;

/** Writes the file and its folder; it is there whole or not at all. */
export async function writeVolumeData(
  files: PodFiles,
  path: string,
  data: VolumeData,
): Promise<void> {
  const sorted = Object.fromEntries(Object.entries(data).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  await files.makeDirectory(path.slice(0, path.lastIndexOf("/")), FOLDER_MODE);
  await files.writeAtomic(path, `${JSON.stringify(sorted)}\n`, MODE);
}

/** What the file says; `undefined` when there is none. Throws `OutsideError` for one that says no volume. */
export async function readVolumeData(
  files: Pick<PodFiles, "readText">,
  path: string,
): Promise<VolumeData | undefined> {
  const text = await files.readText(path, { maxBytes: MAX_BYTES });
  if (text === undefined) return undefined;
  const value = parsed(text);
  const { driverName, volumeHandle } = value ?? {};
  if (!value || typeof driverName !== "string" || typeof volumeHandle !== "string")
    throw new OutsideError(
      "invalid",
      `${path} does not say driverName and volumeHandle: write the volume's there, or unmount the volume by hand and remove the folder`,
    );
  const { specVolID, volumeLifecycleMode } = value;
  return {
    driverName,
    volumeHandle,
    ...(typeof specVolID === "string" ? { specVolID } : {}),
    ...(typeof volumeLifecycleMode === "string" ? { volumeLifecycleMode } : {}),
  };
}

function parsed(text: string): { readonly [name: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isTree(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
