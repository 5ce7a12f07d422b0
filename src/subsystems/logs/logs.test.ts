import assert from "node:assert/strict";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { parseTimestampNanos } from "../../api/text/timestamps.ts";
import { Cell } from "../../kit/cell.ts";
import { createSystemClock } from "../../kit/clock.ts";
import { isOutside, OutsideError } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { createFiles } from "../../outside/host/files/files.ts";
import { type OpenFolderBeneath, openFolderBeneath } from "../../outside/host/files/open-folder.ts";
import { type LogQuery, Logs } from "./logs.ts";

const base = mkdtempSync(join(tmpdir(), "nodelet-logs-"));
after(() => rmSync(base, { recursive: true }));

const clock = createSystemClock();
const START_MS = Date.UTC(2026, 0, 1);
/** Time of the n-th line, one a second. */
const timeOf = (n: number) => `${new Date(START_MS + n * 1000).toISOString().slice(0, -1)}000001Z`;
const line = (n: number) => `${timeOf(n)} stdout F line ${n}\n`;
const lines = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => line(from + i)).join("");
const shown = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `line ${from + i}\n`).join("");

let root: string;
let folder: string;
let logs: Logs;
let openFolder: OpenFolderBeneath;
let count = 0;
beforeEach(() => {
  openFolder = openFolderBeneath;
  count += 1;
  root = join(base, String(count));
  folder = join(root, "ns_pod_uid", "c");
  mkdirSync(folder, { recursive: true });
  logs = new Logs(
    { root, linkFolder: join(root, "links") },
    {
      files: createFiles({ clock, log: silentLog }),
      openFolder: (...at) => openFolder(...at),
      clock,
      log: silentLog,
      reopen: async () => {},
    },
  );
});

const QUERY: LogQuery = { timestamps: false, follow: false };

async function read(query: Partial<LogQuery> = {}): Promise<string> {
  await using reading = await logs.open(
    join(folder, "0.log"),
    { ...QUERY, ...query },
    new Cell(true),
  );
  let text = "";
  await reading.pump(async (chunk) => {
    text += Buffer.from(chunk).toString();
  }, new AbortController().signal);
  return text;
}

/** Files of a folder that this process holds open. */
function openBelow(path: string): readonly string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return target.startsWith(path) ? [target] : [];
    } catch {
      return [];
    }
  });
}

const current = () => join(folder, "0.log");
const rotated = (second: number, suffix = "") =>
  join(folder, `0.log.20260101-0000${String(second).padStart(2, "0")}${suffix}`);

