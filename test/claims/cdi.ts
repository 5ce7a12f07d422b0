// Devices that a runtime knows from files of CDI.
import { mkdirSync, writeFileSync } from "node:fs";
import type { DriverDevice } from "../support/claim-driver.ts";

/** Which containerd knows as /var/run/cdi. */
const FOLDER = "/run/cdi";
const KIND = "example.com/device";

/** Name of the device of a claim. */
export const cdiId = (uid: string): string => `${KIND}=${uid}`;

/** The device of a claim as its driver returns it. */
export const cdiDevice = (uid: string): DriverDevice => ({
  requestNames: ["gpu"],
  poolName: "p",
  deviceName: "d0",
  cdiDeviceIds: [cdiId(uid)],
});

/** Describes the device of a claim: it sets a variable and shows a node. `root` is where the box is seen from here. */
export function writeCdi(uid: string, root = ""): void {
  const containerEdits = {
    env: [`CLAIMED=${uid}`],
    deviceNodes: [{ path: "/dev/claimed", hostPath: "/dev/null" }],
  };
  const devices = [{ name: uid, containerEdits }];
  mkdirSync(`${root}${FOLDER}`, { recursive: true });
  writeFileSync(
    `${root}${FOLDER}/claim-${uid}.json`,
    JSON.stringify({ cdiVersion: "0.5.0", kind: KIND, devices }),
  );
}
