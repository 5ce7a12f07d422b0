import assert from "node:assert/strict";
import { test } from "node:test";
import { HttpProblem } from "../http-problem.ts";
import { journalArguments, parseNodeLogQuery } from "./node-log-query.ts";

const FORMAT = ["--utc", "--no-pager", "--output=short-precise"];

const GOOD: readonly (readonly [query: string, expected: unknown])[] = [
  ["", { kind: "path" }],
  ["other=1", { kind: "path" }],
  ["query=kubelet", { kind: "services", services: ["kubelet"], options: {} }],
  [
    "query=kubelet&query=getty@tty1",
    { kind: "services", services: ["kubelet", "getty@tty1"], options: {} },
  ],
  ["query=/dpkg.log", { kind: "file", path: "/dpkg.log" }],
  ["query=apt%5Chistory.log", { kind: "file", path: "apt/history.log" }],
  [
    "query=a&sinceTime=2026-01-02T03:04:05Z&untilTime=2026-01-02T03:04:06%2B00:00&tailLines=10&boot=-1&pattern=x",
    {
      kind: "services",
      services: ["a"],
      options: {
        sinceMs: Date.parse("2026-01-02T03:04:05Z"),
        untilMs: Date.parse("2026-01-02T03:04:06Z"),
        boot: -1,
        tailLines: 10,
        pattern: "x",
      },
    },
  ],
];

for (const [query, expected] of GOOD)
  test(`parseNodeLogQuery reads ${query === "" ? "no query" : query}`, () => {
    assert.deepEqual(parseNodeLogQuery(new URLSearchParams(query), ""), expected);
  });

const long = "a".repeat(257);
const BAD: readonly (readonly [query: string, status: number, text: string])[] = [
  ["query=", 400, 'query: Invalid value: [""]: query cannot be empty'],
  ["query=a&sinceTime=now", 400, 'sinceTime: Invalid value: "now": invalid time format'],
  ["query=a&tailLines=x", 400, 'tailLines: Invalid value: "x": must be a whole number'],
  ["query=a&boot=1.5", 400, 'boot: Invalid value: "1.5": must be a whole number'],
  ["tailLines=1", 406, "query: Required value: cannot be empty with options"],
  ["query=a&boot=1", 406, "boot: Invalid value: 1: must be less than 1"],
  [
    "query=a&tailLines=100001",
    406,
    "tailLines: Invalid value: 100001: must be between 0 and 100000, inclusive",
  ],
  [
    "query=a&tailLines=-1",
    406,
    "tailLines: Invalid value: -1: must be between 0 and 100000, inclusive",
  ],
  [
    "query=a&sinceTime=2026-01-02T03:04:06Z&untilTime=2026-01-02T03:04:05Z",
    406,
    'untilTime: Invalid value: "2026-01-02T03:04:05Z": must be after `sinceTime`',
  ],
  [
    "query=a;reboot",
    406,
    'query: Invalid value: "a;reboot": input contains unsupported characters',
  ],
  ["query=a%20b", 406, 'query: Invalid value: "a b": input contains unsupported characters'],
  ["query=$(id)", 406, 'query: Invalid value: "$(id)": input contains unsupported characters'],
  [`query=${long}`, 406, `query: Invalid value: "${long}": length must be at most 256`],
  ["query=a&query=b&query=c&query=d&query=e", 406, "query: Too many: 5: must have at most 4 items"],
  ["query=a&query=/b", 406, 'query: Invalid value: "/b, a": cannot specify a file and service'],
  [
    "query=/a&query=/b",
    406,
    'query: Invalid value: ["/a","/b"]: cannot specify more than one file',
  ],
  ["query=/a&boot=0", 406, 'query: Invalid value: ["/a"]: cannot specify file with options'],
  [
    "query=a&pattern=(%3F%3Dx)",
    406,
    'pattern: Invalid value: "(?=x)": error parsing regexp: invalid or unsupported Perl syntax',
  ],
  [
    "query=a&pattern=(a)%5C1",
    406,
    'pattern: Invalid value: "(a)\\\\1": error parsing regexp: invalid or unsupported Perl syntax',
  ],
];

for (const [query, status, text] of BAD)
  test(`parseNodeLogQuery refuses ${query.slice(0, 80)}`, () => {
    assert.throws(
      () => parseNodeLogQuery(new URLSearchParams(query), ""),
      (error: unknown) => {
        assert.ok(error instanceof HttpProblem);
        assert.deepEqual([error.status, error.message], [status, `${text}\n`]);
        return true;
      },
    );
  });

test("parseNodeLogQuery refuses a query with a path, and a pattern that is none", () => {
  const status = (query: string, path: string) => {
    try {
      return parseNodeLogQuery(new URLSearchParams(query), path).kind;
    } catch (error) {
      return error instanceof HttpProblem ? error.status : error;
    }
  };
  assert.equal(status("query=a", "dpkg.log"), 406);
  assert.equal(status("", "dpkg.log"), "path");
  for (const pattern of ["(a", "[a", "a{2,1}", "*a", "a".repeat(1_025)])
    assert.equal(status(`query=a&pattern=${encodeURIComponent(pattern)}`, ""), 406, pattern);
  for (const pattern of ["(?i)error|fail", "(?P<n>a)", "a.*b", "[[:alpha:]]+", "^\\d{3}$"])
    assert.equal(status(`query=a&pattern=${encodeURIComponent(pattern)}`, ""), "services", pattern);
});

test("journalArguments has one element for each argument, whatever stands in it", () => {
  const sinceMs = Date.parse("2026-01-02T03:04:05Z");
  const all = {
    sinceMs,
    untilMs: sinceMs + 1_000,
    tailLines: 5,
    boot: -1,
    pattern: "a b'; rm -rf /",
  };
  assert.deepEqual(journalArguments(["kubelet", "containerd"], all), [
    ...FORMAT,
    "--since=2026-01-02 03:04:05 UTC",
    "--until=2026-01-02 03:04:06 UTC",
    "--pager-end",
    "--lines=5",
    "--unit=kubelet",
    "--unit=containerd",
    "--grep=a b'; rm -rf /",
    "--case-sensitive=false",
    "--boot=-1",
  ]);
  assert.deepEqual(journalArguments(["a"], {}), [...FORMAT, "--unit=a"]);
});
