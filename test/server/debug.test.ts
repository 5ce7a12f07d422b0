// What operators inspect when something is wrong: logs of the node, profiles, flags, versions, verbosity.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { Cell } from "../../src/kit/cell.ts";
import { type ServedWorld, startWorld } from "./world.ts";

const folder = mkdtempSync(join(tmpdir(), "nodelet-node-logs-"));
const verbosity = new Cell(0);
let world: ServedWorld;
before(async () => {
  mkdirSync(join(folder, "apt"));
  mkdirSync(join(folder, "filed"));
  writeFileSync(join(folder, "dpkg.log"), "one\ntwo\n");
  writeFileSync(join(folder, "apt/history.log"), "apt\n");
  writeFileSync(join(folder, "filed/filed.log"), "of filed\n");
  symlinkSync("/etc/passwd", join(folder, "link.log"));
  symlinkSync("/etc", join(folder, "etc"));
  world = await startWorld({
    config: { enableSystemLogQuery: true },
    server: { nodeLogFolder: folder, flags: { v: "0", address: "127.0.0.1" } },
    verbosity,
  });
});
after(async () => {
  await world[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** The bytes of an answer over the agent's own socket. */
function bytesOf(path: string): Promise<{ readonly status: number; readonly body: Buffer }> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath: world.socketPath, path, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("end", () =>
        resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks) }),
      );
    });
    asked.on("error", reject);
    asked.end();
  });
}

describe("/logs/", () => {
  test("lists folders, and gives files whole and in part", async () => {
    const top = await world.local("/logs/");
    assert.equal(top.status, 200);
    assert.deepEqual(
      [...top.body.matchAll(/href="([^"]+)"/g)].map(([, name]) => name),
      ["apt/", "dpkg.log", "etc", "filed/", "link.log"],
    );
    const file = await world.local("/logs/dpkg.log");
    assert.deepEqual([file.status, file.body], [200, "one\ntwo\n"]);
    assert.equal(file.headers["content-type"], "text/plain; charset=utf-8");
    assert.equal((await world.local("/logs/apt/history.log")).body, "apt\n");
    const part = await world.local("/logs/dpkg.log", "GET", { headers: { range: "bytes=4-6" } });
    assert.deepEqual(
      [part.status, part.body, part.headers["content-range"]],
      [206, "two", "bytes 4-6/8"],
    );
    assert.equal((await world.local("/logs/dpkg.log", "HEAD")).status, 200);
    const moved = await world.local("/logs/apt");
    assert.deepEqual([moved.status, moved.headers["location"]], [301, "./apt/"]);
  });

  const REFUSED: readonly (readonly [string, number])[] = [
    ["/logs/none.log", 404],
    ["/logs/link.log", 403],
    ["/logs/etc/passwd", 403],
    ["/logs/etc/", 403],
    ["/logs/../etc/passwd", 400],
    ["/logs/%2e%2e/etc/passwd", 400],
    ["/logs/apt%2f..%2f..%2fetc/passwd", 400],
    ["/logs/?query=/../etc/passwd", 400],
    ["/logs/dpkg.log?query=a", 406],
    ["/logs/?query=a%3Breboot", 406],
    ["/logs/?query=", 400],
  ];
  for (const [path, status] of REFUSED)
    test(`${path} is refused with ${status}`, async () => {
      const answer = await world.local(path);
      assert.equal(answer.status, status, answer.body);
      assert.doesNotMatch(answer.body, /root:/);
    });

  test("a query finds files of services that write no journal, and says what it does not find", async () => {
    assert.equal((await world.local("/logs/?query=filed")).body, "of filed\n");
    assert.equal((await world.local("/logs/?query=dpkg")).body, "one\ntwo\n");
    assert.equal((await world.local("/logs/?query=/dpkg.log")).body, "one\ntwo\n");
    assert.equal((await world.local("/logs/?query=none")).body, "\nlog not found for none\n");
    assert.match(
      (await world.local("/logs/?query=filed&tailLines=1")).body,
      /query resolved to log files for \[filed\]\ntry without specifying options/,
    );
  });

  test("a query of a service that the journal knows is journalctl's answer, with its options", async () => {
    const programs = join(folder, "programs");
    mkdirSync(programs);
    const script = `#!/bin/sh
[ "$1" = --field=_SYSTEMD_UNIT ] && echo kubelet.service && exit
for each; do echo "<$each>"; done
`;
    writeFileSync(join(programs, "journalctl"), script, { mode: 0o755 });
    const before = process.env["PATH"];
    process.env["PATH"] = `${programs}:${before}`;
    try {
      const options = "tailLines=5&boot=-1&pattern=%24(id)+x&sinceTime=2026-01-02T03:04:05Z";
      const answer = await world.local(`/logs/?query=kubelet&${options}`);
      assert.deepEqual(answer.body.trimEnd().split("\n"), [
        "<--utc>",
        "<--no-pager>",
        "<--output=short-precise>",
        "<--since=2026-01-02 03:04:05 UTC>",
        "<--pager-end>",
        "<--lines=5>",
        "<--unit=kubelet>",
        "<--grep=$(id) x>",
        "<--case-sensitive=false>",
        "<--boot=-1>",
      ]);
    } finally {
      process.env["PATH"] = before;
      rmSync(programs, { recursive: true });
    }
  });

  test("without enableSystemLogQuery a query is nothing but a path; without the handler it says so", async () => {
    await using plain = await startWorld({ server: { nodeLogFolder: folder } });
    assert.match((await plain.local("/logs/?query=filed")).body, /dpkg\.log/);
    const off = {
      enableSystemLogHandler: false,
      enableProfilingHandler: false,
      enableDebugFlagsHandler: false,
    };
    await using closed = await startWorld({ config: off });
    const answers = ["/logs/", "/debug/pprof/heap", "/debug/flags/v"].map((path) =>
      closed.local(path),
    );
    assert.deepEqual(
      (await Promise.all(answers)).map(({ status, body }) => `${status} ${body.trim()}`),
      [
        "405 Logs endpoint is disabled.",
        "405 profiling endpoint is disabled.",
        "405 flags endpoint is disabled.",
      ],
    );
  });
});

