// On which version of cgroups each integration file runs. Both is the rule: on the machine itself, whatever it has, and in
// a guest with version 2, systemd as the first process, the driver systemd and containerd 2.1 (tools/guest/uml). What is
// named here is the exception.

/** Files that do not run in the guest, by the reason. */
const NOT_IN_GUEST = {
  "starts a guest itself": ["test/guest/v2.it.ts"],
  "opens the page in a browser, which the guest does not have": ["test/page/page.it.ts"],
  "lays packages over /usr/share, and a guest has that folder from outside: no overlay goes over it":
    ["test/setup/debian-node.it.ts"],
  "needs a machine with containerd 1.7 alone, and nodelet prefers the containerd 2.1 of the guest":
    ["test/cli/deprecations.it.ts"],
  "calls npm, which the guest does not have, nor a way to a registry": [
    "test/packages/packages.it.ts",
  ],
  "plays a part of Kubernetes' node suite; `npm run conformance -- --guest` plays all of it there":
    ["test/conformance/part.it.ts"],
  "builds the program by esbuild, for which the guest needs more than half an hour": [
    "test/packages/executable.it.ts",
    "test/setup/debian-13-package.it.ts",
  ],
};

/** Files that run there with the driver cgroupfs, by the reason. */
const WITH_CGROUPFS = {
  "compares or makes groups by the names that cgroupfs gives them": [
    "test/agent/chaos.it.ts",
    "test/agent/resize.it.ts",
    "test/cgroups/example.it.ts",
    "test/cgroups/hosts.it.ts",
    "test/cgroups/pod-level.it.ts",
    "test/cgroups/stats.it.ts",
    "test/cgroups/system-groups.it.ts",
    "test/memory/memory-nodes.it.ts",
  ],
  "calls the runtime by itself, as a node with cgroupfs does": [
    "test/bench.it.ts",
    "test/box/box.it.ts",
    "test/contracts/abilities.it.ts",
    "test/contracts/containerd.it.ts",
    "test/images/collection.it.ts",
  ],
  "uses the machine's containerd, which must have the driver of `nodelet up`": [
    "test/cli/machine-containerd.it.ts",
  ],
  "has a Debian of its own, without systemd": ["test/setup/debian-13.it.ts"],
  "starts a journal service of its own": ["test/server/server.it.ts"],
  "starts a system bus of its own, at which systemd is not": ["test/agent/shutdown.it.ts"],
};

/** Why a file does not run in the guest; undefined when it does. */
export function whyNotInGuest(path) {
  return Object.keys(NOT_IN_GUEST).find((why) => NOT_IN_GUEST[why].includes(path));
}

/** The first process of a file's boxes in the guest: with systemd the driver is systemd, with `sh` it is cgroupfs. */
export function initInGuest(path) {
  return Object.values(WITH_CGROUPFS).flat().includes(path) ? "sh" : "systemd";
}

/** All paths that are named here, for the test that checks that they exist. */
export const PLATFORM_PATHS = [NOT_IN_GUEST, WITH_CGROUPFS].flatMap((paths) =>
  Object.values(paths).flat(),
);
