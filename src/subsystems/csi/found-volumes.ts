import { isOutside } from "../../kit/errors.ts";
import { persistentKey } from "./csi-order.ts";
import { type CsiPaths, inlineHandle } from "./csi-paths.ts";
import { type CsiVolume, newCsiVolume } from "./csi-volume.ts";
import type { CsiStepDeps } from "./steps/step-deps.ts";
import { readVolumeData, type VolumeData } from "./volume-data.ts";

type FoundDeps = Pick<CsiStepDeps, "files" | "volumes" | "paths" | "log">;

/**
 * The volumes that an agent before this one has made, or was about to: from what folders of pods and of staged volumes say.
 * Of all of them nobody knows whether they are still mounted. What cannot be read is logged and left alone.
 */
export async function findVolumes(deps: FoundDeps): Promise<readonly CsiVolume[]> {
  const { paths, files } = deps;
  const found = new Map<string, CsiVolume>();
  const pods = await names(deps, paths.pods);
  for (const uid of await withFolder(pods, (uid) => paths.ofPod(uid).mounts, deps)) {
    const { mounts } = paths.ofPod(uid);
    for (const name of await names(deps, mounts))
      await read(deps, `${mounts}/${name}/vol_data.json`, (data) =>
        addUse(found, uid, { ...data, isBlock: false, specName: data.specVolID ?? name }),
      );
  }
  for (const uid of await withFolder(pods, (uid) => paths.ofPod(uid).links, deps))
    for (const name of await names(deps, paths.ofPod(uid).links))
      await read(deps, dataOfBlock(paths, name), (data) =>
        addUse(found, uid, { ...data, isBlock: true, specName: data.specVolID ?? name }),
      );
  for (const driver of await names(deps, paths.drivers))
    if (driver !== "volumeDevices")
      for (const hash of await names(deps, `${paths.drivers}/${driver}`)) {
        const folder = `${paths.drivers}/${driver}/${hash}`;
        if (await removedEmpty(deps, folder)) continue;
        await read(deps, `${folder}/vol_data.json`, (data) =>
          addStaged(found, {
            ...data,
            isBlock: false,
            specName: data.specVolID ?? data.volumeHandle,
          }),
        );
      }
  for (const name of await names(deps, paths.blocks))
    if (await files.facts(dataOfBlock(paths, name)))
      await read(deps, dataOfBlock(paths, name), (data) =>
        addStaged(found, { ...data, isBlock: true, specName: data.specVolID ?? name }),
      );
  return [...found.values()];
}

/**
 * Removes a folder of which nothing says what it is of, and in which nothing is: an agent was killed before it wrote that, or
 * after it had removed it. What is mounted there stays.
 */
async function removedEmpty({ files, volumes, log }: FoundDeps, folder: string): Promise<boolean> {
  try {
    const staging = `${folder}/globalmount`;
    const present = ((await files.list(folder)) ?? []).map(({ name }) => name);
    if (present.some((name) => name !== "globalmount")) return false;
    if ((await volumes.mountsWithin(folder)).length > 0) return false;
    if (((await files.list(staging)) ?? []).length > 0) return false;
    await files.remove(staging);
    await files.remove(folder);
    return true;
  } catch (error) {
    if (!isOutside(error)) throw error;
    log.warn("cannot remove an empty folder of a volume", { path: folder, error });
    return false;
  }
}

const dataOfBlock = ({ blocks }: CsiPaths, name: string): string =>
  `${blocks}/${name}/data/vol_data.json`;

type Named = VolumeData & { readonly isBlock: boolean; readonly specName: string };

function addUse(found: Map<string, CsiVolume>, podUid: string, data: Named): void {
  const isInline = data.volumeLifecycleMode === "Ephemeral";
  const volume = volumeOf(found, podUid, data, isInline);
  const { specName } = data;
  volume.pods.set(podUid, { state: "uncertain", specName, isFound: true, publishedAt: undefined });
  if (!isInline) volume.device = "uncertain";
}

function addStaged(found: Map<string, CsiVolume>, data: Named): void {
  volumeOf(found, "", data, false).device = "uncertain";
}

function volumeOf(
  found: Map<string, CsiVolume>,
  podUid: string,
  { driverName: driver, volumeHandle, specName, isBlock }: Named,
  isInline: boolean,
): CsiVolume {
  const key = isInline
    ? `kubernetes.io/csi/${podUid}-${specName}`
    : persistentKey(driver, volumeHandle);
  const handle = isInline ? inlineHandle(podUid, specName) : volumeHandle;
  const volume =
    found.get(key) ?? newCsiVolume({ key, driver, handle, specName, isInline, isBlock });
  volume.isFound = true;
  found.set(key, volume);
  return volume;
}

async function read(
  { files, log }: FoundDeps,
  path: string,
  take: (data: VolumeData) => void,
): Promise<void> {
  try {
    const data = await readVolumeData(files, path);
    if (data) take(data);
    else log.warn("a folder does not say which volume it is of, and is left alone", { path });
  } catch (error) {
    if (!isOutside(error)) throw error;
    log.warn("cannot find out which volume a folder is of; it is left alone", { path, error });
  }
}

async function names({ files, log }: FoundDeps, path: string): Promise<readonly string[]> {
  try {
    return ((await files.list(path)) ?? []).map(({ name }) => name);
  } catch (error) {
    if (!isOutside(error)) throw error;
    log.warn("cannot list a folder of volumes", { path, error });
    return [];
  }
}

/** Those of the pods that have the folder; asked in one request, since most have none. */
async function withFolder(
  pods: readonly string[],
  folder: (uid: string) => string,
  { files, log }: FoundDeps,
): Promise<readonly string[]> {
  if (pods.length === 0) return [];
  try {
    const facts = await files.factsOfAll(pods.map(folder));
    return pods.filter((_, at) => facts[at] !== undefined);
  } catch (error) {
    if (!isOutside(error)) throw error;
    log.warn("cannot check the folders of all pods at once", { error });
    return pods;
  }
}
