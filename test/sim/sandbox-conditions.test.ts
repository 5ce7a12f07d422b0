// What the API learns of a pod that has no sandbox since there is no network, and of one whose sandbox dies.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../src/api/generated/types.ts";
import { conditionOf, inCluster, podOf } from "./cluster-world.ts";

test("PodReadyToStartContainers names what is missing, and nothing once it is True", () =>
  inCluster(async ({ world, api, create }) => {
    const seen: string[] = [];
    const notify = api.objects.onChange;
    api.objects.onChange = (entry) => {
      const { status } = (entry.collection === "pods" ? (entry.now ?? {}) : {}) as Pod;
      const found = status?.conditions?.find(({ type }) => type === "PodReadyToStartContainers");
      const text = [found?.status, found?.reason, found?.message].filter(Boolean).join(" ");
      if (found && seen.at(-1) !== text) seen.push(text);
      notify(entry);
    };
    world.runtime.options.networkReady = false;
    create("web", { kind: "sleep" });
    await world.advance(20_000);
    world.runtime.options.networkReady = true;
    await world.advance(60_000);
    const [sandbox = ""] = world.runtime.sandboxes.keys();
    world.runtime.killSandbox(sandbox);
    await world.advance(60_000);
    assert.deepEqual(seen, [
      "False PodSandboxNotReady no pod sandbox exists",
      "True",
      "False PodSandboxNotReady pod sandbox is not ready",
      "True",
    ]);
  }));

test("PodReadyToStartContainers is True while the image is pulled", () =>
  inCluster(async ({ world, api, pod }) => {
    world.runtime.store.pullTakes = (_, signal) => world.clock.sleep(60_000, signal);
    // From then on the agent trusts the runtime's events, and lists everything twice a minute only.
    await world.advance(40_000);
    const made = podOf("web", { kind: "sleep" }, "Always");
    const { spec } = made as { readonly spec: Pod["spec"] };
    const containers = spec?.containers.map((each) => ({ ...each, imagePullPolicy: "Always" }));
    const draft = { ...made, spec: { ...spec, containers } };
    api.objects.create({ collection: "pods", namespace: "default" }, draft);
    await world.advance(5_000);
    assert.equal(conditionOf(pod("web"), "PodReadyToStartContainers"), "True");
    const [container] = pod("web")?.status?.containerStatuses ?? [];
    assert.equal(container?.state?.waiting?.reason, "ContainerCreating");
  }));
