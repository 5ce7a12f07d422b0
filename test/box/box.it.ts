// The box itself: that it is a node, that it is alone, and that nothing of it is left.
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { connectCri } from "../../src/outside/cri/connect-cri.ts";
import { NamespaceMode } from "../../src/outside/cri/generated/api.ts";
import { type Box, startBox, withBox } from "./box.ts";
import { idOf, TEST_IMAGE, testImage } from "./images.ts";
import { sweepBoxes } from "./outer.ts";
import { type BoxMarks, marksOf, tracesOf } from "./traces.ts";

const ROOT = join(import.meta.dirname, "../..");
const SIGNAL = new AbortController().signal;
const UNTIL_GONE_MS = 20_000;

async function runPod(box: Box, name: string): Promise<{ ip: string; sandboxes: number }> {
  const cri = connectCri({ runtimeEndpoint: `unix://${box.criSocket}`, timeoutMs: 30_000 });
  try {
    const namespaceOptions = {
      network: NamespaceMode.POD,
      pid: NamespaceMode.CONTAINER,
      ipc: NamespaceMode.POD,
    };
    const config = {
      metadata: { name, namespace: "box", uid: name, attempt: 0 },
      logDirectory: `/var/log/pods/${name}`,
      linux: { cgroupParent: `/kubepods/${name}`, securityContext: { namespaceOptions } },
    };
    const sandbox = await cri.runtime.runSandbox(config, "", SIGNAL);
    const container = await cri.runtime.createContainer(
      sandbox,
      {
        metadata: { name: "web", attempt: 0 },
        image: { image: TEST_IMAGE },
        command: ["serve", "8080"],
        logPath: "web.log",
      },
      config,
      SIGNAL,
    );
    await cri.runtime.startContainer(container, SIGNAL);
    const status = await cri.runtime.sandboxStatus(sandbox, SIGNAL);
    const all = await cri.runtime.listSandboxes({}, SIGNAL);
    return { ip: status.network?.ip ?? "", sandboxes: all.length };
  } finally {
    cri.close();
  }
}

function get(socketPath: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request({ socketPath, path, agent: false }, (response) => {
      response.setEncoding("utf8");
      let body = "";
      response.on("data", (text: string) => {
        body += text;
      });
      response.on("end", () => resolve(body));
    })
      .once("error", reject)
      .end();
  });
}

/** Waits until the machine shows nothing of the box any more; fails with what is left. */
async function assertGone(marks: BoxMarks): Promise<void> {
  const deadline = performance.now() + UNTIL_GONE_MS;
  while (tracesOf(marks).length > 0 && performance.now() < deadline) await sleep(50);
  assert.deepEqual(tracesOf(marks), []);
}

test("two boxes side by side run pods of the same name and leave nothing", async () => {
  const marks: BoxMarks[] = [];
  {
    await using first = await startBox();
    await using second = await startBox();
    for (const box of [first, second]) {
      marks.push(marksOf(box));
      const pod = await runPod(box, "same-name");
      assert.equal(pod.sandboxes, 1);
      assert.match(pod.ip, /^10\.88\./);
      assert.ok(existsSync(box.cgroupPath("/kubepods/same-name")));
      const web = await box.forward(8080, pod.ip);
      assert.equal(await get(web, "/"), "nodelet-test\n");
    }
    for (const each of marks) assert.ok(tracesOf(each).length > 5);
  }
  for (const each of marks) assert.deepEqual(tracesOf(each), []);
});

for (const containerd of ["1.7", "2.1"] as const)
  test(`containerd ${containerd} runs a pod`, () =>
    withBox({ containerd, ipv6: true }, async (box) => {
      assert.match(await box.ctr("version"), new RegExp(`Version: +v?${containerd}\\.`));
      const pod = await runPod(box, "pod");
      const web = await box.forward(8080, pod.ip);
      assert.equal(await get(web, "/"), "nodelet-test\n");
    }));

test("of a box that is gone nothing is seen in others that got the numbers of its namespaces", async () => {
  const gone = await startBox({ containerd: "none" });
  const marks = marksOf(gone);
  await gone.dispose();
  await using other = await startBox({ containerd: "none" });
  assert.deepEqual(tracesOf({ ...marks, namespaces: marksOf(other).namespaces }), []);
});

