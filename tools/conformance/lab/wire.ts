/** The network between the machines of a lab: one wire that leads nowhere else. */
import { execFileSync } from "node:child_process";
import type { Box } from "../../../test/box/box.ts";
import { NODE } from "../../../test/box/outer.ts";

/** Its namespace is the first machine's, so that it goes with that. Whoever calls outside is answered that there is nothing. */
const MAKE_WIRE = `set -e
ip netns add wire
ip -n wire link set lo up
ip -n wire link add wire0 type bridge
ip -n wire address add "$0" dev wire0
ip -n wire link set wire0 up
nsenter --net=/run/netns/wire sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
`;
const PLUG_IN = `set -e
ip -n wire link set eth0-wire name "$0"
ip -n wire link set "$0" master wire0 up`;

/** Puts the machines on one wire, where their gateway is too; each forwards what pods send. */
export async function joinWire(machines: readonly Box[]): Promise<void> {
  const [first] = machines;
  if (first === undefined) return;
  await first.run(["sh", "-c", MAKE_WIRE, `${NODE.gateway}/${NODE.prefix}`]);
  for (const [index, machine] of machines.entries()) {
    execFileSync("nsenter", [
      `--net=/proc/${machine.initPid}/ns/net`,
      ...["ip", "link", "set", "eth0-wire", "netns", first.path("/run/netns/wire")],
    ]);
    await first.run(["sh", "-c", PLUG_IN, `machine${index + 1}`]);
    await machine.run(["sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward"]);
  }
}
