#!/bin/sh
# Runs commands that come over the second serial port: a number and the command base64-encoded, one line each; answers
# with the number, the code and the output base64-encoded. What others write there begins with "say".
exec </dev/ttyS1 >/dev/ttyS1 2>/dev/null
stty raw -echo
echo "boot $(cat /proc/sys/kernel/random/boot_id)"
while read -r number text; do
  output=$(printf %s "$text" | base64 -d | sh 2>&1 | base64 -w0; exit 0)
  printf '%s %s\n' "$number" "$output"
done
