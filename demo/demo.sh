#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The demo (make demo): start a small leaky service, watch it for five seconds, print what it
# keeps, and show that it runs on as if nothing had been.

# the report is printed, not paged: a demonstration needs no key
export MMATTACH_PAGER=cat
set -eu

cd "$(dirname "$0")/.."

folder=$(mktemp -d)
service=
trap '[ -z "$service" ] || kill "$service" 2>/dev/null; rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM HUP

# It says "ready PID" into the FIFO when its threads run; we wait for that line.
mkfifo "$folder/ready"
build/victims/leaky_service >"$folder/ready" &
service=$!
read -r ready pid <"$folder/ready" || ready=
[ "$ready" = ready ] || { echo "the service did not start" >&2; exit 1; }

echo "\$ ./mmattach -p $pid -d 5s"
./mmattach -p "$pid" -d 5s

echo
echo "The service runs on, traced by nobody:"
grep -E '^(Name|State|TracerPid|Threads):' "/proc/$pid/status"