test("a sweep of another run that names the box is not of the box, what else names it is", async () => {
  await using box = await startBox({ containerd: "none" });
  const gone = { ...marksOf(box), id: randomBytes(8).toString("hex"), namespaces: [] };
  const sleeping = `sleep 1000; : ${gone.id}`;
  const names = ["/elsewhere/outer.sh", "/elsewhere/inner.sh"].map((name) =>
    spawn("sh", ["-c", `sh -c '${sleeping}' & wait`, name, "sweep"], { detached: true }),
  );
  try {
    const found = () => tracesOf(gone).filter((trace) => trace.startsWith("process")).length;
    const deadline = performance.now() + UNTIL_GONE_MS;
    while (found() < 2 && performance.now() < deadline) await sleep(20);
    assert.equal(found(), 2, "the shell that is no sweep, and its child");
  } finally {
    for (const { pid = 0 } of names) process.kill(-pid, "SIGKILL");
  }
});

test("the checkout is seen in a box wherever it lies", async () => {
  const name = `nodelet-checkout-${process.pid}`;
  const places = [
    "/opt",
    "/run",
    "/srv",
    "/root",
    "/home",
    "/usr/local",
    "/var/lib",
    "/var/lib/kubelet",
  ];
  const made = places.flatMap((place) => mkdirSync(place, { recursive: true }) ?? []);
  for (const place of places) {
    const checkout = join(place, name, "with a space");
    try {
      mkdirSync(join(checkout, "test"), { recursive: true });
      cpSync(import.meta.dirname, join(checkout, "test/box"), { recursive: true });
      for (const folder of ["src", "tools", "test/support", "package.json", "node_modules"])
        symlinkSync(join(ROOT, folder), join(checkout, folder));
      writeFileSync(join(checkout, "seen"), "once");
      const { withBox: withBoxThere }: typeof import("./box.ts") = await import(
        pathToFileURL(join(checkout, "test/box/box.ts")).href
      );
      await withBoxThere({ containerd: "none" }, async (box) => {
        assert.equal(await box.run(["cat", join(checkout, "seen")]), "once", checkout);
        writeFileSync(join(checkout, "seen"), "later");
        assert.equal(await box.run(["cat", join(checkout, "seen")]), "later", checkout);
      });
    } finally {
      rmSync(join(place, name), { recursive: true, force: true });
    }
  }
  for (const folder of made.reverse()) rmdirSync(folder);
});

/** A process that starts a box and then only waits; resolves with the marks of its box. */
async function ownerWithBox(): Promise<{ owner: ChildProcess; marks: BoxMarks }> {
  const program = `
    import { startBox } from ${JSON.stringify(join(import.meta.dirname, "box.ts"))};
    import { marksOf } from ${JSON.stringify(join(import.meta.dirname, "traces.ts"))};
    const box = await startBox({ containerd: "none" });
    box.spawn(["sleep", "1000"]);
    console.log(JSON.stringify(marksOf(box)));
    setInterval(() => {}, 1000);`;
  const owner = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of createInterface(owner.stdout)) {
    const marks: BoxMarks = JSON.parse(line);
    return { owner, marks };
  }
  throw new Error("no box");
}

test("a box ends with the process that made it, even when that is killed", async () => {
  const { owner, marks } = await ownerWithBox();
  assert.ok(tracesOf(marks).length > 5);
  owner.kill("SIGKILL");
  await assertGone(marks);
});

test("sweep removes what is left when maker and keeper were killed", async () => {
  const { owner, marks } = await ownerWithBox();
  const keeper = Number(readFileSync(join(marks.folder, "owner"), "utf8").split(" ")[0]);
  assert.ok(tracesOf(marks).length > 5);
  process.kill(keeper, "SIGKILL");
  owner.kill("SIGKILL");
  const deadline = performance.now() + UNTIL_GONE_MS;
  const started = () => tracesOf(marks).some((trace) => trace.startsWith("process"));
  while (started() && performance.now() < deadline) await sleep(50);
  // A test file that runs beside this one may have started a box and swept already: then this sweep finds nothing.
  await sweepBoxes();
  assert.deepEqual(tracesOf(marks), []);
});

test("sweep leaves running boxes alone", () =>
  withBox({ containerd: "none" }, async (box) => {
    const before = tracesOf(marksOf(box)).sort();
    await sweepBoxes();
    assert.deepEqual(tracesOf(marksOf(box)).sort(), before);
  }));

