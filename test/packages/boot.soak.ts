// A machine of Debian 12 that boots systemd and nodelet from the Debian package, in QEMU: started, restarted, its power
// cut, its clock set, the agent blocked and restarted, with pods. Everything there takes about ten times longer.
// NODELET_GUEST_PODS: how many pods (20). NODELET_GUEST_RESTARTS: how often the agent is restarted (5).
// NODELET_GUEST_DISK: a disk that was made before; a copy of it is used.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { guestObstacle, guestParts } from "../../tools/guest/guest.mjs";
import { makeDisk } from "./guest/disk.ts";
import { DIARIES, files, manifest, PODS, TIERS } from "./guest/files.ts";
import { Machine } from "./guest/machine.ts";

const ROOT = join(import.meta.dirname, "../..");
const RESTARTS = Number(process.env["NODELET_GUEST_RESTARTS"] ?? 5);
const BOOT_MS = 600_000;
const SETTLE_MS = 900_000;
const skip = guestObstacle() ?? false;

const work = mkdtempSync(join(tmpdir(), "boot-"));
const disk = join(work, "disk");
let machine: Machine;

before(() => {
  if (skip) return;
  const made = process.env["NODELET_GUEST_DISK"];
  if (made !== undefined) {
    execFileSync("cp", ["--sparse=always", made, disk]);
    return;
  }
  const out = join(work, "out");
  mkdirSync(out);
  const argv = [join(ROOT, "tools/package/package.mjs"), "--out", out, "deb"];
  execFileSync(process.execPath, argv, { stdio: ["ignore", "ignore", "inherit"] });
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    readonly version: string;
  };
  const debian = join(out, `nodelet_${version}_amd64.deb`);
  const { modules } = guestParts();
  makeDisk(disk, { debian, modules, files: files(), work });
});
after(async () => {
  await machine?.cutPower();
  rmSync(work, { recursive: true, force: true });
});

const ASK = "curl --silent --unix-socket /run/nodelet/agent.sock http://localhost/nodelet/v1";
const READY = `${ASK}/pods | jq '[.items[].status.conditions[]? | select(.type == "Ready" and .status == "True")] | length'`;

/** What changes when a pod is restarted, or one of its conditions has another value for a moment. */
const lives = () =>
  machine.run(
    `${ASK}/pods | jq --compact-output '.items[] | [.metadata.name, (.status.containerStatuses | map([.containerID, .restartCount])), (.status.conditions | map([.type, .status, .lastTransitionTime]))]' | sort`,
  );

async function untilReady(count: number): Promise<void> {
  await machine.until(READY, new RegExp(`^${count}$`, "m"), SETTLE_MS);
  await machine.until(`${ASK}/overview | jq .ready`, /^true$/m, SETTLE_MS);
}

/** Seconds since the kernel was started. */
const uptime = async () => Number((await machine.run("cut -d' ' -f1 /proc/uptime")).trim());

interface Diary {
  readonly event: string;
  readonly uptimeSeconds: number;
  readonly boot: string;
}

/** What each pod has written, by its name. */
async function diaries(): Promise<ReadonlyMap<string, readonly Diary[]>> {
  const found = new Map<string, Diary[]>();
  const text = await machine.run(`cd ${DIARIES} && grep -H . */diary`);
  for (const line of text.trim().split("\n")) {
    const [, name = "", rest = ""] = /^([^/]+)\/diary:(.*)$/.exec(line) ?? [];
    const [event = "", seconds, boot = ""] = rest.split(" ");
    found.set(name, [...(found.get(name) ?? []), { event, uptimeSeconds: Number(seconds), boot }]);
  }
  return found;
}

test(`after the boot the node is Ready with its ${PODS.length} pods, without a hand`, {
  skip,
}, async () => {
  machine = await Machine.start(disk, work);
  await machine.booted(1, BOOT_MS);
  await untilReady(PODS.length);
  const seconds = await uptime();
  await machine.run(
    "install -m 755 /usr/local/lib/guest-api /usr/local/lib/write-objects /usr/local/bin",
  );
  const status = "systemctl status nodelet --no-pager --lines=0";
  // The agent notifies systemd twice within the watchdog's time.
  const all = new RegExp(`Status: "node guest: running, ${PODS.length} pods"`);
  console.log(await machine.until(status, all, SETTLE_MS));
  const state = await machine.run(
    "systemctl is-active nodelet containerd systemd-logind; systemd-inhibit --list --no-pager",
  );
  console.log(`${PODS.length} pods ready ${seconds} s after the kernel was started\n${state}`);
  assert.match(state, /kubelet .*shutdown.*delay/);
});

