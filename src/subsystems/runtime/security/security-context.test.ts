import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, PodSpec, SeccompProfile } from "../../../api/generated/types.ts";
import {
  containerSecurity,
  nonRootViolation,
  type SecurityParts,
  sandboxSecurity,
  seccompViolation,
} from "./security-context.ts";

const PARTS: SecurityParts = {
  seccompDefault: false,
  seccompRoot: "/var/lib/kubelet/seccomp",
  thermalThrottleFolders: ["/sys/devices/system/cpu/cpu0/thermal_throttle"],
  imageUser: { uid: undefined, username: "" },
  volumeGroups: [],
};

function pod(spec: Partial<PodSpec> = {}, annotations: Record<string, string> = {}) {
  return {
    metadata: { name: "web", namespace: "ns", uid: "u", annotations },
    spec: { containers: [], ...spec },
  };
}

const container = (securityContext: Container["securityContext"] = {}): Container => ({
  name: "c",
  securityContext,
});

const ROOT = { uid: 0n, username: "" };
const NOBODY = { uid: 65534n, username: "" };
const NAMED = { uid: undefined, username: "app" };
const WHERE = `(pod: "web_ns(u)", container: c)`;

const NON_ROOT: readonly (readonly [
  string,
  PodSpec["securityContext"],
  Container["securityContext"],
  { readonly uid: bigint | undefined; readonly username: string },
  string | undefined,
])[] = [
  ["not asked for", {}, {}, ROOT, undefined],
  [
    "image runs as root",
    {},
    { runAsNonRoot: true },
    ROOT,
    `container has runAsNonRoot and image will run as root ${WHERE}`,
  ],
  [
    "image names nobody",
    {},
    { runAsNonRoot: true },
    { uid: undefined, username: "" },
    `container has runAsNonRoot and image will run as root ${WHERE}`,
  ],
  ["image has a number", { runAsNonRoot: true }, {}, NOBODY, undefined],
  [
    "image has a name",
    { runAsNonRoot: true },
    {},
    NAMED,
    `container has runAsNonRoot and image has non-numeric user (app), cannot verify user is non-root ${WHERE}`,
  ],
  [
    "spec says root",
    {},
    { runAsNonRoot: true, runAsUser: 0 },
    NOBODY,
    `container's runAsUser breaks non-root policy ${WHERE}`,
  ],
  ["spec says another", { runAsUser: 0 }, { runAsNonRoot: true, runAsUser: 7 }, ROOT, undefined],
  [
    "the pod's root is the container's",
    { runAsUser: 0, runAsNonRoot: true },
    {},
    NOBODY,
    `container's runAsUser breaks non-root policy ${WHERE}`,
  ],
  [
    "the container may take it back",
    { runAsNonRoot: true },
    { runAsNonRoot: false },
    ROOT,
    undefined,
  ],
];

/** What a runtime may make of a `USER` that is no id of 31 bits. */
const ODD_IDS: readonly (readonly [bigint, boolean])[] = [
  [1n, true],
  [2_147_483_647n, true],
  [2_147_483_648n, false],
  [4_294_967_295n, false],
  [4_294_967_296n, false],
  [9_223_372_036_854_775_807n, false],
  [-1n, false],
  [-1000n, false],
];
for (const [uid, isValid] of ODD_IDS)
  test(`nonRootViolation (CVE-2024-40635): the image's user ${uid} is ${isValid ? "accepted" : "refused"}`, () => {
    const user = { uid, username: "" };
    const bound = pod({ securityContext: { runAsNonRoot: true } });
    assert.equal(
      nonRootViolation(bound, container(), user),
      isValid
        ? undefined
        : `container has runAsNonRoot and image has an invalid user id (${uid}). (Must be 1-(2147483647)): must be between 0 and 2147483647, inclusive ${WHERE}`,
    );
    assert.equal(nonRootViolation(pod(), container(), user), undefined);
    const named = pod({ securityContext: { runAsNonRoot: true, runAsUser: 7 } });
    assert.equal(nonRootViolation(named, container(), user), undefined);
  });

for (const [name, ofPod, ofContainer, user, expected] of NON_ROOT) {
  test(`nonRootViolation: ${name}`, () => {
    assert.equal(
      nonRootViolation(pod({ securityContext: ofPod ?? {} }), container(ofContainer), user),
      expected,
    );
  });
}

test("containerSecurity: the image's user is set explicitly when the spec names none", () => {
  const user = (imageUser: SecurityParts["imageUser"], own = {}) => {
    const { runAsUser, runAsUsername } = containerSecurity(pod(), container(own), {
      ...PARTS,
      imageUser,
    });
    return { uid: runAsUser?.value, username: runAsUsername };
  };
  assert.deepEqual(user(NOBODY), { uid: 65534n, username: undefined });
  assert.deepEqual(user(NAMED), { uid: undefined, username: "app" });
  assert.deepEqual(user(NOBODY, { runAsUser: 5 }), { uid: 5n, username: undefined });
});

