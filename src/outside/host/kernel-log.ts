import { closeSync, constants, openSync, readSync } from "node:fs";
import type { KernelLog } from "./host.ts";
import { errnoOf, hostError } from "./host-errors.ts";

/** Longest record the kernel gives out at once (CONSOLE_EXT_LOG_MAX). */
const RECORD_BYTES = 8192;

/** Records taken in one go; the rest comes with the next read. */
const MAX_AT_ONCE = 5000;

/**
 * Opens the kernel's log; what it already holds is skipped. `undefined` where it cannot be read (not root,
 * restricted container). The device never blocks this way, and a read that finds nothing is one system call.
 */
export function openKernelLog(path = "/dev/kmsg"): KernelLog | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  const buffer = new Uint8Array(RECORD_BYTES);
  const next = () => readRecord(descriptor, buffer);
  let isOld = true;
  return {
    read: () => {
      const texts: string[] = [];
      for (let taken = 0; taken < MAX_AT_ONCE; taken += 1) {
        const text = next();
        if (text === undefined) {
          isOld = false;
          return texts;
        }
        if (!isOld && text !== "") texts.push(text);
      }
      return texts;
    },
    close: () => closeSync(descriptor),
  };
}

/** The text of the next record, "" for one that was lost, `undefined` when there is none. */
function readRecord(descriptor: number, buffer: Uint8Array): string | undefined {
  try {
    const length = readSync(descriptor, buffer, 0, buffer.length, null);
    return length === 0
      ? undefined
      : textOfRecord(new TextDecoder().decode(buffer.subarray(0, length)));
  } catch (thrown) {
    const errno = errnoOf(thrown);
    if (errno === "EAGAIN") return undefined;
    // The kernel has overwritten what was next, or the record is longer than any relevant one.
    if (errno === "EPIPE" || errno === "EINVAL") return "";
    throw hostError("read", "the kernel's log", thrown);
  }
}

/** Text after the record's header, on its first line; further lines hold device keys. */
function textOfRecord(record: string): string {
  const text = record.slice(record.indexOf(";") + 1);
  const end = text.indexOf("\n");
  return end < 0 ? text : text.slice(0, end);
}
