import type { PersistentVolume, PersistentVolumeClaim } from "../../../api/generated/types.ts";
import { VOLUME_SOURCES } from "../../../api/pod/volume-sources.ts";
import type { CsiPublishedVolume, CsiVolumeRequest } from "../../../api/ports/csi-volumes.ts";
import { wrong } from "../../../api/volume-step.ts";
import type { KindDeps, MadeVolume, VolumeKind, VolumeRequest } from "../kind.ts";

/** Volumes that a CSI driver makes for one pod. */
export const csiKind: VolumeKind = {
  plugin: VOLUME_SOURCES.csi.folder,
  setUp: async (request, deps, signal) => {
    const { csi } = request.volume;
    if (!csi) throw wrong("the volume names no CSI driver");
    return await published(request, { kind: "inline", csi }, deps, signal);
  },
  wakes: (deps, wake) => deps.csi?.subscribe(wake),
};

/** Sets up a persistent volume of a CSI driver. */
export function setUpCsi(
  request: VolumeRequest,
  source: {
    readonly pv: PersistentVolume;
    readonly claim: PersistentVolumeClaim;
    readonly readOnly: boolean;
  },
  deps: KindDeps,
  signal: AbortSignal,
): Promise<MadeVolume> {
  return published(request, { kind: "persistent", ...source }, deps, signal);
}

async function published(
  { pod, volume }: VolumeRequest,
  source: CsiVolumeRequest["source"],
  deps: KindDeps,
  signal: AbortSignal,
): Promise<MadeVolume> {
  if (!deps.csi) throw wrong("volumes of CSI drivers are not available here");
  const made = await deps.csi.publish({ pod, volume: volume.name, source }, signal);
  return madeOf(made, source.kind === "persistent" && source.readOnly);
}

function madeOf(made: CsiPublishedVolume, readOnly: boolean): MadeVolume {
  const { hostPath, device, deviceNumber, fault, driver, measure } = made;
  return {
    hostPath,
    readOnly,
    ages: true,
    measure,
    measuredBy: driver,
    ...(device === undefined ? {} : { device }),
    ...(deviceNumber === undefined ? {} : { deviceNumber }),
    ...(fault === undefined ? {} : { fault }),
    ...(readOnly || device !== undefined ? {} : { relabels: true }),
  };
}
