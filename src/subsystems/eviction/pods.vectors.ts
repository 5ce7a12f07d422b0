// pure
import type { Pod } from "../../api/generated/types.ts";
import type { PodUid } from "../../api/pod-identity.ts";
import type { CandidatePod, PodUsage } from "./usage.ts";

/** A pod of one container `c` for tests; amounts in MiB. */
export interface TestPod {
  readonly name: string;
  readonly priority?: number;
  /** Requests of memory and of ephemeral storage. */
  readonly requestMi?: number;
  readonly storageRequestMi?: number;
  readonly memoryMi?: number;
  /** Writable layer, logs and an emptyDir. */
  readonly rootfsMi?: number;
  readonly logsMi?: number;
  readonly volumeMi?: number;
  /** Files that the agent keeps for the container. */
  readonly managedMi?: number;
  readonly inodes?: number;
  readonly tasks?: number;
  readonly isStatic?: true;
  readonly unmeasured?: true;
  readonly ending?: CandidatePod["ending"];
  /** Merged over the spec. */
  readonly spec?: Partial<NonNullable<Pod["spec"]>>;
}

const MI = 2 ** 20;

/** The candidate of a `TestPod`. */
export function candidateOf(test: TestPod): CandidatePod {
  const { name, priority, requestMi, storageRequestMi, isStatic, spec } = test;
  const requests = {
    ...(requestMi === undefined ? {} : { memory: `${requestMi}Mi` }),
    ...(storageRequestMi === undefined ? {} : { "ephemeral-storage": `${storageRequestMi}Mi` }),
  };
  const uid = `uid-${name}` as PodUid;
  return {
    uid,
    pod: {
      metadata: {
        name,
        namespace: "default",
        uid,
        ...(isStatic ? { annotations: { "kubernetes.io/config.source": "file" } } : {}),
      },
      spec: {
        containers: [{ name: "c", resources: { requests } }],
        ...(priority === undefined ? {} : { priority }),
        ...spec,
      },
    },
    usage: test.unmeasured ? undefined : usageOf(test),
    ending: test.ending ?? "no",
  };
}

function usageOf(test: TestPod): PodUsage {
  const { memoryMi = 0, rootfsMi = 0, logsMi = 0, volumeMi = 0, inodes = 0, tasks = 1 } = test;
  const memory = { workingSetBytes: memoryMi * MI };
  return {
    group: { memory, tasks },
    containers: [
      {
        name: "c",
        group: { memory },
        rootfs: { usedBytes: rootfsMi * MI, inodesUsed: inodes },
        logs: { usedBytes: logsMi * MI, inodesUsed: 0 },
      },
    ],
    volumes: [{ name: "v", ephemeral: true, fs: { usedBytes: volumeMi * MI, inodesUsed: 0 } }],
    ...(test.managedMi === undefined ? {} : { managedFiles: { usedBytes: test.managedMi * MI } }),
  };
}
