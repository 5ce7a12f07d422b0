// One test for each past flaw of kubelets' servers, from the outside of an agent with real containerd; those of
// pods, volumes and logs are in test/volumes/cve.it.ts, of writes to the API (CVE-2025-5187) in
// test/sim/cluster.test.ts, of output without end (CVE-2022-31030) in test/probes, of files that the agent keeps for
// containers (CVE-2020-8557) in test/eviction/local-limits.it.ts. CVE-2021-25749, 2023-3676, 2023-3955, 2023-5528, 2024-5321,
// 2024-9042 are Windows'.
import assert from "node:assert/strict";
import { symlinkSync, unlinkSync } from "node:fs";
import { request } from "node:http";
import { after, before, test } from "node:test";
import { connect } from "node:tls";
import { programVersion } from "../../src/process/runtime-versions/program-version.ts";
import { vulnerabilitiesOf } from "../../src/process/runtime-versions/vulnerabilities.ts";
import { PROGRAM } from "../support/program.ts";
import { answerOf } from "./http.ts";
import { podName, ServedNode } from "./node.ts";

let node: ServedNode;
before(async () => {
  // Flaws of the programs that the machine has are compared with the log.
  node = await ServedNode.start({ containerd: "machine" });
  node.run("web", "echo hello; serve-tcp 9090");
  await node.untilReady("web");
});
after(() => node[Symbol.asyncDispose]());

const container = () => `default/${podName("web")}/c`;

test("CVE-2019-11248: the health port shows no profile, no metrics and no debugger", async () => {
  const socketPath = await node.box.forward(10248, "127.0.0.1");
  const get = (path: string) => answerOf(request({ socketPath, path, agent: false }));
  assert.equal((await get("/healthz")).status, 200);
  for (const path of ["/debug/pprof/", "/debug/pprof/heap", "/debug/flags/v", "/metrics", "/json"])
    assert.equal((await get(path)).status, 404, path);
  const listening = await node.box.run([
    "sh",
    "-c",
    "cat /proc/net/tcp /proc/net/tcp6 | awk '$4==\"0A\" {print $2}'",
  ]);
  const ports = listening
    .trim()
    .split("\n")
    .map((line) => Number.parseInt(line.split(":")[1] ?? "", 16));
  assert.ok(ports.includes(10250), `${ports}`);
  // 9229 is the inspector's.
  assert.ok(!ports.includes(9229) && !ports.includes(10255), `${ports}`);
});

test("CVE-2020-8551: requests nobody asked before leave no trace each", async () => {
  const lines = async () => (await node.secure("/metrics", node.master)).body.split("\n").length;
  await node.secure("/x", node.master);
  const began = await lines();
  for (let i = 0; i < 300; i += 1)
    await node.secure(`/${i % 2 ? `exec/n${i}/p/c` : `x${i}`}?a=${i}`, node.master);
  const ended = await lines();
  assert.ok(ended - began < 150, `${began} lines became ${ended}`);
});

test("CVE-2020-8558: nothing lets packets from outside reach the node's loopback", async () => {
  const shown = await node.box.run([
    "sh",
    "-c",
    "cd /proc/sys/net/ipv4/conf; cat all/route_localnet default/route_localnet eth0/route_localnet",
  ]);
  assert.equal(shown, "0\n0\n0\n");
});

test("CVE-2018-1002102, CVE-2020-8559: nobody is sent elsewhere", async () => {
  const ways = ["exec", "attach", "run"].map((way) => `/${way}/${container()}?command=ls&output=1`);
  for (const path of [...ways, `/portForward/default/${podName("web")}?port=9090`, "/pods/", "/"])
    for (const method of ["GET", "POST"]) {
      const { status, headers } = await node.secure(path, node.master, method);
      assert.ok(status < 300 || status >= 400, `${method} ${path} gave ${status}`);
      assert.equal(headers["location"], undefined);
    }
});

test("CVE-2022-3294: a node takes no address that is not its own", async () => {
  const config = "--config=/etc/nodelet/config.yaml";
  const argv = [process.execPath, PROGRAM, "run", config, "--node-ip=203.0.113.9"];
  const { code, stderr } = await node.box.exec(argv);
  assert.notEqual(code, 0);
  assert.match(stderr, /node IP: "203\.0\.113\.9" not found in the host's network interfaces/);
});

test("CVE-2025-0426: checkpoints of containers are to be had nowhere", async () => {
  for (const method of ["GET", "POST"]) {
    assert.equal((await node.secure(`/checkpoint/${container()}`, undefined, method)).status, 401);
    assert.equal(
      (await node.secure(`/checkpoint/${container()}`, node.master, method)).status,
      404,
    );
    assert.equal((await node.local(`/checkpoint/${container()}`, method)).status, 404);
  }
});

test("kubernetes#83465: a WebSocket that runs something is asked for as what creates", async () => {
  for (const way of ["exec", "attach"]) {
    const { status, body } = await node.secure(`/${way}/${container()}?command=id`, node.nobody);
    assert.equal(status, 403);
    assert.match(body, /user=joe, verb=create, resource=nodes, subresource\(s\)=\[proxy\]/);
  }
});

test("CVE-2019-9512, CVE-2019-9514, CVE-2023-44487, floods of HTTP/2 streams: the port speaks HTTP/1.1 only", async () => {
  const chosen = await new Promise((resolve, reject) => {
    const socket = connect({
      path: node.httpsPath,
      rejectUnauthorized: false,
      ALPNProtocols: ["h2", "http/1.1"],
    });
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      resolve(socket.alpnProtocol);
      socket.destroy();
    });
  });
  assert.notEqual(chosen, "h2");
});

test("CVE-2025-31133, CVE-2026-53488, other flaws of runtimes: the log names those of the versions in use", async () => {
  for (const program of ["containerd", "runc"] as const) {
    const known = vulnerabilitiesOf(program, (await programVersion(program)) ?? "");
    const line = new RegExp(`known vulnerabilities.* program="${program}" .*$`, "m");
    if (known === undefined) assert.doesNotMatch(node.box.logs(), line);
    else {
      await node.until(() => line.test(node.box.logs()), `the log names ${known.version}`);
      const [reported = ""] = line.exec(node.box.logs()) ?? [];
      for (const name of [...known.names, known.version, known.fixedIn])
        assert.ok(reported.includes(name), reported);
    }
  }
});

test("links of logs: what is planted in a log folder shows no file of the node", async () => {
  const { metadata } = await node.untilReady("web");
  const place = `pods/default_${metadata?.name}_${metadata?.uid}/c`;
  const folder = node.box.path(`/var/log/${place}`);
  unlinkSync(`${folder}/0.log`);
  symlinkSync("/etc/shadow", `${folder}/0.log`);
  for (const path of [`/containerLogs/${container()}`, `/logs/${place}/0.log`]) {
    const answer = await node.secure(path, node.master);
    assert.ok(answer.status >= 400, `${path}: ${answer.status}`);
    assert.doesNotMatch(answer.body, /root/);
  }
});
