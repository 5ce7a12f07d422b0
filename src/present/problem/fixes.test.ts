import assert from "node:assert/strict";
import { test } from "node:test";
import { fixFor } from "./fixes.ts";

const SECRETS = "give the pod imagePullSecrets for this registry";
const NAME = "check image name and tag";
const REACH = "check that the node can reach the registry";
const COMMAND = "correct the container's command, or use an image that has it";
const MODE = "make the command executable in the image";
const RUNC =
  "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process";
const DIGEST = `sha256:${"401404403".repeat(7)}4`;
const PULLED = (image: string) =>
  `rpc error: code = Unknown desc = failed to pull and unpack image "${image}": failed to resolve reference "${image}"`;

const VECTORS: readonly (readonly [
  reason: string,
  message: string,
  expected: string | undefined,
])[] = [
  [
    "ErrImagePull",
    `${PULLED("r.test/a:1")}: failed to do request: Head "https://r.test/v2/a/manifests/1": dial tcp 10.0.0.2:40310->10.0.0.1:443: connect: connection refused`,
    REACH,
  ],
  [
    "ErrImagePull",
    `${PULLED("r.test/a:1")}: failed to do request: Head "https://r.test/v2/a/manifests/1": read tcp 10.0.0.2:40310->10.0.0.1:443: i/o timeout`,
    REACH,
  ],
  [
    "ErrImagePull",
    `${PULLED("r.test/a:1")}: failed to do request: Head "https://r.test:40403/v2/a": dial tcp: lookup r.test on 10.0.0.53:53: no such host`,
    REACH,
  ],
  ["ImagePullBackOff", `Back-off pulling image "r.test/a@${DIGEST}"`, undefined],
  [
    "ImagePullBackOff",
    `Back-off pulling image "r.test/a@${DIGEST}": ErrImagePull: ${PULLED(`r.test/a@${DIGEST}`)}: dial tcp 10.0.0.1:443: connect: network is unreachable`,
    REACH,
  ],
  ["ErrImagePull", `r.test/a@${DIGEST}: unexpected end of JSON input`, undefined],
  ["ErrImagePull", "r.test/unauthorized:401: not found", NAME],
  ["ErrImagePull", "r.test:404/denied:404: 403 Forbidden", SECRETS],
  ["ErrImagePull", 'r.test/not-found: "not found" is what it is called', undefined],
  ["ErrImagePull", `${PULLED("r.test/a:1")}: r.test/a:1: not found`, NAME],
  [
    "ErrImagePull",
    'rpc error: code = NotFound desc = failed to pull and unpack image "r.test/a:1"',
    NAME,
  ],
  [
    "ErrImagePull",
    "reading manifest 1 in r.test/a: manifest unknown: manifest tagged by 1 is not found",
    NAME,
  ],
  [
    "ErrImagePull",
    `${PULLED("r.test/a:1")}: unexpected status from HEAD request to https://r.test/v2/a/manifests/1: 403 Forbidden`,
    SECRETS,
  ],
  [
    "ErrImagePull",
    `${PULLED("r.test/a:1")}: pulling from host r.test failed with status code [manifests 1]: 401 Unauthorized`,
    SECRETS,
  ],
  [
    "ErrImagePull",
    `${PULLED("docker.io/t/a:1")}: pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed`,
    SECRETS,
  ],
  [
    "ErrImagePull",
    "initializing source docker://r.test/a:1: Requesting bearer token: invalid status code from registry 403 (Forbidden)",
    SECRETS,
  ],
  [
    "ErrImagePull",
    "reading manifest 1 in r.test/a: errors:\ndenied: requested access to the resource is denied\nunauthorized: authentication required",
    SECRETS,
  ],
  [
    "RegistryUnavailable",
    "image pull failed for r.test/a because the registry is unavailable",
    REACH,
  ],
  [
    "CreatePodSandboxError",
    'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to start sandbox "1": runc create failed: unable to start container process: open /proc/sys/net/ipv4/no_such: no such file or directory: unknown',
    "remove the sysctl net.ipv4.no_such from the pod: the node's kernel does not have it here",
  ],
  [
    "CreatePodSandboxError",
    "Failed to create pod sandbox: runc create failed: write /proc/sys/net/ipv4/ip_local_port_range: invalid argument: unknown",
    "correct the value of the sysctl net.ipv4.ip_local_port_range in the pod's spec",
  ],
  [
    "CreatePodSandboxError",
    "Failed to create pod sandbox: mkdir /x: permission denied: unknown",
    undefined,
  ],
  [
    "RunContainerError",
    `${RUNC}: error mounting "/a" to rootfs at "/b": mount src=/a, dst=/b: no such file or directory: unknown`,
    undefined,
  ],
  [
    "RunContainerError",
    `${RUNC}: exec: "gone": executable file not found in $PATH: unknown`,
    COMMAND,
  ],
  [
    "RunContainerError",
    `${RUNC}: error during container init: exec: "/gone": stat /gone: no such file or directory: unknown`,
    COMMAND,
  ],
  ["StartError", `main failed to start: ${RUNC}: exec /run.sh: no such file or directory`, COMMAND],
  ["RunContainerError", `${RUNC}: exec: "/etc": permission denied: unknown`, MODE],
  ["CreateContainerError", "open /var/lib/x: permission denied: unknown", undefined],
  ["ErrImagePull", `${RUNC}: exec: "gone": executable file not found in $PATH: unknown`, undefined],
  [
    "OutOfbig-cases.example.com/cases",
    "Node didn't have enough resource",
    "lower the pod's request of big-cases.example.com/cases, or remove other pods",
  ],
  [
    "OutOfephemeral-storage",
    "Pod was rejected",
    "lower the pod's request of ephemeral-storage, or remove other pods",
  ],
  [
    "Unschedulable",
    "0/1 nodes are available: 1 Insufficient v.example.com/gpu, 1 Insufficient cpu.",
    "lower the pod's request of v.example.com/gpu, or remove other pods",
  ],
  [
    "FailedMount",
    'MountVolume.SetUp failed for volume "OOMKilled" : Too many pods, free ports',
    undefined,
  ],
  [
    "FailedPostStartHook",
    'the readiness probe said DeadlineExceeded: secret "a" not found',
    undefined,
  ],
];

for (const [reason, message, expected] of VECTORS)
  test(`fixFor ${reason}: ${message.slice(-90)}`, () => {
    const pod = { namespace: "default", name: "web", container: "main" };
    assert.equal(fixFor(reason, message, pod), expected);
  });
