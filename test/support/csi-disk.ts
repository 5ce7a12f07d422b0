/** What pods and drivers have of volumes, in memory. */
import type { PodSpec } from "../../src/api/generated/types.ts";
import { type IdentifiedPod, identifyPod } from "../../src/api/pod-identity.ts";
import type { FakeHost } from "../sim/fake-host.ts";
import type { DriverDisk } from "./csi-driver.ts";

/** A pod with volumes by their claims, each mounted. */
export function podOfClaims(
  uid: string,
  claims: readonly string[],
  more: Partial<PodSpec> = {},
): IdentifiedPod {
  return identifyPod({
    metadata: { name: uid, namespace: "default", uid },
    spec: {
      containers: [
        {
          name: "c",
          volumeMounts: claims.map((name) => ({ name, mountPath: `/${name}` })),
        },
      ],
      volumes: claims.map((name) => ({ name, persistentVolumeClaim: { claimName: name } })),
      ...more,
    },
  });
}

/** The driver's disk in the host in memory. */
export function fakeDriverDisk({ volumes, files }: FakeHost): DriverDisk {
  return {
    stage: async ({ stagingTargetPath: path, volumeCapability }) => {
      if (volumeCapability?.accessType?.$case === "mount") await volumes.mountMemory(path, {});
    },
    unstage: async (path) => await volumes.unmount(path),
    publish: async ({ targetPath, stagingTargetPath, volumeCapability }) => {
      if (volumeCapability?.accessType?.$case === "block") {
        files.addDevice(targetPath, "8:0");
        return;
      }
      await files.makeDirectory(targetPath, 0o755);
      if (stagingTargetPath === "") await volumes.mountMemory(targetPath, {});
      else await volumes.bind(stagingTargetPath, targetPath);
    },
    unpublish: async (path) => {
      await volumes.unmount(path);
      await files.remove(path);
    },
  };
}
