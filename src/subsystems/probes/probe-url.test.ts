import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { probeUrl } from "./probe-url.ts";

test("probeUrl reads and escapes paths as Go does", () => {
  const cases: readonly (readonly [path: string, sent: string])[] = [
    ["", "/"],
    ["/", "/"],
    ["/healthz", "/healthz"],
    ["healthz", "/healthz"],
    ["/healthz?verbose=1&a=%20", "/healthz?verbose=1&a=%20"],
    ["?q", "/?q"],
    ["/a?b c", "/a?b%20c"],
    ["/a?b?c#d", "/a?b?c"],
    ["/a#b?c", "/a"],
    ["/a b", "/a%20b"],
    ["/a%20b", "/a%20b"],
    ["/a%2Fb/c", "/a%2Fb/c"],
    ["/a/../b/./c", "/a/../b/./c"],
    ["/(a)'!*[]", "/(a)'!*[]"],
    ["/(a) b", "/%28a%29%20b"],
    ["/ä", "/%C3%A4"],
    ["/%e4 ", "/%E4%20"],
    ["/100%", "/100%25"],
    ["/100%?a", "/100%25%3Fa"],
    ["/a\nb", "/a%0Ab"],
    ["//elsewhere/x?y", "/x?y"],
    ["///x", "///x"],
    ["http://elsewhere:1/x?y", "/x?y"],
    ["/x?u=http://elsewhere/", "/x?u=http://elsewhere/"],
    ["\\x", "/%5Cx"],
  ];
  for (const [path, sent] of cases)
    assert.equal(probeUrl("http", "10.0.0.1", 80, path), `http://10.0.0.1:80${sent}`, path);
});

test("probeUrl puts brackets around IPv6", () => {
  assert.equal(probeUrl("https", "fd00::1", 443, "/x"), "https://[fd00::1]:443/x");
  assert.equal(probeUrl("http", "fe80::1%eth0", 80, ""), "http://[fe80::1%25eth0]:80/");
});

test("probeUrl never lets a path change host or port, or break out of the request line", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (path) => {
      const url = probeUrl("http", "10.0.0.1", 8080, path);
      assert.match(url, /^http:\/\/10\.0\.0\.1:8080\/[^ \r\n]*$/);
      assert.equal(new URL(url).host, "10.0.0.1:8080");
    }),
  );
});
