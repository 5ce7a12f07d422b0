// The server on a node in a box, with real containerd: what kubectl and the API server would ask.
import assert from "node:assert/strict";
import {
  existsSync,
  readdirSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
} from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { connect as tlsConnect } from "node:tls";
import type { WebSocket } from "ws";
import type { Pod } from "../../src/api/generated/types.ts";
import { answerOf } from "./http.ts";
import { podName, ServedNode } from "./node.ts";

const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, error: 3 } as const;

let node: ServedNode;
before(async () => {
  node = await ServedNode.start();
  node.run("talks", "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.02; done");
  node.run("falls", "echo before; exit 3");
  node.run("echoes", "serve-tcp 9090");
  await node.untilReady("talks");
  await node.untilReady("echoes");
});
after(() => node[Symbol.asyncDispose]());

const logs = (name: string, query = "") => `/containerLogs/default/${podName(name)}/c${query}`;
const exec = (name: string, query: string) => `/exec/default/${podName(name)}/c?${query}`;
const numbers = (text: string) => [...text.matchAll(/^line (\d+)$/gm)].map(([, n]) => Number(n));

/** What a WebSocket's channels brought until it closed. */
function gathered(socket: WebSocket): Promise<Map<number, string>> {
  return new Promise((resolve, reject) => {
    const channels = new Map<number, string>();
    socket.on("message", (message: Buffer) => {
      const channel = message[0] ?? 0;
      channels.set(channel, (channels.get(channel) ?? "") + message.subarray(1).toString());
    });
    socket.on("close", () => resolve(channels));
    socket.on("error", reject);
  });
}

describe("ports", () => {
  test("health is on loopback and says ok", async () => {
    const path = await node.box.forward(10248, "127.0.0.1");
    const get = (method: string, url: string) =>
      answerOf(request({ socketPath: path, path: url, method, agent: false }));
    assert.deepEqual(
      [(await get("GET", "/healthz")).status, (await get("GET", "/healthz")).body],
      [200, "ok"],
    );
    assert.equal((await get("HEAD", "/healthz")).status, 200);
    assert.equal((await get("GET", "/healthz/syncloop")).body, "ok");
    const { status, body } = await get("GET", "/healthz?verbose");
    assert.equal(status, 200);
    for (const name of ["event-loop", "thread-pool", "runtime-listing", "source-file"])
      assert.match(body, new RegExp(`^\\[\\+\\]${name} ok$`, "m"));
    assert.equal((await get("GET", "/metrics")).status, 404);
    await assert.rejects(
      answerOf(request({ socketPath: await node.box.forward(10248), path: "/healthz" })),
    );
  });

  test("the HTTPS port knows its callers", async () => {
    assert.equal((await node.secure("/pods")).status, 401);
    assert.equal((await node.secure("/pods", node.nobody)).status, 403);
    const pods = await node.secure("/pods", node.master);
    const { items } = JSON.parse(pods.body) as { items: Pod[] };
    assert.deepEqual(
      items.map(({ metadata }) => metadata?.name).sort(),
      ["echoes", "falls", "talks"].map(podName),
    );
    assert.equal(
      items.find(({ metadata }) => metadata?.name === podName("talks"))?.status?.phase,
      "Running",
    );
    assert.match((await node.secure("/metrics", node.master)).body, /kubelet_running_pods \d/);
    const config = await node.secure("/configz", node.master);
    assert.match(config.body, /"staticPodPath":"\/etc\/nodelet\/manifests"/);
  });

  test("the socket is for root, and openssl believes the certificate that was made", async () => {
    assert.equal(statSync(node.socketPath).mode & 0o777, 0o600);
    const reported = await node.box.run([
      "sh",
      "-c",
      `
      cd /var/lib/kubelet/pki; ls -l kubelet.key | cut -c1-10
      openssl x509 -in kubelet.crt -noout -checkhost node-1 -checkip 198.51.100.10
      awk '/BEGIN/{n++} n==2' kubelet.crt >/run/ca.crt
      openssl verify -CAfile /run/ca.crt -purpose sslserver kubelet.crt
      openssl s_client -connect 198.51.100.10:10250 -CAfile /run/ca.crt -verify_return_error </dev/null 2>&1 | grep -E "Verification|Protocol *:|New, "`,
    ]);
    assert.match(reported, /-rw-------/);
    assert.match(reported, /Hostname node-1 does match certificate/);
    assert.match(reported, /IP 198\.51\.100\.10 does match certificate/);
    assert.match(reported, /kubelet\.crt: OK/);
    assert.match(reported, /Verification: OK/);
    assert.match(reported, /TLSv1\.3/);
  });

  test("overview describes the real runtime", async () => {
    const { body } = await node.local("/nodelet/v1/overview");
    const overview = JSON.parse(body) as {
      runtime: string;
      ready: boolean;
      containersRunning: number;
    };
    assert.match(overview.runtime, /^containerd /);
    assert.equal(overview.ready, true);
    assert.ok(overview.containersRunning >= 2);
  });
});

