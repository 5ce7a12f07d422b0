// Manifests that cannot be used: one clear error each, and no other pod minds.
import assert from "node:assert/strict";
import { existsSync, readdirSync, symlinkSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { withBox } from "../box/box.ts";
import { BoxedAgent, conditionOf, manifest } from "../support/agent.ts";

const GOOD = { apiVersion: "v1", kind: "Pod", ...manifest("good") };

const BAD: Readonly<Record<string, string>> = {
  "not-yaml.yaml": "a: [b\nc: }",
  "wrong-type.yaml": JSON.stringify(GOOD).replace('"name":"main"', '"name":[1]'),
  "unknown-field.yaml": JSON.stringify(GOOD).replace('"image"', '"immage":"x","image"'),
  "same-name.yaml": JSON.stringify({
    ...GOOD,
    metadata: { name: "good", labels: { another: "one" } },
  }),
  "large.yaml": `# ${"x".repeat(10 * 1024 * 1024)}\n${JSON.stringify(GOOD)}`,
  "bomb.yaml": `a: &a [x,x,x,x,x,x,x,x,x]\n${[..."bcdefghi"].map((name, i) => `${name}: &${name} [${Array(9).fill(`*${"abcdefgh"[i]}`).join(",")}]`).join("\n")}\n`,
  // Nobody may choose where the agent makes folders.
  "escaping-uid.yaml": JSON.stringify({
    ...GOOD,
    metadata: { name: "escaping", uid: "../../../../tmp/nodelet-escaped" },
  }),
  "absolute-uid.yaml": JSON.stringify({ ...GOOD, metadata: { name: "absolute", uid: "/etc/x" } }),
  "deployment.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n",
};

test("bad manifests give one clear error each and disturb nothing else", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    agent.apply("good.yaml", manifest("good"));
    await agent.untilReady();
    const id = agent.status()?.containerStatuses?.[0]?.containerID;
    for (const [file, text] of Object.entries(BAD)) agent.apply(file, text);
    symlinkSync("loop.yaml", box.path("/etc/nodelet/manifests/loop.yaml"));
    const files = [...Object.keys(BAD), "loop.yaml"];
    const errorsOf = (file: string) =>
      agent
        .log()
        .split("\n")
        .filter((line) => line.includes("invalid manifest") && line.includes(`/${file}"`));
    await agent.until("every one is refused", () =>
      files.every((file) => errorsOf(file).length > 0),
    );
    await sleep(2_000);
    for (const file of files) {
      assert.equal(errorsOf(file).length, 1, `${file}:\n${errorsOf(file).join("\n")}`);
      assert.ok(
        (errorsOf(file)[0] ?? "").length < 1500,
        `${file}: the error is too long to be read`,
      );
    }
    assert.equal(agent.statuses().size, 1);
    assert.match(errorsOf("escaping-uid.yaml")[0] ?? "", /metadata\.uid: Invalid value/);
    assert.equal(existsSync("/tmp/nodelet-escaped"), false);
    assert.equal(readdirSync(box.path("/var/lib/kubelet/pods")).length, 1);
    assert.equal(conditionOf(agent.status(), "Ready"), "True");
    assert.equal(agent.status()?.containerStatuses?.[0]?.containerID, id);
    assert.equal(agent.status()?.containerStatuses?.[0]?.restartCount, 0);
  }));

test("an edit that cannot be used leaves the pod running as it was", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    agent.apply("good.yaml", manifest("good"));
    await agent.untilReady();
    const id = agent.status()?.containerStatuses?.[0]?.containerID;
    agent.apply("good.yaml", "kind: [");
    await agent.until("the edit is refused", () =>
      agent.log().includes("the pods of its last valid content keep running"),
    );
    await sleep(1_500);
    assert.equal(agent.status()?.containerStatuses?.[0]?.containerID, id);
  }));

test("a pod that asks for what is not supported is refused with the field and the reason", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    agent.apply("classy.yaml", manifest("classy", { runtimeClassName: "gvisor" }));
    await agent.until("it is refused", () => agent.status()?.phase === "Failed");
    assert.equal(agent.status()?.reason, "UnsupportedPodField");
    assert.match(agent.status()?.message ?? "", /spec\.runtimeClassName/);
  }));
