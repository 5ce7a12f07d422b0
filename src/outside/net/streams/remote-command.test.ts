import assert from "node:assert/strict";
import { test } from "node:test";
import { finalStatus, firstOutput, readChannelMessage, streamsToOpen } from "./remote-command.ts";

const bytes = (...values: number[]) => Uint8Array.from(values);

const messages: readonly (readonly [string, Uint8Array, unknown])[] = [
  ["input", bytes(0, 65, 66), { kind: "data", channel: 0, bytes: bytes(65, 66) }],
  ["empty input", bytes(0), { kind: "data", channel: 0, bytes: bytes() }],
  ["size", bytes(4, 123), { kind: "data", channel: 4, bytes: bytes(123) }],
  ["nothing", bytes(), { kind: "nothing" }],
  ["an unknown channel", bytes(9, 1), { kind: "nothing" }],
  ["close of the input", bytes(255, 0), { kind: "close", channel: 0 }],
  [
    "close of nothing",
    bytes(255),
    { kind: "invalid", why: "one channel follows the signal to close" },
  ],
  [
    "close of two",
    bytes(255, 0, 1),
    { kind: "invalid", why: "one channel follows the signal to close" },
  ],
  [
    "close of an unknown channel",
    bytes(255, 5),
    { kind: "invalid", why: "there is no channel 5 to close" },
  ],
];
for (const [name, message, expected] of messages)
  test(`readChannelMessage: ${name}`, () => {
    assert.deepEqual(readChannelMessage(message), expected);
  });

test("streamsToOpen: the status first, a terminal has sizes and no stderr", () => {
  const all = { stdin: true, stdout: true, stderr: true };
  assert.deepEqual(streamsToOpen({ ...all, tty: false }), ["error", "stdin", "stdout", "stderr"]);
  assert.deepEqual(streamsToOpen({ ...all, tty: true }), ["error", "stdin", "stdout", "resize"]);
  const none = { stdin: false, stdout: false, stderr: false, tty: false };
  assert.deepEqual(streamsToOpen(none), ["error"]);
  assert.deepEqual(
    [{ ...none, stdout: true }, { ...none, stderr: true }, none].map(firstOutput),
    [1, 2, 3],
  );
});

const internal = (message: string) => ({
  metadata: {},
  status: "Failure",
  message: `Internal error occurred: ${message}`,
  reason: "InternalError",
  details: { causes: [{ message }] },
  code: 500,
});
const exited = (message: unknown) =>
  JSON.stringify({
    metadata: {},
    status: "Failure",
    reason: "NonZeroExitCode",
    message: "command terminated with non-zero exit code: exit status 3",
    details: { causes: [{ reason: "ExitCode", message }] },
  });
const statuses: readonly (readonly [string, string, unknown])[] = [
  ["nothing", "", { metadata: {}, status: "Success" }],
  ["success", '{"metadata":{},"status":"Success"}', { metadata: {}, status: "Success" }],
  [
    "an exit code",
    exited("3"),
    {
      metadata: {},
      status: "Failure",
      message: "command terminated with non-zero exit code: command terminated with exit code 3",
      reason: "NonZeroExitCode",
      details: { causes: [{ reason: "ExitCode", message: "3" }] },
    },
  ],
  [
    "an exit code that is none",
    exited("256"),
    internal('error stream protocol error: invalid exit code value "256"'),
  ],
  [
    "an exit code without a text",
    exited(3),
    internal("error stream protocol error: invalid exit code value 3"),
  ],
  [
    "an error of the runtime",
    '{"status":"Failure","reason":"InternalError","message":"no such container"}',
    internal("no such container"),
  ],
  ["no JSON", "oops", internal('error stream protocol error: no status in "oops"')],
  ["null", "null", internal("error stream protocol error: unknown error")],
];
for (const [name, text, expected] of statuses)
  test(`finalStatus: ${name}`, () => {
    assert.deepEqual(JSON.parse(finalStatus(text)), expected);
  });
