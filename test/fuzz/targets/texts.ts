// Texts of the API: YAML, quantities, names, times, selectors.

import { formatNanoseconds, parseDuration } from "../../../src/api/text/duration.ts";
import { parseImageReference } from "../../../src/api/text/image-reference.ts";
import { parseIp } from "../../../src/api/text/ip.ts";
import { parseFieldSelector, parseLabelSelector } from "../../../src/api/text/labels.ts";
import { canonicalQuantity, readQuantity } from "../../../src/api/text/quantity.ts";
import {
  nanosFromWall,
  parseTimestamp,
  parseTimestampNanos,
  rfc3339Nano,
} from "../../../src/api/text/timestamps.ts";
import { dumpYaml, parseYaml, YamlError } from "../../../src/api/text/yaml.ts";
import { same } from "../check.ts";
import { textTarget } from "../target.ts";
import { MANIFEST_YAML } from "./seeds.ts";

const asNumber = (_: string, value: unknown): unknown =>
  typeof value === "bigint" ? Number(value) : value;

/** Every decoder of a text of the API. */
export const TEXT_TARGETS = [
  textTarget({
    name: "yaml",
    files: ["api/text/yaml.ts", "api/text/yaml-schema.ts"],
    share: 0.5,
    words: [
      ...[
        "---\n",
        "...\n",
        "- ",
        ": ",
        "? ",
        "|\n",
        "|-\n",
        ">+2\n",
        "&a ",
        "*a",
        "<<: *a",
        "!!str ",
      ],
      ...["!!binary ", "!local ", "%YAML 1.2\n", "#", "{a: b}", "[a, b]", "  ", "\n", "null", "~"],
      ...["0x1f", "0o17", "1_0", "1e9", ".inf", ".nan", "2001-12-14", "'", '"', "\\u0000", "yes"],
    ],
    seeds: [
      MANIFEST_YAML,
      "a: &a [1, 2]\nb: *a\nc: {<<: {d: 1}}\n",
      "- |\n  text\n- >-\n  folded\n  text\n- 'a''b'\n- \"\\x41\\u0042\"\n",
      '{"a": {"b": [1, 2.5, -3, true, null, "c"]}}',
      "a: 1\n---\nb: 2\n...\n---\n",
    ],
    refuses: [YamlError],
    run: (text) => {
      for (const { value } of parseYaml(text)) {
        const json = JSON.stringify(value, asNumber);
        // A lone surrogate is no text, and NUL has no place in YAML.
        if (json.length > 10_000 || /\\u[dD][89a-fA-F]|\\u0000/.test(json)) continue;
        same(
          JSON.stringify(parseYaml(dumpYaml(JSON.parse(json)))[0]?.value ?? null, asNumber),
          json,
        );
      }
    },
  }),
  textTarget({
    name: "quantity",
    files: ["api/text/quantity.ts"],
    words: [
      "Ki",
      "Mi",
      "Gi",
      "Ti",
      "Pi",
      "Ei",
      "m",
      "u",
      "n",
      "k",
      "M",
      "E",
      "e",
      "e3",
      "E-9",
      ".",
      "+",
    ],
    seeds: ["100m", "1.5Gi", "12e6", "0", "-3Ki", "1E", "9223372036854775807", "0.000000001"],
    run: (text) => {
      const read = readQuantity(text);
      if (!("quantity" in read)) return;
      const canonical = canonicalQuantity(read.quantity);
      const again = readQuantity(canonical);
      same("quantity" in again && canonicalQuantity(again.quantity), canonical);
    },
  }),
  textTarget({
    name: "duration",
    files: ["api/text/duration.ts"],
    words: ["h", "m", "s", "ms", "us", "µs", "μs", "ns", ".", "-", "+"],
    seeds: ["1h30m", "-1.5s", "100ms", "0", "2562047h47m16.854775807s", "1us1ns"],
    run: (text) => {
      const read = parseDuration(text);
      if (read.ok) same(typeof read.ms, "number");
    },
  }),
  textTarget({
    name: "timestamp",
    files: ["api/text/timestamps.ts"],
    words: ["T", "Z", "+01:00", "-23:59", ".123456789", "24:00:00", "02-29", "60"],
    seeds: ["2026-11-22T23:59:59Z", "2026-02-28T00:00:00.123456789+01:00", "0001-01-01T00:00:00Z"],
    run: (text) => {
      const nanos = parseTimestampNanos(text);
      // A zone may lead out of the years that can be written.
      if (nanos !== undefined && !/^(0000|0001-01-01|9999-12-31)/.test(text))
        same(parseTimestampNanos(rfc3339Nano(nanos)), nanos);
      const wall = parseTimestamp(text);
      if (wall !== undefined) nanosFromWall(wall);
    },
  }),
  textTarget({
    name: "image-reference",
    files: ["api/text/image-reference.ts"],
    words: [
      "docker.io/",
      "library/",
      ":latest",
      "@sha256:",
      "a".repeat(64),
      "localhost:5000/",
      "__",
      "--",
    ],
    seeds: [
      "nginx",
      "registry.example:5000/team/app:v1.2@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
      "[2001:db8::1]:5000/a/b",
    ],
    run: (text) => void parseImageReference(text),
  }),
  textTarget({
    name: "ip",
    files: ["api/text/ip.ts"],
    words: ["::", "0:", ".0", "ffff", "/64", "%eth0", "255"],
    seeds: ["127.0.0.1", "2001:db8::1", "::ffff:192.0.2.1", "fe80::1%eth0", "::"],
    run: (text) => void parseIp(text),
  }),
  textTarget({
    name: "selectors",
    files: ["api/text/labels.ts"],
    words: [
      "=",
      "==",
      "!=",
      " in ",
      " notin ",
      "(",
      ")",
      ",",
      "!",
      ">",
      "<",
      "metadata.name",
      "a/b",
    ],
    seeds: [
      "a=b,c!=d,e in (f,g),h,!i,j>1",
      "metadata.name=x,spec.nodeName!=y",
      "x notin (y, z)",
      "",
    ],
    run: (text) => {
      parseLabelSelector(text);
      parseFieldSelector(text);
    },
  }),
  textTarget({
    name: "duration-format",
    files: ["api/text/duration.ts"],
    seeds: ["0", "1000000000", "9223372036854775807"],
    run: (text) => {
      if (!/^-?\d{1,19}$/.test(text)) return;
      const shown = formatNanoseconds(BigInt.asIntN(64, BigInt(text)));
      same(parseDuration(shown).ok, true);
    },
  }),
];
