import assert from "node:assert/strict";
import { test } from "node:test";
import { anAttempt, at } from "../../../../test/support/pods.ts";
import type { ContainerStatus } from "../../../api/generated/types.ts";
import type { ContainerRuntimeState } from "../../../api/observation.ts";
import { keptVerdicts } from "./kept-verdicts.ts";

interface Vector {
  readonly name: string;
  readonly status?: Partial<ContainerStatus>;
  readonly state?: ContainerRuntimeState;
  readonly kept: readonly string[];
}

const VECTORS: readonly Vector[] = [
  { name: "was ready", kept: ["startup", "readiness"] },
  { name: "was started only", status: { ready: false }, kept: ["startup"] },
  { name: "was neither", status: { ready: false, started: false }, kept: [] },
  { name: "was another attempt", status: { containerID: "containerd://other" }, kept: [] },
  { name: "never ran", status: { containerID: "" }, kept: [] },
  { name: "has ended meanwhile", state: "exited", kept: [] },
];

for (const { name, status, state = "running", kept } of VECTORS) {
  test(`keptVerdicts of a container that ${name}`, () => {
    const observed = {
      asOf: at(0),
      sandboxes: [],
      containers: [anAttempt("web", { id: "c1", state })],
    };
    const published = {
      name: "web",
      image: "",
      imageID: "",
      restartCount: 0,
      containerID: "containerd://c1",
      ready: true,
      started: true,
      ...status,
    };
    for (const list of ["containerStatuses", "initContainerStatuses"]) {
      const verdicts = keptVerdicts(observed, { [list]: [published] })["web"];
      const { containerId, ...results } = verdicts ?? {};
      assert.equal(containerId, kept.length > 0 ? "c1" : undefined);
      assert.deepEqual(Object.keys(results), kept);
    }
    assert.deepEqual(keptVerdicts(observed, undefined), {});
  });
}
