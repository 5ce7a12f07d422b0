import assert from "node:assert/strict";
import { test } from "node:test";
import {
  defaultPullPolicy,
  type ImageReference,
  imageReferenceFault,
  isSameImage,
  parseImageReference,
} from "./image-reference.ts";

const sha = `sha256:${"a".repeat(64)}`;

test("parseImageReference: table", () => {
  const table: readonly [string, ImageReference | undefined][] = [
    ["nginx", { domain: "docker.io", path: "library/nginx" }],
    ["nginx:1.27", { domain: "docker.io", path: "library/nginx", tag: "1.27" }],
    ["me/app", { domain: "docker.io", path: "me/app" }],
    ["docker.io/nginx", { domain: "docker.io", path: "library/nginx" }],
    ["index.docker.io/nginx", { domain: "docker.io", path: "library/nginx" }],
    ["localhost/a", { domain: "localhost", path: "a" }],
    ["localhost:5000/a/b:v1", { domain: "localhost:5000", path: "a/b", tag: "v1" }],
    ["example.org/a", { domain: "example.org", path: "a" }],
    ["UPPER/a", { domain: "UPPER", path: "a" }],
    ["[::1]:5000/a", { domain: "[::1]:5000", path: "a" }],
    [`a@${sha}`, { domain: "docker.io", path: "library/a", digest: sha }],
    [`a:v1@${sha}`, { domain: "docker.io", path: "library/a", tag: "v1", digest: sha }],
    ["a/b__c/d---e.f", { domain: "docker.io", path: "a/b__c/d---e.f" }],
    ["", undefined],
    ["Nginx", undefined],
    ["a b", undefined],
    ["a:", undefined],
    ["a@sha256:abc", undefined],
    ["a:b:c", undefined],
    ["-a", undefined],
    ["a//b", undefined],
    ["a/", undefined],
    ["a___b", undefined],
    ["host.:x/a", undefined],
    ["b".repeat(64), undefined],
    [`a:${"x".repeat(129)}`, undefined],
    [`a/${"x".repeat(260)}`, undefined],
  ];
  for (const [text, expected] of table) assert.deepEqual(parseImageReference(text), expected, text);
});

test("defaultPullPolicy: Always for latest, explicit or implied", () => {
  const table: readonly [string, string][] = [
    ["nginx", "Always"],
    ["nginx:latest", "Always"],
    [`nginx:latest@${sha}`, "Always"],
    ["nginx:1", "IfNotPresent"],
    [`nginx@${sha}`, "IfNotPresent"],
    ["", "IfNotPresent"],
    ["NOT A NAME", "IfNotPresent"],
  ];
  for (const [image, policy] of table) assert.equal(defaultPullPolicy(image), policy, image);
});

test("parseImageReference: long hostile names take no time", () => {
  for (const text of [
    "a-".repeat(2000),
    "a_".repeat(2000),
    "a.".repeat(2000),
    "-".repeat(1e6),
    "a".repeat(4000),
    `${"a/".repeat(2000)}!`,
    `${"a".repeat(4000)}!`,
  ])
    assert.equal(parseImageReference(text), undefined);
});

const SAME: readonly (readonly [string, string, boolean])[] = [
  ["nginx", "docker.io/library/nginx:latest", true],
  ["nginx:1", "index.docker.io/library/nginx:1", true],
  ["me/app:1", "docker.io/me/app:1", true],
  ["nginx:1", "nginx:2", false],
  ["a.test/nginx", "nginx", false],
  [`app:1@sha256:${"0".repeat(64)}`, `docker.io/library/app@sha256:${"0".repeat(64)}`, true],
  [`app:1@sha256:${"0".repeat(64)}`, "app:1", false],
  ["UPPER", "UPPER", true],
  ["UPPER", "upper", false],
];

for (const [a, b, same] of SAME)
  test(`isSameImage: ${a} and ${b} ${same ? "are" : "are not"} the same`, () => {
    assert.equal(isSameImage(a, b), same);
    assert.equal(isSameImage(b, a), same);
  });

test("imageReferenceFault: names the problem where possible", () => {
  const id = "6ab54d479c892d72126d5ea1f1f6a52c3c74ff9ffcd7482b8e37062683735eb4";
  const lower = "invalid reference format: repository name";
  const table = [
    ["nginx:", "invalid reference format"],
    ["Nginx:1.2", `${lower} (library/Nginx) must be lowercase`],
    ["registry.test/team/App:V1", `${lower} (team/App) must be lowercase`],
    [id, `invalid repository name (${id}), cannot specify 64-byte hexadecimal strings`],
  ] as const;
  for (const [text, expected] of table) {
    assert.equal(parseImageReference(text), undefined);
    assert.equal(imageReferenceFault(text), expected);
  }
});
