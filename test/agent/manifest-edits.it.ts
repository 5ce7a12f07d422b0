// What an edit of a manifest does while the agent runs: with a UID of its own, of equal size and time, beside a backup, saved
// by renaming, deleted and made again.
import assert from "node:assert/strict";
import {
  copyFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Box, withBox } from "../box/box.ts";
import { BoxedAgent, manifest } from "../support/agent.ts";

const FOLDER = "/etc/nodelet/manifests";
const pathIn = (box: Box, name: string) => box.path(`${FOLDER}/${name}`);
const idOf = (agent: BoxedAgent) => agent.status()?.containerStatuses?.[0]?.containerID;
const ended = (agent: BoxedAgent) => agent.decisions().filter(({ kind }) => kind === "killPod");

const textOf = (name: string, metadata: object, spec = {}) => {
  const { metadata: own, ...rest } = manifest(name, spec);
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...own, ...metadata },
    ...rest,
  });
};

test("a manifest with its own UID, as kubectl saves it, follows every edit", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box, { config: "fileCheckFrequency: 1s" });
    const saved = {
      uid: "0bb9a4e6-3cf3-4f0a-9d0c-8b5f4f1f0a11",
      creationTimestamp: "2022-08-01T00:00:00Z",
      resourceVersion: "4711",
      ownerReferences: [
        { apiVersion: "v1", kind: "Node", name: "old", uid: "n1", controller: true },
      ],
    };
    const status = {
      phase: "Succeeded",
      startTime: "2022-08-01T00:00:00Z",
      containerStatuses: [{ name: "main", ready: false, restartCount: 7, image: "x", imageID: "" }],
    };
    const write = (labels: object, spec = {}) =>
      agent.apply(
        "own.yaml",
        textOf("own", { ...saved, labels }, spec).replace(
          /}$/,
          `,"status":${JSON.stringify(status)}}`,
        ),
      );
    write({ edit: "1" });
    await agent.untilReady();
    assert.equal(agent.status()?.containerStatuses?.[0]?.restartCount, 0);
    assert.notEqual(agent.status()?.startTime, status.startTime);
    const table = await agent.command("get", "pods");
    assert.doesNotMatch(table, /\dy/, `the age is the pod's own: ${table}`);
    const id = idOf(agent);

    write({ edit: "2" });
    const labels = async () => await agent.command("get", "pods", "-o", "json");
    await agent.until("the label is there", async () => /"edit":\s*"2"/.test(await labels()));
    assert.equal(idOf(agent), id, "a label changes no container");

    const env = [{ name: "EDIT", value: "3" }];
    const [container] = manifest("own").spec?.containers ?? [];
    assert(container);
    write({ edit: "3" }, { containers: [{ ...container, env }] });
    await agent.until("another container runs", () => {
      const now = agent.status()?.containerStatuses?.[0];
      return now?.state?.running !== undefined && now.containerID !== id;
    });
    await agent.untilReady();
    assert.deepEqual([...agent.statuses().keys()], [saved.uid]);
    agent.remove("own.yaml");
    await agent.until("it is gone", () => agent.statuses().size === 0);
  }));

test("a replacement of equal size and time is noticed, also behind a link that is switched", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box, { config: "fileCheckFrequency: 1s" });
    const EPOCH = new Date(0);
    const write = (path: string, value: string) => {
      writeFileSync(path, textOf("same", { labels: { value } }));
      utimesSync(path, EPOCH, EPOCH);
    };
    const uids = () => [...agent.statuses().keys()].join();
    const untilAnother = async (what: string, change: () => void) => {
      const before = uids();
      assert.notEqual(before, "");
      change();
      await agent.until(what, () => !uids().includes(before) && agent.statuses().size === 1);
      await agent.untilReady();
    };
    write(pathIn(box, "same.yaml"), "a");
    await agent.untilReady();
    await untilAnother("the replaced file counts", () => {
      write(pathIn(box, ".new"), "b");
      renameSync(pathIn(box, ".new"), pathIn(box, "same.yaml"));
    });
    await untilAnother("the file written in place counts", () =>
      write(pathIn(box, "same.yaml"), "c"),
    );
    for (const value of ["d", "e"]) write(box.path(`/etc/nodelet/${value}`), value);
    const link = (to: string) => {
      symlinkSync(`../${to}`, pathIn(box, ".link"));
      renameSync(pathIn(box, ".link"), pathIn(box, "same.yaml"));
    };
    await untilAnother("the link counts", () => link("d"));
    await untilAnother("the switched link counts", () => link("e"));
    await untilAnother("what is behind the link counts", () => {
      write(box.path("/etc/nodelet/f"), "f");
      renameSync(box.path("/etc/nodelet/f"), box.path("/etc/nodelet/e"));
    });
  }));

