import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyCodePoint } from "../../../test/support/any-text.ts";
import { actionHeaders, actionUrl, actionUrlFault } from "./http-action.ts";

test("actionUrl reads and escapes paths as Go does", () => {
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
    ["foo:/bar?x", "/bar?x"],
    ["foo:///bar", "/bar"],
    ["foo:", "/"],
    ["1foo:bar?x", "/1foo:bar%3Fx"],
    ["fo_o:bar", "/fo_o:bar"],
    [":bar", "/:bar"],
    ["a/foo:bar", "/a/foo:bar"],
    ["/foo:bar", "/foo:bar"],
    ["http://elsewhere:x/y", "/http://elsewhere:x/y"],
    ["/a#%zz", "/a%23%25zz"],
  ];
  for (const [path, sent] of cases)
    assert.equal(actionUrl("http", "10.0.0.1", 80, path), `http://10.0.0.1:80${sent}`, path);
});

test("actionUrlFault: a path like a scheme with more behind it has no host, as in Go", () => {
  const none = (url: string) => `Get "${url}": http: no Host in request URL`;
  assert.equal(actionUrlFault("http", "foo:bar"), none("http:bar"));
  assert.equal(actionUrlFault("https", "FOO:8080/x?y#z"), none("https:8080/x?y"));
  assert.equal(actionUrlFault("http", "localhost:8080"), none("http:8080"));
  for (const path of ["", "/foo:bar", "foo:", "foo:/bar", "1foo:bar", ":bar", "a/b:c", "fo_o:bar"])
    assert.equal(actionUrlFault("http", path), undefined, path);
});

test("actionUrl puts brackets around IPv6", () => {
  assert.equal(actionUrl("https", "fd00::1", 443, "/x"), "https://[fd00::1]:443/x");
  assert.equal(actionUrl("http", "fe80::1%eth0", 80, ""), "http://[fe80::1%25eth0]:80/");
});

test("actionUrl never lets a path change host or port, or break out of the request line", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCodePoint }), (path) => {
      const url = actionUrl("http", "10.0.0.1", 8080, path);
      assert.match(url, /^http:\/\/10\.0\.0\.1:8080\/[^ \r\n]*$/);
      assert.equal(new URL(url).host, "10.0.0.1:8080");
    }),
  );
});

test("actionHeaders adds agent and Accept unless the spec has its own, and an empty Accept removes it", () => {
  const agent = { name: "User-Agent", value: "kube-probe/1.36" };
  const any = { name: "Accept", value: "*/*" };
  const own = { name: "user-agent", value: "mine" };
  const json = { name: "accept", value: "application/json" };
  assert.deepEqual(actionHeaders([], "kube-probe/1.36"), [agent, any]);
  assert.deepEqual(actionHeaders([own], "kube-probe/1.36"), [
    { name: "User-Agent", value: "mine" },
    any,
  ]);
  assert.deepEqual(actionHeaders([json], "kube-probe/1.36"), [agent, json]);
  assert.deepEqual(actionHeaders([{ name: "ACCEPT", value: "" }], "kube-probe/1.36"), [agent]);
  assert.deepEqual(actionHeaders([{ name: "User-Agent", value: "" }], "kube-probe/1.36"), [any]);
});
