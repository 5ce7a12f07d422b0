/** Lives of a volume to be interrupted: what is asked of the node, at its times, whether or not agent and driver live. */
import type { PodSpec } from "../../src/api/generated/types.ts";
import { podOfClaims } from "../support/csi-disk.ts";
import type { DriverCall, DriverFault } from "../support/csi-driver.ts";
import { type CsiWorld, type CsiWorldOptions, DRIVER } from "../support/csi-world.ts";
import type { CsiStage } from "./csi-stage.ts";

/** What a life is played with. */
export interface LifeStage {
  readonly stage: CsiStage;
  readonly world: CsiWorld;
  readonly faults: Map<DriverCall, DriverFault>;
  /** A pod with the volume `v` comes. */
  begin(id: string, more?: Partial<PodSpec>): void;
  end(id: string): void;
  wait(ms: number): Promise<void>;
}

/** One life; its pods are all ended after it. */
export interface CsiLife {
  readonly name: string;
  readonly options?: CsiWorldOptions;
  prepare?(world: CsiWorld): void;
  play(life: LifeStage): Promise<void>;
}

const INLINE: Partial<PodSpec> = { volumes: [{ name: "v", csi: { driver: DRIVER } }] };
const BLOCK: Partial<PodSpec> = {
  containers: [{ name: "c", volumeDevices: [{ name: "v", devicePath: "/dev/x" }] }],
};
const GROWN = {
  pv: { size: "2Gi" },
  status: {
    phase: "Bound",
    capacity: { storage: "1Gi" },
    allocatedResources: { storage: "2Gi" },
    allocatedResourceStatuses: { storage: "NodeResizePending" },
  },
};

/** A pod that runs for some time. */
async function onePod({ begin, end, wait }: LifeStage, more?: Partial<PodSpec>): Promise<void> {
  begin("a", more);
  await wait(5_000);
  end("a");
  await wait(3_000);
}

/** A pod while calls fail, which then ends; the failure stays for some time. */
function failing(...faults: readonly (readonly [DriverCall, DriverFault])[]): CsiLife["play"] {
  return async (life) => {
    for (const [call, fault] of faults) {
      life.faults.clear();
      life.faults.set(call, fault);
      if (!life.stage.has("a")) life.begin("a");
      await life.wait(2_500);
    }
    life.end("a");
    await life.wait(2_500);
    life.faults.clear();
    await life.wait(1_000);
  };
}

/** The lives, numbered as the call tables that tests have of them. */
export const CSI_LIVES: readonly CsiLife[] = [
  { name: "1: attached, staged, published", play: onePod },
  {
    name: "2: without attaching",
    options: { object: { attachRequired: false }, attaches: false },
    play: onePod,
  },
  {
    name: "3: without staging",
    options: { driver: { abilities: { stages: false } } },
    play: onePod,
  },
  {
    name: "4: for one pod only",
    options: { object: { volumeLifecycleModes: ["Ephemeral"], podInfoOnMount: true } },
    play: (life) => onePod(life, INLINE),
  },
  {
    name: "5: two pods",
    play: async ({ begin, end, wait }) => {
      begin("a");
      await wait(1_500);
      begin("b");
      await wait(2_500);
      end("a");
      await wait(1_500);
      end("b");
      await wait(2_500);
    },
  },
  {
    name: "6: staging gets no answer at first",
    play: async (life) => {
      life.faults.set("St", { status: "DeadlineExceeded" });
      life.begin("a");
      await life.wait(2_000);
      life.faults.clear();
      await life.wait(3_000);
      life.end("a");
      await life.wait(2_000);
    },
  },
  { name: "7: staging gets no answer", play: failing(["St", { status: "DeadlineExceeded" }]) },
  { name: "8: staging is refused", play: failing(["St", { status: "InvalidArgument" }]) },
  {
    name: "9: staging gets no answer, then is refused",
    play: failing(["St", { status: "DeadlineExceeded" }], ["St", { status: "InvalidArgument" }]),
  },
  {
    name: "10: published, the answer is lost",
    play: failing(["Pb", { status: "Unavailable", done: true }]),
  },
  { name: "11: publishing is refused", play: failing(["Pb", { status: "Internal" }]) },
  {
    name: "12: not given to the group",
    prepare: (world) => world.addVolume("v", { csi: { fsType: "ext4" } }),
    play: async (life) => {
      life.world.faulty.add("giveToGroup");
      life.begin("a", { securityContext: { fsGroup: 42 } });
      await life.wait(1_000);
      life.world.faulty.clear();
      await life.wait(3_000);
      life.end("a");
      await life.wait(2_000);
    },
  },
  {
    name: "13: the driver comes late",
    play: async (life) => {
      life.stage.killDriver();
      life.begin("a");
      await life.wait(2_000);
      await life.stage.revive();
      await life.wait(2_000);
      life.end("a");
      await life.wait(2_000);
    },
  },
  {
    name: "14: unpublishing fails, another pod comes",
    play: async ({ begin, end, wait, faults }) => {
      begin("a");
      await wait(2_000);
      faults.set("Up", { status: "Internal" });
      end("a");
      begin("b");
      await wait(2_000);
      faults.clear();
      await wait(1_500);
      end("b");
      await wait(2_500);
    },
  },
  {
    name: "15: unstaging fails, another pod comes",
    play: async ({ begin, end, wait, faults }) => {
      begin("a");
      await wait(2_000);
      faults.set("Us", { status: "Internal" });
      end("a");
      await wait(1_500);
      begin("b");
      await wait(2_000);
      faults.clear();
      end("b");
      await wait(3_000);
    },
  },
  {
    name: "16: the agent restarts while the pod runs",
    play: async (life) => {
      life.begin("a");
      await life.wait(2_000);
      life.stage.killAgent();
      await life.stage.revive();
      await life.wait(3_000);
      life.end("a");
      await life.wait(2_000);
    },
  },
  {
    name: "17: the pod is deleted while the agent is down, the driver comes a second later",
    play: async (life) => {
      life.begin("a");
      await life.wait(2_000);
      life.stage.killAgent();
      life.end("a");
      await life.stage.startAgent();
      await life.wait(1_000);
      await life.stage.revive();
      await life.wait(2_000);
    },
  },
  {
    name: "19: published again and again",
    options: { object: { requiresRepublish: true, tokenRequests: [{ audience: "a" }] } },
    play: async ({ begin, end, wait }) => {
      begin("a");
      await wait(65_000);
      end("a");
      await wait(2_000);
    },
  },
  {
    name: "20: a block device",
    prepare: (world) => world.addVolume("v", { pv: { volumeMode: "Block" } }),
    play: (life) => onePod(life, BLOCK),
  },
  {
    name: "22: it grows as the pod starts",
    prepare: (world) => world.addVolume("v", GROWN),
    play: (life) => onePod(life),
  },
  {
    name: "24: for one pod at a time",
    prepare: (world) => world.addVolume("v", { pv: { accessModes: ["ReadWriteOncePod"] } }),
    play: async ({ begin, end, wait }) => {
      begin("a");
      await wait(1_500);
      begin("b");
      await wait(1_500);
      end("a");
      await wait(3_000);
      end("b");
      await wait(2_000);
    },
  },
];

/** The pod of a life: its volume `v` is of the claim `v` unless `more` says another. */
export function podOfLife(uid: string, more: Partial<PodSpec> = {}) {
  const volumes = [{ name: "v", persistentVolumeClaim: { claimName: "v" } }];
  return podOfClaims(uid, ["v"], { volumes, ...more });
}
