import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connectOwnProcess } from "./own-process.ts";

test("usage is that of this process", () => {
  const own = connectOwnProcess();
  try {
    const usage = own.usage();
    assert.ok(usage.residentBytes > 1024 * 1024 && usage.residentBytes <= usage.virtualBytes);
    assert.ok(Math.abs(usage.startTimeSeconds - (Date.now() / 1000 - process.uptime())) < 1);
    assert.ok(usage.openFiles >= 3 && usage.openFiles < usage.maxFiles);
    assert.ok(usage.heapUsedBytes > 2 ** 20 && usage.heapUsedBytes <= usage.heapTotalBytes);
    const buffer = Buffer.alloc(8 * 2 ** 20, 1);
    assert.ok(own.usage().externalBytes - usage.externalBytes >= buffer.length / 2);
    const memory = own.memory();
    assert.ok(Math.abs(memory.residentBytes - own.usage().residentBytes) < 64 * 2 ** 20);
    assert.ok(memory.heapUsedBytes > 2 ** 20 && memory.heapUsedBytes < memory.heapLimitBytes);
    const before = usage.cpuSeconds;
    const until = performance.now() + 30;
    while (performance.now() < until);
    assert.ok(own.usage().cpuSeconds > before);
  } finally {
    own.close();
  }
});

test("loopDelay shows that the loop was held up, and only then", async () => {
  const own = connectOwnProcess();
  try {
    await sleep(200);
    const quiet = own.loopDelay();
    const until = performance.now() + 400;
    while (performance.now() < until);
    await sleep(100);
    const late = own.loopDelay();
    assert.ok(late.maxSeconds > 0.25, `${late.maxSeconds}`);
    assert.ok(quiet.p50Seconds < late.maxSeconds);
    assert.ok(late.p50Seconds <= late.p99Seconds && late.p99Seconds <= late.maxSeconds);
  } finally {
    own.close();
  }
});