describe("Logs", () => {
  test("tails without reading more than it must, across block borders", async () => {
    writeFileSync(current(), lines(0, 20_000));
    for (const tailLines of [0, 1, 2, 999, 5_000, 19_999, 20_000, 30_000])
      assert.equal(
        await read({ tailLines }),
        shown(Math.max(0, 20_000 - tailLines), 20_000),
        `${tailLines}`,
      );
  });

  test("counts a line of several parts once", async () => {
    const part = "x".repeat(16_000);
    const long = (n: number) =>
      `${`${timeOf(n)} stdout P ${part}\n`.repeat(9)}${timeOf(n)} stdout F ${n}\n`;
    writeFileSync(current(), `${line(0)}${long(1)}${long(2)}${timeOf(3)} stdout P open\n`);
    const all = (n: number) => `${part.repeat(9)}${n}\n`;
    assert.equal(await read({ tailLines: 1 }), "open");
    assert.equal(await read({ tailLines: 2 }), `${all(2)}open`);
    assert.equal(await read({ tailLines: 3 }), `${all(1)}${all(2)}open`);
    assert.equal(await read({ tailLines: 4 }), `line 0\n${all(1)}${all(2)}open`);
  });

  test("reads on into rotated and zipped files where tail or time reach there", async () => {
    writeFileSync(rotated(1, ".gz"), gzipSync(lines(0, 100)));
    writeFileSync(rotated(2, ".gz"), gzipSync(lines(100, 200)));
    writeFileSync(rotated(2), lines(100, 200));
    writeFileSync(rotated(3), lines(200, 300));
    writeFileSync(rotated(4, ".gz.tmp"), "x");
    writeFileSync(join(folder, "0.log.note"), line(999));
    writeFileSync(join(folder, "10.log"), line(998));
    writeFileSync(current(), lines(300, 310));
    assert.equal(await read(), shown(0, 310));
    for (const tailLines of [5, 10, 11, 110, 111, 210, 215, 309, 310, 400])
      assert.equal(
        await read({ tailLines }),
        shown(Math.max(0, 310 - tailLines), 310),
        `${tailLines}`,
      );
    for (const since of [0, 50, 150, 299, 305])
      assert.equal(
        await read({ sinceNanos: parseTimestampNanos(timeOf(since)) ?? 0n }),
        shown(since, 310),
        `${since}`,
      );
    assert.equal(
      await read({ tailLines: 20, sinceNanos: parseTimestampNanos(timeOf(300)) ?? 0n }),
      shown(300, 310),
    );
    assert.equal(await read({ tailLines: 150, limitBytes: 18 }), shown(160, 162));
  });

  test("finds a time in a large file without reading all of it", async () => {
    writeFileSync(current(), lines(0, 50_000));
    for (const since of [0, 1, 25_000, 49_999])
      assert.equal(
        await read({ sinceNanos: parseTimestampNanos(timeOf(since)) ?? 0n }),
        shown(since, 50_000),
        `${since}`,
      );
    assert.equal(await read({ sinceNanos: parseTimestampNanos(timeOf(50_000)) ?? 0n }), "");
  });

  test("leaves out what is broken in a zipped file, and shows the rest", async () => {
    writeFileSync(rotated(1, ".gz"), gzipSync(lines(0, 10_000)).subarray(0, 2_000));
    writeFileSync(current(), lines(10_000, 10_003));
    const text = await read();
    assert.ok(text.startsWith("line 0\n") && text.endsWith(shown(10_000, 10_003)));
    assert.equal(await read({ tailLines: 3 }), shown(10_000, 10_003));
  });

  test("does not wait for a writer that never stops", async () => {
    writeFileSync(current(), lines(0, 10));
    await using reading = await logs.open(current(), QUERY, new Cell(false));
    appendFileSync(current(), lines(10, 20));
    let text = "";
    await reading.pump(async (chunk) => {
      text += Buffer.from(chunk).toString();
      appendFileSync(current(), line(20));
    }, new AbortController().signal);
    assert.equal(text, shown(0, 10));
  });

  test("shows what was there when it was opened, whatever is rotated meanwhile", async () => {
    writeFileSync(rotated(1), lines(0, 5));
    writeFileSync(current(), lines(5, 10));
    await using reading = await logs.open(current(), QUERY, new Cell(true));
    writeFileSync(rotated(1, ".gz"), gzipSync(readFileSync(rotated(1))));
    unlinkSync(rotated(1));
    renameSync(current(), rotated(2));
    writeFileSync(current(), lines(10, 15));
    let text = "";
    await reading.pump(async (chunk) => {
      text += Buffer.from(chunk).toString();
    }, new AbortController().signal);
    assert.equal(text, shown(0, 10));
  });

  test("leaves nothing open when one of the files cannot be opened", async () => {
    writeFileSync(rotated(1), lines(0, 1));
    writeFileSync(current(), lines(1, 2));
    openFolder = async (...at) => {
      const held = await openFolderBeneath(...at);
      const open = held?.open.bind(held);
      if (!held || !open) return undefined;
      held.open = async (name) => {
        if (name === "0.log") throw new OutsideError("deadline", "no answer");
        return await open(name);
      };
      return held;
    };
    await assert.rejects(read(), /no answer/);
    assert.deepEqual(openBelow(folder), []);
  });

  test("reports what is missing, and follows no link", async () => {
    const refusal = async (path: string, code: "notFound" | "precondition" | "invalid") => {
      await assert.rejects(
        logs.open(path, QUERY, new Cell(true)),
        (error) => isOutside(error, code),
        path,
      );
    };
    await refusal(join(folder, "7.log"), "notFound");
    await refusal(join(root, "none/c/0.log"), "notFound");
    await refusal("/etc/passwd", "precondition");
    await refusal(join(root, "..", "secret"), "invalid").catch(() =>
      refusal(`${root}/../secret`, "invalid"),
    );
    writeFileSync(join(base, "secret"), line(1));
    symlinkSync(join(base, "secret"), join(folder, "0.log"));
    await refusal(join(folder, "0.log"), "notFound");
    symlinkSync(join(base, "secret"), rotated(1));
    await refusal(join(folder, "0.log"), "notFound");
    symlinkSync(base, join(root, "evil"));
    await refusal(join(root, "evil/secret"), "precondition");
    assert.equal(logs.readers, 0);
  });
});

