// `nodelet up` on bare machines: what it makes of them, what it survives, and that `down` takes all of it back.
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { test } from "node:test";
import { containerdPrograms } from "../box/containerd.ts";
import { bareMachine, type NodeBox } from "./node-box.ts";

const CTRL_C = String.fromCharCode(3);
const READY = /pod default\/hello-\S+: Running, 1\/1 ready$/m;

async function httpdOf(node: NodeBox): Promise<string> {
  // While it answers a probe it has a child of the same name.
  const oldest = await node.box.run(["pgrep", "-o", "-x", "httpd"]);
  const parents = await node.box.run(["sh", "-c", "ps -o ppid= -C httpd"]);
  const servers = parents.split("\n").filter((line) => {
    const parent = line.trim();
    return parent !== "" && parent !== oldest.trim();
  });
  assert.equal(servers.length, 1, "one httpd runs");
  return oldest.trim();
}

/** Fails when containerd has its restart monitor, which obeys labels of images (CVE-2026-53488). */
async function assertNoRestartMonitor(node: NodeBox): Promise<void> {
  const socket = "/run/nodelet/containerd/containerd.sock";
  const plugins = await node.box.run(["ctr", "-a", socket, "plugins", "ls"]);
  assert.match(plugins, /^io\.containerd\.grpc\.v1 +cri\s/m);
  assert.doesNotMatch(plugins, /\srestart\s/);
}

test("up --demo makes a bare machine a node, leaves its pod running, and down takes all of it back", async () => {
  await using node = await bareMachine();
  const before = await node.picture();

  const first = await node.nodelet(["up", "--demo", "--until-ready"]);
  assert.equal(first.code, 0, first.stdout + first.stderr);
  assert.match(first.stdout, /^\d+ checks passed/m);
  assert.match(first.stdout, READY);
  assert.match(first.stdout, /hello is ready: curl http:\/\/10\.85\.0\.\d+:8080\/$/m);
  assert.match(first.stdout, /The agent has stopped; 1 pod runs on\./);
  assert.equal((await node.nodelet(["get", "pods"])).code, 4, "the agent has stopped");
  for (const socket of ["containerd.sock", "containerd.sock.ttrpc"]) {
    const path = node.box.path(`/run/nodelet/containerd/${socket}`);
    assert.equal(statSync(path).mode & 0o777, 0o600, socket);
  }
  await assertNoRestartMonitor(node);
  const review = await node.nodelet(["config", "review"]);
  assert.equal(review.code, 0, review.stdout);
  const pid = await httpdOf(node);
  const url = /curl (\S+)/.exec(first.stdout)?.[1] ?? "";
  assert.match(await node.box.run(["busybox", "wget", "-qO-", url]), /Hello from a pod/);

  const second = node.start(["up"]);
  await second.reported(READY);
  assert.match(await node.run("why", "hello"), /adopted +Found running when the agent started/);
  assert.equal(await httpdOf(node), pid, "the pod was adopted as it is");
  assert.equal(await second.interrupt(), 0);
  assert.equal(await httpdOf(node), pid, "Ctrl-C ends no pod");
  const fromDisk = await node.nodelet(["why", "hello"]);
  assert.match(fromDisk.stdout, /Started web\./);
  assert.match(fromDisk.stderr, /showing its journal on disk/);

  const down = await node.run("down");
  assert.match(down, /default\/hello-\S+: stopping \(grace period 5 seconds\)/);
  assert.match(down, /default\/hello-\S+: gone/);
  assert.deepEqual(await node.changesSince(before), []);
  assert.match(await node.run("down"), /Nothing to do/);
});

