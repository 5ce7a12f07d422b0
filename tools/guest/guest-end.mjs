/**
 * Waits for the end of a guest's process, or ends it with `end` after `timeoutMs`. Resolves with what it wrote and the code of
 * its command, which is undefined when the guest did not come to its end; `onLine` receives every line as it comes.
 */
export async function guestEnd(child, { onLine, timeoutMs, end }) {
  const output = collectLines(child, onLine);
  const timer = setTimeout(end, timeoutMs);
  try {
    await new Promise((resolve, reject) => {
      child.once("close", resolve);
      child.once("error", reject);
    });
  } finally {
    clearTimeout(timer);
    end();
  }
  const code = /^guest: ended with (\d+)$/m.exec(output.text)?.[1];
  return { code: code === undefined ? undefined : Number(code), output: output.text };
}

function collectLines(child, onLine) {
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
