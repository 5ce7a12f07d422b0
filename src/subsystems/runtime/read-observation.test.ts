import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../../test/support/pods.ts";
import type { Container as ListedContainer } from "../../outside/cri/cri.ts";
import { containerAnnotations, containerLabels, sandboxLabels } from "./labels.ts";
import { podFromLabels } from "./read-observation.ts";

test("podFromLabels: a pod that nobody wants has what its pre-stop hooks need", () => {
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
