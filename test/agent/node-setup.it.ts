// What the agent prepares on the machine before pods run: mounts that are seen in containers, chains, reservations.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Box, withBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { BoxedAgent, STAY } from "../support/agent.ts";
import { PROGRAM } from "../support/program.ts";

/** Where no checkout lies that the box needs. */
const DISK = "/var/lib/nodelet-disk";
const ROOT = `${DISK}/kubelet`;

const shell = (box: Box, script: string) => box.run(["sh", "-c", script]);
/** Lines of the table of mounts about the root folder itself. */
const mountsOf = async (box: Box) =>
  (await shell(box, `awk '$5 == "${ROOT}"' /proc/self/mountinfo`)).split("\n").slice(0, -1);

test("the root folder is shared: a mount made below it is seen in containers", () =>
  withBox({}, async (box) => {
    await shell(box, `mount --make-rprivate / && mkdir ${DISK} && mount -t tmpfs tmpfs ${DISK}`);
    const agent = await BoxedAgent.start(box, { flags: [`--root-dir=${ROOT}`] });
    const [mount = "", ...more] = await mountsOf(box);
    assert.match(mount, / shared:\d+ /);
    assert.deepEqual(more, []);
    const volumes = [{ name: "root", hostPath: { path: ROOT } }];
    const at = { name: "root", mountPath: "/seen", mountPropagation: "HostToContainer" };
    const containers = [
      { name: "main", image: TEST_IMAGE, command: [...STAY], volumeMounts: [at] },
    ];
    agent.apply("pod.yaml", {
      metadata: { name: "pod" },
      spec: { volumes, containers, terminationGracePeriodSeconds: 2 },
    });
    const idOf = async () => (await shell(box, "ctr -n k8s.io task list -q")).trim().split("\n");
    const inside = async (script: string) => {
      for (const id of await idOf()) {
        const args = ["ctr", "-n", "k8s.io", "task", "exec", "--exec-id", `x${Math.random()}`, id];
        const { code } = await box.exec([...args, "sh", "-c", script]);
        if (code === 0) return true;
      }
      return false;
    };
    await agent.until("the pod runs", () => inside("test -d /seen/pods"));
    await shell(
      box,
      `mkdir ${ROOT}/late && mount -t tmpfs tmpfs ${ROOT}/late && touch ${ROOT}/late/x`,
    );
    await agent.until("the mount is seen inside", () => inside("test -f /seen/late/x"));
    await agent.stop();
    await agent.start();
    assert.equal((await mountsOf(box)).length, 1, "a restart mounts nothing more");
  }));

test("iptables has the chains that other programs expect, and not when they are not wanted", () =>
  withBox({}, async (box) => {
    const rules = (program: string) =>
      shell(box, `for table in mangle nat filter; do ${program} -t $table -S; done`);
    const agent = await BoxedAgent.start(box, { config: "makeIPTablesUtilChains: false" });
    assert.doesNotMatch(await rules("iptables"), /KUBE-/);
    await agent.stop();
    const second = await BoxedAgent.start(box);
    for (const program of ["iptables", "ip6tables"])
      await second.until(
        `the chains of ${program}`,
        async () => (await rules(program)).split("-N KUBE-KUBELET-CANARY").length === 4,
      );
    const made = await rules("iptables");
    assert.match(made, /-N KUBE-IPTABLES-HINT/);
    assert.match(made, /-A INPUT -j KUBE-FIREWALL/);
    assert.match(made, /-A OUTPUT -j KUBE-FIREWALL/);
    assert.match(made, /-A KUBE-FIREWALL ! -s 127\.0\.0\.0\/8 -d 127\.0\.0\.0\/8 .*-j DROP/);
    assert.match(await rules("ip6tables"), /-N KUBE-IPTABLES-HINT/);
    await second.stop();
    await second.start();
    assert.equal(await rules("iptables"), made, "a restart makes nothing twice");
  }));

test("an agent without iptables runs all the same", () =>
  withBox({}, async (box) => {
    const programs = "readlink -f /usr/sbin/iptables /usr/sbin/ip6tables | sort -u";
    await shell(box, `for file in $(${programs}); do mount --bind /dev/null "$file"; done`);
    const agent = await BoxedAgent.start(box);
    await agent.until("it says so", () => /Failed to initialize iptables/.test(agent.log()));
    assert.ok(agent.running);
  }));

test("reservations that are more than the machine has refuse the start", () =>
  withBox({}, async (box) => {
    box.write(
      "/etc/nodelet/config.yaml",
      `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}}
systemReserved: {memory: 100Ti}
`,
    );
    const argv = [process.execPath, PROGRAM, "run", "--config", "/etc/nodelet/config.yaml"];
    const { code, stderr } = await box.exec(argv, { timeoutMs: 60_000 });
    assert.notEqual(code, 0);
    assert.match(
      stderr,
      /invalid Node Allocatable configuration\. Resource \\?"memory\\?" has a reservation of .* but capacity of .*\. Expected capacity >= reservation\./,
    );
  }));
