#!/bin/sh
# A stand-in for claude on the machines of sessions: it writes down how it was called, plays the shell text $PLAY, and answers as
# claude does. A play may set `status` to what the answer claims, and `code` to how it ends.
case ${1-} in --version) echo '2.1.332 (Claude Code)' && exit ;; esac
prompt=$AMPLIHACK_REMOTE_SESSION/prompt
seen=$HOME/seen/${AMPLIHACK_REMOTE_SESSION##*/}
mkdir -p "$seen"
n=1
while [ -e "$seen/argv.$n" ]; do n=$((n + 1)); done
printf '%s\0' "$@" >"$seen/argv.$n"
cat >"$seen/stdin.$n"
status=done code=0
# The session's own output, where what the agent says on its stdout is summed up by `auto`.
tell() { printf '%s\n' "$1" >>"$AMPLIHACK_REMOTE_SESSION/log"; }
# The session's first hook, as the launch registered it: without one the launch would say that its guard is not in force.
hook=$(printf '%s\n' "$@" | sed -n 's/.*"SessionStart":\[{"hooks":\[{"command":"\([^"]*\)".*/\1/p')
[ -z "$hook" ] || printf '{"hook_event_name":"SessionStart","session_id":"s1","cwd":"%s"}' "$PWD" | sh -c "$hook" >/dev/null
echo '{"type":"system","subtype":"init","session_id":"s1","model":"fake"}'
eval "${PLAY-}"
printf '{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"AMPLIHACK-STATUS: {\\"status\\":\\"%s\\",\\"summary\\":\\"played\\",\\"changes\\":false}"}\n' "$status"
exit "$code"