/** Texts of a profile (field 6 of profile.proto). */
function stringsOf(profile: Uint8Array): readonly string[] {
  const reader = new BinaryReader(profile);
  const strings: string[] = [];
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 6) strings.push(reader.string());
    else reader.skip(wireType);
  }
  return strings;
}

function burnProcessor(untilMs: number): number {
  let sum = 0;
  while (performance.now() < untilMs) for (let i = 0; i < 1_000; i += 1) sum += Math.sqrt(i);
  return sum;
}

describe("/debug", () => {
  test("a CPU profile names the functions that ran; one is taken at a time", async () => {
    const profile = bytesOf("/debug/pprof/profile?seconds=1");
    await world.until(async () => {
      burnProcessor(performance.now() + 20);
      return (await world.local("/debug/pprof/heap?seconds=1")).status === 500;
    }, "a second profile is refused");
    burnProcessor(performance.now() + 300);
    const { status, body } = await profile;
    assert.equal(status, 200);
    const strings = stringsOf(gunzipSync(body));
    for (const text of ["samples", "cpu", "nanoseconds", "burnProcessor"])
      assert.ok(strings.includes(text), text);
  });

  test("a heap profile names who allocated; names of profiles and seconds are checked", async () => {
    const heap = bytesOf("/debug/pprof/heap?seconds=1");
    const kept: unknown[] = [];
    const allocateMuch = () => kept.push(Array.from({ length: 50_000 }, (_, i) => ({ i })));
    await world.until(() => {
      allocateMuch();
      return kept.length >= 20;
    }, "much is allocated");
    const { status, body } = await heap;
    assert.equal(status, 200);
    const strings = stringsOf(gunzipSync(body));
    assert.ok(strings.includes("inuse_space") && strings.includes("allocateMuch"));
    assert.equal((await world.local("/debug/pprof/goroutine")).status, 404);
    assert.equal((await world.local("/debug/pprof/profile?seconds=0")).status, 400);
    assert.equal((await world.local("/debug/pprof/profile?seconds=301")).status, 400);
    assert.match((await world.local("/debug/pprof/")).body, /href="profile"/);
    assert.match((await world.local("/debug/pprof/cmdline")).body, /node/);
  });

  test("PUT /debug/flags/v changes the verbosity; anything else does not", async () => {
    const put = (body: string) => world.local("/debug/flags/v", "PUT", { body });
    const answer = await put("4");
    assert.deepEqual(
      [answer.status, answer.body],
      [200, "successfully set klog.logging.verbosity to 4"],
    );
    assert.equal(verbosity.get(), 4);
    for (const bad of ["", "x", "-1", "1.5", "9999999999"])
      assert.equal((await put(bad)).status, 400, bad);
    assert.equal((await world.local("/debug/flags/v")).status, 406);
    assert.equal(verbosity.get(), 4);
  });
});

describe("/statusz and /flagz", () => {
  test("text by default, objects of config.k8s.io by Accept", async () => {
    const status = await world.local("/statusz");
    assert.match(status.body, /^\nkubelet statusz\nWarning: /);
    assert.match(status.body, /\nBinary version: 1\.36\.2\nPaths: .*\/healthz .*\/metrics/);
    const accept = "application/json;v=v1beta1;g=config.k8s.io;as=Flagz";
    const flags = await world.local("/flagz", "GET", { headers: { accept } });
    assert.deepEqual(JSON.parse(flags.body), {
      kind: "Flagz",
      apiVersion: "config.k8s.io/v1beta1",
      metadata: { name: "kubelet" },
      flags: { v: "0", address: "127.0.0.1" },
    });
    const other = await world.local("/flagz", "GET", { headers: { accept: "image/png" } });
    assert.equal(other.status, 406);
  });

  test("their gates switch them off", async () => {
    await using off = await startWorld({
      config: { featureGates: { ComponentStatusz: false, ComponentFlagz: false } },
    });
    assert.equal((await off.local("/statusz")).status, 404);
    assert.equal((await off.local("/flagz")).status, 404);
  });
});
