import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Box, BoxProcess } from "../../../test/box/box.ts";
import type { ApiServer } from "../../../test/kube/apiserver.ts";
import { Sightings } from "../sightings.ts";
import type { DriverOrder, DriverSettings, Sighting } from "./drive-pods.ts";

/** Creates and deletes pods of a cluster in a box, and notes when the API shows what becomes of them. */
export class ClusterDriver implements AsyncDisposable {
  /** Keys are like `ready NAME`; see `Sighting`. */
  readonly sightings = new Sightings();
  readonly #process: BoxProcess;

  constructor(box: Box, server: ApiServer, namespace: string) {
    const file = join(box.folder, "driver.json");
    const { url, caPem, adminIdentity } = server;
    const settings: DriverSettings = { url, namespace, caPem, ...adminIdentity };
    writeFileSync(file, JSON.stringify(settings), { mode: 0o600 });
    const script = join(import.meta.dirname, "drive-pods.ts");
    this.#process = box.spawn([process.execPath, script, file]);
    if (this.#process.stdout) {
      createInterface(this.#process.stdout).on("line", (line) => {
        const { kind, name, at }: Sighting = JSON.parse(line);
        this.sightings.note(`${kind} ${name}`, at);
      });
    }
    this.#process.stderr?.pipe(process.stderr, { end: false });
  }

  order(order: DriverOrder): void {
    this.#process.stdin?.write(`${JSON.stringify(order)}\n`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.stdin?.end();
    await this.#process.exited;
  }
}
