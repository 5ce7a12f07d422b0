// pure
import { quoted } from "./go-quote.ts";

/** A URL in the parts that Go's net/url finds in it; user and fragment are checked and left out. */
type GoUrl =
  | {
      readonly ok: true;
      /** In lower case; empty when there is none. */
      readonly scheme: string;
      /** What follows `scheme:` without a slash; then there is neither host nor path. */
      readonly opaque: string;
      /** `host:port`, empty when there is none. */
      readonly host: string;
      /** As written, with its escapes. */
      readonly path: string;
      /** With its `?`; empty when there is none. */
      readonly query: string;
    }
  | { readonly ok: false; readonly why: string };

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/;
const BAD_ESCAPE = /%(?![0-9A-Fa-f]{2}).{0,2}/s;
/** Characters of a host without brackets. */
const HOST = /^[A-Za-z0-9\-._~!$&'()*+,;=:<>"\u0080-\u{10ffff}]$/u;
const USER = /^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/;

const fault = (why: string): GoUrl => ({ ok: false, why });

/** Splits a URL or a part of one as Go 1.26 does. Source: https://pkg.go.dev/net/url#Parse. */
export function readGoUrl(text: string): GoUrl {
  if (/[^\P{Cc}\x80-\x9f]/u.test(text)) return fault("net/url: invalid control character in URL");
  const [whole = "", ...fragments] = text.split("#");
  const broken = escapeFault(fragments.join("#"));
  if (broken !== "") return fault(broken);
  if (whole.startsWith(":")) return fault("missing protocol scheme");
  const written = SCHEME.exec(whole)?.[1] ?? "";
  const scheme = written.toLowerCase();
  const behind = written === "" ? whole : whole.slice(written.length + 1);
  const [rest = ""] = behind.split("?", 1);
  const query = behind.slice(rest.length);
  if (!rest.startsWith("/")) {
    if (scheme !== "") return { ok: true, scheme, opaque: rest, host: "", path: "", query };
    if (/^[^/]*:/.test(rest)) return fault("first path segment in URL cannot contain colon");
  }
  const hasAuthority = rest.startsWith("//") && (scheme !== "" || !rest.startsWith("///"));
  const authority = hasAuthority ? (/^\/\/([^/]*)/.exec(rest)?.[1] ?? "") : "";
  const path = hasAuthority ? rest.slice(authority.length + 2) : rest;
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  if (!USER.test(authority.slice(0, authority.lastIndexOf("@") + 1))) {
    return fault("net/url: invalid userinfo");
  }
  const why = hostFault(host, scheme) || escapeFault(path);
  return why === "" ? { ok: true, scheme, opaque: "", host, path, query } : fault(why);
}

function escapeFault(text: string): string {
  const found = BAD_ESCAPE.exec(text)?.[0];
  return found === undefined ? "" : `invalid URL escape ${quoted(found)}`;
}

/** What is wrong with `host:port`; empty when nothing is. Of the schemes of HTTP alone a host has no colons. */
function hostFault(host: string, scheme: string): string {
  if (host.startsWith("[")) {
    const end = host.lastIndexOf("]");
    return end < 0 ? "missing ']' in host" : portFault(host.slice(end + 1));
  }
  const isHttp = scheme === "http" || scheme === "https";
  const colon = isHttp ? host.indexOf(":") : host.lastIndexOf(":");
  const port = colon < 0 ? "" : portFault(host.slice(colon));
  if (port !== "") return port;
  const name = colon < 0 ? host : host.slice(0, colon);
  const bad = /%.{0,2}/s.exec(name)?.[0];
  if (bad !== undefined) return `invalid URL escape ${quoted(bad)}`;
  const odd = [...name].find((character) => !HOST.test(character));
  return odd === undefined ? "" : `invalid character ${quoted(odd)} in host name`;
}

function portFault(port: string): string {
  return /^(:\d*)?$/.test(port) ? "" : `invalid port ${quoted(port)} after host`;
}