describe("logs", () => {
  test("tail, time and limit", async () => {
    await node.until(
      async () => numbers((await node.local(logs("talks"))).body).length > 20,
      "lines are written",
    );
    const all = numbers((await node.secure(logs("talks"), node.master)).body);
    assert.deepEqual(
      all,
      Array.from({ length: all.length }, (_, i) => i + 1),
    );
    assert.equal(numbers((await node.local(logs("talks", "?tailLines=5"))).body).length, 5);
    assert.equal((await node.local(logs("talks", "?limitBytes=10"))).body, "line 1\nlin");
    const stamped = (await node.local(logs("talks", "?tailLines=1&timestamps=true"))).body;
    assert.match(stamped, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}\S+ line \d+\n$/);
    const lately = numbers((await node.local(logs("talks", "?sinceSeconds=1"))).body);
    assert.ok(lately.length > 0 && lately.length < 120, `${lately.length}`);
  });

  test("following goes on over a rotation by the runtime, line by line", async () => {
    const asked = request({
      socketPath: node.socketPath,
      path: logs("talks", "?follow=true&tailLines=1"),
      agent: false,
    });
    asked.end();
    const answer = await new Promise<IncomingMessage>((resolve) => asked.once("response", resolve));
    let text = "";
    answer.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    await node.until(() => numbers(text).length > 10, "lines come");
    const { metadata, status } = await node.untilReady("talks");
    const folder = node.box.path(`/var/log/pods/default_${metadata?.name}_${metadata?.uid}/c`);
    for (const second of ["01", "02"]) {
      renameSync(join(folder, "0.log"), join(folder, `0.log.20260101-0000${second}`));
      const id = status?.containerStatuses?.[0]?.containerID?.replace("containerd://", "") ?? "";
      await reopenLog(id);
      const seen = numbers(text).length;
      await node.until(() => numbers(text).length > seen + 20, "lines come from the next file");
    }
    asked.destroy();
    const [first = 0] = numbers(text);
    assert.deepEqual(
      numbers(text),
      numbers(text).map((_, i) => first + i),
    );
    const all = numbers((await node.local(logs("talks"))).body);
    assert.deepEqual(
      all,
      all.map((_, i) => i + 1),
      "rotated files are read back",
    );
  });

  /** As log rotation asks for a new file. */
  async function reopenLog(id: string): Promise<void> {
    const { connectCri } = await import("../../src/outside/cri/connect-cri.ts");
    const cri = connectCri({ runtimeEndpoint: `unix://${node.box.criSocket}`, timeoutMs: 10_000 });
    await cri.runtime.reopenLog(id, new AbortController().signal).finally(() => cri.close());
  }

  test("previous shows the attempt before", async () => {
    await node.untilPod(
      "falls",
      (pod) => (pod.status?.containerStatuses?.[0]?.restartCount ?? 0) > 0,
      "has restarted",
    );
    const previous = await node.local(logs("falls", "?previous=true"));
    assert.deepEqual([previous.status, previous.body], [200, "before\n"]);
  });

  test("a following reader gets the end", async () => {
    node.run("ends", "echo one; sleep 1; echo two");
    await node.untilPod(
      "ends",
      (pod) => pod.status?.containerStatuses?.[0]?.state?.running !== undefined,
      "runs",
    );
    const answer = await node.local(logs("ends", "?follow=true"));
    assert.equal(answer.body, "one\ntwo\n");
  });

  test("a link planted in the log folder leads nowhere", async () => {
    const { metadata } = await node.untilReady("echoes");
    const path = node.box.path(`/var/log/pods/default_${metadata?.name}_${metadata?.uid}/c/0.log`);
    unlinkSync(path);
    symlinkSync("/etc/shadow", path);
    const answer = await node.local(logs("echoes"));
    assert.equal(answer.status, 400);
    assert.match(
      answer.body,
      /^unable to retrieve container logs for containerd:\/\/[0-9a-f]{64}$/,
    );
  });

  test("a query of a service is answered from the journal", async () => {
    const socket = "/run/systemd/journal/stdout";
    const config = "/etc/systemd/journald.conf.d/box.conf";
    await node.box.run(["mkdir", "-p", dirname(config)]);
    // The kernel's messages are those of the whole machine.
    node.box.write(config, "[Journal]\nStorage=volatile\nReadKMsg=no\nAudit=no\n");
    node.box.spawnLogged("journald", ["/lib/systemd/systemd-journald"]);
    await node.until(() => existsSync(node.box.path(socket)), "journald listens");
    // As systemd connects the outputs of a service: name, unit, priority and four switches (journald-stream.c).
    const output = ["demo", "demo.service", 6, 0, 0, 0, 0, "one apple", "two pears", ""].join("\n");
    const write =
      "use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new($ARGV[0]) or die $!; print $s <STDIN>";
    // With version 2 of cgroups the journal takes the unit from the writer's group.
    const join = `cd /sys/fs/cgroup; if [ -e cgroup.controllers ]; then mkdir -p system.slice/demo.service; echo $$ >system.slice/demo.service/cgroup.procs; fi`;
    const writer = ["sh", "-c", `${join}; exec perl -e "$0" "$1"`, write, socket];
    const written = await node.box.exec(writer, { stdin: output });
    assert.equal(written.code, 0, written.stderr);
    const ask = async (query: string) => {
      const { status, body } = await node.secure(`/logs/?query=${query}`, node.master);
      assert.equal(status, 200);
      return [...body.matchAll(/^\w{3} \d\d [\d:.]+ \S+ demo\[\d+\]: (.*)$/gm)].map(
        ([, line]) => line,
      );
    };
    await node.until(async () => (await ask("demo")).length > 0, "the journal has the lines");
    const queries = ["demo", "demo&tailLines=1", "demo&pattern=APP", "demo&boot=0&pattern=pears$"];
    assert.deepEqual(await Promise.all(queries.map(ask)), [
      ["one apple", "two pears"],
      ["two pears"],
      ["one apple"],
      ["two pears"],
    ]);
    const past = await node.secure("/logs/?query=demo&untilTime=2020-01-01T00:00:00Z", node.master);
    assert.equal(past.body, "-- No entries --\n");
    const absent = await node.secure("/logs/?query=absent", node.master);
    assert.equal(absent.body, "\nlog not found for absent\n");
  });

  test("links to all logs are in one folder", async () => {
    const folder = node.box.path("/var/log/containers");
    const { metadata, status } = await node.untilReady("talks");
    const id = status?.containerStatuses?.[0]?.containerID?.replace("containerd://", "") ?? "";
    const name = `${metadata?.name}_default_c-${id}.log`;
    assert.ok(readdirSync(folder).includes(name), readdirSync(folder).join(" "));
    assert.equal(
      readlinkSync(join(folder, name)),
      `/var/log/pods/default_${metadata?.name}_${metadata?.uid}/c/0.log`,
    );
  });
});

