import assert from "node:assert/strict";
import { test } from "node:test";
import { CliError } from "../../present/cli-error.ts";
import { kubeadmConfig } from "../control-plane/kubeadm-config.ts";
import {
  choiceSettings,
  type JoinChoices,
  joinCredentials,
  kubeletPatch,
  machineSettings,
} from "./join-settings.ts";

const HASH = `sha256:${"0123456789abcdef".repeat(4)}`;
const LINE: JoinChoices = {
  endpoint: "10.0.0.1:6443",
  token: "abcdef.0123456789abcdef",
  caCertHashes: [HASH],
  skipCaVerification: false,
  controlPlane: false,
  certificateKey: undefined,
  apiAddress: undefined,
  config: undefined,
};
const NOTHING: JoinChoices = {
  ...LINE,
  endpoint: undefined,
  token: undefined,
  caCertHashes: [],
};
const MACHINE = {
  nodeName: "two",
  runtime: { kind: "own", socket: "/run/c.sock" },
  cgroupVersion: 1,
  swapOn: true,
  resolvConf: "/etc/resolv.conf",
} as const;

function config(choices: JoinChoices, text?: string): string {
  const file = text === undefined ? undefined : { path: "join.yaml", text };
  return kubeadmConfig("join", choiceSettings(choices), file);
}

test("a worker's configuration has what the line says, and what follows from the machine", () =>
  assert.equal(
    kubeadmConfig(
      "join",
      [...choiceSettings(LINE), ...machineSettings(MACHINE, "/p/patches")],
      undefined,
    ),
    `apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery:
  bootstrapToken:
    apiServerEndpoint: 10.0.0.1:6443
    token: abcdef.0123456789abcdef
    caCertHashes:
    - ${HASH}
nodeRegistration:
  criSocket: unix:///run/c.sock
  name: two
patches:
  directory: /p/patches
`,
  ));

test("a further control plane has its part, even without a key", () => {
  const key = { ...LINE, controlPlane: true, certificateKey: "k", apiAddress: "10.0.0.2" };
  assert.match(
    config(key),
    /^controlPlane:\n {2}certificateKey: k\n {2}localAPIEndpoint:\n {4}advertiseAddress: 10\.0\.0\.2$/m,
  );
  assert.match(config({ ...LINE, controlPlane: true }), /^controlPlane:/m);
  assert.doesNotMatch(config(LINE), /^controlPlane:/m);
});

test("kubeletPatch: what this machine needs otherwise than the cluster's first one", () => {
  assert.equal(
    kubeletPatch(MACHINE),
    "cgroupDriver: cgroupfs\nfailCgroupV1: false\nfailSwapOn: false\nresolvConf: /etc/resolv.conf\n",
  );
  const other = {
    ...MACHINE,
    runtime: { kind: "found", socket: "/run/c.sock" },
    cgroupVersion: 2,
    swapOn: false,
    resolvConf: undefined,
  } as const;
  assert.equal(kubeletPatch(other), undefined);
});

const FILE = `apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery:
  bootstrapToken: {apiServerEndpoint: "10.0.0.9:6443", token: fedcba.0123456789abcdef, unsafeSkipCAVerification: true}
`;

test("joinCredentials: from the line, from a file, and none where a file has others", () => {
  assert.deepEqual(joinCredentials(config(LINE)), {
    endpoint: "10.0.0.1:6443",
    token: "abcdef.0123456789abcdef",
    caCertHashes: [HASH],
  });
  assert.deepEqual(joinCredentials(config(NOTHING, FILE)), {
    endpoint: "10.0.0.9:6443",
    token: "fedcba.0123456789abcdef",
    caCertHashes: [],
  });
  const byFile = FILE.replace(/bootstrapToken: .*/, "file: {kubeConfigPath: /x}");
  assert.equal(joinCredentials(config(NOTHING, byFile)), undefined);
  assert.throws(
    () => config(LINE, FILE),
    /apiServerEndpoint is "10\.0\.0\.9:6443", but the address/,
  );
  assert.throws(
    () => config(LINE, FILE.replace("JoinConfiguration", "InitConfiguration")),
    /kind "InitConfiguration" is not for this command/,
  );
});

const WRONG: readonly (readonly [changed: Partial<JoinChoices>, problem: RegExp])[] = [
  [{ endpoint: undefined }, /^the address of the API server is missing$/],
  [{ endpoint: "10.0.0.1" }, /^10\.0\.0\.1 is no address with a port$/],
  [{ endpoint: "https://10.0.0.1:6443" }, /is no address with a port$/],
  [{ token: undefined }, /^--token is missing$/],
  [{ token: "abcdef.short" }, /^--token is no token of kubeadm$/],
  [{ caCertHashes: [] }, /^--discovery-token-ca-cert-hash is missing$/],
  [{ caCertHashes: ["sha256:12"] }, /^--discovery-token-ca-cert-hash: sha256:12 is no hash$/],
];

for (const [changed, problem] of WRONG)
  test(`joinCredentials refuses ${JSON.stringify(changed)}`, () =>
    assert.throws(
      () => joinCredentials(config({ ...LINE, ...changed })),
      (error: unknown) =>
        error instanceof CliError && problem.test(error.message) && error.exitCode === 2,
    ));

test("joinCredentials: an address of IPv6, and no hash where the user trusts any cluster", () => {
  const choices = {
    ...LINE,
    endpoint: "[fd00::1]:6443",
    caCertHashes: [],
    skipCaVerification: true,
  };
  assert.equal(joinCredentials(config(choices))?.endpoint, "[fd00::1]:6443");
});
