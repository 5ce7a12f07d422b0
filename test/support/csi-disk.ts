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
export function fakeDriverDisk({
  volumes,
  files,
}: Pick<FakeHost, "volumes" | "files">): DriverDisk {
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

const CONTENT = "/content";
/** What is written to each volume of a `keptDriverDisk` as it is first staged. */
export const WRITTEN = "what the pod wrote";

/** Path of a file that was written to a volume. */
export const writtenTo = (volumeId: string): string => `${CONTENT}/${volumeId}/file`;

/**
 * A disk whose volumes keep what is written to them, and which knows by its mounts alone what it has done, so that a driver can
 * be killed at any time. Taking away what others still show goes to `onViolation`.
 */
export function keptDriverDisk(
  { volumes, files }: Pick<FakeHost, "volumes" | "files">,
  onViolation: (text: string) => void,
): DriverDisk {
  const isMounted = (path: string) => volumes.mounted.includes(path);
  const contentOf = async (id: string): Promise<string> => {
    const path = `${CONTENT}/${id}`;
    if (await files.facts(path)) return path;
    await files.makeDirectory(path, 0o755);
    await files.writeAtomic(writtenTo(id), WRITTEN, 0o644);
    return path;
  };
  return {
    stage: async ({ volumeId, stagingTargetPath: path, volumeCapability }) => {
      const content = await contentOf(volumeId);
      if (volumeCapability?.accessType?.$case !== "mount" || isMounted(path)) return;
      await volumes.bind(content, path);
    },
    unstage: async (path) => {
      for (const { source, path: shown } of await volumes.mountsWithin("/r/pods"))
        if (source === path) onViolation(`${path} unstaged while ${shown} shows it`);
      if (isMounted(path)) await volumes.unmount(path);
    },
    publish: async ({ volumeId, targetPath, stagingTargetPath, volumeCapability }) => {
      if (isMounted(targetPath)) return;
      if (volumeCapability?.accessType?.$case === "block") {
        files.addDevice(targetPath, "8:0");
        return;
      }
      if (stagingTargetPath !== "" && !isMounted(stagingTargetPath))
        throw new Error(`${stagingTargetPath} is not staged`);
      await files.makeDirectory(targetPath, 0o755);
      const source = stagingTargetPath === "" ? await contentOf(volumeId) : stagingTargetPath;
      await volumes.bind(source, targetPath);
    },
    unpublish: async (path) => {
      if (isMounted(path)) await volumes.unmount(path);
      await files.remove(path);
    },
  };
}