test("commands on a node in the background", async () => {
  await using node = await bareMachine();
  await node.run("up", "--demo", "--detach", "--until-ready");

  assert.match(await node.run("get", "pods"), /^hello-\S+ +1\/1 +Running +0 /m);
  assert.match(await node.run("get", "nodes", "-o", "wide"), /Ready .* containerd:\/\/\d/);
  assert.match(await node.run("get", "events"), /Started +pod\/hello-/);
  assert.match(await node.run("get", "probes"), /readiness +httpGet +success/);
  const described = await node.run("describe", "pod", "hello");
  assert.match(described, /^ {4}Readiness: +http-get http:\/\/:http\/ready /m);
  assert.match(described, /^Decisions:\n {2}Age +Decision +Why\n.*admitted/m);
  assert.match(await node.run("describe", "node"), /Non-terminated Pods \(1\)/);
  assert.match(await node.run("logs", "hello"), /^serving \/www on port 8080$/m);
  assert.equal(
    await node
      .run("logs", "hello", "--tail", "1", "--limit-bytes", "3")
      .then((text) => text.length),
    3,
  );

  const exec = await node.nodelet([
    "exec",
    "hello",
    "--",
    "sh",
    "-c",
    "id -u; echo no >&2; exit 7",
  ]);
  assert.deepEqual(exec, { code: 7, stdout: "1000\n", stderr: "no\n" });
  const missing = await node.nodelet(["exec", "hello", "--", "no-such-program"]);
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /^nodelet: .*executable file (?:`no-such-program` )?not found/);
  assert.equal((await node.nodelet(["exec", "none", "--", "true"])).code, 3);

  const shell = node.startOnTerminal("nodelet exec -it hello -- sh");
  await shell.reported(/\$ /);
  shell.type("tty; stty size; exit 5\n");
  assert.equal((await shell.process.exited).code, 5);
  assert.match(shell.text, /\/dev\/pts\/0/);

  const watch = node.start(["get", "pods", "-w"]);
  const follow = node.start(["logs", "-f", "hello", "--tail=1"]);
  await watch.reported(/Running/);
  await node.run("exec", "hello", "--", "rm", "/www/alive");
  await watch.reported(/Running +1 \(\d+s ago\)/);
  await follow.reported(/response:404/);
  assert.equal(await watch.interrupt(), 0);
  const why = await node.run("why", "hello");
  assert.match(why, /Unhealthy +Liveness probe failed: HTTP probe failed with statuscode: 404/);
  assert.match(
    why,
    /stopped +Stopped web[^:]*: its liveness probe failed \(grace period 5 seconds\)\./,
  );
  assert.match(why, /started +Restarted web \(restart 1\)/);
  const history = JSON.parse(await node.run("why", "hello", "-o", "json"));
  assert.ok(history.decisions.some((each: { kind: string }) => each.kind === "killContainer"));
});

test("the screen on a terminal shows the node, and Ctrl-C gives the terminal back", async () => {
  await using node = await bareMachine();
  await node.run("up", "--demo", "--detach", "--until-ready");
  const screen = node.startOnTerminal("nodelet up");
  await screen.reported(/EVENTS/);
  assert.match(screen.text, /hello-\S+ +1\/1 /);
  assert.match(screen.text, /Ctrl-C ends this view, agent and pods keep running/);
  screen.type(CTRL_C);
  assert.equal((await screen.process.exited).code, 0);
  const leave = screen.text.indexOf("\u001b[?25h\u001b[?1049l");
  assert.ok(leave > screen.text.indexOf("\u001b[?1049h\u001b[?25l"));
  assert.match(await node.run("get", "pods"), /Running/, "a view ends nothing but itself");
});

test("agent and containerd come back when they die, and the pod does not notice", async () => {
  await using node = await bareMachine();
  const up = node.start(["up", "--demo"]);
  await up.reported(READY);
  const pid = await httpdOf(node);

  const note = () => JSON.parse(readFileSync(node.box.path("/run/nodelet/up.json"), "utf8"));
  await node.box.run(["kill", "-KILL", `${note().agent.pid}`]);
  await up.reported(/the agent exited with SIGKILL/);
  assert.match(up.text, /pods keep running; restarting it in 1 s/);
  await up.reported(/node \S+: Ready/, up.text.length);

  const [containerd = ""] = await node.pids("containerd");
  await node.box.run(["kill", "-KILL", containerd]);
  await up.reported(/containerd exited; restarting it/);
  await node.box.run([
    "sh",
    "-c",
    `until pgrep -x containerd | grep -qvx ${containerd}; do sleep 0.1; done`,
  ]);
  await node.box.run([
    "sh",
    "-c",
    "until ctr -a /run/nodelet/containerd/containerd.sock version >/dev/null 2>&1; do sleep 0.1; done",
  ]);
  assert.equal(await httpdOf(node), pid);
  assert.equal(await up.interrupt(), 0);
});

