// pure

/**
 * Replaces `$(NAME)` by the variable's value; `$$` is a literal `$`, and a reference to an unknown name
 * stays as written (k8s.io/kubernetes third_party/forked/golang/expansion).
 */
export function expandVariables(
  text: string,
  lookup: (name: string) => string | undefined,
): string {
  let result = "";
  let from = 0;
  for (let i = text.indexOf("$"); i >= 0 && i + 1 < text.length; i = text.indexOf("$", from)) {
    result += text.slice(from, i);
    const next = text[i + 1];
    if (next === "$") {
      result += "$";
      from = i + 2;
    } else if (next === "(") {
      const end = text.indexOf(")", i + 2);
      if (end < 0) {
        result += "$(";
        from = i + 2;
      } else {
        const name = text.slice(i + 2, end);
        result += lookup(name) ?? `$(${name})`;
        from = end + 1;
      }
    } else {
      result += `$${next}`;
      from = i + 2;
    }
  }
  return result + text.slice(from);
}
