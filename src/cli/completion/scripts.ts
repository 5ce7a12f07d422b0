// pure
/** Shell scripts for completion. Every Tab runs `nodelet __complete`. */

/** Shells there is a script for. */
export const SHELLS = ["bash", "zsh", "fish"] as const;
/** One of them. */
export type Shell = (typeof SHELLS)[number];

/** A line of the answer that asks the shell to complete a path. */
export const FILES_LINE = ":files";

const BASH = `# bash completion of nodelet: source <(nodelet completion bash)
_nodelet() {
  local lines line texts=() current=\${COMP_WORDS[COMP_CWORD]} program=\${COMP_WORDS[0]}
  COMPREPLY=()
  mapfile -t lines < <("\${program/#\\~/$HOME}" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  for line in "\${lines[@]}"; do
    if [ "$line" = "${FILES_LINE}" ]; then
      compopt -o default
      return
    fi
    texts+=("\${line%%$'\\t'*}")
  done
  # bash takes --option=value for three words and completes the last one only.
  if [ "$current" = "=" ] || [ "\${COMP_WORDS[COMP_CWORD-1]}" = "=" ]; then
    texts=("\${texts[@]#*=}")
  fi
  COMPREPLY=("\${texts[@]}")
}
complete -F _nodelet nodelet
`;

const ZSH = `#compdef nodelet
# zsh completion of nodelet: source <(nodelet completion zsh), or a file _nodelet in $fpath
_nodelet() {
  local -a lines candidates
  local line text
  lines=("\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "\${lines[@]}"; do
    [[ -z "$line" ]] && continue
    if [[ "$line" == "${FILES_LINE}" ]]; then
      _files
      return
    fi
    text="\${line%%$'\\t'*}"
    candidates+=("\${text//:/\\\\:}:\${line#*$'\\t'}")
  done
  _describe 'nodelet' candidates
}
if [[ "\${funcstack[1]}" == _nodelet ]]; then _nodelet "$@"; else compdef _nodelet nodelet; fi
`;

const FISH = `# fish completion of nodelet: nodelet completion fish | source
function __nodelet_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
    for line in $lines
        if test "$line" = "${FILES_LINE}"
            __fish_complete_path "$current"
        else
            echo $line
        end
    end
end
complete -c nodelet -f -a '(__nodelet_complete)'
`;

const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };

/** The script of a shell. */
export function completionScript(shell: Shell): string {
  return SCRIPTS[shell];
}