test("systemd-analyze security", { skip }, async () => {
  console.log(await machine.run("systemd-analyze security nodelet --no-pager"));
});

test(`systemctl restart, ${RESTARTS} times: no restart of a pod, no condition flips`, {
  skip,
}, async () => {
  const before = await lives();
  for (let i = 0; i < RESTARTS; i += 1) {
    const took = await machine.run(
      "began=$(cut -d' ' -f1 /proc/uptime); systemctl restart nodelet; echo \"$began $(cut -d' ' -f1 /proc/uptime)\"",
    );
    const [from = 0, to = 0] = took.trim().split(" ").map(Number);
    console.log(`restart ${i + 1}: ready after ${(to - from).toFixed(1)} s`);
    await untilReady(PODS.length);
    assert.equal(await lives(), before);
  }
});

test("a blocked event loop: systemd ends the agent and starts it again, pods are untouched", {
  skip,
}, async () => {
  const before = await lives();
  const pid = await machine.run("systemctl show nodelet --property=MainPID --value");
  await machine.run("systemctl kill --kill-whom=main --signal=USR2 nodelet");
  await machine.until("systemctl show nodelet --property=NRestarts --value", /^[1-9]/m, 300_000);
  await machine.until("systemctl is-active nodelet", /^active$/m, 300_000);
  assert.notEqual(await machine.run("systemctl show nodelet --property=MainPID --value"), pid);
  await untilReady(PODS.length);
  assert.equal(await lives(), before);
  const story = await machine.run("nodelet why --agent");
  console.log(story);
  assert.match(story, /watchdog/);
});

test("the clock set an hour ahead and back: no restart of a pod, no condition flips", {
  skip,
}, async () => {
  const before = await lives();
  for (const sign of ["+", "-"]) {
    await machine.run(`date --set="@$(($(date +%s) ${sign} 3600))"`);
    await sleep(60_000);
    await untilReady(PODS.length);
    assert.equal(await lives(), before);
  }
});

test("systemctl reboot: pods are ended by priority, and are back with their data", {
  skip,
}, async () => {
  const [first] = machine.boots;
  await machine.run("systemctl reboot --no-block");
  await machine.booted(2, BOOT_MS);
  await untilReady(PODS.length);
  const written = await diaries();
  const at = (event: string, priority: number) =>
    PODS.filter((pod) => pod.priority === priority).map(({ name }) => {
      const found = written.get(name)?.find((one) => one.event === event && one.boot === first);
      assert.ok(found, `${name} has noted no "${event}": ${JSON.stringify(written.get(name))}`);
      return found.uptimeSeconds;
    });
  TIERS.forEach(({ priority }, i) => {
    const next = TIERS[i + 1];
    if (next)
      assert.ok(Math.max(...at("ended", priority)) <= Math.min(...at("asked", next.priority)));
  });
  for (const { name } of PODS)
    assert.deepEqual(
      written
        .get(name)
        ?.filter(({ event }) => event === "started")
        .map(({ boot }) => boot),
      machine.boots,
      `starts of ${name}`,
    );
  const story = await machine.run("nodelet why --node");
  console.log(story);
  const all = new RegExp(
    `${PODS.length} pods ended for the shutdown in (\\d+ min )?\\d+ s, none was cut off`,
  );
  assert.match(story, all);
});

test("the power is cut: pods are back, and nothing that was acknowledged is lost", {
  skip,
}, async () => {
  const pod = JSON.parse(manifest("of-the-api", 0)) as { spec: Record<string, unknown> };
  delete pod.spec["priority"];
  await machine.run(
    `guest-api POST /api/v1/namespaces/default/pods '${JSON.stringify(pod).replaceAll("'", `'"'"'`)}'`,
  );
  await untilReady(PODS.length + 1);
  await machine.run("write-objects >/dev/null 2>&1 &");
  for (let waited = 0; machine.reported.length < 10 && waited < 300; waited += 1)
    await sleep(1_000);
  await machine.cutPower();
  const acknowledged = machine.reported;
  assert.ok(acknowledged.length >= 10, `${acknowledged.length} objects were acknowledged`);
  machine = await Machine.start(disk, work);
  await machine.booted(1, BOOT_MS);
  await untilReady(PODS.length + 1);
  const objects = await machine.run(
    "guest-api GET /api/v1/namespaces/default/configmaps | jq --raw-output '.items[].metadata.name'",
  );
  const found = new Set(objects.split("\n"));
  assert.deepEqual(
    acknowledged.filter((name) => !found.has(name)),
    [],
  );
  for (const [name, lines] of await diaries())
    assert.ok(
      lines.some(({ boot }) => boot === machine.boots[0]),
      `${name} was not started again`,
    );
});
