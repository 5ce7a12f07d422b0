// A driver of resource claims as a process of its own, to be killed: node driver-main.ts NAME REGISTRY FOLDER
// It prints what it is asked.
import { connectGrpc } from "../../src/outside/grpc/grpc.ts";
import { ClaimDriver } from "../support/claim-driver.ts";
import { cdiDevice, removeCdi, writeCdi } from "./cdi.ts";

const [name = "", registry = "", folder = ""] = process.argv.slice(2);
const driver = new ClaimDriver(connectGrpc(), {
  name,
  registry,
  folder,
  before: async (call, claims) => {
    console.log(call, ...claims.map(({ uid }) => uid));
    for (const { uid } of claims)
      if (call === "prepare") writeCdi(uid);
      else removeCdi(uid);
  },
  devices: ({ uid }) => [cdiDevice(uid)],
});
await driver.start();
