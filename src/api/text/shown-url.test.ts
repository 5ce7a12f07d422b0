import assert from "node:assert/strict";
import { test } from "node:test";
import { shownUrl } from "./shown-url.ts";

const VECTORS: readonly (readonly [string, string])[] = [
  ["http://host.example/pods", "http://host.example/pods"],
  ["https://host.example:8443/a/b", "https://host.example:8443/a/b"],
  ["http://joe:secret@host.example/pods", "http://<masked>@host.example/pods"],
  ["http://joe@host.example/pods", "http://<masked>@host.example/pods"],
  ["http://:secret@host.example/", "http://<masked>@host.example/"],
  ["http://host.example/pods?token=secret", "http://host.example/pods?<masked>"],
  ["http://[2001:db8::1]:80/x?a", "http://[2001:db8::1]/x?<masked>"],
  ["joe:secret@nowhere", "<masked>"],
  ["", ""],
  ["//secret", "<masked>"],
];

for (const [url, shown] of VECTORS)
  test(`shownUrl: ${url}`, () => {
    assert.equal(shownUrl(url), shown);
  });
