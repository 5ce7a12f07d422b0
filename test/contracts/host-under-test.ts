import assert from "node:assert/strict";
import { isOutside, type OutsideCode } from "../../src/kit/errors.ts";
import type { Host } from "../../src/outside/host/host.ts";

/** A host with a folder for one test. */
export interface HostUnderTest {
  readonly host: Host;
  /** An empty folder. */
  readonly folder: string;
  /** Path of a cgroup that does not exist, whose parent does. */
  readonly group: string;
  /** Puts a socket at a path. */
  readonly addSocket: (path: string) => Promise<void>;
  /** Puts a link to a new, empty block device at a path; `undefined` where none can be made. */
  readonly addDevice: (path: string) => Promise<string | undefined>;
  /** Starts a process in a group. */
  readonly addProcess: (group: string) => Promise<number>;
  /** Whether the process still runs. */
  readonly isAlive: (pid: number) => boolean;
  /** Removes all that the test made. */
  readonly dispose: () => Promise<void>;
}

/** The host of the running test. */
export type Current = () => HostUnderTest;

/** The work must fail with that code, and with `text` in its message. */
export async function rejectsWith(work: Promise<unknown>, code: OutsideCode, text?: string) {
  await assert.rejects(work, (thrown: unknown) => {
    assert.ok(isOutside(thrown, code), `${String(thrown)} is not OutsideError "${code}"`);
    if (text !== undefined) assert.ok(thrown.message.includes(text), thrown.message);
    return true;
  });
}

/** Lets the world run until `test` holds. */
export async function eventually(what: string, test: () => boolean): Promise<void> {
  for (let tries = 0; tries < 1000 && !test(); tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.ok(test(), `never: ${what}`);
}
