// A monitor as a process of its own: node monitor-main.ts SOCKET RESOURCE
// Writes as JSON which pod has which devices, and which devices can be had.
import { connectGrpc } from "../../src/outside/grpc/grpc.ts";
import { POD_RESOURCES } from "../../src/outside/plugins/plugins.ts";

const [socket = "", resource = ""] = process.argv.slice(2);
const { fullName, methods } = POD_RESOURCES;
const signal = AbortSignal.timeout(10_000);
const channel = connectGrpc().connect({ target: `unix://${socket}` });
const list = await channel.unary(methods.list, fullName, {}, { signal });
const all = await channel.unary(methods.getAllocatableResources, fullName, {}, { signal });
const idsOf = (devices: readonly { resourceName: string; deviceIds: readonly string[] }[]) =>
  devices.flatMap((each) => (each.resourceName === resource ? each.deviceIds : [])).sort();
const pods = list.podResources
  .map(({ name, containers }) => [name, idsOf(containers.flatMap(({ devices }) => devices))])
  .filter(([, ids]) => ids?.length !== 0);
console.log(JSON.stringify({ pods, allocatable: idsOf(all.devices) }));
channel.close();