test("what is written in a box stays in it", () =>
  withBox({ containerd: "none" }, async (box) => {
    const knob = "/proc/sys/vm/overcommit_memory";
    const before = readFileSync(knob, "utf8");
    await box.run(["sh", "-c", `echo 2 >${knob}; echo x >/etc/nodelet-leak; rm /etc/passwd`]);
    assert.equal(await box.run(["cat", knob]), "2\n");
    assert.equal(readFileSync(knob, "utf8"), before);
    assert.ok(!existsSync("/etc/nodelet-leak") && existsSync("/etc/passwd"));
    box.write("/etc/nodelet/config.yaml", "kind: KubeletConfiguration\n");
    assert.equal(readFileSync(box.path("/etc/nodelet/config.yaml"), "utf8").length, 27);
    const hosts = await box.run(["cat", "/etc/hosts"]);
    assert.match(hosts, new RegExp(`${box.nodeAddress} nodelet-${box.id}`));
    const address = await box.run(["ip", "-o", "-4", "address", "show", "eth0"]);
    assert.ok(address.includes(`${box.nodeAddress}/24`));
  }));

for (const [storeIn, type] of [
  ["memory", "tmpfs"],
  ["file", "ext2/ext3"],
] as const)
  test(`the disk of a box, in ${storeIn}, is as small as asked for`, () =>
    withBox({ containerd: "none", storeMib: 16, storeIn }, async (box) => {
      const { stdout } = await box.exec(["stat", "-f", "-c", "%T", "/var/lib/kubelet"]);
      assert.equal(stdout.trim(), type);
      const fill = "dd if=/dev/zero of=/var/lib/kubelet/fill bs=1M count=20";
      const { code, stderr } = await box.exec(["sh", "-c", fill]);
      assert.equal(code, 1);
      assert.match(stderr, /No space left/);
    }));

test("a disk in a file leaves no loop device behind", async () => {
  let file = "";
  await withBox({ containerd: "none", storeMib: 16, storeIn: "file" }, async (box) => {
    file = `${box.folder}/disk.ext4`;
    assert.ok((await box.run(["losetup", "-j", file])) !== "", "no device in use");
  });
  assert.ok(!existsSync(file));
  assert.equal(execFileSync("losetup", ["-j", file], { encoding: "utf8" }), "");
});

test("exec gives code, both outputs and ends what takes too long", () =>
  withBox({ containerd: "none" }, async (box) => {
    const script = "cat; echo $WORD >&2; pwd; exit 3";
    const options = { stdin: "in\n", env: { WORD: "out" }, cwd: "/var" };
    assert.deepEqual(await box.exec(["sh", "-c", script], options), {
      code: 3,
      stdout: "in\n/var\n",
      stderr: "out\n",
    });
    assert.equal((await box.exec(["sh", "-c", "kill -TERM $$"])).code, 143);
    await assert.rejects(box.exec(["sleep", "60"], { timeoutMs: 200 }), /longer than 200 ms/);
    await assert.rejects(box.run(["sh", "-c", "echo why; exit 1"]), /ended with 1\nwhy/);
  }));

test("spawn gives a signal to the program itself and lets it end in its own way", () =>
  withBox({ containerd: "none" }, async (box) => {
    const running = box.spawn([
      "sh",
      "-c",
      "trap 'exit 7' TERM; echo up; while :; do sleep 0.1; done",
    ]);
    assert.ok(running.stdout);
    const first = await createInterface(running.stdout)[Symbol.asyncIterator]().next();
    assert.equal(first.value, "up");
    await running.kill("SIGTERM");
    assert.deepEqual(await running.exited, { code: 7, signal: null });
    assert.equal(running.running, false);
  }));

test("containers outlive containerd, which comes back", () =>
  withBox({}, async (box) => {
    await box.ctr("run", "--detach", TEST_IMAGE, "stays", "sleep", "1000");
    await box.killContainerd();
    assert.equal(await box.run(["pgrep", "-fc", "^sleep 1000"]), "1\n");
    await box.startContainerd();
    assert.match(await box.ctr("tasks", "list"), /stays +\d+ +RUNNING/);
    assert.match(box.logs(), /containerd successfully booted/);
  }));

test("images of one's own have the promised id, user and size", () => {
  const image = testImage({
    names: ["nodelet.test/padded:2", "nodelet.test/padded:latest"],
    user: "1000",
    labels: { colour: "blue" },
    paddingBytes: 3_000_000,
    files: { "hello.txt": { text: "hello" } },
  });
  return withBox({ images: [image] }, async (box) => {
    const cri = connectCri({ runtimeEndpoint: `unix://${box.criSocket}`, timeoutMs: 30_000 });
    const found = await cri.images.imageStatus("nodelet.test/padded:latest", SIGNAL);
    cri.close();
    assert.equal(found?.id, idOf(image));
    assert.equal(found?.uid?.value, 1000n);
    assert.ok((found?.size ?? 0n) > 3_000_000n);
    const run = ["run", "--rm", "nodelet.test/padded:2", "x", "sh", "-c", "id -u; cat /hello.txt"];
    assert.equal(await box.ctr(...run), "1000\nhello");
  });
});