describe("Logs, following", () => {
  interface Follower {
    text(): string;
    until(end: string): Promise<void>;
    readonly done: Promise<void>;
    readonly ended: Cell<boolean>;
    readonly leave: AbortController;
  }

  async function follow(
    query: Partial<LogQuery> = {},
    slow?: () => Promise<void>,
  ): Promise<Follower> {
    const ended = new Cell(false);
    const leave = new AbortController();
    const reading = await logs.open(current(), { ...QUERY, follow: true, ...query }, ended);
    let text = "";
    const done = reading
      .pump(async (chunk) => {
        text += Buffer.from(chunk).toString();
        await slow?.();
      }, leave.signal)
      .finally(() => reading[Symbol.asyncDispose]());
    done.catch(() => {});
    return {
      text: () => text,
      until: async (end) => {
        const over = done.then(() =>
          assert.ok(text.endsWith(end), `ended with ${text.slice(-80)}`),
        );
        over.catch(() => {});
        while (!text.endsWith(end)) await Promise.race([sleep(5), over]);
      },
      done,
      ended,
      leave,
    };
  }

  test("passes on what is written, and ends with the container", async () => {
    writeFileSync(current(), lines(0, 3));
    const follower = await follow({ tailLines: 1 });
    await follower.until("line 2\n");
    appendFileSync(current(), lines(3, 5));
    await follower.until("line 4\n");
    appendFileSync(current(), line(5));
    follower.ended.set(true);
    await follower.done;
    assert.equal(follower.text(), shown(2, 6));
    assert.equal(logs.readers, 0);
  });

  test("ends at the limit, and with its reader", async () => {
    writeFileSync(current(), lines(0, 1));
    const limited = await follow({ limitBytes: 10 });
    appendFileSync(current(), line(1));
    await limited.done;
    assert.equal(limited.text(), "line 0\nlin");
    const left = await follow();
    left.leave.abort(new Error("left"));
    await assert.rejects(left.done, /left/);
  });

  test("goes on in the next file after a rotation, and loses no line", async () => {
    writeFileSync(current(), lines(0, 2));
    const follower = await follow();
    await follower.until("line 1\n");
    appendFileSync(current(), line(2));
    renameSync(current(), rotated(1));
    appendFileSync(rotated(1), line(3));
    await follower.until("line 3\n");
    writeFileSync(current(), line(4));
    await follower.until("line 4\n");
    renameSync(current(), rotated(2));
    writeFileSync(current(), line(5));
    await follower.until("line 5\n");
    follower.ended.set(true);
    await follower.done;
    assert.equal(follower.text(), shown(0, 6));
  });

  test("catches up after several rotations behind a slow reader, zipped files included", async () => {
    writeFileSync(current(), lines(0, 2));
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const follower = await follow({}, () => gate);
    while (follower.text() === "") await sleep(5);
    appendFileSync(current(), line(2));
    renameSync(current(), rotated(1));
    writeFileSync(rotated(1, ".gz"), gzipSync(readFileSync(rotated(1))));
    unlinkSync(rotated(1));
    writeFileSync(rotated(2, ".gz"), gzipSync(lines(3, 5)));
    writeFileSync(rotated(3), lines(5, 7));
    writeFileSync(current(), lines(7, 8));
    open();
    await follower.until("line 7\n");
    appendFileSync(current(), line(8));
    follower.ended.set(true);
    await follower.done;
    assert.equal(follower.text(), shown(0, 9));
  });

  test("starts over in a file that was cut off", async () => {
    writeFileSync(current(), lines(0, 3));
    const follower = await follow();
    await follower.until("line 2\n");
    truncateSync(current());
    appendFileSync(current(), line(3));
    await follower.until("line 3\n");
    follower.ended.set(true);
    await follower.done;
  });

  test("keeps every line of a fast writer that rotates", async () => {
    writeFileSync(current(), "");
    const follower = await follow();
    for (let n = 0; n < 3_000; n += 1) {
      appendFileSync(current(), line(n));
      if (n % 500 === 499) {
        renameSync(current(), rotated((n + 1) / 500));
        writeFileSync(current(), "");
      }
      if (n % 100 === 0) await sleep(1);
    }
    follower.ended.set(true);
    await follower.done;
    assert.equal(follower.text(), shown(0, 3_000));
  });
});

describe("number of a first attempt", () => {
  const pod = { metadata: { name: "pod", namespace: "ns", uid: "uid" } } as IdentifiedPod;
  const next = () => logs.nextAttempt(pod, "c");

  test("follows the logs that are there, rotated ones too", async () => {
    assert.equal(await next(), 0);
    writeFileSync(join(folder, "1.log"), "");
    writeFileSync(join(folder, "4.log.20260101-000000.gz"), "");
    assert.equal(await next(), 5);
  });

  test("is 0 once in a folder that was made for the pod, without listing it", async () => {
    logs.folderMade(pod);
    // Not there when the pod's folder was made.
    writeFileSync(join(folder, "2.log"), "");
    assert.equal(await next(), 0);
    assert.equal(await logs.nextAttempt(pod, "other"), 0);
    assert.equal(await next(), 3);
  });

  test("follows the logs in a folder that was removed since it was made", async () => {
    logs.folderMade(pod);
    logs.folderRemoved(pod);
    writeFileSync(join(folder, "0.log"), "");
    assert.equal(await next(), 1);
  });
});
