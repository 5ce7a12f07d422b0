// Devices that a runtime knows from files of CDI.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import type { DriverDevice } from "../support/claim-driver.ts";

/** Folder of the descriptions, which containerd knows as /var/run/cdi. */
export const CDI_FOLDER = "/run/cdi";
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
  mkdirSync(`${root}${CDI_FOLDER}`, { recursive: true });
  writeFileSync(fileOf(uid, root), JSON.stringify({ cdiVersion: "0.5.0", kind: KIND, devices }));
}

/** Takes the description away again. */
export function removeCdi(uid: string, root = ""): void {
  rmSync(fileOf(uid, root), { force: true });
}

const fileOf = (uid: string, root: string) => `${root}${CDI_FOLDER}/claim-${uid}.json`;
