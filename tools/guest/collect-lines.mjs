/** Keeps what a guest writes: all of it as `text`, and `onLine` receives every line as it comes. */
export function collectLines(child, onLine) {
  const output = { text: "" };
  let rest = "";
  const keep = (chunk) => {
    const lines = (rest + chunk.toString().replaceAll("\r", "")).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      output.text += `${line}\n`;
      onLine(line);
    }
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  return output;
}