test("what the user created or changed stays, and a broken configuration is reported", async () => {
  await using node = await bareMachine();
  const before = await node.picture();
  node.box.write("/etc/nodelet/mine.txt", "mine");
  await node.run("up", "--detach", "--until-ready");
  await node.run("down");
  const config = node.box.path("/etc/nodelet/config.yaml");
  assert.ok(!existsSync(config), "an unchanged configuration goes");

  await node.run("up", "--detach", "--until-ready");
  await node.box.run(["sh", "-c", "echo maxPods: 7 >>/etc/nodelet/config.yaml"]);
  const pod = `{apiVersion: v1, kind: Pod, metadata: {name: own}, spec: {hostNetwork: true, containers: [
    {name: a, image: localhost/nodelet/pause:1, imagePullPolicy: Never}]}}`;
  node.box.write("/etc/nodelet/manifests/own.yaml", pod);
  await node.run("up", "--until-ready");
  assert.match(await node.run("get", "pods"), /^own-\S+ +1\/1 +Running/m);
  const down = await node.run("down");
  assert.match(down, /Kept\n(.*\n)* {2}\/etc\/nodelet\/config.yaml \(you changed it\)/);
  assert.match(down, /own-\S+: gone/);
  assert.ok(existsSync(config));
  assert.ok(existsSync(node.box.path("/etc/nodelet/manifests/own.yaml")));

  await node.box.run(["sh", "-c", "sed -i 's/maxPods: 7/maxPods: many/' /etc/nodelet/config.yaml"]);
  const refused = await node.nodelet(["up", "--until-ready"]);
  assert.equal(refused.code, 2);
  assert.match(
    refused.stderr,
    /the agent rejected its configuration\n(.*\n)*.*config.yaml:\d+: .*maxPods/,
  );
  await node.run("down", "--purge");
  assert.deepEqual(await node.changesSince(before), []);
  assert.equal(readFileSync(node.box.path("/etc/nodelet/mine.txt"), "utf8"), "mine");
});

test("down reports what it cannot remove, and finishes when it can", async () => {
  await using node = await bareMachine();
  const before = await node.picture();
  await node.run("up", "--demo", "--until-ready");
  const blocker = node.box.spawn([
    "sh",
    "-c",
    "mount -t tmpfs x /var/lib/nodelet/containerd/tmpmounts && exec sleep 1000",
  ]);
  await node.box.run([
    "sh",
    "-c",
    "until mountpoint -q /var/lib/nodelet/containerd/tmpmounts; do sleep 0.1; done; touch /var/lib/nodelet/containerd/tmpmounts/x; exec 3</var/lib/nodelet/containerd/tmpmounts/x; (sleep 1000) <&3 >/dev/null 2>&1 &",
  ]);
  const stuck = await node.nodelet(["down"]);
  assert.equal(stuck.code, 1);
  assert.match(stuck.stderr, /left:\n {2}mount \/var\/lib\/nodelet\/containerd\/tmpmounts: /);
  await node.box.run(["pkill", "-f", "sleep 1000"]);
  await blocker.exited;
  await node.run("down");
  assert.deepEqual(await node.changesSince(before), []);
});

test("everything can be put elsewhere, and then nothing is at the usual places", async () => {
  await using node = await bareMachine();
  const before = await node.picture();
  const places = ["state", "run", "log"].map((name) => `--${name}-dir=/run/tmp/x/${name}`);
  const all = [...places, "--config=/run/tmp/x/config.yaml", "--manifests=/run/tmp/x/pods"];
  await node.run("up", "--demo", "--detach", "--until-ready", ...all);
  assert.equal((await node.nodelet(["get", "pods"])).code, 4);
  assert.match(await node.run("get", "pods", "--socket=/run/tmp/x/run/agent.sock"), /^hello-/m);
  const strange = (await node.changesSince(before)).filter((line) =>
    /file \/(?:etc|run|var\/\w+)\/nodelet\//.test(line),
  );
  assert.deepEqual(strange, []);
  await node.run("down", ...all);
  assert.deepEqual(await node.changesSince(before), []);
});

test("up uses newer containerds too", async () => {
  const { folder } = containerdPrograms("2.1");
  await using node = await bareMachine();
  const before = await node.picture();
  const env = { PATH: `${folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin` };
  const up = await node.nodelet(["up", "--demo", "--detach", "--until-ready"], env);
  assert.equal(up.code, 0, up.stdout + up.stderr);
  assert.match(await node.run("version"), /on containerd 2\.1/);
  await assertNoRestartMonitor(node);
  const piped = await node.nodelet(["exec", "-i", "hello", "--", "head", "-n1"], {}, "a line\n");
  assert.deepEqual([piped.code, piped.stdout], [0, "a line\n"]);
  await node.run("down");
  assert.deepEqual(await node.changesSince(before), []);
});