test("seccompViolation: types that are none, and a local profile without a name", () => {
  const violation = (own: SeccompProfile | undefined, ofPod?: SeccompProfile) =>
    seccompViolation(
      pod(ofPod ? { securityContext: { seccompProfile: ofPod } } : {}),
      container(own ? { seccompProfile: own } : {}),
    );
  for (const type of ["RuntimeDefault", "Unconfined"]) assert.equal(violation({ type }), undefined);
  assert.equal(violation({ type: "Localhost", localhostProfile: "a.json" }), undefined);
  assert.match(violation({ type: "Localhost" }) ?? "", /^localhostProfile must be set/);
  const unknown = (type: string) =>
    `unknown seccompProfile type "${type}": must be one of RuntimeDefault, Unconfined, Localhost`;
  assert.equal(violation({ type: "" }), unknown(""));
  assert.equal(violation(undefined, { type: "toString" }), unknown("toString"));
  assert.equal(violation({ type: "RuntimeDefault" }, { type: "" }), undefined, "its own counts");
});

test("containerSecurity: seccomp of container, pod, default; a local profile never falls to unconfined", () => {
  const profile = (own: object, ofPod: object = {}, seccompDefault = false) =>
    containerSecurity(pod({ securityContext: ofPod }), container(own), { ...PARTS, seccompDefault })
      .seccomp;
  assert.deepEqual(profile({}), { profileType: 1, localhostRef: "" });
  assert.deepEqual(profile({}, {}, true), { profileType: 0, localhostRef: "" });
  assert.deepEqual(profile({}, { seccompProfile: { type: "RuntimeDefault" } }), {
    profileType: 0,
    localhostRef: "",
  });
  assert.deepEqual(
    profile(
      { seccompProfile: { type: "Unconfined" } },
      { seccompProfile: { type: "RuntimeDefault" } },
    ),
    { profileType: 1, localhostRef: "" },
  );
  assert.deepEqual(
    profile({ seccompProfile: { type: "Localhost", localhostProfile: "a/b.json" } }),
    { profileType: 2, localhostRef: "/var/lib/kubelet/seccomp/a/b.json" },
  );
  assert.deepEqual(profile({ seccompProfile: { type: "Localhost", localhostProfile: "" } }), {
    profileType: 0,
    localhostRef: "",
  });
});

test("containerSecurity: AppArmor of container, pod, then the old annotation", () => {
  const of = (own: object, ofPod: object = {}, annotation?: string) =>
    containerSecurity(
      pod(
        { securityContext: ofPod },
        annotation === undefined
          ? {}
          : { "container.apparmor.security.beta.kubernetes.io/c": annotation },
      ),
      container(own),
      PARTS,
    ).apparmorProfile;
  assert.equal(of({}), undefined);
  assert.equal(of({}, {}, "localhost/mine"), "localhost/mine");
  assert.equal(
    of({}, { appArmorProfile: { type: "RuntimeDefault" } }, "unconfined"),
    "runtime/default",
  );
  assert.equal(
    of(
      { appArmorProfile: { type: "Unconfined" } },
      { appArmorProfile: { type: "RuntimeDefault" } },
    ),
    "unconfined",
  );
});

test("containerSecurity: capabilities, privileges, masks, groups", () => {
  const security = containerSecurity(
    pod({
      securityContext: {
        fsGroup: 10,
        supplementalGroups: [11, 10],
        supplementalGroupsPolicy: "Strict",
      },
    }),
    container({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { add: ["NET_ADMIN"], drop: ["ALL"] },
      procMount: "Unmasked",
    }),
    { ...PARTS, volumeGroups: [12] },
  );
  assert.equal(security.noNewPrivs, true);
  assert.equal(security.readonlyRootfs, true);
  assert.deepEqual(security.capabilities, {
    addCapabilities: ["NET_ADMIN"],
    dropCapabilities: ["ALL"],
  });
  assert.deepEqual(security.maskedPaths, []);
  assert.deepEqual(security.supplementalGroups, [10n, 11n, 12n]);
  assert.equal(security.supplementalGroupsPolicy, 1);
});

test("containerSecurity: paths of the kernel are masked, temperatures of processors too", () => {
  const masked = (procMount?: string) =>
    containerSecurity(pod(), container(procMount ? { procMount } : {}), PARTS).maskedPaths;
  assert.deepEqual(masked(), masked("Default"));
  assert.deepEqual(masked()?.slice(-2), [
    "/sys/devices/virtual/powercap",
    "/sys/devices/system/cpu/cpu0/thermal_throttle",
  ]);
  assert.deepEqual(masked("Unmasked"), []);
});

test("sandboxSecurity: is privileged when any container is, and always runs under the default profile", () => {
  const spec = {
    containers: [container({ privileged: true })],
    hostPID: true,
    securityContext: { runAsUser: 3 },
  };
  const security = sandboxSecurity(pod(spec));
  assert.equal(security.privileged, true);
  assert.equal(security.namespaceOptions?.pid, 2);
  assert.equal(security.runAsUser?.value, 3n);
  assert.deepEqual(security.seccomp, { profileType: 0, localhostRef: "" });
});