describe("streams", () => {
  test("exec over a WebSocket gives outputs and the exit code", async () => {
    const query = "command=sh&command=-c&command=echo+out;+echo+err+>%262;+exit+7&output=1&error=1";
    const channels = await gathered(node.webSocket(exec("talks", query), node.master));
    assert.equal(channels.get(CHANNEL.stdout), "out\n");
    assert.equal(channels.get(CHANNEL.stderr), "err\n");
    const status = JSON.parse(channels.get(CHANNEL.error) ?? "{}") as {
      details?: { causes?: { message?: string }[] };
    };
    assert.equal(status.details?.causes?.[0]?.message, "7");
  });

  test("exec passes input on", async () => {
    const socket = node.webSocket(
      exec("talks", "command=head&command=-n2&input=1&output=1"),
      node.master,
    );
    const all = gathered(socket);
    socket.on("open", () => {
      for (const text of ["one\n", "two\n"])
        socket.send(Buffer.concat([Buffer.of(CHANNEL.stdin), Buffer.from(text)]));
    });
    assert.equal((await all).get(CHANNEL.stdout), "one\ntwo\n");
  });

  test("exec refuses callers without leave, and what does not run", async () => {
    const refused = (path: string, client: typeof node.master) =>
      new Promise<number>((resolve, reject) => {
        const socket = node.webSocket(path, client);
        socket.on("unexpected-response", (_, answer) => {
          resolve(answer.statusCode ?? 0);
          socket.terminate();
        });
        socket.on("error", () => {});
        socket.on("open", () => reject(new Error("let in")));
      });
    assert.equal(await refused(exec("talks", "command=id&output=1"), node.nobody), 403);
    assert.equal(await refused(exec("none", "command=id&output=1"), node.master), 404);
    assert.equal(
      await refused(`/exec/default/${podName("talks")}/x?command=id&output=1`, node.master),
      500,
    );
  });

  test("SPDY is switched to as client-go asks for it", async () => {
    const text = await new Promise<string>((resolve, reject) => {
      const socket = tlsConnect(
        { path: node.httpsPath, rejectUnauthorized: false, ...node.master },
        () => {
          socket.write(
            `POST ${exec("talks", "command=cat&input=1&output=1")} HTTP/1.1\r\nHost: node\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\nX-Stream-Protocol-Version: v3.channel.k8s.io\r\nContent-Length: 0\r\n\r\n`,
          );
        },
      );
      socket.once("data", (chunk: Buffer) => {
        resolve(chunk.toString());
        socket.destroy();
      });
      socket.on("error", reject);
    });
    assert.match(text, /^HTTP\/1\.1 101 Switching Protocols\r\n/);
    assert.match(text, /Upgrade: SPDY\/3\.1\r\n/i);
    assert.match(text, /X-Stream-Protocol-Version: v4\.channel\.k8s\.io\r\n/i);
  });

  test("port-forward reaches a port of the pod", async () => {
    const socket = node.webSocket(
      `/portForward/default/${podName("echoes")}?port=9090`,
      node.master,
    );
    const data: Buffer[] = [];
    const echoed = new Promise<void>((resolve, reject) => {
      socket.on("message", (message: Buffer) => {
        if (message[0] !== 0) return;
        data.push(message.subarray(1));
        if (Buffer.concat(data).subarray(2).toString() === "hello") resolve();
      });
      socket.on("close", () => reject(new Error("closed")));
      socket.on("error", reject);
    });
    socket.on("open", () => socket.send(Buffer.concat([Buffer.of(0), Buffer.from("hello")])));
    await echoed;
    assert.equal(Buffer.concat(data).readUInt16LE(0), 9090, "each stream begins with its port");
    socket.terminate();
  });

  test("run answers with what the command wrote", async () => {
    const path = `/run/default/${podName("talks")}/c?cmd=echo+hello`;
    const answer = await node.secure(path, node.master, "POST");
    assert.deepEqual([answer.status, answer.body], [200, "hello\n"]);
    const failed = await node.secure(
      `/run/default/${podName("talks")}/c?cmd=false`,
      node.master,
      "POST",
    );
    assert.deepEqual([failed.status, failed.body], [500, "command 'false' exited with 1: "]);
  });
});
