// A device plugin as a process of its own: node plugin-main.ts FOLDER RESOURCE DEVICES LOG [HOLD_MS [NUMA_NODE]]
// It takes HOLD_MS over every Allocate, and its devices are on NUMA_NODE.
// It registers again with every new agent, and writes what it is asked as lines of JSON to LOG. Each device is
// a device node /dev/<id>, a folder /devices/<id> and its id in the variable DEVICES.
import { appendFileSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { connectGrpc } from "../../src/outside/grpc/grpc.ts";
import { TestPlugin } from "../support/device-plugin.ts";

const [folder = "", resource = "", amount = "0", log = "", hold = "0", node = "0"] =
  process.argv.slice(2);
const POLL_MS = 100;
const ids = Array.from({ length: Number(amount) }, (_, i) => `dev${i}`);

function print(line: object): void {
  appendFileSync(log, `${JSON.stringify(line)}\n`);
}

for (const id of ids) {
  mkdirSync(`/run/devices/${id}`, { recursive: true });
  writeFileSync(`/run/devices/${id}/name`, `${id}\n`);
}

function begin(): TestPlugin {
  return new TestPlugin(
    connectGrpc(),
    {
      resource,
      socketName: `${resource.replace(/\W/g, "-")}.sock`,
      folder,
      preStart: true,
      before: async (call, asked) => {
        print({ call, ids: asked });
        if (call === "allocate") await sleep(Number(hold));
      },
      answer: (given) => ({
        envs: { DEVICES: given.toSorted().join(",") },
        mounts: given.map((id) => ({
          containerPath: `/devices/${id}`,
          hostPath: `/run/devices/${id}`,
          readOnly: true,
        })),
        devices: given.map((id) => ({
          containerPath: `/dev/${id}`,
          hostPath: "/dev/null",
          permissions: "rw",
        })),
        annotations: { "nodelet.test/devices": given.toSorted().join(",") },
      }),
    },
    ids.map((id) => ({ id, nodes: [Number(node)] })),
  );
}

/** Which socket the agent has now; another one is another agent. */
function agentSocket(): string {
  try {
    const { ino, ctimeMs } = statSync(`${folder}/kubelet.sock`);
    return `${ino} ${ctimeMs}`;
  } catch {
    return "";
  }
}

for (;;) {
  const socket = agentSocket();
  if (socket === "") {
    await sleep(POLL_MS);
    continue;
  }
  const plugin = begin();
  try {
    await plugin.start();
    print({ call: "registered" });
    while (agentSocket() === socket) await sleep(POLL_MS);
  } catch (error) {
    print({ call: "refused", error: String(error) });
    await sleep(POLL_MS);
  }
  await plugin.stop();
}
