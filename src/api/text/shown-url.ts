// pure

/**
 * A URL as it may be shown in logs, statuses and replies: user, password and query, which may hold
 * credentials, are masked. A text that is no URL of HTTP is masked as a whole.
 */
export function shownUrl(url: string): string {
  const parsed = URL.parse(url);
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return url === "" ? "" : "<masked>";
  const { protocol, username, password, host, pathname, search } = parsed;
  const user = username === "" && password === "" ? "" : "<masked>@";
  return `${protocol}//${user}${host}${pathname}${search === "" ? "" : "?<masked>"}`;
}
