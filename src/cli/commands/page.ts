import type { Command } from "commander";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_NOT_FOUND } from "../../present/exit-codes.ts";
import { type CliContext, clientOf, withSocketOption } from "../context.ts";
import { writeLines } from "../io.ts";

/** `nodelet page`. */
export function addPageCommand(program: Command, context: CliContext): void {
  const command = program
    .command("page")
    .summary("print a link that opens the page of the node in a browser")
    .description(
      "Prints a link to the page of the node. It opens one session of twelve hours, once, within five minutes. " +
        "The page is read-only, and served on loopback unless --page of the agent names another address.",
    )
    .addHelpText("after", FROM_ELSEWHERE);
  withSocketOption(command).action(async (options: { readonly socket?: string }) => {
    const { url } = await askTicket(clientOf(context, options));
    writeLines(context.io.stdout, [url]);
  });
}

const FROM_ELSEWHERE = `
From another machine:
  ssh -L 10270:127.0.0.1:10270 root@node nodelet page
`;

async function askTicket(client: ReturnType<typeof clientOf>): Promise<{ readonly url: string }> {
  try {
    return await client.json<{ readonly url: string }>("/nodelet/v1/page/tickets", "POST");
  } catch (thrown) {
    if (!(thrown instanceof CliError) || thrown.exitCode !== EXIT_NOT_FOUND) throw thrown;
    throw new CliError("the agent does not serve the page", {
      exitCode: EXIT_NOT_FOUND,
      fix: "start it with --page (`nodelet up` does)",
    });
  }
}