test("an edited manifest keeps its name before a backup beside it", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    agent.apply("web.yaml", textOf("web", { labels: { is: "first" } }));
    await agent.untilReady();
    for (const backup of ["backup-web.yaml", "#web.yaml#"])
      copyFileSync(pathIn(box, "web.yaml"), pathIn(box, backup));
    symlinkSync("/nowhere", pathIn(box, "dangling.yaml"));
    await agent.until(
      "both are refused",
      () => agent.log().split("is already defined by").length > 2,
    );
    await agent.until("the link is named", () =>
      /dangling\.yaml.*is a link to a file/.test(agent.log()),
    );
    agent.apply("web.yaml", textOf("web", { labels: { is: "edited" } }));
    const shown = async () => await agent.command("get", "pods", "-o", "json");
    await agent.until("the edit runs", async () => /"is":\s*"edited"/.test(await shown()));
    await agent.untilReady();
    await agent.kill();
    await agent.start();
    await sleep(2_000);
    assert.match(await shown(), /"is":\s*"edited"/);
    assert.equal(agent.statuses().size, 1);
  }));

test("a manifest that is deleted and made again at once restarts its pod; one saved by renaming does not", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box);
    const text = textOf("again", {});
    const path = pathIn(box, "again.yaml");
    writeFileSync(path, text);
    await agent.untilReady();
    const id = idOf(agent);
    for (const temporary of [".again.yaml.tmp", "again.yaml.new"]) {
      writeFileSync(pathIn(box, temporary), text);
      renameSync(pathIn(box, temporary), path);
      await sleep(1_000);
    }
    writeFileSync(box.path("/etc/nodelet/elsewhere"), text);
    renameSync(box.path("/etc/nodelet/elsewhere"), path);
    await sleep(1_000);
    renameSync(path, `${path}~`);
    writeFileSync(path, text);
    unlinkSync(`${path}~`);
    await sleep(1_000);
    assert.equal(idOf(agent), id, "saving it unchanged changes nothing");
    assert.deepEqual(ended(agent), []);
    const uid = [...agent.statuses().keys()].join();

    rmSync(path);
    writeFileSync(path, text);
    const isRestarted = (before: string | undefined) => () => {
      const now = agent.status()?.containerStatuses?.[0];
      return now?.state?.running !== undefined && now.containerID !== before;
    };
    await agent.until("it runs again", isRestarted(id));
    await agent.untilReady();
    assert.equal([...agent.statuses().keys()].join(), uid);
    assert.equal(agent.status()?.containerStatuses?.[0]?.restartCount, 1, "and is counted on");

    const second = idOf(agent);
    renameSync(path, box.path("/etc/nodelet/away"));
    renameSync(box.path("/etc/nodelet/away"), path);
    await agent.until("moved away and back it runs again", isRestarted(second));
  }));

test("staticPodPath may name a file that does not exist yet", () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box, { config: "" });
    await agent.stop();
    const path = "/etc/nodelet/later/pod.yaml";
    const late = await BoxedAgent.start(box, { flags: ["--pod-manifest-path", path] });
    await late.until("it says so", () => /later\/pod\.yaml.*does not exist/.test(late.log()));
    await box.run(["mkdir", "/etc/nodelet/later"]);
    writeFileSync(box.path(path), textOf("late", {}));
    await late.untilReady();
    rmSync(box.path(path));
    await late.until("it is gone", () => late.statuses().size === 0);
    writeFileSync(box.path(path), textOf("late", {}));
    await late.untilReady();
  }));
