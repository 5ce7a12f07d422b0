import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../../test/support/pods.ts";
import type { Container as ListedContainer } from "../../outside/cri/cri.ts";
import { ContainerState, ContainerStatus } from "../../outside/cri/generated/api.ts";
import { containerAnnotations, containerLabels, sandboxLabels } from "./labels.ts";
import { podFromLabels, readContainer } from "./read-observation.ts";

test("podFromLabels: an orphaned pod has what its pre-stop hooks need", () => {
  const ports = [{ name: "web", containerPort: 8080, protocol: "TCP" }];
  const preStop = { httpGet: { path: "/bye", port: "web", scheme: "HTTP" } };
  const container = aContainer("a", { ports, lifecycle: { preStop } });
  const pod = aPod({ containers: [container] });
  const listed = {
    metadata: { name: "a", attempt: 0 },
    image: { image: "img:1", userSpecifiedImage: "img:1" },
    labels: { ...sandboxLabels(pod), ...containerLabels(pod, container) },
    annotations: containerAnnotations(pod, container, 0),
  } as unknown as ListedContainer;
  const found = podFromLabels([], [listed]);
  assert.deepEqual(found.metadata?.name, "web");
  assert.equal(found.spec?.terminationGracePeriodSeconds, 30);
  assert.deepEqual(found.spec?.containers, [
    { name: "a", image: "img:1", ports, lifecycle: { preStop } },
  ]);
});

const CANCELED = "failed to create shim task: context canceled";
const MISSING = 'exec: "x": executable file not found in $PATH: unknown';
const STARTS: readonly (readonly [string, Partial<ContainerStatus>, string])[] = [
  [
    "was given up before the program ran",
    { message: `failed to create containerd task: ${CANCELED}: unknown` },
    "created",
  ],
  [
    "was given up, as newer runtimes say it",
    { message: `failed to create containerd task: ${CANCELED}` },
    "created",
  ],
  [
    "was given up when the program may have run",
    { message: "failed to start containerd task: context canceled: unknown" },
    "exited",
  ],
  ["failed", { message: `failed to create containerd task: ${MISSING}` }, "exited"],
  [
    "went well, and the program ended with these words",
    {
      reason: "Error",
      startedAt: 1n,
      message: `failed to create containerd task: ${CANCELED}`,
    },
    "exited",
  ],
];

for (const [name, more, state] of STARTS)
  test(`readContainer: a container whose start ${name} is ${state}`, () => {
    const status = ContainerStatus.fromPartial({
      id: "c",
      state: ContainerState.CONTAINER_EXITED,
      reason: "StartError",
      exitCode: 128,
      ...more,
    });
    assert.equal(readContainer("sb", status, "").state, state);
  });
