import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fakeIo } from "../../../test/cli/fake-io.ts";
import { withTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { DEFAULT_PLACES, upPaths } from "../up/paths.ts";
import { installService, removeService, type ServiceKind, showService } from "./service.ts";
import { renderNodeUnit } from "./unit.ts";

const KUBEADM: ServiceKind = { kind: "kubeadm" };
const OWN: ServiceKind = { kind: "own", flags: ["--config=/c.yaml"] };

/** A folder of units, and a systemctl that records its arguments and answers `shown`. */
async function withUnits(
  use: (world: {
    readonly units: string;
    readonly ran: string[];
    readonly io: ReturnType<typeof fakeIo>;
    readonly places: Parameters<typeof removeService>[0];
    readonly answer: { code: number; stdout: string; stderr: string };
  }) => Promise<void>,
): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const units = join(folder, "system");
    const ran: string[] = [];
    const answer = { code: 0, stdout: "", stderr: "" };
    const places = {
      units,
      program: "/opt/nodelet",
      systemctl: async (args: readonly string[]) => {
        ran.push(args.join(" "));
        return { by: "", ...answer };
      },
    };
    await use({ units, ran, places, answer, io: fakeIo() });
  });
}

test("installService: writes the unit, enables and starts it; a second time changes nothing", () =>
  withUnits(async ({ units, ran, places, io }) => {
    assert.equal(await installService(OWN, places, { io, starts: true }), 0);
    const path = join(units, "nodelet.service");
    const text = readFileSync(path, "utf8");
    assert.match(text, /^ExecStart=\/opt\/nodelet run --config=\/c.yaml$/m);
    assert.deepEqual(ran.splice(0), [
      "daemon-reload",
      "enable nodelet.service",
      "restart --no-block nodelet.service",
    ]);
    await installService(OWN, places, { io, starts: false });
    assert.deepEqual(ran, []);
    assert.equal(readFileSync(path, "utf8"), text);
    assert.match(io.out(), /wrote .*nodelet\.service\n[\s\S]*unchanged .*nodelet\.service\n/);
  }));

test("installService: the containerd that `nodelet up` made becomes a service before the agent", () =>
  withUnits(async ({ units, ran, places, io }) => {
    const stateDir = join(units, "../state");
    const config = join(units, "../config.yaml");
    const up = upPaths({ ...DEFAULT_PLACES, stateDir, config, runDir: join(units, "../run") });
    const service: ServiceKind = { kind: "own", flags: [], up };
    await assert.rejects(installService(service, places, { io, starts: true }), /no configuration/);
    writeFileSync(config, `containerRuntimeEndpoint: unix://${up.containerd.socket}\n`);
    await installService(service, places, { io, starts: true });
    assert.ok(ran.includes("enable nodelet-containerd.service nodelet.service"), ran.join("\n"));
    const runtime = readFileSync(join(units, "nodelet-containerd.service"), "utf8");
    assert.ok(runtime.includes(`\nExecStart=containerd --config ${up.containerd.config}\n`));
    const agent = readFileSync(join(units, "nodelet.service"), "utf8");
    assert.match(agent, /^After=.* nodelet-containerd\.service$/m);
    assert.match(agent, /^Wants=.* nodelet-containerd\.service$/m);
    await removeService(places, io);
    assert.ok(!existsSync(join(units, "nodelet-containerd.service")));
    assert.ok(!existsSync(join(units, "nodelet.service")));
  }));

test("installService: where systemd does not run, the error says what to do", () =>
  withUnits(async ({ places, io, answer }) => {
    Object.assign(answer, { code: 1, stderr: "System has not been booted with systemd" });
    await assert.rejects(installService(OWN, places, { io, starts: true }), (thrown: Error) => {
      assert.match(thrown.message, /systemctl daemon-reload: System has not been booted/);
      return true;
    });
  }));

test("removeService: kubeadm's drop-in goes, its unit and the drop-ins of others stay", () =>
  withUnits(async ({ units, ran, places, io }) => {
    const folder = join(units, "kubelet.service.d");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "10-kubeadm.conf"), "[Service]\n");
    await installService(KUBEADM, places, { io, starts: false });
    assert.ok(existsSync(join(folder, "20-nodelet.conf")));
    // One that runs would not be started again by `enable --now`.
    assert.match(
      io.out(),
      /start it: systemctl daemon-reload && systemctl restart kubelet\.service/,
    );
    await removeService(places, io);
    assert.ok(!existsSync(join(folder, "20-nodelet.conf")));
    assert.ok(existsSync(join(folder, "10-kubeadm.conf")));
    assert.deepEqual(ran, ["daemon-reload"]);
    assert.match(io.out(), /systemctl restart kubelet\.service/);
    await removeService(places, io);
    assert.match(io.out(), /no service of nodelet is installed/);
  }));

test("on a cluster's node its service is shown, and neither a second one installed nor it removed", () =>
  withUnits(async ({ units, ran, places, io, answer }) => {
    const folder = join(units, "kubelet.service.d");
    mkdirSync(folder, { recursive: true });
    const supervisor = { command: ["/opt/nodelet", "up", "--supervise"], env: {} };
    for (const [as, path] of [
      ["unit", join(units, "kubelet.service")],
      ["drop-in", join(folder, "90-nodelet-node.conf")],
    ] as const) {
      writeFileSync(path, renderNodeUnit(supervisor, as));
      for (const service of [KUBEADM, OWN])
        await assert.rejects(
          installService(service, places, { io, starts: true }),
          (thrown: Error) => {
            assert.equal(
              thrown.message,
              `the service kubelet.service runs nodelet on this node already: ${path}`,
            );
            return true;
          },
        );
      assert.equal(await removeService(places, io), 0);
      assert.deepEqual(ran, []);
      answer.stdout = "ActiveState=active\nSubState=running\nMainPID=7\nNRestarts=0\n";
      assert.equal(await showService(places, io), 0);
      assert.match(io.out(), new RegExp(`installed: ${path}\nstate: active`));
      ran.splice(0);
      rmSync(path);
    }
    writeFileSync(join(units, "kubelet.service"), "[Service]\nExecStart=/usr/bin/kubelet\n");
    assert.equal(await installService(KUBEADM, places, { io, starts: false }), 0);
  }));

test("showService: which unit, and what systemd says of it", () =>
  withUnits(async ({ places, io, answer }) => {
    assert.equal(await showService(places, io), 3);
    await installService(OWN, places, { io, starts: false });
    answer.stdout =
      "ActiveState=active\nSubState=running\nMainPID=7\nNRestarts=0\nResult=success\n";
    assert.equal(await showService(places, io), 0);
    assert.match(io.out(), /state: active \(running\), process 7\nrestarts: 0\n$/);
  }));
