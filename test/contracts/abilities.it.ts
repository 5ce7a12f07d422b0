// What each containerd can do beyond the contract, and what the agent therefore may promise with it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isOutside } from "../../src/kit/errors.ts";
import { connectCri } from "../../src/outside/cri/connect-cri.ts";
import type { ContainerConfig, ContainerRuntime, DeepPartial } from "../../src/outside/cri/cri.ts";
import { ContainerState, Signal } from "../../src/outside/cri/generated/api.ts";
import { type Box, withBox } from "../box/box.ts";
import {
  besideContainerd,
  CONTAINERD_VERSIONS,
  type ContainerdVersion,
  usualContainerd,
} from "../box/containerd.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { runcProgram } from "../box/runc.ts";

interface Abilities {
  /** Says which cgroup driver it uses. */
  readonly runtimeConfig: boolean;
  /** Takes the resources of a whole pod. */
  readonly updateSandbox: boolean;
  readonly supplementalGroupsPolicy: boolean;
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
  /** Sends the stop signal of the container's configuration. */
  readonly stopSignals: boolean;
  /** Adds what a specification of the Container Device Interface says of a device. */
  readonly cdiDevices: boolean;
  /** Reports in a condition that something of its configuration is deprecated. */
  readonly deprecations: boolean;
}

/** By version of containerd. User namespaces are those of runc, from 1.2 on. */
const ABILITIES: Readonly<Record<string, readonly (keyof Abilities)[]>> = {
  "1.6": [],
  "1.7": ["deprecations"],
  "2.1": [
    "cdiDevices",
    "deprecations",
    "recursiveReadOnlyMounts",
    "runtimeConfig",
    "supplementalGroupsPolicy",
  ],
  "2.4": [
    "cdiDevices",
    "deprecations",
    "recursiveReadOnlyMounts",
    "runtimeConfig",
    "stopSignals",
    "supplementalGroupsPolicy",
    "updateSandbox",
  ],
};

const SIGNAL = new AbortController().signal;
const DEVICE = {
  cdiVersion: "0.5.0",
  kind: "nodelet.test/device",
  devices: [{ name: "one", containerEdits: { env: ["FROM_DEVICE=yes"] } }],
};
/** Says how it was asked to end, and what its device has brought. */
const PROGRAM =
  'trap "exit 7" USR1; trap "exit 8" TERM; test -z "$FROM_DEVICE" || touch /device; while :; do sleep 0.1; done';

for (const version of CONTAINERD_VERSIONS)
  if (version !== "2.4" || usualContainerd() === "2.4")
    test(`containerd ${version} can do what the table says`, () =>
      withBox({ containerd: version }, async (box) => {
        await box.run(["mkdir", "-p", "/etc/cdi"]);
        box.write("/etc/cdi/device.json", JSON.stringify(DEVICE));
        const cri = connectCri({ runtimeEndpoint: `unix://${box.criSocket}`, timeoutMs: 60_000 });
        try {
          const able = Object.entries(await abilitiesOf(box, cri)).flatMap(([name, can]) =>
            can ? [name] : [],
          );
          const { runtimeVersion } = await cri.runtime.version(SIGNAL);
          const [, series = ""] = /^v?(\d+\.\d+)/.exec(runtimeVersion) ?? [];
          const expected = ABILITIES[series];
          assert.ok(expected, `no row for containerd ${runtimeVersion}`);
          const ofRunc =
            series.startsWith("2.") && (await hasNewRunc(box, version)) ? ["userNamespaces"] : [];
          assert.deepEqual(able.toSorted(), [...expected, ...ofRunc].toSorted());
        } finally {
          cri.close();
        }
      }));

/** Whether the runc beside that containerd knows id-mapped mounts. */
async function hasNewRunc(box: Box, version: ContainerdVersion): Promise<boolean> {
  const { runc } = besideContainerd(version);
  const [, minor = "0"] =
    /runc version 1\.(\d+)/.exec(await box.run([runcProgram(runc), "--version"])) ?? [];
  return Number(minor) >= 2;
}

async function abilitiesOf(box: Box, cri: ContainerRuntime): Promise<Abilities> {
  const { runtime } = cri;
  const { status, features, runtimeHandlers } = await runtime.status(SIGNAL);
  const handler = runtimeHandlers.find(({ name }) => name === "")?.features;
  const sandbox = {
    metadata: { name: "able", namespace: "contract", uid: "able", attempt: 0 },
    logDirectory: "/var/log/pods/able",
    linux: { securityContext: {} },
  };
  const sandboxId = await runtime.runSandbox(sandbox, "", SIGNAL);
  const image = await cri.images.imageStatus(TEST_IMAGE, SIGNAL);
  const config: DeepPartial<ContainerConfig> = {
    metadata: { name: "main", attempt: 0 },
    image: { image: image?.id ?? "" },
    command: ["sh", "-c", PROGRAM],
    logPath: "main.log",
    stopSignal: Signal.SIGNAL_SIGUSR1,
    CDIDevices: [{ name: "nodelet.test/device=one" }],
    linux: { securityContext: {} },
  };
  const id = await runtime.createContainer(sandboxId, config, sandbox, SIGNAL);
  await runtime.startContainer(id, SIGNAL);
  await new Promise((resolve) => setTimeout(resolve, 500));
  const found = await runtime.execSync(id, ["ls", "/device"], 10, SIGNAL);
  const updateSandbox = await isKnown(() =>
    runtime.updateSandbox(sandboxId, { resources: { cpuShares: 512n }, overhead: {} }, SIGNAL),
  );
  await runtime.stopContainer(id, 5, SIGNAL);
  const ended = await runtime.containerStatus(id, SIGNAL);
  assert.equal(ended.state, ContainerState.CONTAINER_EXITED, box.logs());
  return {
    runtimeConfig: await isKnown(() => runtime.runtimeConfig(SIGNAL)),
    updateSandbox,
    supplementalGroupsPolicy: features?.supplementalGroupsPolicy === true,
    recursiveReadOnlyMounts: handler?.recursiveReadOnlyMounts === true,
    userNamespaces: handler?.userNamespaces === true,
    stopSignals: ended.exitCode === 7,
    cdiDevices: found.exitCode === 0,
    deprecations: (status?.conditions ?? []).some(({ type }) => type.includes("Deprecation")),
  };
}

async function isKnown(call: () => Promise<unknown>): Promise<boolean> {
  try {
    await call();
    return true;
  } catch (error) {
    if (isOutside(error, "unimplemented")) return false;
    throw error;
  }
}
